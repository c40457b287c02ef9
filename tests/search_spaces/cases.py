"""What the catalog's kernels are run on without a GPU: small problems with awkward sides.

Sizes are 1, one below and above a block, primes and zero; configs have tiles small enough for the
interpreter, which runs one program after the other. bfloat16 is left out: its products are wrong
there.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Case:
    """One kernel, problem and config, and how the inputs are bent before the launch.

    ``shift`` puts every tensor that many elements behind an aligned address; ``edit`` names a
    function of ``interpreting.py`` that rewrites the inputs.
    """

    kernel: str
    problem: dict[str, Any]
    config: dict[str, Any]
    shift: int = 0
    edit: str = ""
    relative: float = field(default=0.0)

    @property
    def id(self) -> str:
        """A readable name for pytest."""
        values = [*self.problem.values(), "-", *self.config.values()]
        tail = f" shifted{self.shift}" * (self.shift > 0) + f" {self.edit}" * bool(self.edit)
        return f"{self.kernel} {' '.join(map(str, values))}{tail}"


LAYOUTS = ("contiguous", "padded", "column")
OPTIONS = {"num_warps": 4, "num_stages": 2}


def vectors() -> list[Case]:
    """Copies and additions."""
    return [
        Case(kernel, {"n": n, "dtype": dtype}, {"BLOCK_SIZE": 256, "num_warps": 4}, shift=n % 2)
        for kernel in ("vector_copy", "vector_add")
        for n, dtype in [
            (0, "float32"),
            (1, "float32"),
            (255, "float16"),
            (257, "float32"),
            (1021, "float16"),
        ]
    ]


def planes() -> list[Case]:
    """Strided copies, transposes and bias additions."""
    return [
        Case(
            kernel,
            {"M": M, "N": N, "dtype": "float32", "layout": layout},
            {"BLOCK_M": 16, "BLOCK_N": 32, "num_warps": 4},
            shift=M % 2,
        )
        for kernel, (M, N), layout in product(
            ("copy_2d", "transpose", "bias_add"),
            [(1, 1), (0, 5), (17, 31), (64, 33), (7, 97)],
            LAYOUTS,
        )
    ]


def rows() -> list[Case]:
    """Softmax and norms, with rows that fit a block and rows that do not."""
    shapes = [(1, 1), (0, 3), (3, 257), (5, 256), (2, 1031)]
    blocks = [{"BLOCK_SIZE": 256, "ROWS": 2}, {"BLOCK_SIZE": 2048, "ROWS": 1}]
    found = [
        Case(
            kernel,
            {"M": M, "N": N, "dtype": "float32", "layout": layout},
            {**block, "num_warps": 4},
            shift=M % 2,
        )
        for kernel, (M, N), (layout, block) in product(
            ("row_softmax", "layer_norm", "rms_norm"),
            shapes,
            [("contiguous", blocks[0]), ("padded", blocks[1]), ("column", blocks[0])],
        )
    ]
    for block in blocks:
        problem = {"M": 9, "N": 700, "dtype": "float32", "layout": "contiguous"}
        config = {**block, "num_warps": 4}
        found.append(Case("row_softmax", problem, config, edit="extreme"))
        found.append(Case("layer_norm", problem, config, edit="far_mean", relative=1e-3))
    return found


SHAPES = [(1, 1, 1), (33, 65, 31), (64, 64, 64), (70, 136, 104), (0, 8, 8), (5, 8, 0)]
TILE = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 2, **OPTIONS}


def products() -> list[Case]:
    """The matmul family."""
    found = []
    for (M, N, K), dtype in product(SHAPES, ("float16", "float32")):
        problem = {"M": M, "N": N, "K": K, "dtype": dtype}
        found.append(Case("matmul", problem, TILE, shift=M % 2))
        persistent = {**TILE, "TILES_PER_PROGRAM": 2, "FLATTEN": True, "EPILOGUE_SPLIT": M > 33}
        found.append(Case("matmul_persistent", problem, persistent, shift=int(M == 64)))
        for parts in (1, 3):
            config = {**TILE, "BLOCK_M": 16, "SPLIT_K": parts}
            found.append(Case("matmul_splitk", problem, config))
    for (M, N, K), (activation, residual, tma) in product(
        SHAPES,
        [
            ("relu", False, True),
            ("gelu", True, False),
            ("gelu_tanh", True, True),
            ("silu", False, False),
        ],
    ):
        problem = {
            "M": M, "N": N, "K": K, "dtype": "float16",
            "activation": activation, "residual": residual,
        }  # fmt: skip
        config = {**TILE, "TILES_PER_PROGRAM": 2, "EPILOGUE_SPLIT": residual, "TMA": tma}
        found.append(Case("matmul_bias_activation", problem, config))
    for (M, N, K), promote in product(SHAPES[:4], (0, 32)):
        problem = {"M": M, "N": N, "K": K, "dtype": "float8_e4m3fn"}
        found.append(Case("matmul_fp8", problem, {**TILE, "PROMOTE_K": promote}))
    return found


def experts() -> list[Case]:
    """Mixtures of experts, some with experts that no token chose."""
    shapes = [(1, 1, 1, 16, 16), (37, 5, 3, 72, 40), (1, 8, 2, 32, 16), (9, 3, 2, 33, 17)]
    names = ("tokens", "experts", "top_k", "hidden", "intermediate")
    return [
        Case(
            "fused_moe",
            {**dict(zip(names, shape, strict=True)), "dtype": "float16"},
            {
                "BLOCK_SIZE_M": block,
                "BLOCK_SIZE_N": 32,
                "BLOCK_SIZE_K": 32,
                "GROUP_SIZE_M": 2,
                **OPTIONS,
            },
        )
        for shape, block in product(shapes, (16, 32))
    ]


def attention() -> list[Case]:
    """Attention with one query, tails, grouped queries, and causal masks."""
    shapes = [(1, 1, 1, 1, 16), (2, 37, 4, 2, 32), (1, 64, 2, 1, 16), (1, 65, 2, 2, 16)]
    names = ("batch", "length", "heads", "kv_heads", "head_dim")
    return [
        Case(
            "flash_attention",
            {**dict(zip(names, shape, strict=True)), "causal": causal, "dtype": "float16"},
            {
                "BLOCK_M": m,
                "BLOCK_N": n,
                "HEADS_FIRST": tma,
                "TMA": tma,
                "WARP_SPECIALIZE": False,
                **OPTIONS,
            },
            shift=int(shape[1] == 64 and causal),
        )
        for shape, causal, (m, n, tma) in product(
            shapes, (True, False), [(16, 32, True), (32, 16, False), (32, 32, True)]
        )
    ]


CASES = [*vectors(), *planes(), *rows(), *products(), *experts(), *attention()]
