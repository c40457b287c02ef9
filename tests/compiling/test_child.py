"""The compiling process: what it sees of the machine, and how it behaves on it."""

import os
from pathlib import Path

from autotune_lab.compiling.pool import CompilePool
from autotune_lab.compiling.targets import TARGETS
from autotune_lab.processes import wait
from autotune_lab.records import CompileJob, Limits, TrialState
from autotune_lab.spaces.config import Config
from tests.compiling import kernels


def test_a_compiling_process_is_nice_and_loads_no_driver(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    pool = CompilePool(1, Limits(), log_dir=tmp_path)
    try:
        job = CompileJob(
            f"{kernels.__file__}:copy",
            kernels.copy.problems[0],
            Config(BLOCK=64),
            TARGETS["sm_90"].model(),
        )
        pool.submit("key", job)
        wait(pool.children, 60)  # ready
        while not (outcomes := pool.collect()):
            wait(pool.children, 60)
        (child,) = pool.children
        assert outcomes[0][1].state is TrialState.OK
        variables = Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
        assert b"CUDA_VISIBLE_DEVICES=" in variables
        libraries = Path(f"/proc/{child.pid}/maps").read_text()
        assert "libtriton" in libraries
        assert not any(name in libraries for name in ("libcuda.so", "libamdhip", "libnvidia-ml"))
        assert os.getpriority(os.PRIO_PROCESS, child.pid) >= 10
    finally:
        pool.close()
