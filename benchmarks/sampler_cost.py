"""What a suggestion costs, in CPU time and memory: python benchmarks/sampler_cost.py.

Times the suggestions that follow 1,000 trials, one at a time, in synthetic spaces of 10^5 and 10^6
valid configs; each space in a process of its own, so that the peak of memory is its own.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

from autotune_lab import Space, plugins, powers_of_two
from autotune_lab.records import TrialState
from autotune_lab.samplers.base import Observation

SIZES = {
    "10^5": {"GROUP_M": [1, 2, 4, 8, 16, 32], "SPLIT_K": [1, 2, 4, 8]},
    "10^6": {
        "GROUP_M": list(range(1, 17)),
        "SPLIT_K": list(range(1, 9)),
        "maxnreg": [32, 64, 128, 255],
    },
}
TRIALS, SUGGESTIONS = 1000, 64


def space_of(size: str):
    """Return a GEMM-like space without constraints, of about that many configs."""
    return Space(
        BLOCK_M=powers_of_two(16, 256),
        BLOCK_N=powers_of_two(16, 256),
        BLOCK_K=powers_of_two(16, 256),
        num_warps=powers_of_two(1, 32),
        num_stages=[1, 2, 3, 4, 5, 6],
        **SIZES[size],
    ).bind({})


def pretended_ms(codes, rng) -> float | None:
    """Return a time that depends on every parameter, or None for one config in ten."""
    slow = np.sum((codes - np.arange(len(codes)) % 4) ** 2 * np.linspace(0.01, 0.1, len(codes)))
    return None if rng.random() < 0.1 else float(1.0 + slow + 0.02 * rng.random())


def measure(name: str, size: str) -> None:
    started = time.process_time()
    space = space_of(size)
    bound_s = time.process_time() - started
    rng = np.random.default_rng(0)
    sampler = plugins.load("samplers", name).create(0)
    history = [observed(space, int(row), rng) for row in rng.permutation(space.size)[:TRIALS]]
    started = time.process_time()
    sampler.propose(space, history, [], 1)
    first_s = time.process_time() - started
    each_ms = []
    for _ in range(SUGGESTIONS):
        started = time.process_time()
        (config,) = sampler.propose(space, history, [], 1)
        each_ms.append((time.process_time() - started) * 1e3)
        history.append(observed(space, space.index(config), rng))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:>10} {space.size:>9,} {bound_s:>8.2f} {first_s:>8.2f} "
        f"{statistics.mean(each_ms):>8.1f} {max(each_ms):>8.1f} {peak_mb:>8.0f}",
        flush=True,
    )


def observed(space, row, rng) -> Observation:
    time_ms = pretended_ms(space.codes[row], rng)
    state = TrialState.OK if time_ms else TrialState.OUT_OF_RESOURCES
    return Observation(space.config(row), state, time_ms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sampler", default="random,tpe,lab")
    parser.add_argument("--size", choices=SIZES, help="measure one size, in this process")
    arguments = parser.parse_args()
    if arguments.size:
        measure(arguments.sampler, arguments.size)
        return
    print(
        f"{'sampler':>10} {'configs':>9} {'bind s':>8} {'first s':>8} {'mean ms':>8} "
        f"{'most ms':>8} {'peak MB':>8}",
        flush=True,
    )
    for name in arguments.sampler.split(","):
        for size in SIZES:
            command = [sys.executable, __file__, "--sampler", name, "--size", size]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
