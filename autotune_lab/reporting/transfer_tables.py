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
            _elsewhere(ruling),
            ruling["cause"][:LONGEST_TEXT],
        ]
        for ruling in rows_of(rulings)
    ]
    bound = wording.percent(LOSS_BOUND)
    caption = (
        f"Each winner on the other {place}s, against a loss of {bound}: overfit if it fails or "
        "exceeds that by more than noise, portable if it stays below by more than noise "
        "everywhere, else undecided."
    )
    columns = [
        "Tuned on",
        "Matrix",
        "Verdict",
        "#Worst loss",
        "On",
        "Elsewhere",
        "What explains it",
    ]
    return _cut("verdicts", caption, columns, rows, rulings)


def _interval(ruling: dict[str, Any]) -> str:
    if ruling["worst_loss"] == 1:
        return "fails"
    low, high = ruling["worst_low"], ruling["worst_high"]
    if wording.is_missing(low) or wording.is_missing(high):
        return wording.percent(ruling["worst_loss"])
    half = wording.percent((high - low) / 2)
    return f"{wording.percent(ruling['worst_loss'])} ±{half}"


def _elsewhere(ruling: dict[str, Any]) -> str:
    """Return the sentence of a verdict without the place that stands beside it."""
    return str(ruling["sentence"]).removeprefix(f"tuned on {ruling['tuned_on']}; ")


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


def summary_table(away: pd.DataFrame, place: str) -> Table:
    """Summarise each winner; a mean is withheld while a cell is not measured."""
    rows: list[list[Cell | str]] = []
    plain = []
    for panel, tuned_on, group in _winners(away):
        row = _summary(group)
        complete = row["known"] == row["elsewhere"]
        plain.append({"panel": panel, "tuned_on": tuned_on, **row})
        rows.append(
            [
                panel,
                tuned_on,
                wording.config(row["config"]),
                Cell(
                    f"{row['known']} of {row['elsewhere']}", Tone.PLAIN if complete else Tone.DOUBT
                ),
                Cell(str(row["fails"]), Tone.FAILS) if row["fails"] else wording.MISSING,
                wording.percent(row["worst_efficiency"]),
                row["worst_on"],
                wording.percent(row["mean_efficiency"])
                if complete
                else Cell("withheld", Tone.MISSING),
            ]
        )
    columns = ["Matrix", "Tuned on", "Winner", "#Known", "#Fails", "#Worst", "Worst on", "#Mean"]
    caption = f"Efficiency on the other {place}s. A failure counts as 0%; means need every cell."
    return _cut("summary", caption, columns, rows, pd.DataFrame(plain))


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


def _summary(group: pd.DataFrame) -> dict[str, Any]:
    known = group[group["efficiency"].notna()]
    worst = min(rows_of(known), key=lambda entry: entry["efficiency"], default=None)
    return {
        "config_id": group["config_id"].iloc[0],
        "config": group["config"].iloc[0],
        "elsewhere": len(group),
        "known": len(known),
        "fails": int((group["state"] == STATE_NAMES[DOES_NOT_RUN]).sum()),
        "worst_efficiency": worst["efficiency"] if worst else None,
        "worst_on": worst["run_on"] if worst else "",
        "mean_efficiency": known["efficiency"].mean() if len(known) == len(group) else None,
    }


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
