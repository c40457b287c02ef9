"""Examines a machine by using each part that tuning needs, in the order in which they build up."""

import importlib.metadata
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autotune_lab import processes
from autotune_lab.compiling.pool import CompilePool
from autotune_lab.compiling.targets import TARGETS
from autotune_lab.definitions import Problem
from autotune_lab.devices.opening import resolve
from autotune_lab.errors import AutotuneLabError, DeviceError
from autotune_lab.execution.opening import open_executor
from autotune_lab.records import CompileJob, Limits, MeasureJob, Outcome, Protocol, TrialState
from autotune_lab.settings import Settings
from autotune_lab.spaces.config import Config
from autotune_lab.store.store import Store

PROBE = "vector_copy"
PROBLEM = Problem(n=4099, dtype="float32")
CONFIG = Config(BLOCK_SIZE=1024, num_warps=4)
LIMITS = Limits(compile_s=120.0, run_s=120.0)
QUICK = Protocol(warmup_ms=20.0, max_samples=20)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one part was found to be, and what to do where it does not work.

    Attributes:
        is_needed: tuning on some device, a recorded one included, is impossible without it.
    """

    part: str
    works: bool
    found: str
    advice: str = ""
    is_needed: bool = True


def examine(settings: Settings) -> list[Finding]:
    """Examine everything; a part that fails is a finding, never an exception."""
    with tempfile.TemporaryDirectory(prefix="autotune-lab-") as folder:
        logs = Path(folder)
        return [
            _version("torch", "install a torch build for this machine"),
            _version("triton", "pip install triton (Linux only)"),
            _attempt("compiler", lambda: _compile(logs), "see the reason; no GPU is needed for it"),
            _attempt(
                "interpreter",
                lambda: _measure("interpreter", logs),
                "Triton 3.6 needs NumPy < 2.4 for its interpreter",
            ),
            _gpu(logs),
            _attempt("recording", lambda: _greet("replay", logs), "reinstall autotune-lab"),
            _attempt("store", lambda: _store(settings), "choose another with --store"),
        ]


def _version(package: str, advice: str) -> Finding:
    try:
        return Finding(package, works=True, found=importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        return Finding(package, works=False, found="not installed", advice=advice)


def _attempt(part: str, use: Callable[[], str], advice: str) -> Finding:
    try:
        return Finding(part, works=True, found=use())
    except (AutotuneLabError, OSError) as error:
        return Finding(part, works=False, found=str(error), advice=advice)


def _gpu(logs: Path) -> Finding:
    """Tell an absent GPU, which is no fault, from one on which the vector copy fails."""
    spec = resolve("auto")
    if not spec.startswith("cuda"):
        return Finding(
            "gpu",
            works=False,
            found="no GPU driver",
            advice="tune recorded kernels with --device replay, or run where a GPU is",
            is_needed=False,
        )
    return _attempt(
        "gpu", lambda: _measure(spec, logs), "the environment is broken, not your kernel"
    )


def _compile(logs: Path) -> str:
    pool = CompilePool(1, LIMITS, log_dir=logs)
    try:
        pool.submit("probe", CompileJob(PROBE, PROBLEM, CONFIG, TARGETS["sm_90"].model()))
        while not (done := pool.collect()):
            processes.wait(pool.children, 1.0)
    finally:
        pool.close()
    outcome = done[0][1]
    _expect_ok(outcome)
    registers = outcome.resources.registers if outcome.resources else None
    return f"{PROBE} compiles for sm_90 ({registers} registers)"


def _measure(spec: str, logs: Path) -> str:
    executor = open_executor(spec, LIMITS, log_dir=logs)
    hello = executor.start()
    try:
        executor.submit(MeasureJob(PROBE, PROBLEM, CONFIG, QUICK))
        while (outcome := executor.collect()) is None:
            processes.wait(executor.children, 1.0)
    finally:
        executor.close()
    _expect_ok(outcome)
    driver = f", driver {hello.environment.driver}" if hello.environment.driver else ""
    return f"{hello.device.model.name}{driver}: {PROBE} is right"


def _greet(spec: str, logs: Path) -> str:
    executor = open_executor(spec, LIMITS, log_dir=logs)
    try:
        hello = executor.start()
    finally:
        executor.close()
    return f"{hello.device.model.name}, recorded under Triton {hello.environment.triton}"


def _store(settings: Settings) -> str:
    with Store.open(settings.store_url, create=True) as store:
        return f"{store.url_display}: {len(store.studies())} studies"


def _expect_ok(outcome: Outcome) -> None:
    if outcome.state is not TrialState.OK:
        raise DeviceError(f"{PROBE}: {outcome.state}: {outcome.reason}")
