"""Writes a report as a folder: ``index.html``, ``report.md``, ``figures/`` and ``data/``."""

from pathlib import Path

from autotune_lab.exporting.base import write_atomically
from autotune_lab.reporting import html, markdown, tables
from autotune_lab.reporting.content import Figure
from autotune_lab.reporting.figures.canvas import render
from autotune_lab.reporting.report import Report


def write(report: Report, directory: Path) -> Path:
    """Write all files, the page last, and return the page's path.

    Raises:
        ExportError: the folder can't be written.
    """
    pictures: dict[str, bytes] = {}
    for stem, part in report.parts():
        if isinstance(part, Figure):
            pictures[stem], png = render(part.draw, part.frame, part.title)
            write_atomically(directory / "figures" / f"{stem}.png", png)
        write_atomically(directory / "data" / f"{stem}.csv", tables.to_csv(part.frame))
        write_atomically(directory / "data" / f"{stem}.json", tables.to_json(part.frame))
    write_atomically(directory / "report.md", markdown.page(report))
    page = directory / "index.html"
    write_atomically(page, html.page(report, pictures))
    return page
