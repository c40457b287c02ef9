"""The nodes' half: what Ray runs on the machines of a cluster. Knows no sampler and no store.

A host supervises the same processes that a study on one machine does: whatever a config does to
them is its outcome, and the host stays. Answers are JSON: a reply, or an error of the lab by class
and text.
"""

import functools
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import autotune_lab
from autotune_lab import processes
from autotune_lab.codec import from_json, to_json, to_plain
from autotune_lab.compiling import handover
from autotune_lab.compiling.pool import CompilePool
from autotune_lab.definitions import Problem
from autotune_lab.devices.opening import capabilities_of
from autotune_lab.errors import AutotuneLabError
from autotune_lab.execution.asking import run_job
from autotune_lab.execution.base import Executor
from autotune_lab.execution.opening import open_executor
from autotune_lab.records import CompileJob, KernelIdentity, Limits, MeasureJob

IDLE_S = 0.5

Files = dict[str, bytes]


class DeviceHost:
    """Owns one device of its node. A Ray actor; every method runs on the node.

    Args:
        spec: the device.
        limits: JSON of ``Limits``.
    """

    def __init__(self, spec: str, limits: str) -> None:
        self._spec = spec
        self._limits = from_json(Limits, limits)
        self._cache = Path(os.environ.setdefault("TRITON_CACHE_DIR", str(_default_cache())))
        self._open: Executor | None = None

    def start(self) -> str:
        """Take the device and say what it is; and which version of the lab this is."""

        def ask() -> dict[str, Any]:
            executor = open_executor(self._spec, self._limits, log_dir=_own_folder("measuring"))
            hello = executor.start()
            self._open = executor
            return {
                "hello": to_plain(hello),
                "compiles": capabilities_of(self._spec).compiles,
                "lab": autotune_lab.__version__,
                "node": platform.node(),
            }

        return _answer(ask)

    def ceilings(self) -> str:
        """Measure what the device reaches at best."""
        return _answer(lambda: {"hello": to_plain(self._executor.ceilings())})

    def caveat(self, kernel: str, problem: str) -> str:
        """Say what is doubtful about its answers for a kernel."""
        identity, parsed = from_json(KernelIdentity, kernel), from_json(Problem, problem)
        return _answer(lambda: {"caveat": self._executor.caveat(identity, parsed)})

    def measure(self, job: str, files: Files | None) -> str:
        """Run a job, with the binaries that were compiled for it elsewhere."""
        if files:
            handover.put(files, self._cache)
        asked = from_json(MeasureJob, job)
        return _answer(lambda: {"outcome": to_plain(run_job(self._executor, asked))})

    def renew(self) -> None:
        """Let the next job find a fresh process."""
        self._executor.renew()

    @property
    def _executor(self) -> Executor:
        assert self._open is not None
        return self._open


def compile_remotely(job: str, limits: str) -> tuple[str, Files]:
    """Compile one config; a Ray task. Return the answer and the binaries it made.

    The compiling process outlives the task: Ray runs many tasks in one of its own processes.
    """
    pool, cache = _pool(limits)
    asked = from_json(CompileJob, job)
    files: Files = {}

    def ask() -> dict[str, Any]:
        before = handover.entries(cache)
        pool.submit("", asked)
        while not (outcomes := pool.collect()):
            processes.wait(pool.children, IDLE_S)
        files.update(handover.take(cache, handover.entries(cache) - before))
        return {"outcome": to_plain(outcomes[0][1])}

    return _answer(ask), files


@functools.lru_cache(maxsize=1)
def _pool(limits: str) -> tuple[CompilePool, Path]:
    folder = _own_folder("compiling")
    cache = folder / "triton"
    cache.mkdir(exist_ok=True)
    os.environ["TRITON_CACHE_DIR"] = str(cache)
    return CompilePool(1, from_json(Limits, limits), log_dir=folder), cache


def _answer(ask: Callable[[], dict[str, Any]]) -> str:
    try:
        return to_json(ask())
    except AutotuneLabError as error:
        return to_json({"error": [type(error).__name__, str(error)]})


def _own_folder(name: str) -> Path:
    """Return a folder in the job's working folder, which Ray removes after the job."""
    folder = Path.cwd() / f".{name}-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return folder


def _default_cache() -> Path:
    """Return where Triton keeps binaries by itself; importing it only to ask takes seconds."""
    home = os.environ.get("TRITON_HOME")
    return (Path(home) if home else Path.home()) / ".triton" / "cache"
