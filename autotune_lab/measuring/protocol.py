"""Measures one config: verify, warm up, sample, verify again. Runs where the device is.

A config that fails is an outcome with its reason; an exception means that the kernel's file is
wrong. Nothing is allocated between the warm-up and the last sample.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from autotune_lab.definitions import KernelDefinition
from autotune_lab.devices.base import TimingDevice
from autotune_lab.errors import AutotuneLabError, DefinitionError
from autotune_lab.measuring.conditions import flags_of, over_both
from autotune_lab.measuring.failures import outcome_of
from autotune_lab.measuring.inputs import ArgumentSet, ProblemCache, input_seed
from autotune_lab.measuring.statistics import median_interval
from autotune_lab.measuring.timing import Sampling, sample
from autotune_lab.measuring.traffic import count_traffic
from autotune_lab.measuring.verify import Verdict, verify
from autotune_lab.records import (
    DISQUALIFYING_FLAGS,
    FLAG_LAUNCH_BOUND,
    FLAG_NOISY,
    FLAG_RETRIED,
    Footprint,
    MeasureJob,
    Measurement,
    Numerics,
    Outcome,
    Phase,
    TrialState,
)

RETRIES = 2
NOISY_RELATIVE_INTERVAL = 0.05


def measure(
    definition: KernelDefinition,
    device: TimingDevice,
    job: MeasureJob,
    *,
    cache: ProblemCache,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Verify and time one config.

    Args:
        definition: the job's kernel.
        device: where it runs.
        job: which config of which problem, why and how.
        cache: inputs and references of the problem, kept between jobs.
        clock: seconds; decides when the budget is spent.

    Raises:
        DefinitionError: the definition's inputs or reference fail, or it replaces nothing.
        ReferenceUnstable: the reference contradicts itself.
    """
    if job.replaced:
        if definition.replaces is None:
            fault = "it declares no replaces, so there is nothing to compare it with"
            raise DefinitionError(f"kernel {definition.name!r}", [fault])
        job = replace(job, verify=False)
    bench = _Bench(definition, device, job, cache, clock)
    try:
        outcome = bench.run()
    except AutotuneLabError:
        cache.drop()
        raise
    except Exception as error:  # noqa: BLE001 - a launch may raise anything; it is one trial
        cache.drop()
        return outcome_of(error, bench.launches, device.synchronize)
    if bench.has_spoiled_inputs:
        cache.drop()
    return outcome


@dataclass(slots=True)
class _Bench:
    """One config on its device: its launch, the sets that it rotates through, what is counted."""

    definition: KernelDefinition
    device: TimingDevice
    job: MeasureJob
    cache: ProblemCache
    clock: Callable[[], float]
    sets: Sequence[ArgumentSet] = ()
    launches: int = 0
    has_spoiled_inputs: bool = False
    _current: int = 0
    _first_bits: int = 0
    _launched: set[int] = field(default_factory=set)

    def run(self) -> Outcome:
        # Refuses to go on during a graph capture, before anything is allocated.
        self.device.synchronize()
        self.sets = self._prepared_sets()
        verdict = self._launch_untimed()
        if verdict.fault:
            return self._wrong(verdict)
        sampling, measurement = self._measure_with_retries()
        numerics = verdict.numerics
        if self.job.verify:
            after = self._verify_last()
            if after.fault:
                return self._wrong(after)
            if self.definition.deterministic and self.sets[0].fingerprint() != self._first_bits:
                return Outcome(
                    TrialState.UNSTABLE,
                    reason="the same inputs gave other bits; declare deterministic=False if it may",
                    numerics=after.numerics,
                    launches=self.launches,
                )
            numerics = _larger(numerics, after.numerics)
        outcome = self._timed(sampling, measurement, numerics)
        return replace(outcome, footprint=self._footprint()) if self.job.count else outcome

    def _prepared_sets(self) -> Sequence[ArgumentSet]:
        protocol = self.job.protocol
        # A hot cache is one that holds the inputs, and a graph has its arguments built in.
        rotates = protocol.cache == "cold" and protocol.timer == "events"
        return self.cache.sets(
            self.definition,
            self.job.problem,
            device=self.device.torch_device,
            seed=input_seed(protocol.seed, self.job.round),
            substitutes=self.device.substitutes,
            l2_bytes=self.device.probe().model.l2_bytes if rotates else 0,
        )

    def _launch_untimed(self) -> Verdict:
        """Launch once: compiles, loads, and gives the outputs to judge."""
        first = self.sets[0]
        if self.job.verify:
            for arguments in self.sets:
                arguments.remember()
                arguments.reference.outputs()
        first.poison()
        self.device.run(self._launch)
        if not self.job.verify:
            return Verdict()
        self._first_bits = first.fingerprint()
        return verify(self.definition, first)

    def _measure_with_retries(self) -> tuple[Sampling, Measurement]:
        """Sample; again, a bounded number of times, if the device was throttled or contended."""
        for attempt in range(RETRIES + 1):
            sampling, measurement = self._measure()
            if attempt:
                flags = (*measurement.flags, FLAG_RETRIED)
                measurement = replace(measurement, flags=flags)
            if sampling.is_given_up or not DISQUALIFYING_FLAGS & set(measurement.flags):
                break
        return sampling, measurement

    def _measure(self) -> tuple[Sampling, Measurement]:
        protocol = self.job.protocol
        self.device.load(protocol.warmup_ms)
        before = self.device.telemetry()
        sampling = sample(self._draw, protocol, give_up_ms=self._give_up_ms(), clock=self.clock)
        telemetry = over_both(before, self.device.telemetry())
        interval = median_interval(sampling.samples_ms)
        flags = flags_of(telemetry)
        floor_ms = self.device.launch_floor_ms() if protocol.timer == "events" else None
        if floor_ms is not None and interval.median < 2.0 * floor_ms:
            flags += (FLAG_LAUNCH_BOUND,)
        if (interval.relative_half_width or 0.0) > NOISY_RELATIVE_INTERVAL:
            flags += (FLAG_NOISY,)
        measurement = Measurement(
            phase=self.job.phase,
            samples_ms=sampling.samples_ms,
            median_ms=interval.median,
            low_ms=interval.low,
            high_ms=interval.high,
            round=self.job.round,
            flags=flags,
            seed=input_seed(protocol.seed, self.job.round),
            taken_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            telemetry=telemetry,
        )
        return sampling, measurement

    def _give_up_ms(self) -> float | None:
        if self.job.phase is not Phase.SCREEN or self.job.best_ms is None:
            return None
        return self.job.protocol.screen_ratio * self.job.best_ms

    def _draw(self, count: int) -> list[Any]:
        for arguments in self.sets:
            arguments.poison()
        self._launched.clear()
        protocol = self.job.protocol
        return self.device.time(
            self._launch, count, prepare=self._prepare, cache=protocol.cache, timer=protocol.timer
        )

    def _footprint(self) -> Footprint:
        launches = self.device.count_launches(self._launch)
        if not self.job.replaced:
            return Footprint(launches=launches)
        traffic = count_traffic(self._launch)
        return Footprint(launches, traffic.operations, traffic.moved_bytes)

    def _launch(self) -> Any:
        if self.job.replaced and self.definition.replaces is not None:
            return self.definition.replaces(self.sets[self._current].arguments)
        return self.definition.launch(self.sets[self._current].arguments, self.job.config)

    def _prepare(self) -> None:
        self._current = (self._current + 1) % len(self.sets)
        self.sets[self._current].restore()
        self._launched.add(self._current)
        self.launches += 1

    def _verify_last(self) -> Verdict:
        """Judge what the last timed launch left, and a late launch on the first set."""
        # A graph's calls run on one another's results; only a launch of its own can be judged.
        in_place = bool(self.definition.mutates or self.definition.zeroes)
        if self.job.protocol.timer == "graph" and in_place:
            self._launched.clear()
        if self._current in self._launched:
            self.device.synchronize()
            verdict = verify(self.definition, self.sets[self._current])
            if verdict.fault or self._current == 0:
                return verdict
        if 0 not in self._launched:
            self._current = 0
            self.sets[0].poison()
            self.device.run(self._launch)
        self.device.synchronize()
        return verify(self.definition, self.sets[0])

    def _wrong(self, verdict: Verdict) -> Outcome:
        self.has_spoiled_inputs = verdict.spoils_inputs
        return Outcome(
            TrialState.WRONG_RESULT,
            reason=verdict.fault,
            detail=self._note(),
            numerics=verdict.numerics,
            launches=self.launches,
        )

    def _timed(
        self, sampling: Sampling, measurement: Measurement, numerics: Numerics | None
    ) -> Outcome:
        reason = ""
        if sampling.is_given_up:
            ratio = self.job.protocol.screen_ratio
            reason = f"slower than {ratio:g}x the best, {self.job.best_ms:.4g} ms"
        return Outcome(
            TrialState.PRUNED if sampling.is_given_up else TrialState.OK,
            reason=reason,
            detail=self._note(),
            measurement=measurement,
            numerics=numerics,
            launches=self.launches,
        )

    def _note(self) -> str:
        """Say which arguments were not computed in their own dtype."""
        stand_ins = self.sets[0].stand_ins
        substitutes = self.device.substitutes
        return "; ".join(
            f"{name} is {dtype}, computed in {substitutes[dtype]} here"
            for name, dtype in stand_ins.items()
        )


def _larger(one: Numerics | None, other: Numerics | None) -> Numerics | None:
    candidates = [n for n in (one, other) if n is not None]
    return max(candidates, key=lambda n: n.max_relative_error or 0.0, default=None)
