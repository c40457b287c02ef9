"""The store: records in, records out, one transaction per call."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from autotune_lab.errors import UsageError
from autotune_lab.records import (
    Context,
    Device,
    Environment,
    Hello,
    Measurement,
    Outcome,
    Pick,
    SpaceSnapshot,
    Trial,
    TrialState,
    Work,
)
from autotune_lab.spaces.config import Config
from autotune_lab.store import ceilings, decoding, merge, parts, picks, runs, trials, upkeep
from autotune_lab.store import engine as engines
from autotune_lab.store.complaints import contradicted
from autotune_lab.store.location import Location, locate
from autotune_lab.store.merge import Merged
from autotune_lab.store.opening import open_engine
from autotune_lab.store.progress import Progress, progress
from autotune_lab.store.query import Query
from autotune_lab.store.runs import StudySummary
from autotune_lab.store.selecting import select_contexts
from autotune_lab.store.upgrade import expect_head

_log = logging.getLogger(__name__)


class Store:
    """Everything that was ever measured, in an SQLite file or a PostgreSQL database.

    Made by ``Store.open``; closes as a context manager. Each method is one transaction: when it
    returns, what it wrote survives a kill of this process. Any number of processes may hold the
    same store. Not to be shared by threads or carried over a fork.
    """

    def __init__(self, engine: Engine, location: Location) -> None:
        self._engine = engine
        self._location = location

    @classmethod
    def open(cls, url: str, *, create: bool = True, migrate: bool | None = None) -> Self:
        """Open a store by SQLAlchemy URL or by the path of an SQLite file.

        Args:
            url: ``"sqlite:///lab.db"``, ``"lab.db"``, ``"postgresql+psycopg://user@host/lab"``.
            create: make it where there is none, and insist that it takes writes. Without it, an
                absent store is an error and a read-only one can be read.
            migrate: bring an older store up to date. By default an SQLite file is, after a copy
                of it is made beside it, and a server's store, which has no copy, is not.

        Raises:
            StoreDamaged: not a readable store; it was left untouched.
            StoreTooNew: written by a newer version of the lab; it was left untouched.
            StoreNeedsUpgrade: written by an older version, and may not be migrated unasked.
            StoreError: absent, read-only, or not to be opened.
        """
        location = locate(url)
        may_migrate = location.is_sqlite if migrate is None else migrate
        return cls(open_engine(location, create=create, migrate=may_migrate), location)

    def close(self) -> None:
        """Let go of the store; the last one to close an SQLite file folds its log into it."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url_display(self) -> str:
        """What messages and reports call it; never holds credentials."""
        return self._location.display

    # Runs

    def begin_run(self, study: str, plan: Mapping[str, Any]) -> int:
        """Begin a run of a study that this process owns; return its id.

        Raises:
            StoreTooNew: a newer version of the lab has changed the store since it was opened.
        """
        with self.writing() as connection:
            expect_head(connection, self._location)
            return runs.begin(connection, study, plan, _now())

    def end_run(self, run_id: int, state: str) -> None:
        """End a run as ``"done"``, ``"interrupted"`` or ``"failed"``; none of it stays running."""
        with self.writing() as connection:
            runs.end(connection, run_id, state, _now())

    def interrupt_trials(self, run_id: int) -> int:
        """Give up what a run has in flight, so that it can be claimed again; return how many."""
        with self.writing() as connection:
            return runs.interrupt(connection, [run_id], _now())

    def heartbeat(self, run_id: int) -> None:
        """Say that a run is alive; due every few minutes when other hosts use the same store."""
        with self.writing() as connection:
            runs.beat(connection, run_id, _now())

    def sweep_interrupted(self) -> int:
        """Mark the running trials of dead runs as ``interrupted``; return how many there were."""
        with self.writing() as connection:
            return runs.sweep(connection, _now())

    def studies(self) -> list[StudySummary]:
        """Return all studies, the one that was active last first."""
        with self.reading() as connection:
            return runs.summaries(connection, _now())

    def progress(self) -> list[Progress]:
        """Return what the runs that are alive are working on, one entry a context."""
        with self.reading() as connection:
            return progress(connection, _now())

    # Contexts

    def add_context(
        self, context: Context, *, space: SpaceSnapshot, work: Work, hello: Hello | None
    ) -> str:
        """Insert a context, or refresh the space and the ceilings of one that is there.

        Returns:
            Its id.
        """
        with self.writing() as connection:
            parts.put_context(connection, context, space, work, hello, _now())
        return context.id

    def contexts(self, query: Query | None = None) -> list[Context]:
        """Return the matching contexts, oldest first; without a query all, simulated ones too."""
        with self.reading() as connection:
            found = connection.execute(select_contexts(query or _everything())).mappings()
            return [decoding.context_of(row) for row in found]

    def find_context(self, context_id: str) -> Context | None:
        """Return the context of an id, if it is in the store."""
        query = Query(context_ids=[context_id], include_simulated=True)
        return next(iter(self.contexts(query)), None)

    # Ceilings

    def add_ceilings(self, hello: Hello) -> None:
        """Keep what a worker measured of its device; earlier measurements stay."""
        with self.writing() as connection:
            ceilings.add(connection, hello, _now())

    def ceilings(self) -> list[Hello]:
        """Return the last ceilings of each device under each software, oldest first."""
        with self.reading() as connection:
            return ceilings.newest(connection)

    def known_ceilings(self, device: Device, environment: Environment) -> Hello | None:
        """Return the last ceilings of this very device under this very software, if any."""
        with self.reading() as connection:
            return ceilings.known(connection, device, environment)

    # Trials

    def claim(self, run_id: int, context_id: str, config: Config, number: int) -> int | None:
        """Insert a ``running`` trial and return its id.

        Returns:
            None when the context has a live trial of this config, whoever made it.

        Raises:
            UsageError: there is no such run or context.
        """
        try:
            with engines.writing(self._engine, self._location) as connection:
                return trials.claim(connection, run_id, context_id, config, number, _now())
        except IntegrityError as error:
            with self.reading() as connection:
                if trials.is_taken(connection, context_id, config):
                    return None
            raise UsageError(
                f"{self.url_display}: has no run {run_id} or no context {context_id}; "
                "begin the run and add the context first"
            ) from error

    def finish(self, trial_id: int, outcome: Outcome, device_uuid: str) -> None:
        """Store what became of a claimed trial; a time that is no time makes it ``bad_timing``.

        Raises:
            StoreError: the trial is finished, and finished trials never change.
        """
        try:
            with engines.writing(self._engine, self._location) as connection:
                trials.finish(connection, trial_id, outcome, device_uuid, _now())
        except IntegrityError:
            _log.warning(
                "trial %d: was given up as dead and its config claimed by another run since, "
                "so its outcome is not stored",
                trial_id,
            )

    def demote(self, trial_id: int, outcome: Outcome) -> None:
        """Take back that a trial ran correctly: a later run of the same config failed.

        What was measured stays; the trial's state and reason become the failure's.

        Raises:
            UsageError: the trial is not ``ok``, or the outcome is no failure.
        """
        with self.writing() as connection:
            trials.demote(connection, trial_id, outcome)

    def add_measurement(self, trial_id: int, measurement: Measurement) -> None:
        """Add a measurement (playoff, transfer) to a trial that ran correctly.

        Raises:
            UsageError: one of its times is no time, or the trial did not run correctly.
        """
        with self.writing() as connection:
            trials.add_measurement(connection, trial_id, measurement)

    def record(self, context_id: str, trial: Trial, *, run_id: int | None = None) -> int | None:
        """Insert a trial that was measured elsewhere; None when its config has a live trial."""
        return self.record_all(context_id, [trial], run_id=run_id)[0]

    def record_all(
        self, context_id: str, measured: Sequence[Trial], *, run_id: int | None = None
    ) -> list[int | None]:
        """Insert finished trials, all or none; None for each whose config has a live trial."""
        with self.writing() as connection:
            return trials.record(connection, context_id, measured, run_id)

    def trials(
        self, context_id: str, *, states: Collection[TrialState] | None = None
    ) -> list[Trial]:
        """Return a context's trials with their measurements, in the order they were claimed."""
        with self.reading() as connection:
            return list(trials.load(connection, context_id, states))

    # Picks

    def add_pick(self, pick: Pick) -> None:
        """Add a pick; earlier ones of its context stay."""
        with self.writing() as connection:
            picks.add(connection, pick)

    def picks(
        self, latest: bool = True, kernel: str | None = None, model: str | None = None
    ) -> list[Pick]:
        """Return the standing pick of each context, or all; simulated contexts included."""
        query = Query(kernel=kernel, device_model=model, include_simulated=True)
        with self.reading() as connection:
            return picks.load(connection, query, latest=latest)

    # Other stores

    def merge_from(self, other: "Store") -> Merged:
        """Add what another store has measured and this one has not.

        Contexts are never mixed, runs keep their host and say which store they came from, and
        merging the same store again adds nothing. Each context is one transaction.
        """
        with other.reading() as source:
            with self.writing() as target:
                merge.copy_parts(source, target)
                runs_here, merged = merge.copy_runs(source, target, other.url_display)
            for context_id in merge.context_ids(source):
                with self.writing() as target:
                    merged += merge.copy_context(source, target, context_id, runs_here)
        return merged

    # Upkeep

    def check(self, *, most: int = 100) -> list[str]:
        """Read everything and return what is wrong, one line a fault, ``most`` at most."""
        with self.reading() as connection:
            return list(islice(upkeep.faults(connection), most))

    def backup(self, target: Path) -> None:
        """Copy an SQLite store, whoever is writing to it.

        Raises:
            UsageError: there is a file of that name, or the store is not an SQLite file.
            StoreError: the copy can't be written; nothing is left of it.
        """
        if self._location.path is None:
            raise UsageError(f"{self.url_display}: is no SQLite file; copy a server's with pg_dump")
        if target.exists():
            raise UsageError(f"{target}: is there already; name a new file")
        engines.copy_file(self._location.path, target)

    def vacuum(self) -> None:
        """Give unused space back to the file system; others wait meanwhile."""
        engines.compact(self._engine, self._location)

    # Transactions, for the other modules of this package

    def reading(self) -> AbstractContextManager[Connection]:
        """Open a transaction that sees one state of the store."""
        return engines.reading(self._engine, self._location)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is stored as a whole or not at all.

        Raises:
            StoreError: a row contradicts what is stored, or the schema.
        """
        try:
            with engines.writing(self._engine, self._location) as connection:
                yield connection
        except IntegrityError as error:
            raise contradicted(self._location, error) from error


def _everything() -> Query:
    return Query(include_simulated=True)


def _now() -> datetime:
    return datetime.now(UTC)
