"""A made-up fleet in a real store: a GEMM on three device models and three problems, with losses.

Times come from a small model of tiles and waves plus noise from a fixed seed; nothing is measured.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from autotune_lab.analysis import selection
from autotune_lab.definitions import Problem
from autotune_lab.records import (
    Context,
    Device,
    DeviceModel,
    Environment,
    Hello,
    KernelIdentity,
    Measurement,
    Phase,
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
from autotune_lab.store.store import Store

H200 = DeviceModel(
    "NVIDIA H200",
    "nvidia",
    "sm_90",
    132,
    150_754_820_096,
    power_limit_w=700,
    max_shared_bytes=232_448,
)
PART = replace(H200, partition="64sm", sm_count=64)
A4000 = DeviceModel(
    "NVIDIA RTX A4000", "nvidia", "sm_86", 48, 16_879_583_232, max_shared_bytes=101_376
)
MODELS = (H200, PART, A4000)
PROBLEMS = (
    Problem(M=4096, N=4096, K=4096, dtype="bfloat16"),
    Problem(M=16, N=8192, K=8192, dtype="bfloat16"),
    Problem(M=256, N=8192, K=4096, dtype="bfloat16"),
)
VALUES = {
    "BLOCK_M": (16, 64, 128),
    "BLOCK_N": (64, 128, 256),
    "BLOCK_K": (32, 64),
    "num_warps": (4, 8),
    "num_stages": (2, 3, 4),
}
CONFIGS = tuple(Config(dict(zip(VALUES, row, strict=True))) for row in product(*VALUES.values()))
DEFAULT = Config(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=2)
MATMUL = KernelIdentity("matmul", "c0de", "4ef", "matmul")
COPY_GBS = {"sm_90": 4000.0, "sm_86": 400.0}
PEAK_TFLOPS = {H200.id: 660.0, PART.id: 320.0, A4000.id: 60.0}


def context(problem=PROBLEMS[0], model=H200, kernel=MATMUL, source=Source.GPU, triton="3.6.0"):
    environment = Environment(driver="575.57", runtime="12.8", torch="2.11.0", triton=triton)
    return Context(kernel, problem, model, environment, Protocol(), source)


def shared_bytes(config):
    return config["num_stages"] * 2 * config["BLOCK_K"] * (config["BLOCK_M"] + config["BLOCK_N"])


def model_ms(problem, model, config):
    """Waves of tiles on the SMs, each tile slower the less its shape suits the device."""
    tiles = -(-problem.M // config["BLOCK_M"]) * -(-problem.N // config["BLOCK_N"])
    waves = -(-tiles // model.sm_count)
    flops = 2 * config["BLOCK_M"] * config["BLOCK_N"] * problem.K
    rate = PEAK_TFLOPS[model.id] * 1e12 / model.sm_count
    reuse = 1 / (1 + 24 / config["BLOCK_M"] + 24 / config["BLOCK_N"])
    warps = (
        1.0
        if (config["BLOCK_M"] * config["BLOCK_N"] >= 16384) == (config["num_warps"] == 8)
        else 0.8
    )
    stages = 1 - 0.1 * abs(config["num_stages"] - (4 if model.architecture == "sm_90" else 2))
    arithmetic_ms = 1e3 * waves * flops / (rate * reuse * warps * stages)
    m, n, k = (problem[name] for name in "MNK")
    traffic_ms = 2 * (m * k + k * n + m * n) / (COPY_GBS[model.architecture] * 1e6)
    return max(arithmetic_ms, traffic_ms) + 0.1 * arithmetic_ms + 0.004


def trial_of(made, config, number, random):
    need = shared_bytes(config)
    resources = Resources(
        shared_bytes=need,
        registers=min(
            255, 32 + config["BLOCK_M"] * config["BLOCK_N"] // (32 * config["num_warps"])
        ),
        spill_bytes=64
        if config["BLOCK_M"] * config["BLOCK_N"] > 16384 * config["num_warps"] / 4
        else 0,
        threads=32 * config["num_warps"],
    )
    shared = {"context_id": made.id, "config": config, "number": number, "resources": resources}
    if need > made.model.max_shared_bytes:
        reason = f"needs {need} B of shared memory, the device has {made.model.max_shared_bytes} B"
        return Trial(state=TrialState.OUT_OF_RESOURCES, reason=reason, **shared)
    if config["BLOCK_M"] == 16 and config["num_warps"] == 8 and config["BLOCK_N"] == 64:
        return Trial(
            state=TrialState.WRONG_RESULT, reason="largest error 0.31, allowed 0.02", **shared
        )
    time_ms = model_ms(made.problem, made.model, config)
    return Trial(
        state=TrialState.OK,
        measurements=(measured(time_ms, random, Phase.SCREEN),),
        device_uuid=f"GPU-{made.model.slug}",
        **shared,
    )


def measured(time_ms, random, phase, number=0):
    samples = time_ms * (1 + np.abs(random.normal(0, 0.02, 7)))
    samples *= 1 + random.normal(0, 0.015)
    low, median, high = np.quantile(samples, [0.1, 0.5, 0.9])
    telemetry = Telemetry(sm_clock_mhz=1755, power_w=640.0, temperature_c=58)
    return Measurement(
        phase, tuple(map(float, samples)), float(median), float(low), float(high), number,
        taken_at="2025-01-02T03:04:05Z", telemetry=telemetry,
    )  # fmt: skip


def hello(model):
    peak = PEAK_TFLOPS[model.id]
    return Hello(
        Device(model, f"GPU-{model.slug}", Source.GPU), context(model=model).environment,
        launch_floor_ms=0.003, copy_gbs=COPY_GBS[model.architecture],
        matmul_tflops={"bfloat16": peak},
    )  # fmt: skip


def tune(store, made, *, configs=CONFIGS, seed=0, playoff=True, default=DEFAULT):
    """Tune one context as the lab would: screen all, re-measure the leaders, pick."""
    random = np.random.default_rng([seed, int(made.id[:8], 16)])
    snapshot = SpaceSnapshot(dict(VALUES), tuple(VALUES), (), len(CONFIGS))
    m, n, k = (made.problem[name] for name in "MNK")
    work = Work(bytes=2.0 * (m * k + k * n + m * n), flops=2.0 * m * n * k)
    store.add_context(made, space=snapshot, work=work, hello=hello(made.model))
    run = store.begin_run("fleet", {})
    order = random.permutation(len(configs))
    trials = [trial_of(made, configs[i], number, random) for number, i in enumerate(order)]
    ids = store.record_all(made.id, trials, run_id=run)
    if not playoff:
        return None
    known = {trial.config: (i, trial) for i, trial in zip(ids, trials, strict=True)}
    for config in selection.candidates(trials, made.protocol, default):
        for number in range(made.protocol.playoff_rounds):
            time_ms = model_ms(made.problem, made.model, config)
            store.add_measurement(
                known[config][0], measured(time_ms, random, Phase.PLAYOFF, number + 1)
            )
    pick = selection.decide(
        made, store.trials(made.id), default=default, space_size=len(CONFIGS), floor_ms=0.003,
        picked_at="2025-01-02T03:04:05Z",
    )  # fmt: skip
    store.add_pick(pick)
    store.end_run(run, "done")
    return pick


def fleet(path, *, models=MODELS, problems=PROBLEMS, **options):
    """Make a store of every problem on every model."""
    store = Store.open(f"sqlite:///{path}")
    for model, problem in product(models, problems):
        tune(store, context(problem, model), **options)
    return store
