"""What every definition in the catalog promises its reader."""

import ast
from pathlib import Path

import pytest
import torch

from autotune_lab import Problem, catalog
from autotune_lab.records import DeviceModel

FOLDER = Path(__file__).resolve().parents[2] / "search_spaces"
NAMES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
H200 = DeviceModel(
    name="NVIDIA H200", vendor="nvidia", architecture="sm_90", sm_count=132,
    memory_bytes=150_000_000_000, max_shared_bytes=232_448,
)  # fmt: skip
PART = DeviceModel(
    name="NVIDIA H200", vendor="nvidia", architecture="sm_90", sm_count=32,
    memory_bytes=150_000_000_000, max_shared_bytes=232_448, partition="32sm",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
class TestEveryKernel:
    def test_the_file_teaches(self, name):
        text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))
        assert "Teaches" in text
        assert "Bottleneck:" in text
        assert "Trade-off:" in text
        assert 8 <= len(text.splitlines()) <= 26

    def test_it_is_named_after_its_file_and_has_problems_to_tune(self, name):
        definition = catalog.load(name, root=FOLDER.parent)
        assert definition.name == name
        assert len(definition.problems) >= 3
        assert definition.replaces is not None

    @pytest.mark.parametrize("model", [None, H200, PART], ids=["anywhere", "h200", "32sm"])
    def test_the_default_is_in_every_problems_space(self, name, model):
        definition = catalog.load(name, root=FOLDER.parent)
        for problem in definition.problems:
            space = definition.space.bind(problem, model)
            assert definition.default_config in space
            assert 20 <= len(space) <= 6000

    def test_its_work_is_what_it_must_move_and_compute(self, name):
        definition = catalog.load(name, root=FOLDER.parent)
        for problem in definition.problems:
            work = definition.work(problem)
            assert work["bytes"] > 0
            assert work["flops"] >= 0


SMALL = {
    "vector_copy": {"n": 100}, "vector_add": {"n": 100},
    "copy_2d": {"M": 5, "N": 7, "layout": "padded"},
    "bias_add": {"M": 5, "N": 7, "layout": "column"},
    "transpose": {"M": 5, "N": 7, "layout": "padded"},
    "row_softmax": {"M": 5, "N": 7, "layout": "contiguous"},
    "layer_norm": {"M": 5, "N": 7, "layout": "contiguous"},
    "rms_norm": {"M": 5, "N": 7, "layout": "column"},
    "matmul": {"M": 5, "N": 7, "K": 9}, "matmul_persistent": {"M": 5, "N": 7, "K": 9},
    "matmul_splitk": {"M": 5, "N": 7, "K": 9},
    "matmul_bias_activation": {"M": 5, "N": 7, "K": 9, "activation": "silu", "residual": True},
    "fused_moe": {"tokens": 6, "experts": 3, "top_k": 2, "hidden": 8, "intermediate": 5},
    "flash_attention": {
        "batch": 1, "length": 600, "heads": 2, "kv_heads": 1, "head_dim": 8, "causal": True
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SMALL))
def test_what_it_replaces_computes_the_same(name):
    definition = catalog.load(name, root=FOLDER.parent)
    problem = Problem({**SMALL[name], "dtype": "float64" if name != "fused_moe" else "float32"})
    args = definition.inputs(problem, torch.device("cpu"), torch.Generator().manual_seed(0))
    expected = {name: value.clone() for name, value in definition.reference(dict(args)).items()}
    found = definition.replaces(args)
    output = definition.outputs[-1]
    found = found[output] if isinstance(found, dict) else found
    torch.testing.assert_close(found.reshape(expected[output].shape), expected[output])


def test_the_matmul_space_is_whole():
    definition = catalog.load("matmul", root=FOLDER.parent)
    for problem in definition.problems:
        assert len(definition.space.bind(problem, H200)) == 384


def test_tiles_per_program_follow_the_number_of_sms():
    definition = catalog.load("matmul_persistent", root=FOLDER.parent)
    problem = Problem(M=1024, N=1024, K=1024, dtype="bfloat16")
    most = [
        max(config["TILES_PER_PROGRAM"] for config in definition.space.bind(problem, model))
        for model in (H200, PART)
    ]
    assert most == [1, 4]  # 128 tiles of 128 x 64: one each on 132 SMs, four each on 32
