"""How much of each winner's lead was luck: its time when chosen against fresh rounds."""

from typing import Any

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import dots
from autotune_lab.reporting.sections.base import (
    Cell,
    Figure,
    Section,
    Table,
    Tone,
    Verdict,
    no_data,
)
from autotune_lab.reporting.standing import winners

ORDER = 50
TITLE = "Selection noise"
NEGLIGIBLE = 0.01
SERIOUS = 0.05


def build(data: ReportData) -> Section | None:
    """Compare the time that won the selection with the time in fresh, interleaved rounds."""
    frame = winners(data)
    if frame.empty:
        return None
    fresh = frame[frame["optimism"].notna()]
    if fresh.empty:
        answer = Cell("not measured: winners of one pass, whose lead may be luck", Tone.MISSING)
        section = no_data(TITLE, "no winner was re-measured, so its lead may be luck")
        return Section(TITLE, section.finding, verdicts=[Verdict(TITLE, answer)])
    shown = fresh.assign(
        chosen=fresh["chosen_ms"] / fresh["median_ms"],
        low=fresh["low_ms"] / fresh["median_ms"],
        high=fresh["high_ms"] / fresh["median_ms"],
    ).sort_values("chosen", ignore_index=True)
    left = len(frame) - len(fresh)
    return Section(
        title=TITLE,
        finding=_finding(shown),
        figures=[_figure(shown)],
        tables=[_table(shown)],
        caveats=[f"{wording.count(left, 'winner')} was never re-measured."] if left else [],
        verdicts=[_verdict(shown)],
    )


def _finding(shown: pd.DataFrame) -> str:
    ties = int((shown["tied"] > 1).sum())
    where = wording.count(len(shown), "context")
    told = f"in {ties} of {where} other configs can’t be told apart from the winner"
    worst = shown.iloc[0]
    if worst["optimism"] <= NEGLIGIBLE:
        return f"No winner promised more than {wording.percent(NEGLIGIBLE)} too much; {told}."
    median = wording.percent(float(shown["optimism"].median()), signed=True)
    return (
        f"One pass promised up to {wording.percent(worst['optimism'])} too much "
        f"({worst['label']}; median {median}), and {told}."
    )


def _verdict(shown: pd.DataFrame) -> Verdict:
    worst = float(shown["optimism"].max())
    median = wording.percent(float(shown["optimism"].median()), signed=True)
    text = (
        f"re-measured, winners take {median} (median) and {wording.percent(worst, signed=True)} "
        "(worst) against the time that made them win"
    )
    tone = Tone.BAD if worst > SERIOUS else Tone.DOUBT if worst > NEGLIGIBLE else Tone.GOOD
    return Verdict(TITLE, Cell(text, tone))


def _figure(shown: pd.DataFrame) -> Figure:
    first = shown.iloc[0]
    gap = wording.percent(first["chosen"] - 1, signed=True)
    columns = ["label", "chosen", "low", "high", "chosen_ms", "median_ms", "low_ms", "high_ms"]
    return Figure(
        name="optimism",
        title="What winners promised when they were chosen, and what they do in fresh rounds",
        frame=shown[columns],
        draw=dots.optimism,
        alt="One line a context: a diamond for the time that won the selection, a dot with its "
        f"interval for fresh rounds. The widest gap is {gap} on {first['label']}.",
        caption="A diamond left of the interval is the winner’s curse: the smallest of many noisy "
        "times is too small. Only fresh rounds are reported as a winner’s time.",
    )


def _table(shown: pd.DataFrame) -> Table:
    return Table(
        name="noise",
        caption="“Truly the best” is the share of resampled sets of rounds in which the winner’s "
        "median is the smallest; “tied” counts it and its equals among those re-measured.",
        columns=["Context", "#When chosen, ms", "#Fresh rounds, ms", "#95% interval, ms",
                 "#Too good by", "#Truly the best", "#Tied", "#Rounds"],
        rows=[_row(row) for row in rows_of(shown)],
        frame=shown,
    )  # fmt: skip


def _row(row: dict[str, Any]) -> list[Cell | str]:
    excess = row["optimism"]
    tone = Tone.BAD if excess > SERIOUS else Tone.DOUBT if excess > NEGLIGIBLE else Tone.PLAIN
    return [
        row["label"],
        wording.digits(row["chosen_ms"]),
        wording.digits(row["median_ms"]),
        wording.span(row["low_ms"], row["high_ms"]),
        Cell(wording.percent(excess, signed=True), tone),
        wording.percent(row["best_probability"]),
        f"{row['tied']} of {row['candidates']}",
        str(row["rounds"]),
    ]
