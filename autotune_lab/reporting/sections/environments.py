"""Overfitting to software: what a winner is worth under another Triton or driver."""

from autotune_lab.analysis.transfer import Axis
from autotune_lab.reporting import transfers
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.sections.base import Section

ORDER = 45
QUESTION = transfers.Question(
    title="Across software",
    axis=Axis.ENVIRONMENT,
    place="environment",
    alone="each device model was measured under one environment only",
    panel=lambda context, problems: f"{context['device_model']} · {problems[context['problem']]}",
)


def build(data: ReportData) -> Section | None:
    """Show the transfer matrix over environments; None with one environment each."""
    if not (data.transfers["axis"] == Axis.ENVIRONMENT.value).any():
        return None
    return transfers.build(data, QUESTION)
