"""Each kind of wrong, slow or odd config, measured on a device with scripted times."""

import itertools
import math
import time

import pytest
import torch

from autotune_lab import Problem
from autotune_lab.devices.base import UntimableError
from autotune_lab.devices.fake import FakeDevice
from autotune_lab.errors import DefinitionError, ReferenceUnstable
from autotune_lab.measuring.inputs import ProblemCache
from autotune_lab.measuring.protocol import RETRIES
from autotune_lab.records import (
    FLAG_CONTENDED,
    FLAG_LAUNCH_BOUND,
    FLAG_RETRIED,
    FLAG_THROTTLED,
    Phase,
    Protocol,
    Telemetry,
    TrialState,
)
from autotune_lab.spaces.config import Config
from tests.measuring.scripted import doubling, doubling_inputs, right, run, timed

CALM = Telemetry(sm_clock_mhz=1980)


def contest(args, config, count):
    """Eight rivals; only A, C's successor in time but right, may win."""
    name = "ABCDEFGH"[config["variant"]]
    right(args)
    y = args["y"]
    match name:
        case "B":
            y += 0.1
        case "C":
            y.fill_(math.nan)
        case "D":
            y += count > 1
        case "E":
            y.fill_(1.0)
        case "F":
            y *= 1 + 1e-7 * count
        case "G":
            y[32:] = math.nan
        case "H":
            args["x"].mul_(2.0)
    return {"A": 3.0, "B": 1.0, "C": 0.9, "D": 0.8, "E": 0.7, "F": 0.6, "G": 0.5, "H": 0.4}[name]


@pytest.mark.parametrize(
    ("variant", "state", "reason"),
    [
        (0, "ok", ""),
        (1, "wrong_result", "off by up to 0.1"),
        (2, "wrong_result", "NaN"),
        (3, "wrong_result", "off by up to 1"),
        (4, "wrong_result", "off by up to"),
        (5, "unstable", "other bits"),
        (6, "wrong_result", "NaN"),
        (7, "wrong_result", "input 'x' was changed; declare mutates=['x']"),
    ],
)
def test_a_fast_wrong_config_never_has_a_time(variant, state, reason):
    outcome = run(doubling(contest), variant)
    assert outcome.state == state
    assert reason in outcome.reason
    assert (outcome.measurement is None) == (state != "ok")
    if variant not in (2, 7):
        assert outcome.numerics.max_absolute_error is not None
        assert outcome.numerics.tolerance == 1e-5


def test_the_rivals_do_not_depend_on_their_order():
    for order in itertools.islice(itertools.permutations(range(8)), 0, None, 4001):
        definition, cache = doubling(contest), ProblemCache()
        states = {variant: run(definition, variant, cache=cache).state for variant in order}
        assert [v for v, state in states.items() if state == "ok"] == [0]


def test_what_is_right_on_the_first_launch_only_is_caught_after_the_last():
    outcome = run(doubling(contest, deterministic=False), 3)
    assert outcome.state is TrialState.WRONG_RESULT
    assert outcome.launches >= 5


def test_bits_may_change_where_that_is_declared():
    assert run(doubling(contest, deterministic=False), 5).state is TrialState.OK


NO_TIMES = [math.nan, math.inf, 0.0, -1.0, None, 1e-12, "3.0"]


@pytest.mark.parametrize("order", list(itertools.permutations([*NO_TIMES, 2.0]))[::4999])
def test_what_is_no_time_never_wins_in_any_order(order):
    definition, cache = timed(*order), ProblemCache()
    outcomes = [run(definition, variant, cache=cache) for variant in range(len(order))]
    for value, outcome in zip(order, outcomes, strict=True):
        if value == 2.0:
            assert outcome.state is TrialState.OK
            assert outcome.measurement.median_ms == 2.0
        else:
            assert outcome.state is TrialState.BAD_TIMING
            assert outcome.raw_time == str(value)
            assert outcome.measurement is None


def test_one_bad_sample_among_good_ones_is_enough():
    def launch(args, config, count):
        right(args)
        return -0.5 if count == 5 else 1.0

    assert run(doubling(launch)).state is TrialState.BAD_TIMING


def test_one_sample_has_no_spread():
    outcome = run(timed(1.0), protocol=Protocol(min_samples=1, max_samples=1))
    assert outcome.measurement.samples_ms == (1.0,)
    assert outcome.measurement.low_ms is None
    assert outcome.measurement.high_ms is None


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_what_is_around_a_launch_is_not_in_its_time(cache):
    class Flushing(FakeDevice):
        """Spends 1 ms outside of each launch, as a flush does."""

        def time(self, launch, count, *, prepare, cache, timer):
            def prepare_and_flush():
                prepare()
                time.sleep(1e-3 if cache == "cold" else 0.0)

            return super().time(launch, count, prepare=prepare_and_flush, cache=cache, timer=timer)

    outcome = run(timed(0.1), device=Flushing(), protocol=Protocol(cache=cache))
    assert outcome.measurement.median_ms == 0.100


def test_kernels_below_the_launch_floor_are_flagged_and_told_apart_by_graphs():
    by_events = [
        run(timed(0.003, 0.004), v, device=FakeDevice(floor_ms=0.030)).measurement for v in (0, 1)
    ]
    assert [m.median_ms for m in by_events] == [0.030, 0.030]
    assert all(FLAG_LAUNCH_BOUND in m.flags for m in by_events)

    device = FakeDevice(floor_ms=0.030, fixed_ms=0.006)
    graphs = Protocol(timer="graph")
    by_graph = [
        run(timed(0.003, 0.004), v, device=device, protocol=graphs).measurement for v in (0, 1)
    ]
    assert by_graph[0].median_ms < by_graph[1].median_ms
    assert by_graph[0].median_ms == pytest.approx(0.003, rel=0.011)
    assert min(device.calls_per_sample[:3]) >= 200
    assert not any(FLAG_LAUNCH_BOUND in m.flags for m in by_graph)


def test_a_longer_kernel_is_not_launch_bound():
    measurement = run(timed(0.2), device=FakeDevice(floor_ms=0.005)).measurement
    assert FLAG_LAUNCH_BOUND not in measurement.flags


def test_a_hopeless_config_keeps_its_short_measurement():
    outcome = run(timed(5.0), best_ms=2.0)
    assert outcome.state is TrialState.PRUNED
    assert outcome.measurement.samples_ms == (5.0,) * 3
    assert "2x the best" in outcome.reason
    assert run(timed(3.9), best_ms=2.0).state is TrialState.OK


@pytest.mark.parametrize("phase", [Phase.PLAYOFF, Phase.TRANSFER])
def test_only_screening_gives_up_early(phase):
    assert run(timed(5.0), best_ms=2.0, phase=phase).state is TrialState.OK


def in_place(args, config, count):
    args["x"] += 1.0
    return 1.0


def test_an_in_place_kernel_leaves_its_data_as_it_was():
    made = []

    def inputs(problem, device, generator):
        made.append(torch.zeros(8))
        return {"x": made[-1]}

    definition = doubling(
        in_place,
        inputs=inputs,
        outputs=["x"],
        mutates=["x"],
        reference=lambda args: {"x": args["x"] + 1},
    )
    cache = ProblemCache()
    for variant in range(5):
        outcome = run(definition, variant, cache=cache)
        assert outcome.state is TrialState.OK
        assert outcome.launches >= 5
    assert [t.tolist() for t in made] == [[0.0] * 8] * len(made)
    definition.launch({"x": made[0]}, Config(variant=0))
    assert made[0].tolist() == [1.0] * 8


def test_partial_sums_depend_on_no_other_config():
    """The number of additions differs by config, the sum does not: accumulators start at zero."""

    def launch(args, config, count):
        for part in torch.tensor_split(args["x"], config["variant"] + 1):
            args["y"] += part.sum()
        return 1.0

    def inputs(problem, device, generator):
        return {"x": torch.ones(64), "y": torch.full((1,), 5.0)}

    definition = doubling(
        launch, inputs=inputs, zeroes=["y"], reference=lambda a: {"y": a["x"].sum().reshape(1)}
    )
    for order in itertools.permutations(range(4)):
        cache = ProblemCache()
        assert {run(definition, v, cache=cache).state for v in order} == {TrialState.OK}


@pytest.mark.parametrize("timer", ["events", "graph"])
def test_accumulators_are_judged_on_one_launch_alone(timer):
    def launch(args, config, count):
        args["y"] += args["x"]
        return 1.0

    definition = doubling(launch, zeroes=["y"], reference=lambda a: {"y": a["y"] + a["x"]})
    assert run(definition, protocol=Protocol(timer=timer)).state is TrialState.OK


def test_a_store_out_of_bounds_is_wrong_though_the_output_is_right():
    def launch(args, config, count):
        right(args)
        args["y"].as_strided((65,), (1,))[64] = 0.0
        return 1.0

    outcome = run(doubling(launch))
    assert outcome.state is TrialState.WRONG_RESULT
    assert outcome.reason == "wrote outside of 'y'"


def test_a_store_out_of_bounds_in_a_timed_launch_is_found_too():
    def launch(args, config, count):
        right(args)
        if count > 3:
            args["y"].as_strided((65,), (1,))[64] = 0.0
        return 1.0

    assert run(doubling(launch)).reason == "wrote outside of 'y'"


def test_inputs_that_one_config_spoilt_are_made_anew_for_the_next():
    cache, definition = ProblemCache(), doubling(contest)
    assert run(definition, 7, cache=cache).state is TrialState.WRONG_RESULT
    assert run(definition, 0, cache=cache).state is TrialState.OK


def test_a_config_whose_time_is_bad_spoils_no_inputs_for_the_next():
    def launch(args, config, count):
        right(args)
        if config["variant"] == 0 and count > 1:
            args["x"].zero_()
            return None
        return 1.0

    cache, definition = ProblemCache(), doubling(launch)
    assert run(definition, 0, cache=cache).state is TrialState.BAD_TIMING
    assert run(definition, 1, cache=cache).state is TrialState.OK


def test_a_device_that_is_lost_before_the_launch_is_a_crash():
    class Lost(FakeDevice):
        def synchronize(self):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    outcome = run(timed(1.0), device=Lost())
    assert outcome.state is TrialState.CRASHED
    assert outcome.retire


def test_a_launch_that_can_not_be_timed_has_a_bad_timing_with_the_reason():
    class Elsewhere(FakeDevice):
        def run(self, launch):
            raise UntimableError("launch uses another stream")

    outcome = run(timed(1.0), device=Elsewhere())
    assert outcome.state is TrialState.BAD_TIMING
    assert outcome.reason == "launch uses another stream"
    assert outcome.raw_time is None


def test_a_config_that_does_nothing_when_timed_is_wrong():
    def launch(args, config, count):
        if count == 1:
            right(args)
        return 0.1

    outcome = run(doubling(launch))
    assert outcome.state is TrialState.WRONG_RESULT
    assert "not written" in outcome.reason


@pytest.mark.parametrize("count", range(1, 12))
def test_rotated_sets_are_each_judged_by_what_they_were_launched_with(count):
    protocol = Protocol(min_samples=1, max_samples=count)
    outcome = run(timed(1.0), device=FakeDevice(l2_bytes=2**20), protocol=protocol)
    assert outcome.state is TrialState.OK, outcome.reason


def test_rotation_reaches_every_set_when_cold_and_one_when_hot():
    def seen(protocol):
        values = set()

        def launch(args, config, count):
            right(args)
            values.add(float(args["x"][0]))
            return 1.0

        run(doubling(launch), device=FakeDevice(l2_bytes=2**20), protocol=protocol)
        return len(values)

    assert seen(Protocol()) == 4
    assert seen(Protocol(cache="hot")) == 1
    assert seen(Protocol(timer="graph")) == 1


def test_each_playoff_round_has_fresh_inputs_that_its_rivals_share():
    drawn = []

    def launch(args, config, count):
        right(args)
        drawn.append(float(args["x"][0]))
        return 1.0

    definition, cache = doubling(launch), ProblemCache()
    for number in (1, 2):
        for variant in (0, 1):
            run(definition, variant, cache=cache, phase=Phase.PLAYOFF, round=number, verify=False)
    assert len(set(drawn)) == 2


def test_without_verification_nothing_is_judged():
    outcome = run(doubling(contest), 1, verify=False)
    assert outcome.state is TrialState.OK
    assert outcome.numerics is None


def test_a_reference_altered_by_one_config_does_not_fail_the_next():
    kept = torch.zeros(64, dtype=torch.float64)

    def reference(args):
        kept.copy_(2 * args["x"])
        return {"y": kept}

    def launch(args, config, count):
        right(args)
        if config["variant"] == 1:
            kept.zero_()
        return 1.0

    definition, cache = doubling(launch, reference=reference), ProblemCache()
    states = [run(definition, variant, cache=cache).state for variant in (0, 1, 2)]
    assert states == [TrialState.OK] * 3


def test_a_reference_that_contradicts_itself_is_an_error_and_not_a_wrong_config():
    answers = itertools.count()
    definition = doubling(contest, reference=lambda args: {"y": args["x"] + next(answers)})
    with pytest.raises(ReferenceUnstable, match="reference unstable"):
        run(definition)


def test_a_failing_reference_is_the_definitions_fault():
    with pytest.raises(DefinitionError, match="reference raised KeyError"):
        run(doubling(contest, reference=lambda args: {"y": args["z"]}))


def test_a_launch_that_raises_is_an_outcome_with_its_count():
    def launch(args, config, count):
        if count == 4:
            raise ValueError("four\nis too many")
        right(args)
        return 1.0

    outcome = run(doubling(launch))
    assert outcome.state is TrialState.LAUNCH_ERROR
    assert outcome.reason == "four"
    assert outcome.launches == 3


def test_an_interrupt_is_not_a_failed_config():
    def launch(args, config, count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(doubling(launch))


@pytest.mark.parametrize(
    ("reading", "flag"),
    [
        (Telemetry(throttle_reasons=("hw_thermal_slowdown",)), FLAG_THROTTLED),
        (Telemetry(other_processes=1), FLAG_CONTENDED),
    ],
)
class TestDisturbances:
    def test_one_is_measured_again(self, reading, flag):
        device = FakeDevice(script=[CALM, reading, CALM])
        measurement = run(timed(1.0), device=device).measurement
        assert measurement.flags == (FLAG_RETRIED,)
        assert measurement.is_eligible

    def test_one_that_stays_is_kept_and_flagged(self, reading, flag):
        launches = []

        def launch(args, config, count):
            right(args)
            launches.append(count)
            return 1.0

        measurement = run(doubling(launch), device=FakeDevice(script=[reading])).measurement
        assert set(measurement.flags) == {flag, FLAG_RETRIED}
        assert not measurement.is_eligible
        assert len(launches) == 1 + 6 * (1 + RETRIES)


def test_the_power_cap_and_set_clocks_are_the_normal_state_of_a_machine():
    reasons = ("gpu_idle", "sw_power_cap", "applications_clocks", "sync_boost", "display_clocks")
    device = FakeDevice(script=[Telemetry(throttle_reasons=reasons)])
    assert run(timed(1.0), device=device).measurement.flags == ()


def test_telemetry_is_kept_with_the_measurement():
    device = FakeDevice(script=[CALM, Telemetry(sm_clock_mhz=1700, power_w=690.5)])
    telemetry = run(timed(1.0), device=device).measurement.telemetry
    assert (telemetry.sm_clock_mhz, telemetry.power_w) == (1700, 690.5)


def test_nothing_is_judged_between_the_warm_up_and_the_last_sample():
    """A check in between would allocate, and change what the caches hold."""
    events = []

    class Watching(FakeDevice):
        def load(self, duration_ms):
            events.append("load")

        def time(self, launch, count, **how):
            events.append("time")
            return super().time(launch, count, **how)

        def run(self, launch):
            events.append("run")
            super().run(launch)

        def synchronize(self):
            events.append("judge")

    run(timed(1.0), device=Watching())
    first, last = events.index("load"), len(events) - 1 - events[::-1].index("time")
    assert set(events[first + 1 : last + 1]) == {"time"}
    assert "run" in events[:first]
    assert "judge" in events[last:]


def test_a_slow_kernel_is_launched_four_times_in_all():
    """At 400 ms each that is 1.6 s, of a limit of 2 s."""
    launches = []

    def launch(args, config, count):
        right(args)
        launches.append(count)
        time.sleep(0.05)
        return 400.0

    outcome = run(doubling(launch), protocol=Protocol(budget_ms=100.0))
    assert outcome.state is TrialState.OK
    assert len(outcome.measurement.samples_ms) == 3
    assert len(launches) == 4


def test_a_config_is_judged_by_the_reference_and_not_by_the_first_config():
    definition, cache = doubling(contest), ProblemCache()
    assert run(definition, 1, cache=cache).state is TrialState.WRONG_RESULT
    assert run(definition, 0, cache=cache).state is TrialState.OK


def test_half_precision_is_judged_by_its_own_tolerance():
    problem = Problem(n=64, dtype="bfloat16")
    definition = doubling(contest, problems=[problem], inputs=doubling_inputs)
    assert run(definition, problem=problem).numerics.tolerance == 2e-2
