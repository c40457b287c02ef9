"""What ``kernels.py`` measures: problems, the configs that compete for each, and what must hold.

Configs were chosen by what should be near the best on an H100 or H200, a dozen for each problem;
the lab's own studies search the whole spaces.
"""

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Config = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One problem, the configs that compete for it, and what the best is held against."""

    group: str
    problem: str
    candidates: dict[str, list[Config]]  # kernel -> configs
    goal: float
    against: str = "torch"  # or "copy": the share of the copy's bandwidth

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.group} {self.problem}"

    def process(self) -> str:
        """Return which cases share a process."""
        return self.against if self.against == "copy" else self.group


@dataclass(frozen=True)
class Claim:
    """Something that must hold over the ratios of a group's cases."""

    what: str
    group: str
    goal: float
    measure: Callable[[Sequence[float]], float] = min


COPY = "share of the measured copy bandwidth"
MUST_HOLD = [
    Claim(
        "matmul family, bf16: torch.matmul's time over ours, geometric mean",
        "matmul family", 1.0, statistics.geometric_mean,
    ),
    Claim("matmul family, bf16: torch.matmul's time over ours, least", "matmul family", 0.9),
    *(Claim(f"{name}: {COPY}, least", name, 0.9)
      for name in ("row_softmax", "layer_norm", "vector_add", "copy_2d")),
    Claim(f"transpose: {COPY}, least", "transpose", 0.8),
    Claim("fused epilogue at 4096^3: torch's sequence over ours, least", "fused epilogue", 1.3),
    Claim("attention: the best of torch's backends over ours, least", "attention", 0.75),
]  # fmt: skip


def configs(**values: Any) -> list[Config]:
    """Return all combinations; a tuple under several names joined by a comma moves together."""
    names = [name.split("__") for name in values]
    combinations = []
    for choice in itertools.product(*values.values()):
        pairs = zip(names, choice, strict=True)
        combinations.append(
            {
                n: v
                for group, value in pairs
                for n, v in zip(group, _tuple(value, group), strict=True)
            }
        )
    return combinations


def _tuple(value: Any, names: list[str]) -> tuple[Any, ...]:
    return value if len(names) > 1 else (value,)


TILE = "BLOCK_M__BLOCK_N__BLOCK_K__num_warps__num_stages"
PLAIN = configs(
    **{TILE: [(128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 4),
              (128, 128, 64, 8, 3), (256, 128, 64, 8, 3), (64, 128, 64, 4, 4),
              (128, 64, 64, 4, 4), (64, 256, 64, 4, 4)]},
    GROUP_M=[8],
)  # fmt: skip
PERSISTENT = [
    *configs(
        **{TILE: [(128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3)]},
        GROUP_M=[8], TILES_PER_PROGRAM=[4, 16], FLATTEN=[False, True], EPILOGUE_SPLIT=[True],
    ),
    *configs(
        **{TILE: [(128, 128, 64, 4, 4), (128, 128, 64, 8, 4), (128, 128, 128, 8, 3),
                  (128, 256, 64, 8, 4), (64, 256, 64, 4, 4), (64, 128, 128, 4, 4)]},
        GROUP_M=[8], TILES_PER_PROGRAM=[1], FLATTEN=[False], EPILOGUE_SPLIT=[True],
    ),
    *configs(
        **{TILE: [(128, 128, 64, 4, 4), (128, 128, 64, 8, 4)]},
        GROUP_M=[8], TILES_PER_PROGRAM=[8], FLATTEN=[True], EPILOGUE_SPLIT=[False],
    ),
]  # fmt: skip
SKINNY = configs(
    **{TILE: [(16, 64, 128, 4, 4), (16, 32, 256, 4, 4), (16, 128, 128, 4, 4), (16, 128, 64, 4, 5),
              (64, 64, 128, 4, 4)]},
    GROUP_M=[8], SPLIT_K=[1, 2, 4, 8],
)  # fmt: skip
MIDDLE = configs(
    **{TILE: [(128, 128, 64, 4, 4), (128, 128, 64, 8, 4), (64, 128, 64, 4, 4),
              (64, 128, 128, 4, 3)]},
    GROUP_M=[8], SPLIT_K=[1, 2, 3, 4],
)  # fmt: skip
FUSED = [
    *configs(
        **{TILE: [(128, 256, 64, 8, 3), (128, 256, 64, 8, 4)]},
        GROUP_M=[8], TILES_PER_PROGRAM=[1, 4], EPILOGUE_SPLIT=[True], TMA=[True],
    ),
    *configs(
        **{TILE: [(128, 128, 64, 4, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 3),
                  (256, 128, 64, 8, 3)]},
        GROUP_M=[8], TILES_PER_PROGRAM=[1, 4, 8], EPILOGUE_SPLIT=[True], TMA=[True],
    ),
    *configs(
        **{TILE: [(128, 256, 64, 8, 3), (128, 128, 64, 8, 3)]},
        GROUP_M=[8], TILES_PER_PROGRAM=[1], EPILOGUE_SPLIT=[False], TMA=[False],
    ),
]  # fmt: skip
ATTENTION = [
    *configs(
        BLOCK_M__BLOCK_N__num_warps__num_stages=[
            (128, 128, 8, 2), (128, 64, 8, 3), (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2),
            (128, 64, 4, 2),
        ],
        HEADS_FIRST=[False, True], TMA=[True], WARP_SPECIALIZE=[False],
    ),
    *configs(
        BLOCK_M__BLOCK_N__num_warps__num_stages=[
            (128, 128, 4, 2), (128, 64, 4, 2), (128, 64, 4, 3)
        ],
        HEADS_FIRST=[False, True], TMA=[True], WARP_SPECIALIZE=[True],
    ),
    *configs(
        BLOCK_M__BLOCK_N__num_warps__num_stages=[(128, 64, 8, 3)],
        HEADS_FIRST=[True], TMA=[False], WARP_SPECIALIZE=[False],
    ),
]  # fmt: skip
ROWS = configs(
    BLOCK_SIZE=[1024, 2048, 4096, 8192, 16384, 32768], ROWS=[1, 2], num_warps=[4, 8, 16, 32]
)
PLANES = configs(BLOCK_M__BLOCK_N=[(1, 1024), (1, 2048), (4, 512), (16, 128)], num_warps=[4, 8])
TURNED = configs(
    BLOCK_M__BLOCK_N=[(32, 32), (32, 64), (64, 32), (64, 64), (128, 32), (32, 128), (128, 64)],
    num_warps=[2, 4, 8],
)
VECTORS = configs(BLOCK_SIZE=[512, 1024, 2048, 4096, 8192], num_warps=[2, 4, 8])
FP8 = configs(
    **{TILE: [(128, 256, 128, 8, 3), (128, 128, 128, 8, 3), (128, 128, 128, 4, 3),
              (256, 128, 128, 8, 3), (128, 256, 64, 8, 4)]},
    GROUP_M=[8], PROMOTE_K=[0],
)  # fmt: skip
MOE = configs(
    BLOCK_SIZE_M__BLOCK_SIZE_N__BLOCK_SIZE_K__num_warps__num_stages=[
        (16, 64, 128, 4, 4), (16, 128, 128, 4, 3), (64, 128, 64, 4, 4), (128, 128, 64, 8, 3),
        (128, 256, 64, 8, 3),
    ],
    GROUP_SIZE_M=[1, 16],
)  # fmt: skip
MOE_MODEL = "experts=8,top_k=2,hidden=4096,intermediate=3584,dtype=bfloat16"
HEADS = "heads=32,kv_heads=8,head_dim=128,dtype=bfloat16"
LARGE = {"matmul": PLAIN, "matmul_persistent": PERSISTENT}


def cases() -> Iterator[Case]:
    """Yield every case, grouped; those held against the copy move a GB or more, as it does."""
    for kernel, problem, pool, goal in [
        ("vector_add", "n=268435456,dtype=float32", VECTORS, 0.9),
        ("copy_2d", "M=32768,N=8192,dtype=float32,layout=contiguous", PLANES, 0.9),
        ("copy_2d", "M=16384,N=16384,dtype=float32,layout=column", PLANES, 0.9),
        ("bias_add", "M=32768,N=8192,dtype=float32,layout=contiguous", PLANES, 0.9),
        ("row_softmax", "M=65536,N=4096,dtype=float32,layout=contiguous", ROWS, 0.9),
        ("row_softmax", "M=16384,N=32000,dtype=bfloat16,layout=contiguous", ROWS, 0.9),
        ("layer_norm", "M=65536,N=4096,dtype=bfloat16,layout=contiguous", ROWS, 0.9),
        ("layer_norm", "M=32768,N=8192,dtype=float32,layout=contiguous", ROWS, 0.9),
        ("rms_norm", "M=65536,N=4096,dtype=bfloat16,layout=contiguous", ROWS, 0.9),
        ("transpose", "M=16384,N=16384,dtype=float32,layout=contiguous", TURNED, 0.8),
        ("transpose", "M=32768,N=16384,dtype=bfloat16,layout=contiguous", TURNED, 0.8),
    ]:
        yield Case(kernel, problem, {kernel: pool}, goal, against="copy")
    for shape, family in [
        ((4096, 4096, 4096), LARGE),
        ((8192, 8192, 8192), LARGE),
        ((2048, 2048, 2048), LARGE),
        ((4096, 14336, 4096), LARGE),
        ((1000, 4000, 2000), {**LARGE, "matmul_splitk": MIDDLE}),
        ((256, 8192, 4096), {**LARGE, "matmul_splitk": MIDDLE}),
        ((16, 8192, 8192), {"matmul_splitk": SKINNY}),
        ((64, 4096, 14336), {"matmul_splitk": [*SKINNY, *MIDDLE]}),
    ]:
        problem = "M={},N={},K={},dtype=bfloat16".format(*shape)
        yield Case("matmul family", problem, family, 0.9)
    square = "M=4096,N=4096,K=4096"
    for tail in ("gelu_tanh,residual=false", "gelu,residual=false", "silu,residual=true"):
        problem = f"{square},dtype=bfloat16,activation={tail}"
        yield Case("fused epilogue", problem, {"matmul_bias_activation": FUSED}, 1.3)
    for head in ("batch=4,length=4096,causal=true", "batch=1,length=16384,causal=false"):
        yield Case("attention", f"{head},{HEADS}", {"flash_attention": ATTENTION}, 0.75)
    problem = "batch=4,length=4096,causal=true,heads=32,kv_heads=32,head_dim=64,dtype=float16"
    yield Case("attention", problem, {"flash_attention": ATTENTION}, 0.75)
    for side in (4096, 8192):
        problem = f"M={side},N={side},K={side},dtype=float8_e4m3fn"
        yield Case("fp8", problem, {"matmul_fp8": FP8}, 0.0)
    for tokens in (16, 4096):
        yield Case("experts", f"tokens={tokens},{MOE_MODEL}", {"fused_moe": MOE}, 0.0)
