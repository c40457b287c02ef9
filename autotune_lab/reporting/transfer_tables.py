"""The tables under a transfer matrix: rulings, the matrix itself, summaries, losses to the default.

All take the named cells of ``transfers`` and ``place``, the word for what a winner is tuned on.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from autotune_lab.analysis.matrix import DOES_NOT_RUN, NOT_MEASURED, STATE_NAMES
from autotune_lab.analysis.overfitting import LOSS_BOUND, Judgement
from autotune_lab.reporting import content, wording
from autotune_lab.reporting.content import Cell, Table, Tone
from autotune_lab.reporting.data import rows_of

LARGE_LOSS = 0.15
MOST_ROWS = 40
LONGEST_TEXT = 200
RULING_TONES = {
    Judgement.OVERFIT.value: Tone.BAD,
    Judgement.UNDECIDED.value: Tone.DOUBT,
    Judgement.PORTABLE.value: Tone.GOOD,
}


def cell(entry: dict[str, Any]) -> Cell:
    """Write an efficiency, in brackets where its loss is within noise; or why there is none."""
    if entry["state"] == STATE_NAMES[DOES_NOT_RUN]:
        return content.DOES_NOT_RUN
    if entry["state"] == STATE_NAMES[NOT_MEASURED]:
        return content.NOT_MEASURED
    text, loss = wording.percent(entry["efficiency"]), entry["loss"]
    if loss > 0 and entry["is_real"] is False:
        return Cell(f"({text})", Tone.GOOD)
    if loss > LARGE_LOSS:
        return Cell(text, Tone.BAD)
    return Cell(text, Tone.DOUBT if loss > LOSS_BOUND else Tone.GOOD)


def verdict_table(rulings: pd.DataFrame, place: str) -> Table:
    """List the rulings with their grounds, the worst first."""
    rows: list[list[Cell | str]] = [
        [
            ruling["tuned_on"],
            ruling["panel"],
            Cell(ruling["judgement"].upper(), RULING_TONES[ruling["judgement"]]),
            _interval(ruling),
            ruling["worst_on"],
            _known(ruling),
            _mean(ruling),
            explanation(ruling),
        ]
        for ruling in rows_of(rulings)
    ]
    bound = wording.percent(LOSS_BOUND)
    caption = (
        f"Each winner on the other {place}s, against a loss of {bound}: overfit if it fails or "
        "exceeds that by more than noise, portable if it stays below by more than noise "
        "everywhere, else undecided. A failure counts as a loss of 100%; the mean is withheld "
        "while a cell is not measured."
    )
    columns = ["Tuned on", "Matrix", "Verdict", "#Worst loss", "On", "#Known", "#Mean loss",
               "What explains it"]  # fmt: skip
    return _cut("verdicts", caption, columns, rows, rulings)


def _known(ruling: dict[str, Any]) -> Cell:
    complete = ruling["known"] == ruling["elsewhere"]
    return Cell(
        f"{ruling['known']} of {ruling['elsewhere']}", Tone.PLAIN if complete else Tone.DOUBT
    )


def _mean(ruling: dict[str, Any]) -> Cell | str:
    if wording.is_missing(ruling["mean_loss"]):
        return Cell("withheld", Tone.MISSING)
    return wording.percent(ruling["mean_loss"])


def explanation(ruling: dict[str, Any]) -> str:
    """Return what the data shows to be behind a winner's worst loss; empty if nothing."""
    return str(ruling["cause"])[:LONGEST_TEXT].replace(" -> ", " → ")


def _interval(ruling: dict[str, Any]) -> str:
    if ruling["worst_loss"] == 1:
        return "fails"
    low, high = ruling["worst_low"], ruling["worst_high"]
    if wording.is_missing(low) or wording.is_missing(high):
        return wording.percent(ruling["worst_loss"])
    half = wording.percent((high - low) / 2)
    return f"{wording.percent(ruling['worst_loss'])} ±{half}"


def matrix_table(cells: pd.DataFrame, place: str) -> Table:
    """Write the matrix as a table, a line per winner."""
    places = list(dict.fromkeys(cells["run_on"]))
    rows: list[list[Cell | str]] = []
    for panel, tuned_on, group in _winners(cells):
        found = {entry["run_on"]: cell(entry) for entry in rows_of(group)}
        rows.append([panel, tuned_on, *(found.get(name, "") for name in places)])
    columns = ["Matrix", "Tuned on", *(f"#{name}" for name in places)]
    caption = f"Efficiency of each winner (line) by the {place} that it runs on (column)."
    return _cut("matrix", caption, columns, rows, cells)


def slower_table(slower: pd.DataFrame, place: str) -> Table:
    """List the cells in which not tuning would have been better."""
    shown = slower.sort_values("efficiency", ignore_index=True)
    rows: list[list[Cell | str]] = [
        [
            entry["panel"],
            entry["tuned_on"],
            entry["run_on"],
            cell(entry),
            wording.percent(entry["default_efficiency"]),
            entry["reason"][:LONGEST_TEXT],
        ]
        for entry in rows_of(shown)
    ]
    columns = ["Matrix", "Tuned on", "Run on", "#Winner", "#Default", "Reason"]
    caption = f"Where the winner of another {place} fails, or is slower than the default config."
    return _cut("slower_than_default", caption, columns, rows, shown)


def _winners(cells: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for (panel, tuned_on), group in cells.groupby(["panel", "tuned_on"], sort=False):
        yield str(panel), str(tuned_on), group


def _cut(
    name: str,
    caption: str,
    columns: list[str],
    rows: list[list[Cell | str]],
    frame: pd.DataFrame,
) -> Table:
    """Show the first rows; the frame has them all."""
    left = max(0, len(rows) - MOST_ROWS)
    return Table(name, caption, columns, rows[:MOST_ROWS], frame, more=left)
