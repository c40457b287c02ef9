"""How the cost of a store grows with the trials in it: python benchmarks/store.py [--most 100000].

Fills one SQLite file step by step (384 configs a context, 20 samples a trial) and measures at each
size: inserting in bulk, one trial by claim and finish, and what the reading commands ask for.
"""

import argparse
import resource
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from autotune_lab.definitions import Problem
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    Measurement,
    Outcome,
    Phase,
    Pick,
    Protocol,
    Resources,
    Source,
    SpaceSnapshot,
    Trial,
    TrialState,
    Work,
)
from autotune_lab.spaces.config import Config
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store

MODEL = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 132, 150_754_820_096)
KERNEL = KernelIdentity("matmul", "c0de", "4ef", "matmul")
SPACE = SpaceSnapshot({"BLOCK_M": (64, 128)}, ("BLOCK_M",), (), 384)
CONFIGS = [
    Config(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8, num_warps=w, num_stages=s)
    for m in (32, 64, 128, 256)
    for n in (32, 64, 128, 256)
    for k in (32, 64, 128)
    for w in (4, 8)
    for s in (2, 3, 4, 5)
]
HEADER = (
    f"{'trials':>9} {'bulk/s':>8} {'claim+finish':>13} {'resume':>9} {'picks':>8} "
    f"{'contexts':>9} {'frame':>8} {'file':>8} {'peak':>9}"
)


def context(number):
    problem = Problem(M=number, dtype="bfloat16")
    return Context(KERNEL, problem, MODEL, Environment(triton="3.6.0"), Protocol(), Source.GPU)


def add_context(store, number):
    made = context(number)
    store.add_context(made, space=SPACE, work=Work(1.0, 1.0), hello=None)
    return made


def measurement(generator):
    samples = generator.normal(1.0, 0.01, 20).astype(np.float32).tolist()
    return Measurement(Phase.SCREEN, tuple(samples), samples[0], samples[1], samples[2])


def trials_of(made, generator):
    for number, config in enumerate(CONFIGS):
        yield Trial(
            context_id=made.id,
            config=config,
            state=TrialState.OK,
            number=number,
            resources=Resources(shared_bytes=98304, registers=168),
            measurements=(measurement(generator),),
            finished_at="2026-01-02T03:04:05.000000+00:00",
        )


def fill(store, first, count, generator):
    """Add contexts with all their trials and a pick each; return the seconds spent in the store."""
    spent_s = 0.0
    for number in range(first, first + count):
        made = add_context(store, number)
        measured = list(trials_of(made, generator))
        began = time.perf_counter()
        store.record_all(made.id, measured)
        spent_s += time.perf_counter() - began
        store.add_pick(Pick(made, CONFIGS[0], 1.0, picked_at="2026-01-02T03:04:05+00:00"))
    return spent_s


def one_by_one(store, number, generator):
    """Claim and finish a context's trials, as a study does; return the median ms of a trial."""
    made = add_context(store, number)
    run_id = store.begin_run("one by one", {})
    outcome = Outcome(TrialState.OK, resources=Resources(shared_bytes=98304))
    spent_ms = []
    for position, config in enumerate(CONFIGS):
        result = replace(outcome, measurement=measurement(generator))
        began = time.perf_counter()
        trial_id = store.claim(run_id, made.id, config, position)
        store.finish(trial_id, result, "GPU-0")
        spent_ms.append((time.perf_counter() - began) * 1e3)
    store.end_run(run_id, "done")
    return statistics.median(spent_ms)


def seconds(ask):
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=100_000, help="trials in the last step")
    most = parser.parse_args().most
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab.db"
        contexts = 0
        print(HEADER)
        for size in (size for size in (10**n for n in range(3, 8)) if size <= most):
            with Store.open(str(path)) as store:
                wanted = max(size // len(CONFIGS) - contexts, 1)
                rate = wanted * len(CONFIGS) / fill(store, contexts, wanted, generator)
                contexts += wanted
                single_ms = one_by_one(store, contexts, generator)
                contexts += 1
                resume_s = seconds(lambda: store.trials(context(0).id))
                picks_s = seconds(store.picks)
                contexts_s = seconds(lambda: frames.contexts(store, Query()))
                frame_s = seconds(lambda: frames.trials(store, Query()))
            peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{contexts * len(CONFIGS):9,} {rate:8,.0f} {single_ms:10.2f} ms "
                f"{resume_s * 1e3:6.0f} ms {picks_s:6.2f} s {contexts_s:7.2f} s {frame_s:6.2f} s "
                f"{path.stat().st_size / 2**20:5.0f} MB {peak_mib:6.0f} MB",
                flush=True,
            )


if __name__ == "__main__":
    main()
