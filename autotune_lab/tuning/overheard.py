"""Turns what ``@triton.autotune`` measured in a user's program into a context and its trials.

Such times are real, but not the lab's: nothing was verified, fresh rounds were not played, and of
the samples only the median is told. They get a source and a protocol of their own, so that they are
never ranked with the lab's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from autotune_lab import fingerprint
from autotune_lab.autotuners import parameters_of, values_of
from autotune_lab.definitions import Problem
from autotune_lab.errors import DefinitionError
from autotune_lab.records import (
    Context,
    Device,
    Environment,
    Measurement,
    Phase,
    Protocol,
    Source,
    SpaceSnapshot,
    Trial,
    TrialState,
)
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.values import Value, canonical
from autotune_lab.store.plausible import is_time

# triton.testing.do_bench as the autotuner calls it: 25 ms of load, 100 ms of launches between
# events, the L2 flushed. What a benchmark of the user's own does is not known.
TRITONS = Protocol(version=0, cache="cold", warmup_ms=25.0, budget_ms=100.0, min_samples=1)
UNKNOWN = Protocol(version=0, cache="cold", warmup_ms=0.0, budget_ms=0.0, min_samples=1)


@dataclass(frozen=True, slots=True)
class Tuned:
    """One tuning by Triton, as it was heard.

    Attributes:
        kernel: what the autotuner launches: the JIT function, perhaps under heuristics.
        key: what Triton tells problems apart by: values of the key, then dtypes.
        timings: ``triton.Config`` -> its quantiles in ms, or one time.
        autotuner: Triton's, if it is known.
        arguments: kernel argument -> what the launch got, if it is known.
    """

    kernel: Any
    key: Sequence[Any]
    timings: Mapping[Any, Any]
    autotuner: Any = None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Overheard:
    """The same as the store takes it."""

    context: Context
    space: SpaceSnapshot
    trials: tuple[Trial, ...]


def overheard(tuned: Tuned, device: Device, environment: Environment) -> Overheard:
    """Return the context and trials of one tuning.

    Raises:
        DefinitionError: the kernel's source can't be found, or a name is none for the store.
    """
    listed = list(tuned.autotuner.configs) if tuned.autotuner else list(tuned.timings)
    names = parameters_of(listed)
    configs = {launched: _config(launched, names) for launched in tuned.timings}
    own_bench = getattr(tuned.autotuner, "_do_bench", None) is not None
    context = Context(
        kernel=fingerprint.identify_kernel(tuned.kernel),
        problem=Problem(dict(_fields(tuned))),
        model=device.model,
        environment=environment,
        protocol=UNKNOWN if own_bench else TRITONS,
        source=device.source if device.source.is_simulated else Source.LISTENED,
    )
    taken_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    trials = tuple(
        replace(
            _trial(context.id, configs[launched], number, _median(quantiles), taken_at),
            device_uuid=device.uuid,
        )
        for number, (launched, quantiles) in enumerate(tuned.timings.items(), start=1)
    )
    return Overheard(context, _space(list(configs.values()), names), trials)


def _fields(tuned: Tuned) -> Iterator[tuple[str, Value]]:
    """Yield the fields of the problem: values of the key by name, then dtypes that differ."""
    arguments = dict(tuned.arguments or {})
    keys = getattr(tuned.autotuner, "keys", None)
    if keys is None:
        yield from ((f"key_{n}", _value(value)) for n, value in enumerate(tuned.key))
        return
    for name in keys:
        if name in arguments:
            yield _field(name), _value(arguments[name])
    known = [name for name in tuned.autotuner.arg_names if name in arguments]
    dtypes = {n: str(arguments[n].dtype) for n in known if hasattr(arguments[n], "dtype")}
    first = next(iter(dtypes.values()), "")
    if first and "dtype" not in keys:
        yield "dtype", first.removeprefix("torch.")
    for name, dtype in dtypes.items():
        if dtype != first:
            yield f"dtype_{name}", dtype.removeprefix("torch.")


def _field(name: str) -> str:
    """Return a name that a problem's field may have."""
    return f"{name}_" if hasattr(Problem, name) else name.lstrip("_")


def _value(value: Any) -> Value:
    try:
        return canonical(value, where="key")
    except DefinitionError:
        return str(value)


def _config(launched: Any, names: Sequence[str]) -> Config:
    values = values_of(launched)
    return Config({name: _value(values.get(name)) for name in names})


def _median(quantiles: Any) -> Any:
    return quantiles[0] if isinstance(quantiles, list | tuple) and quantiles else quantiles


def _trial(context_id: str, config: Config, number: int, median_ms: Any, taken_at: str) -> Trial:
    trial = Trial(
        context_id, config, TrialState.OK, number=number, started_at=taken_at, finished_at=taken_at
    )
    if median_ms == float("inf"):
        reason = "triton.autotune gave it up: out of resources, or it does not compile"
        return replace(trial, state=TrialState.LAUNCH_ERROR, reason=reason)
    if not is_time(median_ms):
        reason = f"triton.autotune measured {median_ms}, which is not a time in ms"
        return replace(trial, state=TrialState.BAD_TIMING, reason=reason, raw_time=str(median_ms))
    time_ms = float(median_ms)
    measurement = Measurement(Phase.SCREEN, (time_ms,), time_ms, taken_at=taken_at)
    return replace(trial, measurements=(measurement,))


def _space(configs: Sequence[Config], names: Sequence[str]) -> SpaceSnapshot:
    values = {
        name: tuple({(type(c[name]), c[name]): c[name] for c in configs}.values()) for name in names
    }
    return SpaceSnapshot(
        parameters=values,
        ordered=tuple(n for n, found in values.items() if {type(v) for v in found} <= {int, float}),
        constraints=("what triton.autotune left after pruning",),
        size=len({config.id for config in configs}),
    )
