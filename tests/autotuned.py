"""Kernels under ``@triton.autotune``, as their users wrote them, and the definitions made of them.

``scaled`` is out of place with heuristics above and below its autotuner, pruned by hand and by a
model; ``total`` accumulates by atomics; ``increment`` works in place; ``hooked`` has a config whose
hook sets a flag that its kernel reads.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem


def configs():
    """Return three configs; the last differs in its number of stages too."""
    return [
        triton.Config({"BLOCK": 64}, num_warps=1),
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 512}, num_warps=4, num_stages=4),
    ]


def fits_rows(configs, named_args, **kwargs):
    """Keep blocks that are no longer than the vector, but one at least."""
    n = named_args["n_elements"]
    return [config for config in configs if config.kwargs["BLOCK"] <= n] or configs[:1]


def programs(n_elements, BLOCK, **kwargs):
    """Guess a time: the number of programs."""
    return triton.cdiv(n_elements, BLOCK)


@triton.heuristics({"SCALE": lambda args: 3})
@triton.autotune(
    configs=configs(),
    key=["n_elements"],
    prune_configs_by={"early_config_prune": fits_rows, "perf_model": programs, "top_k": 2},
)
@triton.heuristics({"EVEN": lambda args: args["n_elements"] % args["BLOCK"] == 0})
@triton.jit
def scaled_kernel(
    x_ptr, y_ptr, n_elements, BLOCK: tl.constexpr, EVEN: tl.constexpr, SCALE: tl.constexpr
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y_ptr + offsets, SCALE * tl.load(x_ptr + offsets))
    else:
        inside = offsets < n_elements
        tl.store(y_ptr + offsets, SCALE * tl.load(x_ptr + offsets, mask=inside), mask=inside)


def scale(x, y):
    """Write three times x into y, as a user's program calls it."""
    n = x.numel()
    scaled_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)


@triton.autotune(configs=configs(), key=["n"], reset_to_zero=["total_ptr"])
@triton.jit
def total_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0))
    tl.atomic_add(total_ptr, part)


@triton.autotune(configs=configs(), key=["n"], restore_value=["x_ptr"])
@triton.jit
def increment_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) + 1.0, mask=inside)


def set_flag(args):
    """Set the flag that the kernel multiplies by."""
    args["flag_ptr"].fill_(2.0)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64, "FLAGGED": False}, num_warps=1),
        triton.Config({"BLOCK": 64, "FLAGGED": True}, num_warps=1, pre_hook=set_flag),
    ],
    key=["n"],
)
@triton.jit
def hooked_kernel(x_ptr, y_ptr, flag_ptr, n, BLOCK: tl.constexpr, FLAGGED: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    factor = tl.load(flag_ptr) if FLAGGED else 2.0
    tl.store(y_ptr + offsets, factor * tl.load(x_ptr + offsets, mask=inside), mask=inside)


def grid(n):
    """Return the grid of all kernels here."""
    return lambda meta: (triton.cdiv(n, meta["BLOCK"]),)


def inputs(problem, device, generator):
    """x: (n,) float32; y: the same; total, flag: (1,)."""
    x = torch.randn(problem.n, device=device, generator=generator)
    return {
        "x": x,
        "y": torch.empty_like(x),
        "total": torch.zeros(1, device=device),
        "flag": torch.zeros(1, device=device),
    }


PROBLEMS = [Problem(n=1000), Problem(n=256)]

scaled = KernelDefinition.from_autotuner(
    scaled_kernel,
    name="scaled",
    inputs=inputs,
    launch=lambda args: scale(args["x"], args["y"]),
    outputs=["y"],
    reference=lambda args: {"y": 3 * args["x"]},
    problems=PROBLEMS,
    names={"n_elements": "n"},
    default=triton.Config({"BLOCK": 128}, num_warps=4),
)
total = KernelDefinition.from_autotuner(
    total_kernel,
    name="total",
    inputs=inputs,
    launch=lambda args: total_kernel[grid(args["x"].numel())](
        args["x"], args["total"], args["x"].numel()
    ),
    outputs=["total"],
    reference=lambda args: {"total": args["x"].sum().reshape(1)},
    problems=PROBLEMS,
    names={"total_ptr": "total"},
    deterministic=False,
)
increment = KernelDefinition.from_autotuner(
    increment_kernel,
    name="increment",
    inputs=inputs,
    launch=lambda args: increment_kernel[grid(args["x"].numel())](args["x"], args["x"].numel()),
    outputs=["x"],
    reference=lambda args: {"x": args["x"] + 1},
    problems=PROBLEMS,
    names={"x_ptr": "x"},
)
hooked = KernelDefinition.from_autotuner(
    hooked_kernel,
    name="hooked",
    inputs=inputs,
    launch=lambda args: hooked_kernel[grid(args["x"].numel())](
        args["x"], args["y"], args["flag"], args["x"].numel()
    ),
    outputs=["y"],
    reference=lambda args: {"y": 2 * args["x"]},
    problems=PROBLEMS,
    mutates=["flag"],
)
