"""What sections are made of: findings, verdicts, figures, tables, cells. Text in them is plain.

Whoever renders it escapes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pandas as pd


class Tone(StrEnum):
    """What a cell or a verdict says at a glance; always beside words, never colour alone."""

    PLAIN = ""
    GOOD = "good"
    DOUBT = "doubt"
    BAD = "bad"
    FAILS = "fails"
    MISSING = "missing"
    STRONG = "strong"


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a table's cell, with its tone."""

    text: str
    tone: Tone = Tone.PLAIN


NOT_MEASURED = Cell("not measured", Tone.MISSING)
DOES_NOT_RUN = Cell("does not run", Tone.FAILS)


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people; ``frame`` holds the same facts for machines and becomes a CSV file.

    Attributes:
        name: stem of its files, unique in its section.
        columns: headers, with units; a header that starts with ``#`` heads a column of numbers.
        rows: one cell or text per column.
        more: rows that were left out; the frame has them.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    frame: pd.DataFrame
    more: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture of a frame: drawn as ``draw(frame, title)``, and stored beside it as CSV.

    Attributes:
        name: stem of its files, unique in its section.
        title: a sentence with the point of the picture.
        alt: what it shows, for whoever can't see it.
        caption: how to read it.
    """

    name: str
    title: str
    frame: pd.DataFrame
    draw: Callable[[pd.DataFrame, str], Any]
    alt: str
    caption: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line of the table at the head of the page: what was asked, and what the data says."""

    question: str
    answer: Cell


@dataclass(frozen=True, slots=True)
class Section:
    """One question about a kernel, answered.

    Attributes:
        title: the question or topic, in a few words.
        finding: the answer in one sentence, with numbers.
        verdicts: what of it belongs at the head of the page.
        caveats: what keeps the finding from being more than it is.
    """

    title: str
    finding: str
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    caveats: Sequence[str] = ()
    verdicts: Sequence[Verdict] = field(default_factory=tuple)


def no_data(title: str, why: str) -> Section:
    """Say that there is nothing to say, and what would change that."""
    return Section(title, f"No data: {why}.")
