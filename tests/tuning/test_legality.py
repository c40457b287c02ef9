"""Every enumerated config ends as one trial with one state and a reason, by a real compiler."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from autotune_lab import Limits, Protocol, catalog, processes
from autotune_lab.compiling.pool import CompilePool
from autotune_lab.compiling.targets import TARGETS
from autotune_lab.errors import NoSurvivor
from autotune_lab.execution.base import Unit
from autotune_lab.execution.process import ProcessExecutor
from autotune_lab.records import CompileJob, TrialState
from autotune_lab.samplers.exhaustive import create
from autotune_lab.spaces.config import Config
from autotune_lab.tuning.bench import Bench
from autotune_lab.tuning.events import ScreeningEnded
from autotune_lab.tuning.opening import open_context
from autotune_lab.tuning.playoff import Playoff
from autotune_lab.tuning.screening import Screening
from autotune_lab.tuning.study import Budget, Task
from tests.tuning.labs import Lab

pytestmark = pytest.mark.slow

KERNEL = '''"""Compiles a real Triton matmul; launched on the fake device it returns its time."""
import pathlib
import torch
import triton
import triton.language as tl
from autotune_lab import KernelDefinition, Problem, Space


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
           BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m[:, None] * N + n[None, :], total.to(c_ptr.dtype.element_ty))


class NeverSeenBefore(Exception):
    pass


def inputs(problem, device, generator):
    n = problem.n
    return {{
        "a": torch.zeros((n, n), device=device, dtype=torch.float16),
        "b": torch.zeros((n, n), device=device, dtype=torch.float16),
        "c": torch.empty((n, n), device=device, dtype=torch.float16),
    }}


def launch(args, config):
    a, b, c = args["a"], args["b"], args["c"]
    n = a.shape[0]
    if a.is_meta or type(a) is not torch.Tensor or a.device.type != "cpu":
        grid = (triton.cdiv(n, config["BLOCK_M"]), triton.cdiv(n, config["BLOCK_N"]))
        kernel[grid](a, b, c, n, n, n, **config)
        return None
    with (pathlib.Path(__file__).parent / "launches").open("a") as file:
        file.write("x")
    if config["BLOCK_K"] == 16:
        raise NeverSeenBefore("the driver is in a mood\\nand says more")
    c.copy_(a @ b)
    return config["BLOCK_M"] / 64


def reference(args):
    return {{"c": args["a"] @ args["b"]}}


scripted = KernelDefinition(
    name="scripted",
    space=Space(BLOCK_M=[48, 64, 128, 256], BLOCK_N=[128, 256], BLOCK_K=[16, 64],
                num_warps=[3, 4, 8, 64], num_stages=[2, 5])
    .where(lambda BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages:
           (BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages) in {points}, reason="points"),
    inputs=inputs, launch=launch, outputs=["c"], reference=reference,
    problems=[Problem(n=256, dtype="float16")],
)
'''
NAMES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
POINTS = {
    (64, 128, 64, 3, 2): TrialState.ILLEGAL,
    (48, 128, 64, 4, 2): TrialState.COMPILE_ERROR,
    (128, 128, 64, 64, 2): TrialState.COMPILE_ERROR,
    (256, 256, 64, 8, 5): TrialState.OUT_OF_RESOURCES,
    (64, 128, 16, 4, 2): TrialState.LAUNCH_ERROR,
    (64, 128, 64, 4, 2): TrialState.OK,
    (128, 128, 64, 8, 2): TrialState.OK,
}


class CompiledLab(Lab):
    """A lab whose kernel is compiled for sm_90 by real processes and timed by the fake device."""

    def describe(self, points) -> None:
        (self.root / "search_spaces").mkdir(exist_ok=True)
        Path(self.reference).write_text(KERNEL.format(points=repr(set(points))))

    def tune(self, model=None):
        """Screen the whole space and play off; return the pick."""
        limits = Limits(compile_s=120.0, run_s=30.0)
        executor = ProcessExecutor("fake", limits, log_dir=self.root)
        pool = CompilePool(1, limits, log_dir=self.root)
        model = model or TARGETS["sm_90"].model()
        with self.store() as store:
            hello = executor.start()
            run_id = store.begin_run("test", {})
            try:
                task = Task(self.reference, catalog.load(self.reference).problems[0], "fake", "", 0)
                seen_as = replace(hello, device=replace(hello.device, model=model))
                opened = open_context(
                    task, Protocol(playoff_rounds=3, max_samples=5), seen_as, store,
                    root=self.root, observe=self.events.append,
                )  # fmt: skip
                units = [Unit(executor, "fake-0")]
                bench = Bench(store, run_id, units, self.events.append, pool)
                Screening(bench, opened, create(0), Budget(equal_failures=99)).run()
                return Playoff(bench, opened).run()
            finally:
                executor.close()
                pool.close()
                store.end_run(run_id, "done")


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    (tmp_path / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    return CompiledLab(tmp_path)


def test_each_config_of_the_space_has_one_state_and_a_reason(compiled):
    compiled.describe(POINTS)
    pick = compiled.tune()
    trials = compiled.trials()
    found = {tuple(t.config[n] for n in NAMES): t for t in trials}
    assert {point: trial.state for point, trial in found.items()} == POINTS
    assert len(trials) == len(POINTS)
    assert found[64, 128, 64, 3, 2].reason == "num_warps=3 is not a power of two"
    assert "arange's range must be a power of 2" in found[48, 128, 64, 4, 2].reason
    assert "Required" in found[256, 256, 64, 8, 5].reason
    assert found[256, 256, 64, 8, 5].resources.shared_bytes > 232_448
    unknown = found[64, 128, 16, 4, 2]
    assert unknown.reason.endswith("the driver is in a mood")
    assert "NeverSeenBefore" in unknown.reason + unknown.detail
    assert all("\n" not in trial.reason for trial in trials)
    assert all(bool(t.reason) == (t.state is not TrialState.OK) for t in trials)
    assert pick.config["BLOCK_M"] == 64
    ended = next(e for e in compiled.events if isinstance(e, ScreeningEnded))
    assert sum(ended.states.values()) == len(POINTS)


def test_if_nothing_fits_the_error_has_need_and_limit_and_nothing_is_launched(compiled):
    compiled.describe({(256, 256, 64, 8, 5), (256, 256, 64, 4, 5)})
    with pytest.raises(NoSurvivor) as raised:
        compiled.tune()
    assert raised.value.counts == {"out_of_resources": 2}
    needs = [trial.resources.shared_bytes for trial in compiled.trials()]
    assert f"the smallest config needs {min(needs)} B of shared memory" in str(raised.value)
    assert "232448 B" in str(raised.value)
    assert not (compiled.root / "search_spaces/launches").exists()


def test_a_space_of_one_illegal_config_has_no_winner(compiled):
    compiled.describe({(64, 128, 64, 3, 2)})
    with pytest.raises(NoSurvivor, match="1 illegal"):
        compiled.tune()
    assert not (compiled.root / "search_spaces/launches").exists()


def test_one_that_runs_is_used_and_marked(compiled):
    compiled.describe({(64, 128, 64, 4, 2), (64, 128, 64, 3, 2)})
    pick = compiled.tune()
    assert "no_competition" in pick.flags


def test_a_warp_of_64_makes_32_warps_too_many(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    pool = CompilePool(1, Limits(compile_s=120.0), log_dir=tmp_path)
    problem = catalog.load("vector_add").problems[0]
    config = Config(BLOCK_SIZE=4096, num_warps=32)
    try:
        for name in ("gfx942", "sm_90"):
            pool.submit(name, CompileJob("vector_add", problem, config, TARGETS[name].model()))
        outcomes = {}
        while len(outcomes) < 2:
            processes.wait(pool.children, 1.0)
            outcomes |= dict(pool.collect())
    finally:
        pool.close()
    assert outcomes["sm_90"].state is TrialState.OK
    assert outcomes["gfx942"].state is not TrialState.OK
    assert outcomes["gfx942"].reason


def test_a_compile_that_never_ends_costs_its_limit(compiled):
    compiled.describe({(64, 128, 64, 4, 2), (128, 128, 64, 8, 2)})
    path = Path(compiled.reference)
    text = path.read_text().replace(
        "        grid =", "        if config['num_warps'] == 4:\n"
        "            import time; time.sleep(600)\n        grid =",
    )  # fmt: skip
    path.write_text(text)
    state = Counter()
    limits = Limits(compile_s=2.0)
    pool = CompilePool(1, limits, log_dir=compiled.root)
    problem = catalog.load(compiled.reference).problems[0]
    try:
        for warps, block_m in ((4, 64), (8, 128)):
            config = Config(BLOCK_M=block_m, BLOCK_N=128, BLOCK_K=64, num_warps=warps, num_stages=2)
            job = CompileJob(compiled.reference, problem, config, TARGETS["sm_90"].model())
            pool.submit(str(warps), job)
        while pool.pending:
            processes.wait(pool.children, 1.0)
            for key, outcome in pool.collect():
                state[key, outcome.state.value] += 1
                if key == "4":
                    assert outcome.elapsed_ms == pytest.approx(2000, abs=1000)
    finally:
        pool.close()
    assert ("4", "compile_timeout") in state
