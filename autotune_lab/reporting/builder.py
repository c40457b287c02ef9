"""Turns a store's frames into a report: asks each section about each kernel."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from autotune_lab import plugins
from autotune_lab.reporting.content import Section
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.report import Chapter, Entry, Report, safe_key
from autotune_lab.reporting.sections.base import SectionModule

LOGGER = logging.getLogger(__name__)


def build(
    data: ReportData,
    *,
    title: str = "Autotuning report",
    store: str = "",
    made_at: str = "",
    sections: Sequence[str] | None = None,
) -> Report:
    """Ask every section, or those named, about every kernel of the data.

    A section that fails says so in its place and in the log; the others still come out.

    Raises:
        UsageError: a section named does not exist.
    """
    names = plugins.find("sections") if sections is None else sections
    modules = {name: cast("SectionModule", plugins.load("sections", name)) for name in names}
    ranked = dict(sorted(modules.items(), key=lambda item: (item[1].ORDER, item[0])))
    chapters = []
    for number, kernel in enumerate(data.kernels, start=1):
        mine = data.of(kernel)
        key = f"{number}-{safe_key(kernel)}"
        chapters.append(Chapter(key, kernel, mine, tuple(_entries(ranked, mine, key))))
    return Report(title, data, tuple(chapters), store, made_at)


def _entries(
    modules: Mapping[str, SectionModule], data: ReportData, chapter_key: str
) -> Iterator[Entry]:
    for name, module in modules.items():
        try:
            section = module.build(data)
        except Exception as error:  # a report with a hole that says so beats none
            LOGGER.exception("section %s failed", name)
            words = f"{type(error).__name__}: {error}"
            section = Section(name, f"This section could not be made ({words}).")
        if section is not None:
            yield Entry(f"{chapter_key}-{safe_key(name)}", section)
