"""A report as one page: no script, no network, figures inline, every text escaped."""

import base64
from collections.abc import Mapping
from pathlib import Path

import jinja2
from markupsafe import Markup

from autotune_lab import __version__
from autotune_lab.reporting import wording
from autotune_lab.reporting.content import Cell, Tone
from autotune_lab.reporting.report import Report

TEMPLATES = Path(__file__).parent / "templates"
# What a tone looks like beside its colour, so that print and colour-blind readers lose nothing.
MARKS = {Tone.GOOD: "●", Tone.DOUBT: "▲", Tone.BAD: "■", Tone.FAILS: "✕", Tone.MISSING: "○"}


def page(report: Report, pictures: Mapping[str, bytes]) -> str:
    """Render the page.

    Args:
        report: what to say.
        pictures: SVG by the figure's file stem.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["data_uri"] = lambda stem: _data_uri(pictures[stem])
    environment.filters["mark"] = lambda tone: MARKS.get(tone, "")
    environment.filters["cell"] = _cell
    environment.globals["wording"] = wording
    return environment.get_template("page.html").render(
        report=report,
        style=Markup((TEMPLATES / "page.css").read_text("utf-8")),  # noqa: S704  # our own file
        version=__version__,
    )


def _cell(content: Cell | str) -> Cell:
    return content if isinstance(content, Cell) else Cell(content)


def _data_uri(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")
