"""Sections about what a winner is worth elsewhere: one builder for devices, problems, environments.

A cell that does not run and one that nobody measured differ in text, colour and hatch; neither is
ever averaged away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autotune_lab.analysis import transfer
from autotune_lab.analysis.matrix import DOES_NOT_RUN, MEASURED, NOT_MEASURED, STATE_NAMES
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import matrix
from autotune_lab.reporting.sections import base
from autotune_lab.reporting.sections.base import Cell, Figure, Section, Table, Tone, Verdict

SMALL_LOSS = 0.05
LARGE_LOSS = 0.15
MOST_LINES = 72  # of all panels of one figure; what is beyond stands in the data
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class Question:
    """One axis of transfer, and the words for it.

    Attributes:
        place: what a winner is tuned on and run on: ``"device model"``.
        alone: why there is no matrix when there is none.
        panel: names a matrix, from the row of ``contexts`` of one of its contexts.
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
    slower = transfer.slower_than_default(cells)
    tables = [_matrix_table(cells, question), _summary_table(away, question)]
    tables += [_slower_table(slower, question)] if len(slower) else []
    return Section(
        title=question.title,
        finding=_finding(away, question),
        figures=[_figure(cells, away, question)],
        tables=tables,
        caveats=_caveats(away),
        verdicts=[_verdict(away, question)],
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
    return cells.assign(
        panel=[names[key] for key in keys],
        tuned_on=[problems.get(name, name) for name in cells["tuned_on"]],
        run_on=[problems.get(name, name) for name in cells["run_on"]],
    )


def _finding(away: pd.DataFrame, question: Question) -> str:
    fails = away[away["state"] == STATE_NAMES[DOES_NOT_RUN]]
    known = away[away["state"] == STATE_NAMES[MEASURED]]
    real = known[known["is_real"].fillna(value=True) & (known["loss"] > SMALL_LOSS)]
    total = wording.count(len(away), "foreign cell")
    if known.empty and fails.empty:
        return f"No winner was measured on another {question.place}: {total} to fill."
    parts = []
    if len(real):
        worst = max(rows_of(real), key=lambda cell: cell["loss"])
        parts.append(
            f"the winner of {worst['tuned_on']} loses {wording.percent(worst['loss'])} on "
            f"{worst['run_on']} ({worst['panel']}), the most"
        )
        parts.append(f"{len(real)} of {total} lose over {wording.percent(SMALL_LOSS)}")
    else:
        parts.append(f"none of {total} is known to lose over {wording.percent(SMALL_LOSS)}")
    parts += [f"{len(fails)} do not run at all"] if len(fails) else []
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _verdict(away: pd.DataFrame, question: Question) -> Verdict:
    """Say the worst of what is known; nothing known is never good."""
    fails = int((away["state"] == STATE_NAMES[DOES_NOT_RUN]).sum())
    unknown = int((away["state"] == STATE_NAMES[NOT_MEASURED]).sum())
    known = away[away["state"] == STATE_NAMES[MEASURED]]
    parts = [f"does not run in {fails} of {len(away)}"] if fails else []
    tone = Tone.BAD if fails else Tone.MISSING if known.empty else Tone.GOOD
    if len(known):
        worst = max(rows_of(known), key=lambda cell: cell["loss"])
        parts.append(f"loses up to {wording.percent(worst['loss'])} ({worst['run_on']})")
        if not fails and worst["loss"] > SMALL_LOSS:
            tone = Tone.BAD if worst["loss"] > LARGE_LOSS else Tone.DOUBT
    parts += [f"{unknown} of {len(away)} not measured"] if unknown else []
    if unknown and tone is Tone.GOOD:
        tone = Tone.DOUBT
    return Verdict(question.title, Cell(", ".join(parts), tone))


def _figure(cells: pd.DataFrame, away: pd.DataFrame, question: Question) -> Figure:
    frame = pd.DataFrame(
        {
            "panel": cells["panel"],
            "row": cells["tuned_on"],
            "column": cells["run_on"],
            "efficiency": cells["efficiency"],
            "status": cells["state"],
            "text": [_cell(cell).text for cell in rows_of(cells)],
            "noise_floor": cells["noise_floor"],
        }
    )
    sizes = frame.groupby("panel", sort=False)["row"].nunique().cumsum()
    shown = sizes[(sizes <= MOST_LINES) | (sizes == sizes.iloc[0])].index
    frame = frame[frame["panel"].isin(shown)].reset_index(drop=True)
    known = away[away["state"] == STATE_NAMES[MEASURED]]["efficiency"]
    low = wording.percent(float(known.min())) if len(known) else "unknown"
    return Figure(
        name="transfer",
        title=f"What the winner of one {question.place} (row) is worth on another (column)",
        frame=frame,
        draw=matrix.efficiencies,
        alt=f"Heat map of {wording.count(frame['panel'].nunique(), 'matrix', 'matrices')}. Away "
        f"from home winners reach {low} at worst where they run; "
        f"{int((away['state'] == STATE_NAMES[DOES_NOT_RUN]).sum())} cells do not run, "
        f"{int((away['state'] == STATE_NAMES[NOT_MEASURED]).sum())} were not measured.",
        caption="100% is the best known config of the column. A framed cell is a winner at home; "
        "in brackets the loss is within the column’s noise floor, which the last line gives. Black: "
        "does not run. Hatched: nobody measured it.",
    )


def _cell(cell: dict[str, Any]) -> Cell:
    if cell["state"] == STATE_NAMES[DOES_NOT_RUN]:
        return base.DOES_NOT_RUN
    if cell["state"] == STATE_NAMES[NOT_MEASURED]:
        return base.NOT_MEASURED
    text = wording.percent(cell["efficiency"])
    loss = cell["loss"]
    if loss > 0 and cell["is_real"] is False:
        return Cell(f"({text})", Tone.GOOD)
    if loss > LARGE_LOSS:
        return Cell(text, Tone.BAD)
    return Cell(text, Tone.DOUBT if loss > SMALL_LOSS else Tone.GOOD)


def _matrix_table(cells: pd.DataFrame, question: Question) -> Table:
    places = list(dict.fromkeys(cells["run_on"]))
    rows: list[list[Cell | str]] = []
    for (panel, tuned_on), group in cells.groupby(["panel", "tuned_on"], sort=False):
        found = {cell["run_on"]: _cell(cell) for cell in rows_of(group)}
        rows.append([str(panel), str(tuned_on), *(found.get(p, "") for p in places)])
    columns = ["Matrix", f"{question.place.capitalize()} tuned on", *(f"#{p}" for p in places)]
    return Table(
        "matrix",
        f"Efficiency of each winner (row) by the {question.place} that it runs on (column)",
        columns,
        rows[:MOST_ROWS],
        cells,
        more=max(0, len(rows) - MOST_ROWS),
    )


def _summary_table(away: pd.DataFrame, question: Question) -> Table:
    keys = ["panel", "tuned_on"]
    rows: list[list[Cell | str]] = []
    plain = []
    for (panel, tuned_on), group in away.groupby(keys, sort=False):
        row = _summary(group) | {"panel": panel, "tuned_on": tuned_on}
        plain.append(row)
        complete = row["known"] == row["elsewhere"]
        mean = wording.percent(row["mean_efficiency"]) if complete else "withheld"
        rows.append(
            [
                str(panel),
                str(tuned_on),
                wording.config(row["config"]),
                Cell(
                    f"{row['known']} of {row['elsewhere']}", Tone.PLAIN if complete else Tone.DOUBT
                ),
                str(row["fails"]) if row["fails"] else wording.MISSING,
                wording.percent(row["worst_efficiency"]),
                row["worst_on"],
                mean,
            ]
        )
    columns = ["Matrix", "Tuned on", "Winner", "#Known", "#Fails", "#Worst", "Worst on", "#Mean"]
    caption = (
        f"Each winner on the other {question.place}s. A failure counts as 0%; the mean is withheld "
        "while a cell is not measured."
    )
    return Table("summary", caption, columns, rows[:MOST_ROWS], pd.DataFrame(plain),
                 more=max(0, len(rows) - MOST_ROWS))  # fmt: skip


def _summary(group: pd.DataFrame) -> dict[str, Any]:
    known = group[group["efficiency"].notna()]
    worst = min(rows_of(known), key=lambda cell: cell["efficiency"], default=None)
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


def _slower_table(slower: pd.DataFrame, question: Question) -> Table:
    shown = slower.sort_values("efficiency", ignore_index=True)
    rows = [
        [
            cell["panel"],
            cell["tuned_on"],
            cell["run_on"],
            _cell(cell),
            wording.percent(cell["default_efficiency"]),
            cell["reason"][:200],
        ]
        for cell in rows_of(shown.head(MOST_ROWS))
    ]
    caption = (
        f"Where the winner of another {question.place} fails or is slower than the default config: "
        "not tuning would have been better."
    )
    columns = ["Matrix", "Tuned on", "Run on", "#Winner", "#Default", "Reason"]
    return Table("slower_than_default", caption, columns, rows, shown,
                 more=max(0, len(shown) - MOST_ROWS))  # fmt: skip


def _caveats(away: pd.DataFrame) -> list[str]:
    found = []
    looks = int((away["efficiency"].notna() & ~away["is_fresh"] & (away["efficiency"] > 0)).sum())
    if looks:
        found.append(
            f"{wording.count(looks, 'cell')} rest on one pass each and not on fresh rounds: their "
            "noise floor is that of one pass."
        )
    unknown = int((away["noise_floor"].isna() & away["efficiency"].notna()).sum())
    if unknown:
        found.append(f"The noise floor of {wording.count(unknown, 'cell')} is not known.")
    return found
