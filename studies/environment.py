"""Is it the environment or the kernel? A vector copy, from the launch floor to the bandwidth.

There is no arithmetic in a copy and nothing to get wrong, so its numbers describe the machine:
how long a launch takes at least, and how many bytes a second memory moves at most.

How to read the answer: time grows with n only once the launch is paid; from there on the rate
should settle near the ceiling that was measured beside it. A copy that stays far below, or below
what was seen here yesterday, says to look at the driver, the power limit and the neighbours
before any kernel.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from autotune_lab import Budget, Problem, Query, Store, Study, run_study
from autotune_lab.store import frames
from autotune_lab.tuning.lines import PlainLines

SIZES = [2**exponent for exponent in (12, 16, 20, 22, 24, 26, 28)]

study = Study(
    name="environment",
    kernels=["vector_copy"],
    problems={"vector_copy": [Problem(n=n, dtype="float32") for n in SIZES]},
    samplers=["exhaustive"],
    budget=Budget(trials=None),
)


def main() -> int:
    """Run the study and print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    asked = replace(study, devices=[options.device])
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
        ids = [pick.context.id for pick in result.picks]
        facts = frames.contexts(store, Query(context_ids=ids, include_simulated=True))
    print(f"{'n':>10} {'time_us':>9} {'GB/s':>7} {'of copy':>8}  best config")
    for pick in sorted(result.picks, key=lambda pick: pick.context.problem.n):
        problem = pick.context.problem
        rate_gbs = 2 * problem.n * problem.itemsize / pick.median_ms / 1e6
        ceiling_gbs = facts.set_index("context_id").copy_gbs[pick.context.id]
        time_us = pick.median_ms * 1e3
        share = rate_gbs / ceiling_gbs
        print(f"{problem.n:>10} {time_us:>9.1f} {rate_gbs:>7.0f} {share:>8.1%}  {pick.config}")
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
