"""The pool with real compiling processes: results by key, and losses that cost one row each."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from autotune_lab.compiling.pool import CompilePool
from autotune_lab.compiling.targets import TARGETS
from autotune_lab.errors import UsageError, WorkerLost
from autotune_lab.processes import wait
from autotune_lab.records import CompileJob, Limits, TrialState
from autotune_lab.spaces.config import Config
from tests.compiling import kernels

pytestmark = pytest.mark.slow

FILE = Path(kernels.__file__)


def job(name, block):
    definition = getattr(kernels, name)
    return CompileJob(
        kernel=f"{FILE}:{name}",
        problem=definition.problems[0],
        config=Config(BLOCK=block),
        model=TARGETS["sm_90"].model(),
    )


def drain(pool):
    outcomes = {}
    while pool.pending:
        wait(pool.children, 60)
        outcomes.update(pool.collect())
    return outcomes


@pytest.fixture
def open_pool(tmp_path):
    pools = []

    def open_pool(workers=1, compile_s=60.0, **options):
        pools.append(CompilePool(workers, Limits(compile_s=compile_s), log_dir=tmp_path, **options))
        return pools[-1]

    yield open_pool
    for pool in pools:
        pool.close()


def test_a_compiler_that_aborts_hangs_or_crashes_costs_its_own_config(open_pool):
    pool = open_pool(2, compile_s=2.0)
    started = time.monotonic()
    for key, block in {"good": 64, "abort": 128, "hang": 256, "segfault": 512}.items():
        pool.submit(key, job("harmful", block))
    pool.submit("last", job("copy", 128))
    assert pool.pending == 5
    outcomes = drain(pool)
    assert {key: outcome.state.value for key, outcome in outcomes.items()} == {
        "good": "ok",
        "abort": "compile_error",
        "hang": "compile_timeout",
        "segfault": "compile_error",
        "last": "ok",
    }
    assert "SIGABRT" in outcomes["abort"].reason
    assert "kernels.py" in outcomes["abort"].detail
    assert "SIGSEGV" in outcomes["segfault"].reason
    assert 2000 <= outcomes["hang"].elapsed_ms < 3000
    assert outcomes["good"].resources.registers > 0
    assert time.monotonic() - started < 40


def test_a_compiler_that_eats_memory_takes_down_its_process_only(open_pool):
    pool = open_pool(memory_bytes=3 * 2**30)
    for key, block in {"python": 128, "foreign": 256, "modest": 64}.items():
        pool.submit(key, job("greedy", block))
    outcomes = drain(pool)
    assert outcomes["modest"].state is TrialState.OK
    assert outcomes["modest"].resources.registers > 0
    assert outcomes["python"].state is TrialState.COMPILE_ERROR
    assert outcomes["python"].reason == "out of memory"
    assert outcomes["foreign"].state is TrialState.COMPILE_ERROR
    assert "SIGSEGV" in outcomes["foreign"].reason


def test_processes_are_started_on_demand_kept_and_renewed(open_pool):
    pool = open_pool(4, recycle_after=2)
    assert [child.starts for child in pool.children] == [0, 0, 0, 0]
    for round_number in range(3):
        pool.submit(str(round_number), job("copy", 64))
        assert list(drain(pool)) == [str(round_number)]
    assert sum(child.starts for child in pool.children) == 2


def test_a_kernel_file_that_can_not_be_used_is_an_error_with_its_reason(open_pool, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import nothing_of_this_name\n")
    pool = open_pool()
    good = job("copy", 64)
    pool.submit("broken", CompileJob(str(broken), good.problem, good.config, good.model))
    with pytest.raises(UsageError, match=r"broken.py.*nothing_of_this_name"):
        drain(pool)


def test_a_process_that_can_not_start_is_no_fault_of_the_config(open_pool):
    pool = open_pool(module="tests.no_such_module")
    pool.submit("key", job("copy", 64))
    with pytest.raises(WorkerLost, match="no_such_module"):
        drain(pool)


def test_closing_leaves_nothing_running(open_pool):
    pool = open_pool(2)
    for block in (64, 128, 256):
        pool.submit(str(block), job("harmful", 256))
    pids = [child.pid for child in pool.children]
    scratch = {
        variable.removeprefix(b"TMPDIR=").decode()
        for pid in pids
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        if variable.startswith(b"TMPDIR=")
    }
    assert len(scratch) == 1
    pool.close()
    pool.close()
    assert pool.pending == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not Path(scratch.pop()).exists()


def test_the_parents_half_loads_neither_torch_nor_triton():
    code = (
        "import sys, autotune_lab.compiling.pool, autotune_lab.compiling.occupancy, "
        "autotune_lab.execution.process; "
        "print(sorted({'torch', 'triton', 'pynvml'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
