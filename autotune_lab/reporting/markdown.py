"""A report as Markdown beside PNG figures; text of the store can't become markup or HTML."""

import re
from collections.abc import Iterator, Sequence

from autotune_lab import __version__
from autotune_lab.reporting import wording
from autotune_lab.reporting.content import Cell, Table, Tone
from autotune_lab.reporting.report import Chapter, Entry, Report

MARKS = {Tone.DOUBT: "⚠ ", Tone.BAD: "✖ ", Tone.FAILS: "✕ ", Tone.MISSING: "○ "}


def page(report: Report) -> str:
    """Render the report; figures are links to ``figures/<stem>.png``."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def escape(text: str) -> str:
    """Make any text literal in Markdown: markup, links, HTML, table bars and line breaks."""
    flat = re.sub(r"[\x00-\x20\x7f\u0085\u2028\u2029]+", " ", text)
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    literal = re.sub(r"([\\`*_\[\]#|~$])", r"\\\1", flat)
    return re.sub(r"^( *)([-+])", r"\1\\\2", literal)


def _lines(report: Report) -> Iterator[str]:
    yield f"# {escape(report.title)}"
    yield ""
    for notice in report.data.notices:
        yield f"> **Note:** {escape(notice)}"
        yield ""
    if not report.chapters:
        yield "No data: the store holds no trials that a report may show."
        yield ""
    for chapter in report.chapters:
        yield from _chapter(chapter)
    facts = [f"autotune_lab {__version__}"]
    facts += [f"store {report.store}"] if report.store else []
    facts += [f"made {report.made_at}"] if report.made_at else []
    yield f"---\n\n{escape(', '.join(facts))}"


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield f"## {escape(chapter.kernel)}"
    yield ""
    yield escape(chapter.intro)
    yield ""
    verdicts = [v for entry in chapter.entries for v in entry.section.verdicts]
    if verdicts:
        yield from _rows(("Question", "Answer"), [(v.question, v.answer) for v in verdicts])
    for entry in chapter.entries:
        yield from _section(entry)


def _section(entry: Entry) -> Iterator[str]:
    section = entry.section
    yield f"### {escape(section.title)}"
    yield ""
    yield f"**{escape(section.finding)}**"
    yield ""
    for figure in section.figures:
        yield f"![{escape(figure.alt)}](figures/{entry.name_of(figure)}.png)"
        yield ""
        yield escape(figure.caption)
        yield ""
    for table in section.tables:
        yield from _table(table, entry.name_of(table))
    for caveat in section.caveats:
        yield f"- {escape(caveat)}"
    yield ""


def _table(table: Table, stem: str) -> Iterator[str]:
    if table.caption:
        yield escape(table.caption)
        yield ""
    yield from _rows([name.removeprefix("#") for name in table.columns], table.rows, table.columns)
    if table.more:
        rest = wording.count(table.more, "more row")
        yield f"{rest} in [data/{stem}.csv](data/{stem}.csv)."
        yield ""


def _rows(
    headers: Sequence[str], rows: Sequence[Sequence[Cell | str]], columns: Sequence[str] = ()
) -> Iterator[str]:
    yield f"| {' | '.join(map(escape, headers))} |"
    marks = ["---:" if name.startswith("#") else "---" for name in columns or headers]
    yield f"| {' | '.join(marks)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""


def _cell(content: Cell | str) -> str:
    if isinstance(content, str):
        return escape(content)
    text = MARKS.get(content.tone, "") + escape(content.text)
    return f"**{text}**" if content.tone is Tone.STRONG else text
