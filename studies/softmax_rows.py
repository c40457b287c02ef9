"""How long may a row be before a softmax should read it twice?

The same number of elements is cut into rows from 256 to 131072. Short rows fit into a block, many
to a program; long ones fit only into many warps, or are read a second time by the online form.
What the tuner chooses as rows grow is the answer, and no single BLOCK_SIZE serves them all.

How to read the answer: a row of the table is a length, with the winner, whether it holds the row
in registers (once) or reads it again (twice), and the rate in bytes that had to move. A rate that
sags where once turns into twice says that the second read came from memory and not from L2.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from autotune_lab import Budget, Problem, Store, Study, run_study
from autotune_lab.tuning.lines import PlainLines

ELEMENTS = 2**26
LENGTHS = [2**exponent for exponent in (8, 10, 12, 13, 14, 15, 16, 17)]

study = Study(
    name="softmax_rows",
    kernels=["row_softmax"],
    problems={
        "row_softmax": [
            Problem(M=ELEMENTS // n, N=n, dtype="float32", layout="contiguous") for n in LENGTHS
        ]
    },
    samplers=["exhaustive"],
    budget=Budget(trials=None),
)


def main() -> int:
    """Run the study and print one line for each length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    asked = replace(study, devices=[options.device])
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
    print(f"{'row':>7} {'reads':>6} {'time_ms':>8} {'GB/s':>6} {'tied':>5}  winner")
    for pick in sorted(result.picks, key=lambda pick: pick.context.problem.N):
        problem = pick.context.problem
        reads = "once" if pick.config["BLOCK_SIZE"] >= problem.N else "twice"
        rate_gbs = 2 * problem.M * problem.N * problem.itemsize / pick.median_ms / 1e6
        tied = len(pick.tied)
        print(
            f"{problem.N:>7} {reads:>6} {pick.median_ms:>8.4f} {rate_gbs:>6.0f} {tied:>5}  "
            f"{pick.config}"
        )
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
