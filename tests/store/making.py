"""Contexts, outcomes and trials made by hand, and how to look at a store from outside."""

import sqlite3
from contextlib import closing
from dataclasses import replace

from autotune_lab.definitions import Problem
from autotune_lab.records import (
    Context,
    Device,
    DeviceModel,
    Environment,
    Hello,
    KernelIdentity,
    Measurement,
    Numerics,
    Outcome,
    Phase,
    Pick,
    Protocol,
    Resources,
    Source,
    SpaceSnapshot,
    Telemetry,
    Trial,
    TrialState,
    Work,
)
from autotune_lab.spaces.config import Config

H200 = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 132, 150_754_820_096, power_limit_w=700)
A4000 = DeviceModel("NVIDIA RTX A4000", "nvidia", "sm_86", 48, 16_879_583_232)
TODAY = Environment(driver="575.57", runtime="12.8", torch="2.11.0", triton="3.6.0")
MATMUL = KernelIdentity("matmul", "c0de", "4ef", "matmul")
SQUARE = Problem(M=4096, N=4096, K=4096, dtype="bfloat16")
SPACE = SpaceSnapshot(
    parameters={"BLOCK_M": (64, 128), "layout": ("row", ("a", 1))},
    ordered=("BLOCK_M",),
    constraints=("BLOCK_M <= M",),
    size=4,
)
WORK = Work(bytes=100_663_296.0, flops=137_438_953_472.0)
UUID = "GPU-11111111-2222-3333-4444-555555555555"


def context(**changes):
    made = Context(MATMUL, SQUARE, H200, TODAY, Protocol(), Source.GPU)
    return replace(made, **changes)


def hello(model=H200, uuid=UUID, source=Source.GPU):
    return Hello(
        Device(model, uuid, source),
        TODAY,
        launch_floor_ms=0.0021,
        copy_gbs=4012.5,
        matmul_tflops={"bfloat16": 751.0},
    )


def config(position):
    return Config(BLOCK_M=16 * (position + 1), num_warps=4)


def measurement(median_ms=1.0, *, phase=Phase.SCREEN, **changes):
    made = Measurement(
        phase=phase,
        samples_ms=(median_ms, median_ms, median_ms),
        median_ms=median_ms,
        low_ms=median_ms,
        high_ms=median_ms,
        seed=2**40,
        taken_at="2026-01-02T03:04:05.000000+00:00",
        telemetry=Telemetry(1980, 2619, 512.5, 61, ("sw_power_cap",), 1),
    )
    return replace(made, **changes)


def ok(median_ms=1.0, **changes):
    made = Outcome(
        state=TrialState.OK,
        measurement=measurement(median_ms),
        resources=Resources(98304, 168, 0, 0, 256, 1, 1, 812.5),
        numerics=Numerics(1e-3, 2e-3, 2e-2, 1.5),
        launches=23,
        elapsed_ms=35.5,
    )
    return replace(made, **changes)


def failed(state, reason="it failed"):
    return Outcome(state=state, reason=reason, detail="RuntimeError: it failed\nsecond line")


def trial(position=0, median_ms=1.0, *, of=None, **changes):
    made = Trial(
        context_id=(of or context()).id,
        config=config(position),
        state=TrialState.OK,
        number=position,
        resources=Resources(shared_bytes=98304, registers=168),
        measurements=(measurement(median_ms),),
        started_at="2026-01-02T03:04:04.000000+00:00",
        finished_at="2026-01-02T03:04:05.000000+00:00",
        device_uuid=UUID,
    )
    return replace(made, **changes)


def pick(of=None, **changes):
    made = Pick(
        context=of or context(),
        config=config(0),
        median_ms=1.02,
        low_ms=1.01,
        high_ms=1.03,
        chosen_ms=0.98,
        default_ms=1.5,
        default_config=config(1),
        tied=(config(0).id,),
        best_probability=0.97,
        rounds=9,
        candidates=4,
        trials=40,
        space_size=40,
        resources=Resources(shared_bytes=98304),
        picked_at="2026-01-02T03:04:05+00:00",
    )
    return replace(made, **changes)


def opened(store, of=None):
    """Add a context as a study does and return its id and a run's."""
    made = of or context()
    run_id = store.begin_run("a study", {"trials": 40})
    return run_id, store.add_context(made, space=SPACE, work=WORK, hello=hello(made.model))


def measure(store, run_id, context_id, position, outcome=None):
    trial_id = store.claim(run_id, context_id, config(position), position)
    store.finish(trial_id, outcome or ok(1.0 + position), UUID)
    return trial_id


def query(path, sql, *values):
    """Ask the file itself, past all of the lab's code."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql, values).fetchall()
