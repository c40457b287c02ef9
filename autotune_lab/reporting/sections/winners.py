"""Which config won where, by how much, and what can't be told apart from it."""

from typing import Any

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import dots
from autotune_lab.reporting.sections.base import (
    NOT_MEASURED,
    Cell,
    Figure,
    Section,
    Table,
    Tone,
    no_data,
)
from autotune_lab.reporting.standing import winners

ORDER = 20
TITLE = "Winners"
FLAG_WORDS = {
    "not_remeasured": "not re-measured",
    "no_competition": "no competition: nothing else ran",
    "below_launch_floor": "below the launch floor: no winner by events",
    "partial": "part of the space seen",
    "launch_bound": "launch-bound",
}
DISQUALIFYING = frozenset({"not_remeasured", "throttled", "contended", "below_launch_floor"})


def build(data: ReportData) -> Section | None:
    """Show each context's winner with its interval, its gain over the default and its ties."""
    frame = winners(data)
    if frame.empty:
        return no_data(TITLE, "no config ran correctly in any context")
    gained = frame[frame["gain"].notna()].sort_values("gain", ascending=False, ignore_index=True)
    return Section(
        title=TITLE,
        finding=_finding(frame, gained, len(data.contexts)),
        figures=[_figure(gained)] if len(gained) else [],
        tables=[_table(frame)],
        caveats=_caveats(frame, len(data.contexts)),
    )


def _finding(frame: pd.DataFrame, gained: pd.DataFrame, contexts: int) -> str:
    if gained.empty:
        where = wording.count(contexts, "context")
        return f"{len(frame)} of {where} had a winner; no default was measured beside them."
    low, high = gained["gain"].min(), gained["gain"].max()
    gain = f"{low:.2f}×" if len(gained) == 1 else f"{low:.2f}× to {high:.2f}×"
    same = int((gained["gain"] == 1.0).sum())
    kept = f"; in {same} of them the default itself won" if same else ""
    where = wording.count(len(gained), "context")
    return f"The winner is {gain} as fast as the default config, in {where}{kept}."


def _figure(gained: pd.DataFrame) -> Figure:
    best, worst = gained.iloc[0], gained.iloc[-1]
    return Figure(
        name="gain",
        title="How many times as fast as the default config the winner is",
        frame=gained[["label", "gain", "median_ms", "default_ms"]],
        draw=dots.gains,
        alt=f"One dot a context: {best['gain']:.2f} times on {best['label']}, the most, and "
        f"{worst['gain']:.2f} times on {worst['label']}, the least.",
        caption="Both times come from the same interleaved rounds. "
        "At 1× the default is as good as the winner.",
    )


def _table(frame: pd.DataFrame) -> Table:
    """List the winners; columns about defaults and ties are left out where nobody has any."""
    columns = ["Context", "Winner", "#Time, ms", "#95% interval, ms", "#Default, ms", "#Gain",
               "#Tied", "Standing"]  # fmt: skip
    empty = set()
    if frame["default_ms"].isna().all():
        empty |= {"#Default, ms", "#Gain"}
    if frame["tied"].isna().all():
        empty.add("#Tied")
    kept = [place for place, name in enumerate(columns) if name not in empty]
    rows = [[cells[place] for place in kept] for cells in map(_row, rows_of(frame))]
    fresh = "over fresh, interleaved rounds" if (frame["rounds"] > 0).any() else "of one pass"
    ties = (
        ""
        if "#Tied" in empty
        else " “Tied” counts the configs that can’t be told apart from the winner, itself included."
    )
    caption = f"Winners by their median {fresh}.{ties}"
    return Table("winners", caption, [columns[place] for place in kept], rows, frame)


def _row(row: dict[str, Any]) -> list[Cell | str]:
    has_default = not wording.is_missing(row["default_ms"])
    return [
        row["label"],
        wording.config(row["config"]),
        Cell(wording.digits(row["median_ms"]), Tone.STRONG),
        wording.span(row["low_ms"], row["high_ms"]),
        wording.digits(row["default_ms"]) if has_default else NOT_MEASURED,
        f"{row['gain']:.2f}×" if has_default else wording.MISSING,
        wording.MISSING if wording.is_missing(row["tied"]) else str(row["tied"]),
        _standing(row["rounds"], row["flags"]),
    ]


def _standing(rounds: int, flags: tuple[str, ...]) -> Cell:
    words = [wording.count(rounds, "round")] if rounds else []
    words += [FLAG_WORDS.get(flag, flag.replace("_", " ")) for flag in flags]
    return Cell(", ".join(words), Tone.DOUBT if DISQUALIFYING & set(flags) else Tone.PLAIN)


def _caveats(frame: pd.DataFrame, contexts: int) -> list[str]:
    found = []
    if without := contexts - len(frame):
        where = wording.count(without, "context")
        found.append(f"{where} had no config that ran correctly and undisturbed: no winner there.")
    if single := int((frame["rounds"] == 0).sum()):
        found.append(
            f"{wording.count(single, 'winner')} of one pass only: that time won the selection, so "
            "it is too good on average."
        )
    if partial := int(frame["flags"].map(lambda flags: "partial" in flags).sum()):
        found.append(f"In {wording.count(partial, 'context')} a part of the space was tried.")
    return found
