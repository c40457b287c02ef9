"""Which blocks does attention want, and how far is it from PyTorch's own kernels?

Flash attention is tuned over lengths, masks and head widths of current models, and PyTorch's
scaled dot product attention is timed beside it, by every backend that runs here.

How to read the answer: a share above 1 means that ours is faster than PyTorch's best backend,
which is named. Look at what changes along the table: a causal mask leaves half the work and none
of the symmetry, so the order of programs starts to matter; 64 channels make the exponentials as
expensive as the products, and favour whatever overlaps the two.
"""

import argparse
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from autotune_lab import Budget, Problem, Store, Study, catalog, run_study
from autotune_lab.devices.opening import capabilities_of, open_device, resolve
from autotune_lab.records import Pick
from autotune_lab.tuning.lines import PlainLines

WIDE = {"heads": 32, "kv_heads": 8, "head_dim": 128, "dtype": "bfloat16"}
NARROW = {"heads": 16, "kv_heads": 16, "head_dim": 64, "dtype": "float16"}
BACKENDS = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION")

study = Study(
    name="attention",
    kernels=["flash_attention"],
    problems={
        "flash_attention": [
            *(Problem(batch=4, length=n, causal=True, **WIDE) for n in (1024, 4096)),
            Problem(batch=1, length=16384, causal=True, **WIDE),
            Problem(batch=1, length=16384, causal=False, **WIDE),
            Problem(batch=8, length=2048, causal=True, **NARROW),
            Problem(batch=8, length=2048, causal=False, **NARROW),
            Problem(batch=1, length=4093, causal=True, **WIDE),
        ]
    },
    budget=Budget(trials=None),
    samplers=["exhaustive"],
)


def torch_ms(pick: Pick, device_spec: str) -> tuple[float, str]:
    """Return the median of PyTorch's fastest backend on the winner's problem, and its name."""
    device = open_device(device_spec)
    definition = catalog.load(pick.context.kernel.reference)
    generator = torch.Generator(device.torch_device).manual_seed(1)
    args = definition.inputs(pick.context.problem, torch.device(device.torch_device), generator)
    protocol = pick.context.protocol
    medians = {}
    for backend in BACKENDS:

        def launch(backend: str = backend) -> None:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                definition.replaces(args)

        try:
            launch()
        except RuntimeError:
            continue  # this backend does not take these inputs
        device.load(protocol.warmup_ms)
        times = device.time(
            launch,
            protocol.max_samples,
            prepare=lambda: None,
            cache=protocol.cache,
            timer=protocol.timer,
        )
        medians[backend] = statistics.median(times)
    best = min(medians, key=lambda name: medians[name], default="none")
    return medians.get(best, float("nan")), best.removesuffix("_ATTENTION").lower()


def main() -> int:
    """Run the study, time PyTorch, print one line for each problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    spec = resolve(options.device)
    with Store.open(options.store) as store:
        asked = replace(study, devices=[spec])
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
    can_time = capabilities_of(spec).compiles
    print(f"{'batch x length':>15} {'width':>5} {'mask':7} {'TFLOP/s':>8} {'of torch':>9}  winner")
    for pick in result.picks:
        problem = pick.context.problem
        work = catalog.load(pick.context.kernel.reference).work(problem)
        other_ms, backend = torch_ms(pick, spec) if can_time else (float("nan"), "none")
        rate = work["flops"] / pick.median_ms / 1e9
        shape = f"{problem.batch} x {problem.length}"
        mask = "causal" if problem.causal else "full"
        print(
            f"{shape:>15} {problem.head_dim:>5} {mask:7} {rate:>8.1f} "
            f"{other_ms / pick.median_ms:>9.2f}  {pick.config} (torch: {backend})"
        )
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
