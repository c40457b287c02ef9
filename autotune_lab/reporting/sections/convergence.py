"""How many trials it took to come near the best."""

import numpy as np
import pandas as pd

from autotune_lab.analysis import convergence
from autotune_lab.reporting import wording
from autotune_lab.reporting.data import ReportData, rows_of
from autotune_lab.reporting.figures import curves
from autotune_lab.reporting.sections.base import Figure, Section, Table, no_data

ORDER = 60
TITLE = "Convergence"
NEAR = 1.05
RANDOM = "random search, expected"
# Below this share of the space its times can't stand for the space that random search draws from.
WHOLE_SPACE = 0.9
POINTS = 40
MOST_DRAWS = 1000  # each costs a pass over the space


def build(data: ReportData) -> Section | None:
    """Show the best so far over the trials of each context, beside random search."""
    history = convergence.best_so_far(data.trials)
    reached = convergence.trials_to_reach(history, NEAR)
    if reached.empty:
        return no_data(TITLE, "no config ran correctly, so there is no best to approach")
    reached.insert(0, "label", reached["context_id"].map(data.labels))
    needed = reached["trials_needed"]
    worst = max(rows_of(reached), key=lambda row: row["trials_needed"])
    most = worst["trials_needed"]
    longest = f", and {most:,} on {worst['label']}" if most > needed.median() else ""
    finding = (
        f"It took {wording.count(round(needed.median()), 'trial')} (median) to come within 5% of "
        f"the best that was found{longest}."
    )
    return Section(TITLE, finding, [_figure(data, history, reached)], [_table(reached)], _caveats())


def _figure(data: ReportData, history: pd.DataFrame, reached: pd.DataFrame) -> Figure:
    final = reached.set_index("context_id")["best_ms"]
    efficiency = history["context_id"].map(final) / history["best_ms"]
    steps = history.assign(efficiency=efficiency, kind="measured")
    steps = steps[steps["best_ms"].notna() & (_changes(steps) | _ends(steps))]
    parts = [steps[["context_id", "kind", "trials", "efficiency"]], *_random(data, final)]
    frame = pd.concat(parts, ignore_index=True)
    contexts = {row["context_id"]: row for row in rows_of(data.contexts)}
    problems = wording.short_problems(
        {row["problem"]: row["problem_fields"] for row in contexts.values()}
    )
    frame["panel"] = [contexts[key]["device_model"] for key in frame["context_id"]]
    frame["line"] = [problems[contexts[key]["problem"]] for key in frame["context_id"]]
    frame = frame.sort_values(
        ["panel", "line"], key=lambda column: column.map(wording.natural), kind="stable",
        ignore_index=True,
    )  # fmt: skip
    low, high = int(reached["trials_needed"].min()), int(reached["trials_needed"].max())
    return Figure(
        name="convergence",
        title="The best config so far, relative to the best of all trials",
        frame=frame,
        draw=curves.convergence,
        alt=f"Step curves that rise to 100%, past 95% after {low:,} to {high:,} trials.",
        caption="One curve a problem, by the first look at each config; failing configs count as "
        "trials. Dashed: what random search would have reached on average, where the whole space "
        "is known. A search that stopped too early still ends at 100% of what it found.",
    )


def _changes(steps: pd.DataFrame) -> "pd.Series[bool]":
    before = steps.groupby("context_id", sort=False)["best_ms"].shift()
    return steps["best_ms"].ne(before)


def _ends(steps: pd.DataFrame) -> "pd.Series[bool]":
    return ~steps.duplicated("context_id", keep="last")


def _random(data: ReportData, final: "pd.Series[float]") -> list[pd.DataFrame]:
    """Return the expected course of random search in each context whose space is known."""
    sizes = {row["context_id"]: row["space"].size for row in rows_of(data.contexts)}
    found = []
    for context_id, trials in data.trials.groupby("context_id", sort=False):
        times_ms = trials["time_ms"].where(trials["is_eligible"]).to_numpy(dtype=np.float64)
        if context_id not in final.index or len(times_ms) < WHOLE_SPACE * sizes[str(context_id)]:
            continue
        most = min(len(times_ms), MOST_DRAWS)
        expected_ms = convergence.random_search(times_ms, most)
        draws = np.unique(np.geomspace(1, most, POINTS).round().astype(int))
        found.append(
            pd.DataFrame(
                {
                    "context_id": str(context_id),
                    "kind": RANDOM,
                    "trials": draws,
                    "efficiency": final[context_id] / expected_ms[draws - 1],
                }
            )
        )
    return found


def _table(reached: pd.DataFrame) -> Table:
    rows = [
        [
            row["label"],
            f"{row['trials_needed']:,}",
            f"{row['trials']:,}",
            wording.digits(row["best_ms"]),
        ]
        for row in rows_of(reached)
    ]
    columns = ["Context", "#Trials to within 5%", "#Trials in all", "#Best first look, ms"]
    return Table("trials_needed", "", columns, rows, reached)


def _caveats() -> list[str]:
    return ["An exhaustive search’s curve speaks of the order of the space, not of a sampler."]
