"""What does it save to add a bias and apply an activation before the product leaves the chip?

The fused kernel is tuned on four shapes; then, on the same GPU, the PyTorch sequence that it
replaces is timed under the same protocol: a product, a bias, an activation and perhaps a
residual, each reading what the one before it wrote.

How to read the answer: the gain, and beside it the bytes that fusion does not move, as a share of
what the sequence moves. A large product hides little of them: the longer K, the smaller the gain.
Where the gain is below 1 the sequence's product is faster than ours by more than the traffic
costs.
"""

import argparse
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import torch

from autotune_lab import Budget, Problem, Store, Study, catalog, run_study
from autotune_lab.devices.opening import capabilities_of, open_device, resolve
from autotune_lab.records import Pick
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


def unfused_ms(pick: Pick, device_spec: str) -> float:
    """Time the PyTorch sequence on the winner's problem, on fresh inputs and under its protocol."""
    device = open_device(device_spec)
    definition = catalog.load(pick.context.kernel.reference)
    generator = torch.Generator(device.torch_device).manual_seed(1)
    args = definition.inputs(pick.context.problem, torch.device(device.torch_device), generator)
    protocol = pick.context.protocol
    device.load(protocol.warmup_ms)
    times = device.time(
        lambda: definition.replaces(args),
        protocol.max_samples,
        prepare=lambda: None,
        cache=protocol.cache,
        timer=protocol.timer,
    )
    return statistics.median(times)


def unfused_bytes(problem: Problem) -> int:
    """Return what the sequence moves: the product's operands, then each step's in and out."""
    steps = 2 + (problem.activation != "none") * 2 + problem.residual * 3
    operands = problem.M * problem.K + problem.K * problem.N + problem.M * problem.N
    return (operands + steps * problem.M * problem.N) * problem.itemsize


def main() -> int:
    """Run the study, time the sequences, print one line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    spec = resolve(options.device)
    asked = replace(study, devices=[spec])
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
    can_time = not capabilities_of(spec).recorded
    print(
        f"{'shape':18} {'epilogue':20} {'fused_ms':>9} {'torch_ms':>9} {'gain':>6} "
        f"{'bytes saved':>12}"
    )
    for pick in result.picks:
        problem = pick.context.problem
        other_ms = unfused_ms(pick, spec) if can_time else float("nan")
        work = catalog.load(pick.context.kernel.reference).work(problem)
        saved = 1 - work["bytes"] / unfused_bytes(problem)
        shape = f"{problem.M}x{problem.N}x{problem.K}"
        epilogue = problem.activation + (" + residual" if problem.residual else "")
        gain = other_ms / pick.median_ms
        print(
            f"{shape:18} {epilogue:20} {pick.median_ms:>9.4f} {other_ms:>9.4f} {gain:>5.2f}x "
            f"{saved:>12.0%}"
        )
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
