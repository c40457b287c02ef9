"""Needle or plateau: what one step away from each winner costs."""

from typing import Any

import pandas as pd

from autotune_lab.analysis import sharpness
from autotune_lab.analysis.matrix import DOES_NOT_RUN, NOT_MEASURED, STATE_NAMES
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

ORDER = 55
TITLE = "Sharpness"
TONES = {
    "plateau": Tone.GOOD,
    "slope": Tone.DOUBT,
    "needle": Tone.BAD,
    "unknown": Tone.MISSING,
}


def build(data: ReportData) -> Section | None:
    """Show the losses of each winner's one-step neighbours."""
    if data.trials.empty:
        return None
    winners, steps = _neighbourhoods(data)
    tried = steps[steps["loss"].notna()]
    if tried.empty:
        why = "no neighbour of a winner was tried, so it may be a needle"
        missing = Verdict(TITLE, Cell(f"not measured: {why}", Tone.MISSING))
        return Section(TITLE, no_data(TITLE, why).finding, verdicts=[missing])
    return Section(
        title=TITLE,
        finding=_finding(winners, tried),
        figures=[_figure(winners, tried)],
        tables=[_table(winners, tried), _parameter_table(tried)],
        caveats=_caveats(steps),
        verdicts=[_verdict(winners)],
    )


def _neighbourhoods(data: ReportData) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one row a winner, and one row a neighbour of one, each with its context's label."""
    spaces = {row["context_id"]: row["space"] for row in rows_of(data.contexts)}
    winners, steps = [], [pd.DataFrame(columns=["label", *sharpness.NEIGHBOUR_COLUMNS])]
    for matrix in data.matrices:
        for index, column in enumerate(matrix.columns):
            table = sharpness.neighbours(matrix, index, spaces[column.context_id])
            found = sharpness.sharpness(matrix, index, table)
            if found is None:
                continue
            label = data.labels[column.context_id]
            steps.append(table.assign(label=label))
            winners.append(
                {
                    "label": label,
                    "config": found.config,
                    "loss": found.loss,
                    "worst_loss": found.worst_loss,
                    "verdict": found.verdict,
                    "neighbours": found.neighbours,
                    "tried": found.tried,
                    "fails": found.fails,
                }
            )
    known = [table for table in steps if len(table)] or steps[:1]
    columns = ["label", "config", "loss", "worst_loss", "verdict", "neighbours", "tried", "fails"]
    ranked = pd.DataFrame(winners, columns=columns).sort_values(
        "loss", ascending=False, ignore_index=True
    )
    return ranked, pd.concat(known, ignore_index=True)


def _step(row: dict[str, Any]) -> str:
    before, after = wording.value(row["value_from"]), wording.value(row["value_to"])
    return f"{row['parameter']} {before} → {after}"


def _finding(winners: pd.DataFrame, tried: pd.DataFrame) -> str:
    counts = winners["verdict"].value_counts()
    kinds = [
        f"{counts[kind]} {'sits' if counts[kind] == 1 else 'sit'} on a {kind}"
        for kind in ("plateau", "slope", "needle")
        if kind in counts
    ]
    told = f"Of {wording.count(len(winners), 'winner')}, {wording.listing(kinds)}"
    ran = tried[tried["state"] != STATE_NAMES[DOES_NOT_RUN]]
    if ran.empty:
        return f"{told}; every neighbour that was tried fails."
    worst = max(rows_of(ran), key=lambda row: row["loss"])
    return (
        f"{told}; the dearest single step, {_step(worst)}, costs {wording.percent(worst['loss'])} "
        f"({worst['label']})."
    )


def _verdict(winners: pd.DataFrame) -> Verdict:
    known = winners[winners["verdict"] != "unknown"]
    first = rows_of(known)[0]
    median = wording.percent(float(known["loss"].median()))
    text = (
        f"a step away from a winner costs {median} (median); "
        f"sharpest is {first['label']}: {wording.percent(first['loss'])}, a {first['verdict']}"
    )
    return Verdict(TITLE, Cell(text, TONES[first["verdict"]]))


def _figure(winners: pd.DataFrame, tried: pd.DataFrame) -> Figure:
    order = {label: place for place, label in enumerate(winners["label"])}
    frame = tried.assign(place=tried["label"].map(order), step=[_step(r) for r in rows_of(tried)])
    frame = frame.sort_values(["place", "loss"], ignore_index=True)
    medians = wording.listing(
        (f"{row['label']} {wording.percent(row['loss'])}" for row in rows_of(winners)), most=6
    )
    return Figure(
        name="sharpness",
        title="What each one-step neighbour of the winner loses against it",
        frame=frame[["label", "step", "loss", "state"]],
        draw=dots.sharpness,
        alt=f"One line a winner, one mark a neighbour, sharpest first. Median losses: {medians}.",
        caption="A step is the next value of an ordered parameter, or another value of any other. "
        "Marks far to the right mean a needle: a small change of shape or software may cost much. "
        "The bar is the median; a cross is a neighbour that does not run.",
    )


def _table(winners: pd.DataFrame, tried: pd.DataFrame) -> Table:
    ran = tried[tried["state"] != STATE_NAMES[DOES_NOT_RUN]]
    dearest = {
        row["label"]: row
        for row in rows_of(ran.sort_values("loss", kind="stable"))  # the last one stays
    }
    rows = []
    for row in rows_of(winners):
        step = dearest.get(row["label"])
        rows.append(
            [
                row["label"],
                Cell(row["verdict"], TONES[row["verdict"]]),
                wording.percent(row["loss"]),
                wording.percent(row["worst_loss"]),
                _step(step) if step else wording.MISSING,
                f"{row['tried']} of {row['neighbours']}",
                Cell(str(row["fails"]), Tone.FAILS) if row["fails"] else wording.MISSING,
            ]
        )
    columns = ["Context", "Winner on a", "#Median loss", "#Worst loss", "Dearest step", "#Tried",
               "#Fails"]  # fmt: skip
    caption = "One number a winner: the median loss of its neighbours, failures as 100%."
    return Table("sharpness_by_winner", caption, columns, rows, winners)


def _parameter_table(tried: pd.DataFrame) -> Table:
    frame = (
        tried.groupby("parameter")
        .agg(
            median_loss=("loss", "median"),
            steps=("loss", "size"),
            fails=("state", lambda states: int((states == STATE_NAMES[DOES_NOT_RUN]).sum())),
        )
        .reset_index()
        .sort_values("median_loss", ascending=False, ignore_index=True)
    )
    rows = [
        [
            row["parameter"],
            wording.percent(row["median_loss"]),
            str(row["steps"]),
            str(row["fails"]),
        ]
        for row in rows_of(frame)
    ]
    columns = ["Parameter", "#Median loss of a step", "#Steps", "#Fails"]
    return Table(
        "sharpness_by_parameter", "Which parameter is dear to change.", columns, rows, frame
    )


def _caveats(steps: pd.DataFrame) -> list[str]:
    left = int((steps["state"] == STATE_NAMES[NOT_MEASURED]).sum())
    if not left:
        return []
    where = wording.count(len(steps), "neighbour")
    return [f"{left} of {where} were not tried, some because a constraint forbids them."]
