"""Says in one line why nothing ran: trials by state, and what the smallest config needed."""

from collections import Counter
from collections.abc import Sequence

from autotune_lab.records import DeviceModel, Trial, TrialState


def counts(trials: Sequence[Trial]) -> dict[str, int]:
    """Count the trials of each state."""
    return dict(sorted(Counter(trial.state.value for trial in trials).items()))


def explanation(trials: Sequence[Trial], model: DeviceModel) -> str:
    """Return what a person needs to know when no config can win; empty if nothing is known."""
    if any(trial.state is TrialState.OK for trial in trials):
        return "what ran was throttled or contended; measure again on a quiet device"
    needs = [
        trial.resources.shared_bytes
        for trial in trials
        if trial.state is TrialState.OUT_OF_RESOURCES
        and trial.resources
        and trial.resources.shared_bytes is not None
    ]
    if needs and model.max_shared_bytes:
        return (
            f"the smallest config needs {min(needs)} B of shared memory, "
            f"{model.slug} has {model.max_shared_bytes} B"
        )
    reasons = Counter(trial.reason for trial in trials if trial.state.is_failure and trial.reason)
    if reasons:
        reason, times = min(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
        return f"most often ({times}x): {reason}"
    return ""
