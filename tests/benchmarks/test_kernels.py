"""The kernel benchmark's plan: every claim has cases, every case configs, every ratio a verdict."""

import importlib
import sys
from pathlib import Path

import pytest

from autotune_lab import Problem, catalog
from tests.search_spaces.test_catalog import H200

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield importlib.import_module("kernels")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture
def cases(benchmark):
    return list(benchmark.cases())


def test_every_claim_has_its_cases(benchmark, cases):
    groups = {claim.group: claim for claim in benchmark.MUST_HOLD}
    counted = {group: sum(case.group == group for case in cases) for group in groups}
    assert all(counted.values())
    assert counted["matmul family"] == 8
    goals = {claim.what.partition(":")[0]: claim.goal for claim in benchmark.MUST_HOLD}
    assert goals == {
        "matmul family, bf16": 0.9, "row_softmax": 0.9, "layer_norm": 0.9, "vector_add": 0.9,
        "copy_2d": 0.9, "transpose": 0.8, "fused epilogue at 4096^3": 1.3, "attention": 0.75,
    }  # fmt: skip
    first = benchmark.MUST_HOLD[0]
    assert (first.goal, first.measure([0.5, 2.0])) == (1.0, 1.0)


def test_every_case_has_configs_that_an_h200_can_be_asked_for(cases):
    for case in cases:
        problem = Problem.parse(case.problem)
        for kernel, pool in case.candidates.items():
            space = catalog.load(kernel, root=ROOT).space.bind(problem, H200, heuristics=False)
            valid = [config for config in pool if config in space]
            assert len(valid) >= 4, f"{case.name}: {kernel}"
            assert len({str(sorted(config.items())) for config in pool}) == len(pool)


def test_what_is_held_against_the_copy_moves_a_gigabyte(cases):
    for case in cases:
        if case.against == "copy":
            definition = catalog.load(case.group, root=ROOT)
            assert definition.work(Problem.parse(case.problem))["bytes"] > 1e9, case.name


def results(benchmark, cases, ratio=2.0, **ratios):
    return [
        benchmark.Result(case.name, case.goal, case.against, ratio=ratios.get(case.group, ratio))
        for case in cases
    ]


def test_a_run_in_which_all_holds_says_so_for_each(benchmark, cases):
    verdicts = list(benchmark.judged(results(benchmark, cases), cases))
    assert len(verdicts) == len(benchmark.MUST_HOLD) == 9
    assert all(holds for holds, _ in verdicts)
    assert all(line.startswith("ok ") and "target" in line for _, line in verdicts)


def test_the_least_case_decides_and_the_family_has_its_mean_too(benchmark, cases):
    made = results(benchmark, cases, transpose=0.79)
    family = [result for result in made if result.case.startswith("matmul family")]
    family[0].ratio, family[1].ratio = 0.89, 4.0
    lines = {line[5:18]: (holds, line) for holds, line in benchmark.judged(made, cases)}
    assert not lines["transpose: sh"][0]
    verdicts = [holds for holds, line in benchmark.judged(made, cases) if "matmul family" in line]
    assert verdicts == [True, False]


def test_a_case_that_was_not_measured_is_a_miss_and_one_not_asked_for_is_none(benchmark, cases):
    few = [case for case in cases if case.group == "attention"]
    ((holds, line),) = benchmark.judged(results(benchmark, few)[:-1], few)
    assert not holds
    assert "not every case could be measured" in line


def test_the_table_names_each_case_with_its_goal(benchmark, cases):
    made = results(benchmark, cases, vector_add=0.5, fp8=0.9)
    made[0].faults = ["one", "two", "three"]
    lines = list(benchmark.table(made))
    assert sum(line.startswith("MISS") for line in lines) == 1
    assert sum(line.startswith("ok ") for line in lines) == len(cases) - 5
    assert "3 faults: one" in lines[1]


def test_winners_of_a_store_join_the_configs(benchmark, cases, tmp_path):
    from autotune_lab import Budget, Store, Study, run_study

    case = next(c for c in cases if c.problem == "M=256,N=8192,K=4096,dtype=bfloat16")
    with Store.open(str(tmp_path / "lab.db")) as store:
        study = Study(
            kernels=["matmul"], devices=["replay"], budget=Budget(trials=5), samplers=["random"],
            problems={"matmul": [Problem.parse(case.problem)]},
        )  # fmt: skip
        (pick,) = run_study(study, store, root=ROOT, observe=lambda event: None).picks
    joined = benchmark.with_winners([case, cases[0]], str(tmp_path / "lab.db"))
    assert joined[0].candidates["matmul"][-1] == dict(pick.config)
    assert len(joined[0].candidates["matmul"]) == len(case.candidates["matmul"]) + 1
    assert joined[1] == cases[0]
