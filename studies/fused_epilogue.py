"""What does it save to add a bias and apply an activation before the product leaves the chip?

The fused kernel is tuned on four shapes. Then its winners and the PyTorch sequences that they
replace (a product, a bias, an activation and perhaps a residual, each reading what the one before
it wrote) are timed in the same interleaved rounds.

How to read the answer: the gain with its 95% interval, and beside it the bytes that fusion does not
move, as a share of what the sequence moves, and the launches of both. A large product hides little
of them: the longer K, the smaller the gain. Where the gain is below 1 the sequence's product is
faster than ours by more than the traffic costs. Without a GPU bytes are all there is.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from autotune_lab import Budget, Problem, Store, Study, run_study
from autotune_lab.tuning.fusion import Comparison, FusionQuestion, compare
from autotune_lab.tuning.lines import PlainLines

SHAPES = [
    (4096, 4096, 4096, "gelu_tanh", False),
    (4096, 4096, 4096, "silu", True),
    (4096, 4096, 1024, "gelu_tanh", False),
    (256, 8192, 4096, "relu", True),
]

study = Study(
    name="fused_epilogue",
    kernels=["matmul_bias_activation"],
    problems={
        "matmul_bias_activation": [
            Problem(M=M, N=N, K=K, dtype="bfloat16", activation=activation, residual=residual)
            for M, N, K, activation, residual in SHAPES
        ]
    },
    budget=Budget(trials=250),
)


def line(found: Comparison) -> str:
    """Return one line of the table."""
    problem = found.context.context.problem
    shape = f"{problem.M}x{problem.N}x{problem.K}"
    epilogue = problem.activation + (" + residual" if problem.residual else "")
    times = [
        side.time.median if side.time else float("nan") for side in (found.fused, found.unfused)
    ]
    gain = "not timed"
    if found.gain and found.gain.low and found.gain.high:
        gain = f"{found.gain.median:.2f}x [{found.gain.low:.2f}, {found.gain.high:.2f}]"
    saved = 1 - found.fused.moved_bytes / found.unfused.moved_bytes
    launches = f"{found.fused.launches or '?'} for {found.unfused.launches or '?'}"
    return (
        f"{shape:16} {epilogue:20} {times[0]:>9.4f} {times[1]:>9.4f} {gain:>19} "
        f"{saved:>12.0%} {launches:>9}"
    )


def main() -> int:
    """Run the study, time the sequences, print one line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    asked = replace(study, devices=[options.device])
    observe = PlainLines(sys.stderr)
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=observe)
        (kernel,) = study.kernels
        question = FusionQuestion(
            kernel=kernel, device=options.device, problems=study.problems[kernel]
        )
        found = compare(
            question, store, root=Path.cwd(), tell=lambda text: print(text, file=sys.stderr)
        )
    print(
        f"{'shape':16} {'epilogue':20} {'fused_ms':>9} {'torch_ms':>9} {'gain':>19} "
        f"{'bytes saved':>12} {'launches':>9}"
    )
    print("\n".join(map(line, found)))
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
