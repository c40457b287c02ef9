"""The contract of a section: a file ``sections/<name>.py`` with ``ORDER`` and ``build(data)``.

A section turns the frames of one kernel into a finding, figures, tables and caveats. It reads no
store, loads no kernel, writes no file and knows no other section.
"""

from typing import Protocol

from autotune_lab.reporting.content import (
    DOES_NOT_RUN,
    NOT_MEASURED,
    Cell,
    Figure,
    Section,
    Table,
    Tone,
    Verdict,
    no_data,
)
from autotune_lab.reporting.data import ReportData

__all__ = [
    "DOES_NOT_RUN",
    "NOT_MEASURED",
    "Cell",
    "Figure",
    "Section",
    "SectionModule",
    "Table",
    "Tone",
    "Verdict",
    "no_data",
]


class SectionModule(Protocol):
    """What every section file defines; sections appear by ``ORDER``, then by file name."""

    ORDER: int

    def build(self, data: ReportData) -> Section | None:
        """Answer the section's question for one kernel; None where it makes no sense at all."""
