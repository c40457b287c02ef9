"""Turns the trials of one context into a winner that can be trusted, or says that there is none.

``candidates`` names who is re-measured, ``decide`` judges the fresh rounds. The time that put a
config among the leaders never decides: picking the fastest of 384 GEMM configs from one pass
over-promised by 13% to 17% on an H200. Needs NumPy only, because the tuner calls it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from autotune_lab.analysis import levels, survival
from autotune_lab.analysis.standings import (
    Standing,
    complete_rounds,
    is_launch_bound,
    is_playoff,
    rank,
)
from autotune_lab.errors import NoSurvivor
from autotune_lab.records import (
    Context,
    Measurement,
    Phase,
    Pick,
    Protocol,
    Resources,
    Trial,
    TrialState,
)
from autotune_lab.spaces.config import Config
from autotune_lab.store.plausible import is_time

NO_COMPETITION = "no_competition"
NOT_REMEASURED = "not_remeasured"
BELOW_LAUNCH_FLOOR = "below_launch_floor"
PARTIAL = "partial"
UNITS_DIFFER = "units_differ"

_UNKNOWN_NEED = 2**62
_FIRST_LOOK = (Phase.SCREEN, Phase.TRANSFER, Phase.SWEEP)
_UNFINISHED = (TrialState.RUNNING, TrialState.INTERRUPTED)


def first_look(trial: Trial) -> Measurement | None:
    """Return the measurement that may speak for a trial before the playoff.

    It is the first undisturbed one of a correct run: its screening, its transfer from elsewhere, or
    its place in a sweep.
    """
    if trial.state is not TrialState.OK:
        return None
    for phase in _FIRST_LOOK:
        for measurement in trial.measurements:
            if measurement.phase is phase and measurement.is_eligible:
                return measurement if is_time(measurement.median_ms) else None
    return None


def candidates(
    trials: Sequence[Trial],
    protocol: Protocol,
    default: Config | None,
    *,
    corrections: Mapping[str, float] | None = None,
) -> list[Config]:
    """Name the configs to re-measure, fastest first; the default is always among them.

    Those within ``playoff_ratio`` of the best first look enter, ``playoff_size`` at most. The
    default takes the last seat even if it is slower, unless it did not run correctly.

    Args:
        trials: all of one context.
        protocol: how they were measured.
        default: the kernel's declared config for this problem.
        corrections: device UUID -> by what its times are divided (``levels.corrections``), so that
            a config is no leader for having been measured on the faster of two cards.
    """
    ratios = corrections or {}
    looks = [
        (look.median_ms / ratios.get(look.device_uuid or trial.device_uuid, 1.0), trial.config)
        for trial in trials
        if (look := first_look(trial))
    ]
    looks.sort(key=lambda entry: (entry[0], entry[1].id))
    size = max(1, protocol.playoff_size)
    leaders = [
        config for time_ms, config in looks if time_ms <= looks[0][0] * protocol.playoff_ratio
    ]
    leaders = leaders[:size]
    runs = any(trial.config == default and trial.state is TrialState.OK for trial in trials)
    if default is None or default in leaders or not leaders or not runs:
        return leaders
    return [*leaders[: max(1, size - 1)], default]


def decide(
    context: Context,
    trials: Sequence[Trial],
    *,
    default: Config | None = None,
    space_size: int = 0,
    rounds: frozenset[int] | None = None,
    floor_ms: float | None = None,
    picked_at: str = "",
) -> Pick:
    """Choose the winner of a context by its fresh rounds, or by first looks if there are none.

    Among the configs tied with the fastest the default is preferred, then the one with less shared
    memory, fewer registers, fewer threads. Configs shorter than a launch can't be ranked by events:
    they all count as tied, and the flag ``below_launch_floor`` says that this is no winner.

    Args:
        context: where they were measured.
        trials: all of the context, with their playoff measurements.
        default: the kernel's declared config for this problem.
        space_size: valid configs of the space; 0 when unknown.
        rounds: the playoff rounds to use, all by default.
        floor_ms: time of an empty kernel by the same timer.
        picked_at: UTC, ISO 8601.

    Raises:
        NoSurvivor: no config ran correctly and undisturbed.
    """
    survivors = [trial for trial in trials if first_look(trial)]
    if not survivors:
        detail = survival.explanation(trials, context.model)
        raise NoSurvivor(context.label, survival.counts(trials), detail)
    by_events = context.protocol.timer == "events"
    floor_ms = floor_ms if by_events else None
    played = complete_rounds(survivors, rounds)
    ranked = rank(played, floor_ms=floor_ms, seed=context.protocol.seed)
    ranked = ranked or _by_first_look(survivors, floor_ms)
    unrankable = by_events and ranked[0].is_launch_bound
    tied = [s for s in ranked if s.is_tied or (unrankable and s.is_launch_bound)]
    needs = {trial.config: trial.resources for trial in survivors}
    winner = min(tied, key=lambda s: _preference(s, default, needs[s.config]))
    seen = len({t.config for t in trials if t.state not in _UNFINISHED})
    claims = {
        NO_COMPETITION: len(survivors) == 1,
        BELOW_LAUNCH_FLOOR: unrankable,
        NOT_REMEASURED: not played.contenders,
        PARTIAL: seen < space_size,
        UNITS_DIFFER: any(level.is_systematic for level in levels.of_trials(trials)),
    }
    trial = next(t for t in survivors if t.config == winner.config)
    return Pick(
        context=context,
        config=winner.config,
        median_ms=winner.median_ms,
        low_ms=winner.low_ms,
        high_ms=winner.high_ms,
        chosen_ms=_first_look_ms(trial),
        default_ms=next((s.median_ms for s in ranked if s.config == default), None),
        default_config=default,
        tied=tuple(s.config.id for s in tied),
        best_probability=None if unrankable else winner.best_probability,
        rounds=len(played.times_ms),
        candidates=len(played.contenders),
        trials=seen,
        space_size=space_size,
        flags=_flags(trial, rounds, claims),
        resources=trial.resources,
        picked_at=picked_at,
    )


def _first_look_ms(trial: Trial) -> float | None:
    look = first_look(trial)
    return look.median_ms if look else None


def _by_first_look(survivors: Sequence[Trial], floor_ms: float | None) -> list[Standing]:
    """Rank by one pass; tied is whoever's interval reaches down to the fastest one's."""
    looks = [(trial, look) for trial in survivors if (look := first_look(trial))]
    looks.sort(key=lambda entry: (entry[1].median_ms, entry[0].config.id))
    fastest = looks[0][1]
    reach_ms = max(fastest.high_ms or 0.0, fastest.median_ms)
    return [_unplayed(trial, look, fastest.median_ms, reach_ms, floor_ms) for trial, look in looks]


def _unplayed(
    trial: Trial, look: Measurement, best_ms: float, reach_ms: float, floor_ms: float | None
) -> Standing:
    low_ms = look.median_ms if look.low_ms is None else look.low_ms
    high_ms = look.median_ms if look.high_ms is None else look.high_ms
    return Standing(
        config=trial.config,
        median_ms=look.median_ms,
        low_ms=low_ms,
        high_ms=high_ms,
        ratio=look.median_ms / best_ms,
        ratio_low=low_ms / best_ms,
        ratio_high=high_ms / best_ms,
        best_probability=None,
        is_tied=low_ms <= reach_ms,
        is_launch_bound=is_launch_bound(trial, look.median_ms, floor_ms),
    )


def _preference(
    standing: Standing, default: Config | None, needs: Resources | None
) -> tuple[Any, ...]:
    """Order the tied: the default, then the least shared memory, registers, threads, then time."""
    wanted = (needs.shared_bytes, needs.registers, needs.threads) if needs else (None,) * 3
    resources = tuple(_UNKNOWN_NEED if need is None else need for need in wanted)
    return (standing.config != default, *resources, standing.median_ms, standing.config.id)


def _flags(trial: Trial, rounds: frozenset[int] | None, claims: dict[str, bool]) -> tuple[str, ...]:
    """Return the claims that hold, and the flags of the measurements that decided."""
    played = [m for m in trial.measurements if m.is_eligible and is_playoff(m, rounds)]
    look = first_look(trial)
    used = played or ([look] if look else [])
    measured = {flag for measurement in used for flag in measurement.flags}
    return tuple(sorted(measured | {claim for claim, holds in claims.items() if holds}))
