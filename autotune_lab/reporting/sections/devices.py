"""Hardware overfitting: what the winner of one device model is worth on another."""

from autotune_lab.analysis.transfer import Axis
from autotune_lab.reporting import transfers
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.sections.base import Section

ORDER = 30
QUESTION = transfers.Question(
    title="Across GPUs",
    axis=Axis.DEVICE,
    place="device model",
    alone="each problem was tuned on one device model only, so hardware overfitting is unknown",
    panel=lambda context, problems: problems[context["problem"]],
)


def build(data: ReportData) -> Section | None:
    """Show the transfer matrix over device models, one for each problem."""
    return None if data.trials.empty else transfers.build(data, QUESTION)
