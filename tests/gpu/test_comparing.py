"""Ceilings, fusion, sweeps, autotuned kernels and the listener on a real GPU."""

from pathlib import Path

import pytest
import torch
import triton

from autotune_lab import Problem, Store, listen
from autotune_lab.devices.opening import open_device
from autotune_lab.measuring.inputs import ProblemCache
from autotune_lab.measuring.protocol import measure
from autotune_lab.records import MeasureJob, Protocol, Source, TrialState
from autotune_lab.tuning.ceilings import measure_device
from autotune_lab.tuning.fusion import FusionQuestion, compare
from autotune_lab.tuning.sweep import SweepQuestion, sweep
from tests import autotuned

ROOT = Path(__file__).resolve().parents[2]
SHORT = Protocol(budget_ms=100, max_samples=20, warmup_ms=50)


@pytest.fixture
def store(tmp_path):
    with Store.open(str(tmp_path / "lab.db")) as opened:
        yield opened


def test_ceilings_are_measured_and_kept(store):
    found = measure_device("cuda:0", store)
    assert found.measured_at
    assert found.copy_gbs > 100
    (kept,) = store.ceilings()
    assert kept == found
    assert store.known_ceilings(found.device, found.environment) == found


def test_a_fused_epilogue_launches_once_and_moves_less(store):
    problem = Problem(
        M=2048, N=2048, K=512, dtype="bfloat16", activation="gelu_tanh", residual=True
    )
    asked = FusionQuestion(
        kernel="matmul_bias_activation", device="cuda:0", problems=[problem], rounds=6,
        protocol=SHORT,
    )  # fmt: skip
    (found,) = compare(asked, store, root=ROOT, tell=print)
    assert found.fused.reason == found.unfused.reason == ""
    assert found.fused.launches == 1
    assert found.unfused.launches >= 4  # a product may take more than one
    assert found.unfused.moved_bytes > 2 * found.fused.moved_bytes
    assert found.gain.low <= found.gain.median <= found.gain.high
    assert found.gain.median > 0.5


def test_what_needs_values_is_counted_on_the_device(store):
    problem = Problem(tokens=16, experts=4, top_k=2, hidden=256, intermediate=128, dtype="bfloat16")
    asked = FusionQuestion(
        kernel="fused_moe", device="cuda:0", problems=[problem], rounds=6, protocol=SHORT
    )
    (found,) = compare(asked, store, root=ROOT, tell=print)
    assert found.unfused.moved_bytes > 0
    assert found.fused.launches == 4
    assert found.unfused.launches > 20


def test_a_sweep_has_intervals_of_a_few_percent(store):
    asked = SweepQuestion(
        kernel="vector_add", parameter="BLOCK_SIZE", device="cuda:0", rounds=6, protocol=SHORT,
        problem=Problem(n=2**26, dtype="float32"),
    )  # fmt: skip
    table = sweep(asked, store, root=ROOT, observe=lambda event: None).table
    timed = table[table["efficiency"].notna()]
    assert len(timed) >= 5
    width = (timed["high_ms"] - timed["low_ms"]) / timed["median_ms"]
    assert width.median() < 0.05


@pytest.mark.parametrize("name", ["scaled", "total", "increment", "hooked"])
def test_autotuned_kernels_are_measured_right(name):
    device, cache = open_device("cuda:0"), ProblemCache()
    definition = getattr(autotuned, name)
    for problem in definition.problems:
        for config in definition.space.bind(problem, device.probe().model):
            job = MeasureJob(name, problem, config, SHORT)
            outcome = measure(definition, device, job, cache=cache)
            assert (outcome.state, outcome.reason) == (TrialState.OK, "")


def test_what_triton_measures_is_heard(tmp_path):
    tuner = triton.autotune(configs=autotuned.configs(), key=["n_elements"])
    kernel = tuner(autotuned.scaled_kernel.fn.fn.fn)
    x = torch.randn(2**20, device="cuda")
    y = torch.empty_like(x)
    path = str(tmp_path / "heard.db")
    with listen(path) as listener:
        for _ in range(2):
            kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](
                x, y, x.numel(), EVEN=True, SCALE=3
            )
    torch.testing.assert_close(y, 3 * x)
    assert (listener.tunings, listener.trials, listener.fault) == (1, 3, "")
    with Store.open(path) as store:
        (context,) = store.contexts()
        trials = store.trials(context.id)
    assert context.source is Source.LISTENED
    assert dict(context.problem) == {"n_elements": 2**20, "dtype": "float32"}
    assert context.model == open_device("cuda:0").probe().model
    assert all(trial.state is TrialState.OK for trial in trials)
    best = min(trials, key=lambda trial: trial.screen_ms)
    assert best.config["BLOCK"] == kernel.best_config.kwargs["BLOCK"]
