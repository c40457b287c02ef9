"""What a report is before it is rendered: chapters of sections, each with names for its files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from autotune_lab.exporting.base import safe_stem
from autotune_lab.reporting import wording
from autotune_lab.reporting.content import Figure, Section, Table
from autotune_lab.reporting.data import ReportData


@dataclass(frozen=True, slots=True)
class Entry:
    """A section in its place: ``key`` names its files and its anchor on the page."""

    key: str
    section: Section

    def name_of(self, part: Figure | Table) -> str:
        """Return the stem of the files of one of its figures or tables."""
        return f"{self.key}-{safe_key(part.name)}"


@dataclass(frozen=True, slots=True)
class Chapter:
    """All that is said about one kernel."""

    key: str
    kernel: str
    data: ReportData
    entries: tuple[Entry, ...]

    @property
    def intro(self) -> str:
        """Say what was tuned on what, in one sentence."""
        contexts = self.data.contexts
        devices = sorted(contexts["device_model"].unique())
        fields = wording.shared_fields(list(contexts["problem_fields"]))
        problems = wording.count(contexts["problem"].nunique(), "problem")
        same = f", all with {wording.config(fields)}" if fields and len(contexts) > 1 else ""
        trials = wording.count(len(self.data.trials), "trial")
        return f"{problems}{same}, on {wording.listing(devices, most=8)}: {trials}."


@dataclass(frozen=True, slots=True)
class Report:
    """A report before it is rendered.

    Attributes:
        store: where the numbers come from, without credentials.
        made_at: UTC, ISO 8601; an argument, so that equal stores give equal reports.
    """

    title: str
    data: ReportData
    chapters: tuple[Chapter, ...]
    store: str = ""
    made_at: str = ""

    def parts(self) -> Iterator[tuple[str, Figure | Table]]:
        """Yield each figure and table with the stem of its files."""
        for chapter in self.chapters:
            for entry in chapter.entries:
                parts: list[Figure | Table] = [*entry.section.figures, *entry.section.tables]
                yield from ((entry.name_of(part), part) for part in parts)


def safe_key(text: str) -> str:
    """Turn any text into a part of a file name, an anchor or a URL."""
    if re.fullmatch(r"[a-z0-9_]{1,40}", text):
        return text
    return safe_stem(text[:40], identity=text).lower()
