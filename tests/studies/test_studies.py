"""The repository's studies load, resolve, and print the answer that their docstrings promise."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autotune_lab import Budget, Phase, Problem, Protocol
from autotune_lab.tuning.files import load_study
from autotune_lab.tuning.running import plan

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.skipif(
    not (ROOT.parent / "shared/tables/sglang_fused_moe.json.gz").is_file(),
    reason="the published tables are not part of the repository",
)
def test_foreign_winners_measures_each_published_config_once(monkeypatch, tmp_path):
    module = answer("foreign_winners", {}, monkeypatch, tmp_path)
    for problem in module.problems:
        space = module.foreign.space.bind(problem)
        wanted = {config.id for tokens, config, _ in module.PUBLISHED if tokens == problem.tokens}
        assert {config.id for config in space} == wanted
    owners = {whose.split(",")[0] for _, _, whose in module.PUBLISHED}
    assert {"NVIDIA H200", "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"} <= owners
