"""Which parameters matter, and which values move from one GPU or problem to the next."""

from typing import Any

import pandas as pd

from autotune_lab.analysis import parameters
from autotune_lab.analysis.importance import Evaluator, importance
from autotune_lab.analysis.matrix import TimeMatrix
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import parameters as drawing
from autotune_lab.reporting.sections.base import Cell, Figure, Section, Table, Tone, no_data

ORDER = 65
TITLE = "Parameters"
# A forest over 11,130 configs takes 3 s of a core; a page may take some ten of those.
MOST_CONFIGS = 25_000
MOST_PARAMETERS = 8


def build(data: ReportData) -> Section | None:
    """Show what each value costs, where winners agree on it, and what each parameter matters."""
    matrix = max(data.matrices, key=lambda each: len(each.columns), default=None)
    if matrix is None:
        return None
    if not (matrix.winners >= 0).any():
        return no_data(TITLE, "no config ran correctly")
    effects = parameters.effects(matrix)
    shifts = parameters.shifts(matrix)
    if effects.empty:
        return no_data(TITLE, "only one value of each parameter was tried")
    varied = set(effects["parameter"])
    shifts = shifts[shifts["parameter"].isin(varied)].reset_index(drop=True)
    tables = [_shift_table(shifts)]
    shares, left = _importance(matrix, data)
    tables += [_importance_table(shares)] if len(shares) else []
    return Section(
        title=TITLE,
        finding=_finding(shifts, shares),
        figures=[_effect_figure(effects, data), _winner_figure(matrix, shifts, data)],
        tables=tables,
        caveats=_caveats(left, data),
    )


def _finding(shifts: pd.DataFrame, shares: pd.DataFrame) -> str:
    stable = shifts[shifts["is_stable"]]
    contexts = int(shifts["contexts"].max())
    matters = ""
    if len(shares):
        mean = shares.groupby("parameter")["share"].mean()
        matters = (
            f"; {mean.idxmax()} matters most, with {wording.percent(float(mean.max()))} of the "
            "variation explained"
        )
    if contexts < 2:
        return f"One winner only, so no value can be seen to move{matters}."
    moving = shifts.sort_values("modal_share").iloc[0]
    agreed = [f"{row['parameter']}={wording.value(row['modal_value'])}" for row in rows_of(stable)]
    told = (
        f"All {contexts} winners agree on {wording.listing(agreed)}"
        if agreed
        else f"No parameter has one value in all {contexts} winners"
    )
    if moving["is_stable"]:
        return f"{told}{matters}."
    values = wording.count(int(moving["distinct"]), "value")
    return f"{told}; {moving['parameter']} moves most, over {values}{matters}."


def _effect_figure(effects: pd.DataFrame, data: ReportData) -> Figure:
    spread = effects.groupby("parameter")["loss"].max().fillna(1.0)
    chosen = list(spread.sort_values(ascending=False).index[:MOST_PARAMETERS])
    frame = effects[effects["parameter"].isin(chosen)].reset_index(drop=True)
    frame = frame.assign(
        label=frame["context_id"].map(data.labels), shown=frame["value"].map(wording.value)
    )
    frame["order"] = frame["parameter"].map({name: place for place, name in enumerate(chosen)})
    frame = frame.sort_values(["order"], kind="stable", ignore_index=True)
    words = wording.listing(
        (f"{name} {wording.percent(float(spread[name]))}" for name in chosen), most=8
    )
    return Figure(
        name="effects",
        title="What tuning the rest can still reach when one parameter is held at a value",
        frame=frame.drop(columns="order"),
        draw=drawing.effects,
        alt=f"A panel a parameter, a line a context. Largest loss with a wrong value: {words}.",
        caption="Loss of the best config with that value against the best of all. A flat line "
        "means that the parameter can be left alone; lines that cross mean that it must be tuned "
        "for each GPU or problem. A gap: no config with that value runs.",
    )


def _winner_figure(matrix: TimeMatrix, shifts: pd.DataFrame, data: ReportData) -> Figure:
    table = parameters.winning_values(matrix)
    modal = {row["parameter"]: row["modal_value"] for row in rows_of(shifts)}
    rows = [
        {
            "label": data.labels[str(context_id)],
            "parameter": name,
            "value": table.loc[name, context_id],
            "text": wording.value(table.loc[name, context_id]),
            "is_modal": table.loc[name, context_id] == modal[name],
        }
        for context_id in table.columns
        for name in modal
    ]
    frame = pd.DataFrame(rows).sort_values(
        "label", key=lambda column: column.map(wording.natural), kind="stable", ignore_index=True
    )
    moved = int((~frame["is_modal"]).sum())
    return Figure(
        name="winning_values",
        title="The value of each parameter in each winner",
        frame=frame,
        draw=drawing.winning_values,
        alt=f"Table of values, a line per winner, a column per parameter; {moved} of {len(frame)} "
        "differ from the most frequent value of their column.",
        caption="Coloured: not the most frequent value of the column. A column of one colour is a "
        "parameter that does not move between GPUs and problems.",
    )


def _shift_table(shifts: pd.DataFrame) -> Table:
    rows: list[list[Cell | str]] = [
        [
            row["parameter"],
            Cell("stable", Tone.GOOD) if row["is_stable"] else Cell("moves", Tone.DOUBT),
            wording.value(row["modal_value"]),
            wording.percent(row["modal_share"]),
            str(row["distinct"]),
        ]
        for row in rows_of(shifts)
    ]
    columns = ["Parameter", "Between winners", "#Most frequent", "#Share of winners", "#Values"]
    return Table("shifts", "", columns, rows, shifts)


def _importance(matrix: TimeMatrix, data: ReportData) -> tuple[pd.DataFrame, int]:
    """Return the importance of each parameter in as many contexts as time allows, and the rest."""
    spaces = {row["context_id"]: row["space"] for row in rows_of(data.contexts)}
    found: list[dict[str, Any]] = []
    budget = MOST_CONFIGS
    left = 0
    for index, column in enumerate(matrix.columns):
        size = len(matrix.configs)
        if size > budget:
            left += 1
            continue
        budget -= size
        space = spaces[column.context_id]
        shares = importance(matrix, index, space, Evaluator.MEAN_DECREASE_IMPURITY)
        label = data.labels[column.context_id]
        found += [{"label": label, "parameter": n, "share": s} for n, s in shares.items()]
    return pd.DataFrame(found, columns=["label", "parameter", "share"]), left


def _importance_table(shares: pd.DataFrame) -> Table:
    order = shares.groupby("parameter")["share"].mean().sort_values(ascending=False).index
    wide = shares.pivot_table(index="label", columns="parameter", values="share")[list(order)]
    rows: list[list[Cell | str]] = [
        [str(label), *(wording.percent(float(share)) for share in values)]
        for label, values in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    caption = "Share of the variation of log time that a forest explains by each parameter."
    columns = ["Context", *(f"#{name}" for name in order)]
    return Table("importance", caption, columns, rows, shares)


def _caveats(left: int, data: ReportData) -> list[str]:
    found = []
    if left:
        found.append(
            f"Importance was not computed for {wording.count(left, 'context')}, to save time."
        )
    if len(data.matrices) > 1:
        others = wording.count(len(data.matrices) - 1, "other version")
        found.append(f"{others} of the code or protocol left out.")
    return found
