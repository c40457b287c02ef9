"""The process that owns a real GPU: it finds what was compiled ahead, and survives harm."""

import statistics
import time
from pathlib import Path

import pytest

from autotune_lab import catalog
from autotune_lab.compiling.pool import CompilePool
from autotune_lab.errors import DeviceBusy
from autotune_lab.execution.process import ProcessExecutor
from autotune_lab.processes import wait
from autotune_lab.records import CompileJob, Limits, MeasureJob, Protocol, TrialState
from autotune_lab.spaces.config import Config
from tests.gpu import harm

FILE = f"{Path(harm.__file__)}:harm"


@pytest.fixture
def executor(tmp_path):
    executor = ProcessExecutor("cuda:0", Limits(run_s=5.0), log_dir=tmp_path)
    yield executor
    executor.close()


def measure(executor, kernel, problem, config):
    executor.submit(MeasureJob(kernel, problem, Config(config), Protocol(warmup_ms=20.0)))
    while (outcome := executor.collect()) is None:
        wait(executor.children, 60)
    return outcome


@pytest.mark.parametrize("name", ["matmul", "matmul_persistent", "row_softmax", "vector_add"])
def test_the_first_launch_finds_what_was_compiled_ahead(executor, tmp_path, triton_cache, name):
    hello = executor.start()
    definition = catalog.load(name)
    problem, config = definition.problems[0], definition.default_config
    pool = CompilePool(1, Limits(), log_dir=tmp_path)
    try:
        pool.submit("key", CompileJob(name, problem, config, hello.device.model))
        outcomes = []
        while not outcomes:
            wait(pool.children, 60)
            outcomes = pool.collect()
    finally:
        pool.close()
    assert outcomes[0][1].state is TrialState.OK
    assert outcomes[0][1].resources is not None
    compiled = {path: path.stat().st_mtime_ns for path in triton_cache.rglob("*.cubin")}
    outcome = measure(executor, name, problem, config)
    assert outcome.state is TrialState.OK, outcome.detail
    used = {path.stem for path in compiled}
    after = {
        path: path.stat().st_mtime_ns for path in triton_cache.rglob("*.cubin") if path.stem in used
    }
    assert after == compiled


def test_a_stray_store_and_a_spinning_kernel_cost_their_own_rows(executor):
    executor.start()
    problem = harm.harm.problems[0]
    modes = {256: "good", 512: "stray", 1024: "good", 2048: "spin", 4096: "good"}
    outcomes = {}
    for block, mode in modes.items():
        started = time.monotonic()
        outcomes[block] = measure(executor, FILE, problem, {"BLOCK": block, "MODE": mode})
        if mode == "spin":
            assert outcomes[block].elapsed_ms < 6000
            assert time.monotonic() - started < harm.SPIN_S
    states = {block: outcome.state.value for block, outcome in outcomes.items()}
    assert states == {256: "ok", 512: "crashed", 1024: "ok", 2048: "timeout", 4096: "ok"}
    assert "illegal" in outcomes[512].reason.lower() + outcomes[512].detail.lower()
    times = [outcomes[block].measurement.median_ms for block in (256, 1024, 4096)]
    assert max(times) < 2 * statistics.median(times)
    assert executor.starts == 3


def test_memory_is_given_back(executor):
    import pynvml

    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    before = pynvml.nvmlDeviceGetMemoryInfo(handle).used
    executor.start()
    measure(executor, "vector_add", catalog.load("vector_add").problems[0],
            catalog.load("vector_add").default_config)  # fmt: skip
    executor.close()
    deadline = time.monotonic() + 10
    while pynvml.nvmlDeviceGetMemoryInfo(handle).used > before + 2**24:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_second_study_on_the_card_or_a_part_of_it_is_refused(executor, tmp_path):
    executor.start()
    with pytest.raises(DeviceBusy):
        ProcessExecutor("cuda:0@64sm", Limits(), log_dir=tmp_path).start()
