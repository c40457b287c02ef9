"""Names the best config of each context: its stored pick, else what one pass says, marked so."""

from dataclasses import replace
from typing import Any

import pandas as pd

from autotune_lab.analysis import selection
from autotune_lab.records import (
    Context,
    Measurement,
    Phase,
    Pick,
    Resources,
    Trial,
    TrialState,
)
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store


def best(store: Store, query: Query) -> list[Pick]:
    """Return one pick for each context that has a config which ran correctly.

    A context without a stored pick gets one by ``unplayed``. Sorted by kernel, problem, model.

    Raises:
        StoreError: the store can't be read.
    """
    picks = {pick.context.id: pick for pick in frames.picks(store, query)}
    missing = [context for context in store.contexts(query) if context.id not in picks]
    if missing:
        rest = Query(
            context_ids=tuple(context.id for context in missing),
            include_simulated=query.include_simulated,
            study=query.study,
        )
        known = frames.contexts(store, rest)
        rows: list[Any] = known.to_dict("records")
        sizes = {row["context_id"]: row["space"].size for row in rows}
        grouped = frames.trials(store, rest).groupby("context_id", sort=False)
        trials = {str(context_id): frame for context_id, frame in grouped}
        for context in missing:
            if context.id in trials:
                pick = unplayed(trials[context.id], context, space_size=sizes[context.id])
                picks |= {context.id: pick} if pick else {}
    return sorted(picks.values(), key=_order)


def unplayed(trials: pd.DataFrame, context: Context, *, space_size: int) -> Pick | None:
    """Pick from one pass over a context, flagged ``not_remeasured``; None if nothing can win.

    Args:
        trials: of this context; columns of ``store.frames.trials``.
        context: what the pick is for.
        space_size: valid configs of the space.
    """
    ran = trials[(trials["state"] == TrialState.OK) & trials["is_eligible"]]
    ran = ran[ran["time_ms"] > 0].sort_values(["time_ms", "config_id"], kind="stable")
    if ran.empty:
        return None
    reach_ms = ran["high_ms"].fillna(ran["time_ms"]).iloc[0]
    near = ran["low_ms"].fillna(ran["time_ms"]) <= reach_ms
    near.iloc[:2] = True  # the runner-up shows that there was competition
    rows: list[Any] = ran[near].to_dict("records")
    pick = selection.decide(context, [_trial(row) for row in rows])
    unfinished = trials["state"].isin([TrialState.RUNNING, TrialState.INTERRUPTED])
    seen = int(trials.loc[~unfinished, "config_id"].nunique())
    flags = set(pick.flags) | ({selection.PARTIAL} if seen < space_size else set())
    return replace(pick, trials=seen, space_size=space_size, flags=tuple(sorted(flags)))


def _trial(row: dict[str, Any]) -> Trial:
    """Rebuild what a decision needs of a trial from its row."""
    look = Measurement(
        phase=Phase.SCREEN,
        samples_ms=(),
        median_ms=row["time_ms"],
        low_ms=_known(row["low_ms"]),
        high_ms=_known(row["high_ms"]),
        flags=row["flags"],
    )
    needs = Resources(
        shared_bytes=_known(row["shared_bytes"]),
        registers=_known(row["registers"]),
        spill_bytes=_known(row["spill_bytes"]),
        threads=_known(row["threads"]),
    )
    return Trial(
        context_id=row["context_id"],
        config=row["config"],
        state=TrialState.OK,
        resources=needs,
        measurements=(look,),
    )


def _known(value: Any) -> Any:
    return None if pd.isna(value) else value


def _order(pick: Pick) -> tuple[str, str, str, str]:
    context = pick.context
    return context.kernel.name, str(context.problem), context.model.slug, context.id
