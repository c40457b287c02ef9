"""Overfitting to a shape: what the winner of one problem is worth on another."""

from autotune_lab.analysis.transfer import Axis
from autotune_lab.reporting import transfers
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.sections.base import Section

ORDER = 40
QUESTION = transfers.Question(
    title="Across problems",
    axis=Axis.PROBLEM,
    place="problem",
    alone="each device model was tuned for one problem only",
    panel=lambda context, _: context["device_model"],
)


def build(data: ReportData) -> Section | None:
    """Show the transfer matrix over problems, one for each device model."""
    return None if data.trials.empty else transfers.build(data, QUESTION)
