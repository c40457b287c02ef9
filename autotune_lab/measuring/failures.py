"""Says how a config ended whose launch raised, and whether the device survived it.

Exceptions are told apart by the names of their classes, so no version of Triton has to be imported.
"""

import traceback
from collections.abc import Callable

from autotune_lab.devices.base import UntimableError
from autotune_lab.measuring.timing import BadTimeError
from autotune_lab.records import Outcome, TrialState

_STATES = {
    "OutOfResources": TrialState.OUT_OF_RESOURCES,
    "OutOfMemoryError": TrialState.OUT_OF_RESOURCES,
    "CompilationError": TrialState.COMPILE_ERROR,
    "CompileTimeAssertionFailure": TrialState.COMPILE_ERROR,
    "UnsupportedLanguageConstruct": TrialState.COMPILE_ERROR,
    "PTXASError": TrialState.COMPILE_ERROR,
    "MLIRCompilationError": TrialState.COMPILE_ERROR,
}
_DETAIL_CHARACTERS = 4000


def outcome_of(error: Exception, launches: int, synchronize: Callable[[], None]) -> Outcome:
    """Return the outcome of a launch that raised, or whose time could not be taken.

    Args:
        error: what it raised.
        launches: how many timed launches were begun.
        synchronize: waits for the device; if that fails too, its context is lost.
    """
    state = _state(error)
    retire = False
    try:
        synchronize()
    except Exception:  # noqa: BLE001 - a lost context answers with whatever the backend has
        state, retire = TrialState.CRASHED, True
    trace = "".join(traceback.format_exception(error))[-_DETAIL_CHARACTERS:]
    return Outcome(
        state,
        reason=_reason(error),
        detail=f"{type(error).__name__}\n{trace}",
        raw_time=error.raw if isinstance(error, BadTimeError) else None,
        launches=launches,
        retire=retire,
    )


def _state(error: Exception) -> TrialState:
    if isinstance(error, BadTimeError | UntimableError):
        return TrialState.BAD_TIMING
    for kind in type(error).__mro__:
        if kind.__name__ in _STATES:
            return _STATES[kind.__name__]
    if isinstance(error, RuntimeError) and "PassManager::run failed" in str(error):
        return TrialState.COMPILE_ERROR
    return TrialState.LAUNCH_ERROR


def _reason(error: Exception) -> str:
    """Return one line: a compiler's own message rather than the position that it begins with."""
    message = getattr(error, "error_message", None) or str(error)
    lines = [line.strip() for line in str(message).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
