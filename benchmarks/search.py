"""How much of the optimum a sampler finds after so many evaluations, over whole measured tables.

    python benchmarks/search.py --tables DIR --samplers random,lab,optuna:penalised --runs 20
    python benchmarks/search.py --tables DIR --samplers lab --warm    # other GPUs' tables as prior

Names are the lab's own samplers, optuna:penalised, optuna:failed, and kernel_tuner:STRATEGY, which
needs ``pip install kernel_tuner``.

An evaluation is a distinct config of the table, failing ones included; what breaks a constraint is
in no table and costs nothing. The score is the optimum over the best time found so far, 0 while
nothing ran. Cells are means over runs, then over tables, with the standard error of that mean.
``random`` is the exact expectation, without runs. Writes the numbers and the curves to ``--out``.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln
from search_kernel_tuner import kernel_tuner_run
from search_optuna import optuna_run
from tables import Table, load

from autotune_lab import plugins
from autotune_lab.records import TrialState
from autotune_lab.samplers.base import Observation

NEAR = 1 / 1.05  # "within 5%"


@dataclass(frozen=True)
class Run:
    """One search.

    Attributes:
        rows: rows of the table in the order in which they were evaluated.
        sampler_s: CPU time that the sampler took for them.
    """

    rows: list[int]
    sampler_s: float


Searcher = Callable[[Table, int, int], Run]


def own_run(name: str, others: Sequence[Table], table: Table, seed: int, budget: int) -> Run:
    """Search with a sampler of the lab, one config at a time."""
    module = plugins.load("samplers", name)
    sampler = (
        module.create(seed, prior=[other.as_prior() for other in others])
        if others
        else module.create(seed)
    )
    history: list[Observation] = []
    rows: list[int] = []
    sampler_s = 0.0
    while len(rows) < budget:
        started = time.process_time()
        configs = sampler.propose(table.space, history, [], 1)
        sampler_s += time.process_time() - started
        if not configs:
            break
        rows.append(table.space.index(configs[0]))
        time_ms = float(table.times_ms[rows[-1]])
        ran = np.isfinite(time_ms)
        state = TrialState.OK if ran else TrialState.LAUNCH_ERROR
        history.append(Observation(configs[0], state, time_ms if ran else None))
    return Run(rows, sampler_s)


def searcher(name: str, table: Table, tables: Sequence[Table], warm: bool) -> Searcher:
    """Return what searches by that name; ``warm`` gives ours the kernel's other tables."""
    family, _, variant = name.partition(":")
    if family == "optuna":
        return partial(_timed, partial(optuna_run, variant))
    if family == "kernel_tuner":
        return partial(_timed, partial(kernel_tuner_run, variant))
    kin = [t for t in tables if t.kernel == table.kernel and t is not table] if warm else []
    return partial(own_run, name, kin)


def _timed(run: Callable[..., list[int]], table: Table, seed: int, budget: int) -> Run:
    started = time.process_time()
    rows = run(table, seed, budget)
    return Run(rows, time.process_time() - started)


def random_curve(table: Table, budget: int) -> tuple[NDArray[np.float64], float]:
    """Return the exact expectation of random search, and its chance to end within 5%."""
    ranked = np.sort(table.efficiencies)[::-1]
    size = len(ranked)
    curve = np.array([_none_better(size, drawn) @ ranked for drawn in range(1, budget + 1)])
    near = int((ranked >= NEAR).sum())
    return curve, 1.0 - np.exp(_log_choose(size - near, budget) - _log_choose(size, budget))


def _none_better(size: int, drawn: int) -> NDArray[np.float64]:
    """Return the chance of each rank to be the best of ``drawn`` distinct rows."""
    better = np.arange(size)
    chance = np.exp(_log_choose(size - better, drawn) - _log_choose(size, drawn))
    return chance - np.append(chance[1:], 0.0)


def _log_choose(n, k):
    n = np.asarray(n, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.where(
            n < k, -np.inf, gammaln(n + 1) - gammaln(k + 1) - gammaln(np.abs(n - k) + 1)
        )


def scores(names, tables, *, runs: int, budget: int, warm: bool) -> Iterator[dict]:
    """Yield a row for each sampler, table and run: ``curve`` (budget,) of best efficiencies."""
    for name in names:
        for table in tables:
            if name == "random":
                curve, near = random_curve(table, budget)
                yield {
                    "sampler": name,
                    "table": table.name,
                    "run": 0,
                    "curve": curve,
                    "near": near,
                    "ms": 0.0,
                    "failed": float(np.isnan(table.times_ms).mean()),
                }
                continue
            search = searcher(name, table, tables, warm)
            for seed in range(runs):
                run = search(table, seed, budget)
                found = table.efficiencies[run.rows]
                curve = np.maximum.accumulate(np.pad(found, (0, budget - len(found))))
                yield {
                    "sampler": name,
                    "table": table.name,
                    "run": seed,
                    "curve": curve,
                    "near": float(curve[-1] >= NEAR),
                    "ms": run.sampler_s / len(found) * 1e3,
                    "failed": float((found == 0).mean()),
                }
            print(f"  {name:24} {table.name}", flush=True)


def summary(frame: pd.DataFrame, budgets: Sequence[int]) -> pd.DataFrame:
    """Return a line for each sampler: mean over tables at each budget, with its standard error."""
    lines = []
    for sampler, part in frame.groupby("sampler", sort=False):
        line = {"sampler": sampler}
        for budget in budgets:
            at = part.assign(score=[curve[budget - 1] for curve in part.curve])
            line[str(budget)] = _mean_and_error(at)
        line["within 5%"] = f"{part.groupby('table').near.mean().mean():.0%}"
        line["ms each"] = f"{part.ms.mean():.1f}"
        lines.append(line)
    return pd.DataFrame(lines).set_index("sampler")


def _mean_and_error(frame: pd.DataFrame) -> str:
    by_table = frame.groupby("table").score
    errors = by_table.var().fillna(0.0) / by_table.size()
    return f"{by_table.mean().mean():.3f} +- {np.sqrt(errors.sum()) / len(errors):.3f}"


def per_table(frame: pd.DataFrame, budget: int) -> pd.DataFrame:
    """Return the mean score of each sampler on each table at one budget."""
    at = frame.assign(score=[curve[budget - 1] for curve in frame.curve])
    return at.pivot_table(index="table", columns="sampler", values="score", sort=False)


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Draw the mean curve of each sampler over tables, with its 95% interval over runs."""
    import matplotlib as mpl

    mpl.use("Agg")
    import seaborn as sns

    points = frame.explode("curve").astype({"curve": float})
    points["evaluations"] = points.groupby(["sampler", "table", "run"]).cumcount() + 1
    means = points.groupby(["sampler", "run", "evaluations"], sort=False).curve.mean().reset_index()
    sns.set_theme(style="whitegrid", palette="colorblind")
    axes = sns.lineplot(means, x="evaluations", y="curve", hue="sampler", errorbar=("ci", 95))
    axes.set(
        title=f"Best config found, mean of {frame.table.nunique()} tables",
        xlabel="distinct configs evaluated",
        ylabel="fraction of the optimum",
        xscale="log",
        ylim=(0.5, 1.0),
    )
    axes.figure.savefig(path, dpi=150, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path, default=Path("../shared/tables"))
    parser.add_argument("--only", default="", help="tables whose name contains one of these words")
    parser.add_argument("--samplers", default="random,tpe,lab")
    parser.add_argument("--budget", default="25,50,100,200")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--warm", action="store_true", help="give ours the other GPUs' tables")
    parser.add_argument("--out", type=Path, default=Path("out"))
    arguments = parser.parse_args()
    budgets = [int(word) for word in arguments.budget.split(",")]
    words = arguments.only.split(",")
    tables = [t for t in load(arguments.tables) if any(word in t.name for word in words)]
    names = arguments.samplers.split(",")
    found = scores(names, tables, runs=arguments.runs, budget=max(budgets), warm=arguments.warm)
    frame = pd.DataFrame(found)
    print(per_table(frame, max(budgets)).round(3).to_string(), end="\n\n")
    print(summary(frame, budgets).to_string())
    arguments.out.mkdir(parents=True, exist_ok=True)
    frame.explode("curve").to_csv(arguments.out / "search.csv.gz", index=False)
    draw(frame, arguments.out / "search.png")


if __name__ == "__main__":
    main()
