"""Which matrix product for which shape? Squares, skinny ones, and a language model's two phases.

Three kernels of one family are tuned on each shape: the plain tiled one, the persistent one with
TMA, and the one that splits K. Prefill multiplies thousands of rows by a layer's weights,
decoding a few; both use the same weights, and share neither a bottleneck nor a winner. Then every
winner is run on the other shapes of its kernel.

How to read the answer: the first table names the best kernel of each shape and what the others
lose. The second is shape overfitting: a row is the shape that a config was tuned for, its worst
cell over the other shapes is what tuning once and using everywhere would cost.
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from autotune_lab import Budget, Phase, Problem, Query, Store, Study, run_study
from autotune_lab.records import Pick
from autotune_lab.store import frames
from autotune_lab.tuning.lines import PlainLines

SHAPES = {
    "square 4096": (4096, 4096, 4096),
    "square 8192": (8192, 8192, 8192),
    "small square": (1024, 1024, 1024),
    "prefill, up projection": (4096, 14336, 4096),
    "prefill, down projection": (4096, 4096, 14336),
    "decode 16, up projection": (16, 14336, 4096),
    "decode 64, down projection": (64, 4096, 14336),
    "no power of two": (1000, 4000, 2000),
}
PROBLEMS = {Problem(M=M, N=N, K=K, dtype="bfloat16"): name for name, (M, N, K) in SHAPES.items()}
KERNELS = ["matmul", "matmul_persistent", "matmul_splitk"]

study = Study(
    name="gemm_shapes",
    kernels=KERNELS,
    problems={kernel: list(PROBLEMS) for kernel in KERNELS},
    budget=Budget(trials=150),
    phases=(Phase.SCREEN, Phase.PLAYOFF, Phase.TRANSFER),
)


def print_kernels(picks: list[Pick]) -> None:
    """Print each shape's best kernel, and the time of the others beside it."""
    by_shape: dict[Problem, list[Pick]] = defaultdict(list)
    for pick in picks:
        by_shape[pick.context.problem].append(pick)
    print(f"{'shape':28} {'TFLOP/s':>8}  kernels, fastest first")
    for problem, rivals in by_shape.items():
        rivals.sort(key=lambda pick: pick.median_ms)
        best = rivals[0]
        rate = 2 * problem.M * problem.N * problem.K / best.median_ms / 1e9
        places = [
            f"{pick.context.kernel.name} {pick.median_ms / best.median_ms:.2f}x" for pick in rivals
        ]
        print(f"{PROBLEMS[problem]:28} {rate:>8.1f}  {', '.join(places)}")
        print(f"{'':38} {best.config}")


def print_transfer(picks: list[Pick], store: Store) -> None:
    """Print what each shape's winner keeps on the other shapes, at worst."""
    best_ms = {pick.context.id: pick.median_ms for pick in picks}
    names = {pick.context.id: PROBLEMS[pick.context.problem] for pick in picks}
    query = Query(context_ids=list(best_ms), include_simulated=True)
    trials = frames.trials(store, query)
    print(f"\n{'kernel, tuned for':48} {'keeps at worst':>15}  on")
    for pick in picks:
        same = trials[(trials.config_id == pick.config.id) & (trials.context_id != pick.context.id)]
        same = same[same.kernel == pick.context.kernel.name]
        if same.empty:
            continue
        kept = (same.context_id.map(best_ms) / same.time_ms).fillna(0.0)  # what fails keeps nothing
        worst = kept.idxmin()
        label = f"{pick.context.kernel.name}, {names[pick.context.id]}"
        print(f"{label:48} {kept[worst]:>15.0%}  {names[same.context_id[worst]]}")


def main() -> int:
    """Run the study and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    asked = replace(study, devices=[options.device])
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
        picks = [pick for pick in result.picks if pick.context.problem in PROBLEMS]
        print_kernels(picks)
        print_transfer(picks, store)
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
