"""How much of each winner's lead was luck: its time when chosen against fresh rounds."""

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData
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
    fresh = frame[frame["optimism"].notna()].reset_index(drop=True)
    if fresh.empty:
        missing = no_data(TITLE, "no winner was re-measured, so its lead may be luck")
        doubt = Verdict(TITLE, Cell("not measured: winners of one pass", Tone.MISSING))
        return Section(missing.title, missing.finding, verdicts=[doubt])
    shown = fresh.assign(
        chosen=fresh["chosen_ms"] / fresh["median_ms"],
        low=fresh["low_ms"] / fresh["median_ms"],
        high=fresh["high_ms"] / fresh["median_ms"],
    ).sort_values("chosen", ignore_index=True)
    return Section(
        title=TITLE,
        finding=_finding(fresh),
        figures=[_figure(shown)],
        tables=[_table(shown)],
        caveats=_caveats(frame, fresh),
        verdicts=[_verdict(fresh)],
    )


def _finding(fresh: pd.DataFrame) -> str:
    worst = fresh.loc[fresh["optimism"].idxmax()]
    ties = int((fresh["tied"] > 1).sum())
    where = wording.count(len(fresh), "context")
    told = f"in {ties} of {where} other configs can’t be told apart from the winner"
    if worst["optimism"] <= NEGLIGIBLE:
        return f"No winner promised more than {wording.percent(NEGLIGIBLE)} too much; {told}."
    return (
        f"One pass promised up to {wording.percent(worst['optimism'])} too much "
        f"({worst['label']}; median {wording.percent(fresh['optimism'].median(), signed=True)}), "
        f"and {told}."
    )


def _verdict(fresh: pd.DataFrame) -> Verdict:
    worst = float(fresh["optimism"].max())
    tone = Tone.GOOD if worst <= NEGLIGIBLE else Tone.DOUBT if worst <= SERIOUS else Tone.BAD
    text = (
        f"re-measured times are {wording.percent(fresh['optimism'].median(), signed=True)} (median) "
        f"and {wording.percent(worst, signed=True)} (worst) against the times that won"
    )
    return Verdict(TITLE, Cell(text, tone))


def _figure(shown: pd.DataFrame) -> Figure:
    first = shown.iloc[0]
    return Figure(
        name="optimism",
        title="What the winner promised when it was chosen, against what it does in fresh rounds",
        frame=shown[
            ["label", "chosen", "low", "high", "chosen_ms", "median_ms", "low_ms", "high_ms"]
        ],
        draw=dots.optimism,
        alt="One line a context: a diamond for the time that won the selection, a dot with its interval "
        f"for fresh rounds. The widest gap is {wording.percent(first['chosen'] - 1, signed=True)} "
        f"on {first['label']}.",
        caption="A diamond left of the interval is the winner’s curse: of many noisy times the smallest "
        "is too small. Only the fresh rounds are reported as the winner’s time.",
    )


def _table(shown: pd.DataFrame) -> Table:
    rows: list[list[Cell | str]] = []
    for row in shown.to_dict("records"):
        rows.append(
            [
                row["label"],
                wording.digits(row["chosen_ms"]),
                wording.digits(row["median_ms"]),
                wording.span(row["low_ms"], row["high_ms"]),
                Cell(wording.percent(row["optimism"], signed=True), _tone(row["optimism"])),
                wording.percent(row["best_probability"]),
                f"{row['tied']} of {row['candidates']}",
                str(row["rounds"]),
            ]
        )
    columns = ["Device model · problem", "#When chosen, ms", "#Fresh rounds, ms", "#95% interval, ms",
               "#Too good by", "#Truly the best", "#Tied", "#Rounds"]  # fmt: skip
    caption = (
        "“Truly the best” is the share of resampled sets of rounds in which the winner’s median is "
        "the smallest; “tied” counts it and its equals among the configs re-measured."
    )
    return Table("noise", caption, columns, rows, shown)


def _tone(optimism: float) -> Tone:
    return Tone.BAD if optimism > SERIOUS else Tone.DOUBT if optimism > NEGLIGIBLE else Tone.PLAIN


def _caveats(frame: pd.DataFrame, fresh: pd.DataFrame) -> list[str]:
    left = len(frame) - len(fresh)
    if not left:
        return []
    return [f"{wording.count(left, 'winner')} could not be judged: it was never re-measured."]
