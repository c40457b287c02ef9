"""How many trials it took to come near the best."""

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData
from autotune_lab.reporting.figures import curves
from autotune_lab.reporting.sections.base import Figure, Section, Table, no_data

ORDER = 60
TITLE = "Convergence"
NEAR = 0.95


def build(data: ReportData) -> Section | None:
    """Show the best so far over the trials of each context."""
    frame = best_so_far(data)
    if frame.empty:
        return no_data(TITLE, "no config ran correctly, so there is no best to approach")
    reached = _reached(frame)
    median = reached["trials_to_95"].median()
    worst = reached.loc[reached["trials_to_95"].idxmax()]
    finding = (
        f"It took {wording.count(round(median), 'trial')} (median) to come within 5% of the best "
        f"that was found, {worst['trials_to_95']:,} on {worst['label']}."
    )
    return Section(TITLE, finding, [_figure(frame, reached)], [_table(reached)], _caveats())


def best_so_far(data: ReportData) -> pd.DataFrame:
    """Return the steps of each context's running best, and where it ended.

    Columns: label, panel, line, trial (from 1), best_ms, efficiency (best of all over best so far).
    """
    parts = []
    problems = wording.short_problems(
        dict(zip(data.contexts["problem"], data.contexts["problem_fields"], strict=True))
    )
    for context_id, trials in data.trials.groupby("context_id", sort=False):
        ordered = trials.sort_values("number", kind="stable")
        best = ordered["time_ms"].where(ordered["is_eligible"]).cummin().ffill()
        steps = pd.DataFrame({"trial": range(1, len(best) + 1), "best_ms": best.to_numpy()})
        kept = steps["best_ms"].ne(steps["best_ms"].shift()) & steps["best_ms"].notna()
        kept.iloc[-1] = bool(steps["best_ms"].notna().iloc[-1])
        steps = steps[kept]
        if steps.empty:
            continue
        first = trials.iloc[0]
        steps = steps.assign(
            efficiency=steps["best_ms"].iloc[-1] / steps["best_ms"],
            label=data.labels[str(context_id)],
            panel=first["device_model"],
            line=problems[first["problem"]],
        )
        parts.append(steps)
    columns = ["label", "panel", "line", "trial", "best_ms", "efficiency"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns]


def _reached(frame: pd.DataFrame) -> pd.DataFrame:
    near = frame[frame["efficiency"] >= NEAR].groupby("label", sort=False)["trial"].min()
    best = frame[frame["efficiency"] == 1.0].groupby("label", sort=False)["trial"].min()
    total = frame.groupby("label", sort=False)["trial"].max()
    return (
        pd.DataFrame({"trials_to_95": near, "trials_to_best": best, "trials": total})
        .rename_axis("label")
        .reset_index()
    )


def _figure(frame: pd.DataFrame, reached: pd.DataFrame) -> Figure:
    return Figure(
        name="convergence",
        title="The best config found so far, relative to the best of all trials",
        frame=frame,
        draw=curves.convergence,
        alt="Step curves rising to 100%. Within 5% of the best after "
        f"{int(reached['trials_to_95'].min()):,} to {int(reached['trials_to_95'].max()):,} trials.",
        caption="One curve a problem, by screening time; failing configs count as trials. The curve of "
        "a search that stopped too early still ends at 100% of what it found.",
    )


def _table(reached: pd.DataFrame) -> Table:
    rows = [
        [row["label"], *(f"{row[name]:,}" for name in ("trials_to_95", "trials_to_best", "trials"))]
        for row in reached.to_dict("records")
    ]
    columns = [
        "Device model · problem",
        "#Trials to within 5%",
        "#Trials to the best",
        "#Trials in all",
    ]
    return Table("trials_needed", "", columns, rows, reached)


def _caveats() -> list[str]:
    return [
        "An exhaustive search visits configs in the order of the space, so its curve speaks of that "
        "order and not of a sampler."
    ]
