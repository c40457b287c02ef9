"""Gathers all that a report needs from a store, once; sections see only this.

``ReportData`` holds the frames of ``store.frames``, whole or of one kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from autotune_lab.analysis import noise, plausibility, transfer
from autotune_lab.analysis.matrix import TimeMatrix, matrices
from autotune_lab.analysis.winners import unplayed
from autotune_lab.records import Pick, Source
from autotune_lab.reporting import wording
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store

# What tells two contexts of one device model and problem apart, most telling first.
_DISTINCTIONS = {
    "device_model_id": "device",
    "triton": "Triton",
    "driver": "driver",
    "code_hash": "code",
    "source": "source",
    "environment_id": "environment",
    "protocol_id": "protocol",
    "reference_hash": "reference",
}


@dataclass(frozen=True, slots=True)
class ReportData:
    """Frames of trials, measurements and contexts, and the winners.

    Attributes:
        trials: one row a trial (columns of ``store.frames.trials``).
        measurements: one row a measurement (``store.frames.measurements``).
        contexts: one row a context (``store.frames.contexts``).
        picks: the winner of each context where a config ran: its pick, or (``rounds`` 0) what one
            pass says.
        labels: context id -> short name, unique among the contexts of its kernel.
        matrices: of one kernel, one per version of its code and protocol; without simulated times.
        transfers: every cell of its transfer matrices, a row each (``transfer.Entry``, and
            ``matrix``, the position in ``matrices``).
        doubts: contexts whose times can't be measurements (columns of ``plausibility.flags``).
        history: all picks that were ever made, oldest first, to see whether runs agree.
    """

    trials: pd.DataFrame
    measurements: pd.DataFrame
    contexts: pd.DataFrame
    picks: tuple[Pick, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    matrices: tuple[TimeMatrix, ...] = ()
    transfers: pd.DataFrame = field(default_factory=pd.DataFrame)
    doubts: pd.DataFrame = field(default_factory=pd.DataFrame)
    history: tuple[Pick, ...] = ()

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, sorted."""
        return sorted(self.contexts["kernel"].unique())

    @property
    def notices(self) -> list[str]:
        """What must be said beside these numbers: replayed, imported or simulated sources."""
        sources = sorted(self.contexts["source"].unique())
        return [notice for source in sources if (notice := Source(source).notice)]

    def of(self, kernel: str) -> "ReportData":
        """Return the part that speaks of one kernel: contexts labelled, matrices made."""
        contexts = self.contexts[self.contexts["kernel"] == kernel].reset_index(drop=True)
        ids = set(contexts["context_id"])
        trials, measurements = _within(self.trials, ids), _within(self.measurements, ids)
        picks = tuple(pick for pick in self.picks if pick.context.id in ids)
        made = tuple(matrices(trials, measurements, picks))
        return ReportData(
            trials=trials,
            measurements=measurements,
            contexts=contexts,
            picks=picks,
            labels=context_labels(contexts),
            matrices=made,
            transfers=_transfers(made, noise.floors(trials, measurements), picks),
            doubts=_joined([plausibility.flags(matrix, contexts) for matrix in made]),
            history=tuple(pick for pick in self.history if pick.context.id in ids),
        )


def gather(store: Store, query: Query) -> ReportData:
    """Read a store once.

    Raises:
        StoreError: the store can't be read.
    """
    trials = frames.trials(store, query)
    contexts = frames.contexts(store, query)
    picks = {pick.context.id: pick for pick in frames.picks(store, query)}
    sizes = {row["context_id"]: row["space"].size for row in rows_of(contexts)}
    known = {context.id: context for context in store.contexts(query)}
    for context_id, mine in trials.groupby("context_id", sort=False):
        context = known[str(context_id)]
        if context.id not in picks:
            pick = unplayed(mine, context, space_size=sizes[context.id])
            picks |= {context.id: pick} if pick else {}
    return ReportData(
        trials=trials,
        measurements=frames.measurements(store, query),
        contexts=contexts,
        picks=tuple(
            picks[context_id] for context_id in contexts["context_id"] if context_id in picks
        ),
        history=tuple(p for p in store.picks(latest=False) if p.context.id in known),
    )


def context_labels(contexts: pd.DataFrame) -> dict[str, str]:
    """Name each context by device model and problem, and by what else it takes to be unique.

    What all problems share is left out: a label says no more than it must.
    """
    rows = rows_of(contexts)
    problems = wording.short_problems({row["problem"]: row["problem_fields"] for row in rows})
    labels = {
        row["context_id"]: f"{row['device_model']} · {problems[row['problem']]}" for row in rows
    }
    for name, word in _DISTINCTIONS.items():
        values: dict[str, set[Any]] = {}
        for row in rows:
            values.setdefault(labels[row["context_id"]], set()).add(row[name])
        for row in rows:
            label = labels[row["context_id"]]
            if len(values[label]) > 1:
                text = str(row[name])[:8] if name.endswith(("_id", "hash")) else row[name]
                labels[row["context_id"]] = f"{label} · {word} {text or 'unknown'}"
    return labels


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame's rows as dicts by column name."""
    rows: list[Any] = frame.to_dict("records")
    return rows


def _transfers(
    made: Sequence[TimeMatrix], floors: pd.DataFrame, picks: Sequence[Pick]
) -> pd.DataFrame:
    defaults = {pick.context.id: pick.default_config.id for pick in picks if pick.default_config}
    cells = [
        transfer.entries(matrix, axis, floors, defaults).assign(matrix=number)
        for number, matrix in enumerate(made)
        for axis in transfer.Axis
    ]
    return _joined([*cells, pd.DataFrame(columns=[*transfer.COLUMNS, "matrix"])])


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put frames below one another; empty ones, whose columns have no types, are left out."""
    known = [frame for frame in parts if len(frame)] or list(parts[-1:])
    return pd.concat(known, ignore_index=True) if known else pd.DataFrame()


def _within(frame: pd.DataFrame, context_ids: set[str]) -> pd.DataFrame:
    return frame[frame["context_id"].isin(context_ids)].reset_index(drop=True)
