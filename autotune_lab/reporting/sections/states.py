"""How the configs ended: what ran, what failed, and why."""

import pandas as pd

from autotune_lab.records import TrialState
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.figures import stacks
from autotune_lab.reporting.sections.base import Cell, Figure, Section, Table, Tone, no_data

ORDER = 70
TITLE = "Trials by state"
MOST_REASONS = 25


def build(data: ReportData) -> Section | None:
    """Count the states in each context, and the reasons of failures."""
    if data.trials.empty:
        return no_data(TITLE, "nothing was tried yet")
    counts = _counts(data)
    failures = _failures(data)
    tables = [_state_table(counts)]
    if len(failures):
        tables.append(_reason_table(failures))
    return Section(
        title=TITLE,
        finding=_finding(data.trials),
        figures=[_figure(counts)],
        tables=tables,
    )


def _counts(data: ReportData) -> pd.DataFrame:
    trials = data.trials.assign(label=data.trials["context_id"].map(data.labels))
    counts = trials.groupby(["label", "state"]).size().rename("trials").reset_index()
    counts["share"] = counts["trials"] / counts.groupby("label")["trials"].transform("sum")
    return counts


def _failures(data: ReportData) -> pd.DataFrame:
    """Columns: state, reason, trials, contexts, config (an example)."""
    failed = [state.value for state in TrialState if state.is_failure]
    trials = data.trials[data.trials["state"].isin(failed)]
    trials = trials.assign(reason=trials["reason"].fillna("").replace("", "no reason was recorded"))
    return (
        trials.groupby(["state", "reason"])
        .agg(
            trials=("trial_id", "size"),
            contexts=("context_id", "nunique"),
            config=("config", "first"),
        )
        .reset_index()
        .sort_values(
            ["trials", "state", "reason"], ascending=[False, True, True], ignore_index=True
        )
    )


def _finding(trials: pd.DataFrame) -> str:
    states = trials["state"].value_counts()
    correct = int(states.get("ok", 0))
    total = wording.count(len(trials), "trial")
    rest = states.drop("ok", errors="ignore")
    words = [f"{number:,} {str(state).replace('_', ' ')}" for state, number in rest.items()]
    if not correct:
        return f"None of {total} ran correctly: {wording.listing(words)}."
    if rest.empty:
        return f"All of {total} ran correctly."
    share = wording.percent(correct / len(trials))
    return f"{correct:,} of {total} ran correctly ({share}); the others: {wording.listing(words)}."


def _figure(counts: pd.DataFrame) -> Figure:
    shares = counts.groupby("state")["trials"].sum().sort_values(ascending=False)
    total = shares.sum()
    words = [f"{str(s).replace('_', ' ')} {wording.percent(n / total)}" for s, n in shares.items()]
    return Figure(
        name="states",
        title="How the trials ended, by context",
        frame=counts,
        draw=stacks.states,
        alt=f"Stacked bars, one a context. Overall: {wording.listing(words, most=12)}.",
        caption="Configs that the space’s constraints rule out are never tried and not counted here.",
    )


def _state_table(counts: pd.DataFrame) -> Table:
    wide = counts.pivot_table(index="label", columns="state", values="trials", aggfunc="sum")
    order = [name for name in stacks.STATE_LOOKS if name in wide.columns]
    order += [name for name in wide.columns if name not in order]
    wide = wide[order].fillna(0).astype("int64").reset_index()
    rows = [
        [
            str(row["label"]),
            *(f"{row[state]:,}" if row[state] else wording.MISSING for state in order),
        ]
        for row in wide.to_dict("records")
    ]
    columns = ["Device model · problem", *(f"#{state.replace('_', ' ')}" for state in order)]
    return Table("by_state", "", columns, rows, wide)


def _reason_table(failures: pd.DataFrame) -> Table:
    shown = failures.head(MOST_REASONS)
    rows: list[list[Cell | str]] = []
    for row in shown.to_dict("records"):
        rows.append(
            [
                Cell(str(row["state"]).replace("_", " "), Tone.FAILS),
                row["reason"][:300],
                f"{row['trials']:,}",
                f"{row['contexts']:,}",
                wording.config(row["config"]),
            ]
        )
    return Table(
        "reasons",
        "Why configs failed, most frequent first, each with one example.",
        ["State", "Reason", "#Trials", "#Contexts", "Example"],
        rows,
        failures,
        more=len(failures) - len(shown),
    )
