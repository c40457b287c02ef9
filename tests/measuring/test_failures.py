import pytest
import torch
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources, PTXASError

from autotune_lab.measuring.failures import outcome_of
from autotune_lab.records import TrialState


def alive():
    pass


def lost():
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


class NewKindError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (OutOfResources(262144, 232448, "shared memory"), "out_of_resources", "262144"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried"), "out_of_resources", "out of memory"),
        (CompilationError("a\nb", None, "no overload"), "compile_error", "no overload"),
        (CompileTimeAssertionFailure("a", None, "BLOCK"), "compile_error", "BLOCK"),
        (PTXASError("`ptxas` failed with 255"), "compile_error", "ptxas"),
        (RuntimeError("PassManager::run failed"), "compile_error", "PassManager"),
        (RuntimeError("Triton Error [CUDA]: invalid argument"), "launch_error", "invalid argument"),
        (NewKindError("first\nsecond"), "launch_error", "first"),
        (NewKindError(), "launch_error", "NewKindError"),
    ],
)
def test_a_launch_that_raises_has_one_state_and_one_line(error, state, reason):
    outcome = outcome_of(error, 7, alive)
    assert outcome.state == state
    assert reason in outcome.reason
    assert "\n" not in outcome.reason
    assert outcome.detail.startswith(type(error).__name__)
    assert outcome.launches == 7
    assert not outcome.retire


def test_a_device_that_does_not_answer_any_more_is_a_crash():
    outcome = outcome_of(RuntimeError("CUDA error: an illegal memory access"), 3, lost)
    assert outcome.state is TrialState.CRASHED
    assert outcome.retire


def test_a_long_trace_is_cut_at_its_beginning():
    outcome = outcome_of(NewKindError("x" * 100_000 + "end"), 0, alive)
    assert len(outcome.detail) < 5000
    assert outcome.detail.rstrip().endswith("end")
