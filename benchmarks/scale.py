"""What reading commands cost over a large store: python benchmarks/scale.py [--trials 1000000].

Makes a synthetic store (kernels x problems x 6 device models x 384 configs, 20 samples a trial),
then runs each command as a user does and prints its wall time and peak memory beside its bound.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from autotune_lab.definitions import Problem
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    Measurement,
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
from autotune_lab.store.store import Store

PROBLEMS = 44
MODELS = [
    DeviceModel(f"Test GPU {name}", "nvidia", "sm_90", 100 + name, 2**36) for name in range(6)
]
VALUES = {
    "BLOCK_M": (32, 64, 128, 256),
    "BLOCK_N": (32, 64, 128, 256),
    "BLOCK_K": (32, 64, 128),
    "num_warps": (4, 8),
    "num_stages": (2, 3, 4, 5),
}
SPACE = SpaceSnapshot(VALUES, tuple(VALUES), (), 384)
CONFIGS = [
    Config(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=w, num_stages=s)
    for m in VALUES["BLOCK_M"]
    for n in VALUES["BLOCK_N"]
    for k in VALUES["BLOCK_K"]
    for w in VALUES["num_warps"]
    for s in VALUES["num_stages"]
]
AT = "2026-01-02T03:04:05.000000+00:00"
# The command, its bound in seconds and in MiB.
COMMANDS = [
    (["best"], 5, 2048),
    (["trials", "--limit", "20"], 1, 2048),
    (["overfit", "--json"], 60, 2048),
    (["report", "--out", "out"], 120, 2048),
]


def fill(store, trials):
    """Record contexts until there are so many trials; return how many there are."""
    generator = np.random.default_rng(0)
    base = generator.lognormal(0.0, 0.3, len(CONFIGS))
    written = 0
    for number in range(-(-trials // (PROBLEMS * len(MODELS) * len(CONFIGS)))):
        kernel = KernelIdentity(f"kernel{number}", f"c0de{number}", "4ef", f"kernel{number}")
        for size in range(1, PROBLEMS + 1):
            for model in MODELS:
                if written >= trials:
                    return written
                made = Context(
                    kernel, Problem(M=256 * size, dtype="bfloat16"), model,
                    Environment(triton="3.6.0"), Protocol(), Source.GPU,
                )  # fmt: skip
                store.add_context(made, space=SPACE, work=Work(1e6 * size, 1e9), hello=None)
                times_ms = base * generator.lognormal(0.0, 0.1, len(base)) * size / 10
                store.record_all(made.id, list(trials_of(made, times_ms, generator)))
                best = int(times_ms.argmin())
                store.add_pick(Pick(made, CONFIGS[best], float(times_ms[best]), picked_at=AT))
                written += len(CONFIGS)
    return written


def trials_of(made, times_ms, generator):
    noise = generator.normal(1.0, 0.003, (len(times_ms), 20))
    for number, config in enumerate(CONFIGS):
        samples = np.sort(noise[number] * times_ms[number]).astype(np.float32).tolist()
        median_ms = float(np.median(samples))
        yield Trial(
            context_id=made.id,
            config=config,
            state=TrialState.OK,
            number=number,
            resources=Resources(shared_bytes=98304, registers=168),
            measurements=(
                Measurement(Phase.SCREEN, tuple(samples), median_ms, samples[5], samples[14]),
            ),
            finished_at=AT,
        )


def cost(folder, arguments):
    """Run a command in a folder; return its exit code, wall seconds and peak MiB."""
    command = [sys.executable, "-m", "autotune_lab", "--store", "lab.db", *arguments]
    began = time.perf_counter()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, time.perf_counter() - began, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keep the store here, and use it if it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "lab.db").exists():
            began = time.perf_counter()
            with Store.open(str(folder / "lab.db")) as store:
                written = fill(store, options.trials)
            seconds = time.perf_counter() - began
            print(f"{written:,} trials stored in {seconds:.0f} s ({written / seconds:,.0f}/s)")
        print(f"{(folder / 'lab.db').stat().st_size / 2**20:,.0f} MiB on disk", flush=True)
        for arguments, most_s, most_mib in COMMANDS:
            code, seconds, mib = cost(folder, arguments)
            held = "ok" if code == 0 and seconds < most_s and mib < most_mib else "MISSED"
            print(
                f"{' '.join(arguments):24} exit {code} {seconds:7.1f} s (< {most_s}) "
                f"{mib:6,.0f} MiB (< {most_mib:,}) {held}",
                flush=True,
            )


if __name__ == "__main__":
    main()
