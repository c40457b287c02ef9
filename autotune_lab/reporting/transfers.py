"""Sections about what a winner is worth elsewhere: one builder for devices, problems, environments.

A cell that does not run and one that nobody measured differ in text, colour and hatch; neither is
ever averaged away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autotune_lab.analysis import overfitting, transfer
from autotune_lab.analysis.matrix import DOES_NOT_RUN, MEASURED, NOT_MEASURED, STATE_NAMES
from autotune_lab.reporting import transfer_tables, wording
from autotune_lab.reporting.content import Cell, Figure, Section, Tone, Verdict
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import matrix

MOST_LINES = 72  # of all panels of one figure; what is beyond stands in the data


@dataclass(frozen=True, slots=True)
class Question:
    """One axis of transfer, and the words for it.

    Attributes:
        place: what a winner is tuned on and run on: ``"device model"``.
        alone: why there is no matrix when there is none.
        panel: names a matrix, from the row of ``contexts`` of one of its contexts and the short
            names of problems.
    """

    title: str
    axis: transfer.Axis
    place: str
    alone: str
    panel: Callable[[dict[str, Any], dict[str, str]], str]


def build(data: ReportData, question: Question) -> Section:
    """Answer what the winner of each place costs in the others."""
    cells = named_cells(data, question)
    if cells.empty:
        answer = Cell(f"not measured: {question.alone}", Tone.MISSING)
        finding = f"No data: {question.alone}."
        return Section(question.title, finding, verdicts=[Verdict(question.title, answer)])
    away = cells[(cells["tuned_context_id"] != cells["run_context_id"]) & ~cells["is_default"]]
    rulings = _rulings(data, cells, away)
    slower = transfer.slower_than_default(cells)
    tables = [
        transfer_tables.verdict_table(rulings, question.place),
        transfer_tables.matrix_table(cells, question.place),
    ]
    if len(slower):
        tables.append(transfer_tables.slower_table(slower, question.place))
    return Section(
        title=question.title,
        finding=_finding(away, rulings, question),
        figures=[_figure(cells, away, question)],
        tables=tables,
        caveats=_caveats(away),
        verdicts=[_verdict(rulings, question)],
    )


def named_cells(data: ReportData, question: Question) -> pd.DataFrame:
    """Return the cells of one axis; a column ``panel`` names their matrix, problems are short."""
    cells = data.transfers[data.transfers["axis"] == question.axis.value].reset_index(drop=True)
    contexts = {row["context_id"]: row for row in rows_of(data.contexts)}
    problems = wording.short_problems(
        {row["problem"]: row["problem_fields"] for row in contexts.values()}
    )
    names: dict[tuple[int, str], str] = {}
    for cell in rows_of(cells.drop_duplicates(["matrix", "group"])):
        name = question.panel(contexts[cell["run_context_id"]], problems)
        if name in names.values():
            name = f"{name} · {cell['group']} · code {cell['code_hash'][:8]} #{cell['matrix']}"
        names[cell["matrix"], cell["group"]] = name
    keys = zip(cells["matrix"], cells["group"], strict=True)
    named = cells.assign(
        panel=[names[key] for key in keys],
        tuned_on=[problems.get(name, name) for name in cells["tuned_on"]],
        run_on=[problems.get(name, name) for name in cells["run_on"]],
    )
    return named.sort_values(
        ["panel", "is_default", "tuned_on", "run_on"],
        key=lambda column: column if column.name == "is_default" else column.map(wording.natural),
        ignore_index=True,
    )


def _rulings(data: ReportData, cells: pd.DataFrame, away: pd.DataFrame) -> pd.DataFrame:
    """Judge each winner, the worst first.

    Returns:
        columns of ``overfitting.Verdict``, panel, config and mean_loss (NaN unless all is known).
    """
    homes = away.groupby("tuned_context_id", sort=False)
    means = homes["loss"].agg(lambda losses: losses.mean(skipna=False))
    panels = dict(zip(cells["tuned_context_id"], cells["panel"], strict=True))
    order = {judgement: place for place, judgement in enumerate(transfer_tables.RULING_TONES)}
    found = pd.concat(
        [
            overfitting.verdicts(matrix, cells[cells["matrix"] == number])
            for number, matrix in enumerate(data.matrices)
        ]
    )
    found = found.assign(
        panel=found["tuned_context_id"].map(panels),
        config=found["tuned_context_id"].map(homes["config"].first()),
        mean_loss=found["tuned_context_id"].map(means),
        order=found["judgement"].map(order),
        known_loss=found["worst_loss"].fillna(-1.0),
    )
    ranked = found.sort_values(["order", "known_loss"], ascending=[True, False], kind="stable")
    return ranked.drop(columns=["order", "known_loss"]).reset_index(drop=True)


def _finding(away: pd.DataFrame, rulings: pd.DataFrame, question: Question) -> str:
    """Lead with the winner that does worst elsewhere, in plain words."""
    worst = rows_of(rulings)[0]
    if away["efficiency"].notna().sum() == 0:
        total = wording.count(len(away), "foreign cell")
        return f"No winner was measured on another {question.place}: {total} to fill."
    where = f" ({worst['panel']})" if len(away["panel"].unique()) > 1 else ""
    sentence = str(worst["sentence"]).replace(
        f"tuned on {worst['tuned_on']}; ", f"Tuned on {worst['tuned_on']}{where}, the winner ", 1
    )
    cause = (
        f" ({transfer_tables.explanation(worst)})" if worst["cause"] and not worst["fails"] else ""
    )
    others = f". {_counts(rulings)}" if len(rulings) > 1 else ""
    return f"{sentence}{cause}{others}."


def _verdict(rulings: pd.DataFrame, question: Question) -> Verdict:
    """Count the rulings and name the worst; the tone is that of the worst ruling."""
    worst = rows_of(rulings)[0]
    if wording.is_missing(worst["worst_loss"]):
        return Verdict(question.title, Cell("not measured", Tone.MISSING))
    loss = worst["worst_loss"]
    grounds = "does not run" if loss == 1 else f"loses {wording.percent(loss)}"
    text = f"{_counts(rulings)}; that of {worst['tuned_on']} {grounds} on {worst['worst_on']}"
    return Verdict(question.title, Cell(text, transfer_tables.RULING_TONES[worst["judgement"]]))


def _counts(rulings: pd.DataFrame) -> str:
    """Count the rulings: ``6 of 9 winners are overfit, 1 is portable, 2 are undecided``."""
    counts = rulings["judgement"].value_counts()
    parts: list[str] = []
    for judgement in transfer_tables.RULING_TONES:
        if number := int(counts.get(judgement, 0)):
            total = "" if parts else f" of {wording.count(len(rulings), 'winner')}"
            parts.append(f"{number}{total} {'is' if number == 1 else 'are'} {judgement}")
    return ", ".join(parts)


def _figure(cells: pd.DataFrame, away: pd.DataFrame, question: Question) -> Figure:
    frame = pd.DataFrame(
        {
            "panel": cells["panel"],
            "row": cells["tuned_on"],
            "column": cells["run_on"],
            "efficiency": cells["efficiency"],
            "status": cells["state"],
            "text": [transfer_tables.cell(cell).text for cell in rows_of(cells)],
            "noise_floor": cells["noise_floor"],
        }
    )
    lines = frame.groupby("panel", sort=False)["row"].nunique().cumsum()
    shown = lines[(lines <= MOST_LINES) | (lines == lines.iloc[0])].index
    states = away["state"].value_counts()
    known = away[away["state"] == STATE_NAMES[MEASURED]]["efficiency"]
    low = wording.percent(float(known.min())) if len(known) else "an unknown share"
    return Figure(
        name="transfer",
        title=f"What the winner of one {question.place} (row) is worth on another (column)",
        frame=frame[frame["panel"].isin(shown)].reset_index(drop=True),
        draw=matrix.efficiencies,
        alt=f"Heat map of {wording.count(len(shown), 'matrix', 'matrices')}. Away from home "
        f"winners reach {low} of the best at worst where they run; "
        f"{int(states.get(STATE_NAMES[DOES_NOT_RUN], 0))} cells do not run, "
        f"{int(states.get(STATE_NAMES[NOT_MEASURED], 0))} were not measured.",
        caption="100% is the best known config of the column. A framed cell is a winner at home; "
        "in brackets the loss is within the column’s noise floor, which the last line gives. "
        "Black: does not run. Hatched: nobody measured it.",
    )


def _caveats(away: pd.DataFrame) -> list[str]:
    known = away[away["state"] == STATE_NAMES[MEASURED]]
    found = []
    if looks := int((~known["is_fresh"]).sum()):
        found.append(
            f"{wording.count(looks, 'cell rests', 'cells rest')} on one pass and not on fresh "
            "rounds; the noise floor is then that of one pass."
        )
    if unknown := int(known["noise_floor"].isna().sum()):
        found.append(f"The noise floor of {wording.count(unknown, 'cell')} is not known.")
    return found
