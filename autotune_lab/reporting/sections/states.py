"""How the configs ended: what ran, what failed, and why."""

import pandas as pd

from autotune_lab.records import TrialState
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import stacks
from autotune_lab.reporting.sections.base import Cell, Figure, Section, Table, Tone, no_data

ORDER = 70
TITLE = "Trials by state"
MOST_REASONS = 25
LONGEST_REASON = 300


def build(data: ReportData) -> Section | None:
    """Count the states in each context, and the reasons of failures."""
    if data.trials.empty:
        return no_data(TITLE, "nothing was tried yet")
    counts = _counts(data)
    failures = _failures(data.trials)
    tables = [_state_table(counts)]
    tables += [_reason_table(failures)] if len(failures) else []
    return Section(TITLE, _finding(data.trials), [_figure(counts)], tables)


def _counts(data: ReportData) -> pd.DataFrame:
    trials = data.trials.assign(label=data.trials["context_id"].map(data.labels))
    counts = trials.groupby(["label", "state"]).size().rename("trials").reset_index()
    counts["share"] = counts["trials"] / counts.groupby("label")["trials"].transform("sum")
    return counts


def _failures(trials: pd.DataFrame) -> pd.DataFrame:
    """Count failures; columns: state, reason, trials, contexts, config (an example)."""
    failed = trials[trials["state"].isin([s.value for s in TrialState if s.is_failure])]
    reasons = failed["reason"].fillna("").replace("", "no reason was recorded")
    grouped = failed.assign(reason=reasons).groupby(["state", "reason"])
    counted = grouped.agg(
        trials=("trial_id", "size"),
        contexts=("context_id", "nunique"),
        config=("config", "first"),
    ).reset_index()
    order = ["trials", "state", "reason"]
    return counted.sort_values(order, ascending=[False, True, True], ignore_index=True)


def _words(state: object) -> str:
    return str(state).replace("_", " ")


def _finding(trials: pd.DataFrame) -> str:
    states = trials["state"].value_counts()
    correct = int(states.get("ok", 0))
    total = wording.count(len(trials), "trial")
    rest = states.drop("ok", errors="ignore")
    others = wording.listing(f"{number:,} {_words(state)}" for state, number in rest.items())
    if rest.empty:
        return f"All {total} ran correctly."
    if not correct:
        return f"None of {total} ran correctly: {others}."
    share = wording.percent(correct / len(trials))
    return f"{correct:,} of {total} ran correctly ({share}); the others: {others}."


def _figure(counts: pd.DataFrame) -> Figure:
    totals = counts.groupby("state")["trials"].sum().sort_values(ascending=False)
    shares = [f"{_words(s)} {wording.percent(n / totals.sum())}" for s, n in totals.items()]
    return Figure(
        name="states",
        title="How the trials ended, by context",
        frame=counts,
        draw=stacks.states,
        alt=f"Stacked bars, one a context. Overall: {wording.listing(shares, most=14)}.",
        caption="What the space’s constraints rule out is never tried and not counted here.",
    )


def _state_table(counts: pd.DataFrame) -> Table:
    wide = counts.pivot_table(index="label", columns="state", values="trials", aggfunc="sum")
    order = [name for name in stacks.STATE_LOOKS if name in wide.columns]
    order += [name for name in wide.columns if name not in order]
    wide = wide[order].fillna(0).astype("int64").reset_index()
    rows = [
        [row["label"], *(f"{row[state]:,}" if row[state] else wording.MISSING for state in order)]
        for row in rows_of(wide)
    ]
    return Table("by_state", "", ["Context", *(f"#{_words(s)}" for s in order)], rows, wide)


def _reason_table(failures: pd.DataFrame) -> Table:
    shown = failures.head(MOST_REASONS)
    rows = [
        [
            Cell(_words(row["state"]), Tone.FAILS),
            row["reason"][:LONGEST_REASON],
            f"{row['trials']:,}",
            f"{row['contexts']:,}",
            wording.config(row["config"]),
        ]
        for row in rows_of(shown)
    ]
    return Table(
        name="reasons",
        caption="Why configs failed, most frequent first, each with one example.",
        columns=["State", "Reason", "#Trials", "#Contexts", "Example"],
        rows=rows,
        frame=failures,
        more=len(failures) - len(shown),
    )
