"""How many trials it took to come near the best."""

import pandas as pd

from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import curves
from autotune_lab.reporting.sections.base import Figure, Section, Table, no_data

ORDER = 60
TITLE = "Convergence"
NEAR = 0.95
COLUMNS = ("label", "panel", "line", "trial", "best_ms", "efficiency")


def build(data: ReportData) -> Section | None:
    """Show the best so far over the trials of each context."""
    frame = best_so_far(data)
    if frame.empty:
        return no_data(TITLE, "no config ran correctly, so there is no best to approach")
    reached = _reached(frame)
    median = wording.count(round(reached["trials_to_95"].median()), "trial")
    worst = max(rows_of(reached), key=lambda row: row["trials_to_95"])
    finding = (
        f"It took {median} (median) to come within 5% of the best that was found, and "
        f"{worst['trials_to_95']:,} on {worst['label']}."
    )
    caveat = "An exhaustive search’s curve speaks of the order of the space, not of a sampler."
    return Section(TITLE, finding, [_figure(frame, reached)], [_table(reached)], [caveat])


def best_so_far(data: ReportData) -> pd.DataFrame:
    """Return the steps of each context's running best, and where it ended.

    Columns: ``COLUMNS``; ``trial`` counts from 1, ``efficiency`` is the best of all over the best
    so far, by screening times.
    """
    fields = {row["problem"]: row["problem_fields"] for row in rows_of(data.contexts)}
    problems = wording.short_problems(fields)
    parts = [pd.DataFrame(columns=list(COLUMNS))]
    for context_id, trials in data.trials.groupby("context_id", sort=False):
        steps = _steps(trials.sort_values("number", kind="stable"))
        if len(steps):
            first = trials.iloc[0]
            steps["label"] = data.labels[str(context_id)]
            steps["panel"] = first["device_model"]
            steps["line"] = problems[first["problem"]]
            parts.append(steps)
    return pd.concat(parts[1:] or parts, ignore_index=True)[list(COLUMNS)]


def _steps(ordered: pd.DataFrame) -> pd.DataFrame:
    """Return the trials at which the best so far fell, and the last one."""
    best = ordered["time_ms"].where(ordered["is_eligible"]).cummin().ffill()
    steps = pd.DataFrame({"trial": range(1, len(best) + 1), "best_ms": best.to_numpy()})
    kept = steps["best_ms"].ne(steps["best_ms"].shift())
    kept.iloc[-1] = True
    steps = steps[kept & steps["best_ms"].notna()]
    return steps.assign(efficiency=steps["best_ms"].min() / steps["best_ms"])


def _reached(frame: pd.DataFrame) -> pd.DataFrame:
    near = frame[frame["efficiency"] >= NEAR].groupby("label", sort=False)["trial"].min()
    best = frame[frame["efficiency"] == 1.0].groupby("label", sort=False)["trial"].min()
    total = frame.groupby("label", sort=False)["trial"].max()
    reached = pd.DataFrame({"trials_to_95": near, "trials_to_best": best, "trials": total})
    return reached.rename_axis("label").reset_index()


def _figure(frame: pd.DataFrame, reached: pd.DataFrame) -> Figure:
    low, high = reached["trials_to_95"].min(), reached["trials_to_95"].max()
    return Figure(
        name="convergence",
        title="The best config so far, relative to the best of all trials",
        frame=frame,
        draw=curves.convergence,
        alt=f"Step curves that rise to 100%, past 95% after {low:,} to {high:,} trials.",
        caption="One curve a problem, by screening time; failing configs count as trials. The "
        "curve of a search that stopped too early still ends at 100% of what it found.",
    )


def _table(reached: pd.DataFrame) -> Table:
    names = ("trials_to_95", "trials_to_best", "trials")
    rows = [[row["label"], *(f"{row[name]:,}" for name in names)] for row in rows_of(reached)]
    columns = ["Context", "#Trials to within 5%", "#Trials to the best", "#Trials in all"]
    return Table("trials_needed", "", columns, rows, reached)
