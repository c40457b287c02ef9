"""What does BLOCK_SIZE do to a vector addition, and does the answer depend on n?

Every config is measured at four sizes, from one that fits in L2 to one that is forty times as
large. For each BLOCK_SIZE the best num_warps is taken, so that the table shows one parameter's
effect and not the other's.

How to read the answer: a row is a BLOCK_SIZE, a column an n, a cell how much of that column's
best speed it keeps, with the half-width of its 95% interval. Cells within each other's intervals
are the same; a column that is flat says that this parameter is not worth tuning there.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from autotune_lab import Budget, Problem, Protocol, Query, Store, Study, run_study
from autotune_lab.store import frames
from autotune_lab.tuning.lines import PlainLines

SIZES = [2**exponent for exponent in (16, 20, 24, 28)]

study = Study(
    name="block_size_sweep",
    kernels=["vector_add"],
    problems={"vector_add": [Problem(n=n, dtype="float32") for n in SIZES]},
    samplers=["exhaustive"],
    budget=Budget(trials=None),
    protocol=Protocol(screen_ratio=1e6),  # the slow ones are part of the answer
)


def sweep(trials: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each BLOCK_SIZE, one text column for each n: efficiency and interval."""
    timed = frames.with_problem(frames.with_parameters(trials[trials.state == "ok"]))
    block, n = "param.BLOCK_SIZE", "problem.n"
    best = timed.loc[timed.groupby([block, n]).time_ms.idxmin()]
    fastest_ms = best.groupby(n).time_ms.transform("min")
    efficiency = fastest_ms / best.time_ms
    half = (best.high_ms - best.low_ms) / 2 / best.time_ms
    texts = [f"{e:.2f} ±{h:.3f}" for e, h in zip(efficiency, half, strict=True)]
    cells = best.assign(text=texts)
    return cells.pivot_table(index=block, columns=n, values="text", aggfunc="first").sort_index()


def main() -> int:
    """Run the study and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    asked = replace(study, devices=[options.device])
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
        if result.picks:
            ids = [pick.context.id for pick in result.picks]
            query = Query(context_ids=ids, include_simulated=True)
            print(sweep(frames.trials(store, query)).to_string())
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
