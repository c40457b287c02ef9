"""The repository's studies load, resolve, and print the answer that their docstrings promise."""

import gzip
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from autotune_lab import Budget, DefinitionError, Phase, Problem, Protocol
from autotune_lab.tuning.files import load_study
from autotune_lab.tuning.running import plan

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT.parent / "shared" / "tables"
FILES = sorted((ROOT / "studies").glob("[a-z]*.py"))
SHORT = Protocol(
    min_samples=2, max_samples=2, budget_ms=5, warmup_ms=0, playoff_rounds=2, playoff_size=2
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_study_loads_says_how_to_read_it_and_names_what_there_is(path):
    study = replace(load_study(path), devices=["fake"])
    assert study.name == path.stem
    assert "How to read the answer" in path.read_text()
    assert plan(study, root=ROOT)


def answer(name, problems, monkeypatch, tmp_path, **changes):
    """Run a study's main on small problems in the interpreter."""
    spec = importlib.util.spec_from_file_location(f"study_{name}", ROOT / "studies" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    small = {"problems": problems, "budget": Budget(trials=2), "protocol": SHORT, **changes}
    monkeypatch.setattr(module, "study", replace(module.study, **small))
    store = f"sqlite:///{tmp_path}/lab.db"
    monkeypatch.setattr(sys, "argv", [name, "--device", "interpreter", "--store", store])
    monkeypatch.chdir(ROOT)
    return module


@pytest.mark.slow
def test_environment_prints_a_line_for_each_size(monkeypatch, tmp_path, capsys):
    problems = {"vector_copy": [Problem(n=n, dtype="float32") for n in (500, 1000)]}
    module = answer("environment", problems, monkeypatch, tmp_path)
    assert module.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["n", "500", "1000"]
    assert "BLOCK_SIZE=" in lines[-1]


@pytest.mark.slow
def test_block_size_sweep_prints_efficiencies_by_size(monkeypatch, tmp_path, capsys):
    problems = {"vector_add": [Problem(n=n, dtype="float32") for n in (500, 1000)]}
    module = answer("block_size_sweep", problems, monkeypatch, tmp_path)
    assert module.main() == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["problem.n", "500", "1000"]
    assert out.count("1.00 ±") >= 2


@pytest.mark.slow
def test_softmax_rows_says_how_often_a_row_is_read(monkeypatch, tmp_path, capsys):
    problems = {
        "row_softmax": [
            Problem(M=2, N=n, dtype="float32", layout="contiguous") for n in (200, 3000)
        ]
    }
    module = answer("softmax_rows", problems, monkeypatch, tmp_path, budget=Budget(trials=1))
    assert module.main() == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows == [["row", "reads"], ["200", "once"], ["3000", "twice"]]


@pytest.mark.slow
def test_gemm_shapes_ranks_kernels_and_shows_the_worst_transfer(monkeypatch, tmp_path, capsys):
    shapes = [Problem(M=m, N=64, K=64, dtype="float16") for m in (16, 64)]
    kernels = ["matmul", "matmul_persistent"]
    module = answer(
        "gemm_shapes", dict.fromkeys(kernels, tuple(shapes)), monkeypatch, tmp_path,
        kernels=kernels, phases=(Phase.SCREEN, Phase.PLAYOFF, Phase.TRANSFER), seeds=(3,),
    )  # fmt: skip
    monkeypatch.setattr(module, "PROBLEMS", dict(zip(shapes, ("thin", "thick"), strict=True)))
    assert module.main() == 0
    first, second = capsys.readouterr().out.split("keeps at worst")
    assert "1.00x, matmul" in first
    assert "matmul" in second


@pytest.mark.slow
def test_fused_epilogue_tells_the_bytes_where_nothing_can_be_timed(monkeypatch, tmp_path, capsys):
    problem = Problem(M=64, N=64, K=32, dtype="float16", activation="relu", residual=True)
    problems = {"matmul_bias_activation": [problem]}
    module = answer("fused_epilogue", problems, monkeypatch, tmp_path, budget=Budget(trials=1))
    assert module.main() == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["shape", "epilogue", "fused_ms"]
    # Operands and product are 2 matrices of 64 x 64; bias, activation and residual add 2, 2 and 3
    # where each is a step of its own, and 1 where they are not.
    assert row.startswith("64x64x32")
    assert "not timed" in row
    assert "67%" in row


@pytest.mark.slow
def test_attention_names_no_rival_where_there_is_no_gpu(monkeypatch, tmp_path, capsys):
    shape = {"batch": 1, "length": 20, "heads": 1, "kv_heads": 1, "head_dim": 16}
    problem = Problem(**shape, causal=True, dtype="float16")
    problems = {"flash_attention": [problem]}
    module = answer(
        "attention", problems, monkeypatch, tmp_path, samplers=["random"], budget=Budget(trials=1)
    )
    assert module.main() == 0
    (row,) = capsys.readouterr().out.splitlines()[1:]
    assert row.split()[:5] == ["1", "x", "20", "16", "causal"]
    assert "(torch: none)" in row


ENTRY = {
    "BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 1,
    "num_warps": 4, "num_stages": 2,
}  # fmt: skip
TABLE = {
    "triton_3_1_0/E=2,N=32,device_name=NVIDIA_H100.json": {"2": ENTRY, "8": ENTRY, "9": ENTRY},
    "triton_3_2_0/E=2,N=32,device_name=NVIDIA_H100.json": {"2": {**ENTRY, "num_stages": 7}},
    "triton_3_1_0/E=2,N=32,device_name=Triton_interpreter.json": {
        "2": {**ENTRY, "BLOCK_SIZE_M": 24},  # the kernel sorts rows for no such block
        "8": {**ENTRY, "BLOCK_SIZE_N": 64},
    },
    "triton_3_1_0/E=2,N=32,device_name=AMD_Instinct_MI300X.json": {
        "2": {k: v for k, v in ENTRY.items() if k[0] == "B"} | {"waves_per_eu": 2},
    },
    "triton_3_1_0/E=2,N=32,device_name=NVIDIA_H100,dtype=fp8_w8a8.json": {"2": ENTRY},
    "triton_3_1_0/E=4,N=32,device_name=NVIDIA_H100.json": {"2": ENTRY},
    "other_sm_90.json": {},
}


@pytest.fixture
def foreign(monkeypatch, tmp_path):
    """The study on one tiny layer, and the path of a table with the published format."""
    module = answer("foreign_winners", {}, monkeypatch, tmp_path)
    monkeypatch.setattr(module, "MODELS", {"tiny": module.Model(2, 32, 32, 1)})
    monkeypatch.setattr(module, "TOKENS", (2, 8))
    path = tmp_path / "table.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"files": TABLE}).encode()))
    return module, path


def test_foreign_winners_reads_what_is_of_its_models_and_leaves_the_rest(foreign):
    module, path = foreign
    entries = list(module.published(path))
    assert [(e.gpu, e.triton, e.tokens) for e in entries] == [
        ("NVIDIA H100", "3.1.0", 2), ("NVIDIA H100", "3.1.0", 8), ("NVIDIA H100", "3.2.0", 2),
        ("Triton interpreter", "3.1.0", 2), ("Triton interpreter", "3.1.0", 8),
        ("AMD Instinct MI300X", "3.1.0", 2),
    ]  # fmt: skip
    amd = entries[-1].config
    assert (amd["num_warps"], amd["num_stages"], "waves_per_eu" in amd) == (4, 3, False)
    besides = module.besides(entries)
    assert [len(configs) for configs in besides.values()] == [4, 2]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"files": 3}', b"not gzip"])
def test_foreign_winners_names_a_file_that_is_no_table(foreign, tmp_path, content):
    module, path = foreign
    path.write_bytes(content)
    with pytest.raises(DefinitionError, match="no table of configs"):
        list(module.published(path))


@pytest.mark.slow
def test_foreign_winners_runs_every_published_config_and_writes_its_report(
    foreign, monkeypatch, tmp_path, capsys
):
    module, path = foreign
    problems = {"fused_moe": [module.problem(module.MODELS["tiny"], n) for n in (2, 8)]}
    monkeypatch.setattr(module, "study", replace(module.study, problems=problems))
    out = tmp_path / "report"
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--table", str(path), "--out", str(out)])
    assert module.main() == 0
    frame = pd.read_csv(out / "data" / "cells.csv")
    assert len(frame) == 6
    own = frame["gpu"] == "Triton interpreter"
    assert frame.loc[own, "kept"].min() == 0.0
    assert (frame.loc[~own, "kept"] > 0).all()
    text = (out / "README.md").read_text()
    assert "| NVIDIA H100, Triton 3.2.0 | 1 |" in text
    assert "times say nothing about any GPU" in text
    assert "name the config of Triton interpreter's own table in 0% of 1 cells" in text
    assert "report: " in capsys.readouterr().out


@pytest.mark.skipif(
    not (TABLES / "sglang_fused_moe.json.gz").is_file(),
    reason="the published tables are not part of the repository",
)
def test_foreign_winners_finds_ten_kinds_of_gpu_in_the_published_tables(monkeypatch, tmp_path):
    module = answer("foreign_winners", {}, monkeypatch, tmp_path)
    entries = list(module.published(TABLES / "sglang_fused_moe.json.gz"))
    gpus = {entry.gpu for entry in entries}
    assert {
        "NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA B200",
        "NVIDIA H20", "AMD Instinct MI300X",
    } <= gpus  # fmt: skip
    assert len(gpus) >= 10
    assert {entry.model for entry in entries} == set(module.MODELS)
    assert {entry.tokens for entry in entries} == set(module.TOKENS)
