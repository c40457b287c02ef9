"""Triton kernels for the interpreter; run in a process with TRITON_INTERPRET=1.

Usage: ``python -m tests.measuring.interpreted``; prints what became of each as JSON.
"""

import json
import sys

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space
from autotune_lab.codec import to_plain
from autotune_lab.devices.opening import open_device
from autotune_lab.measuring.inputs import ProblemCache
from autotune_lab.measuring.protocol import measure
from autotune_lab.records import MeasureJob, Protocol
from autotune_lab.spaces.config import Config


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    if MASKED:
        tl.store(y_ptr + offsets, 2.0 * x, mask=inside)
    else:
        tl.store(y_ptr + offsets, 2.0 * x)


@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, CAST: tl.constexpr):
    i = tl.arange(0, 16)
    square = i[:, None] * 16 + i[None, :]
    a, b = tl.load(a_ptr + square), tl.load(b_ptr + square)
    if CAST:
        a, b = a.to(tl.bfloat16), b.to(tl.bfloat16)
    tl.store(c_ptr + square, tl.dot(a, b).to(c_ptr.dtype.element_ty))


def double_inputs(problem, device, generator):
    x = torch.randn(problem.n, generator=generator, device=device)
    # A view of ten elements of a longer buffer, so that writes past it hit nobody's guard by luck.
    return {"x": x, "y": torch.empty(64, device=device)[: problem.n]}


def double_launch(args, config):
    grid = (triton.cdiv(args["x"].numel(), 16),)
    n = args["x"].numel()
    double_kernel[grid](args["x"], args["y"], n, BLOCK=16, **config)


double = KernelDefinition(
    name="double",
    space=Space(MASKED=[False, True], num_warps=[3, 4]),
    inputs=double_inputs,
    launch=double_launch,
    outputs=["y"],
    reference=lambda args: {"y": 2 * args["x"]},
    problems=[Problem(n=10, dtype="float32")],
)


def dot_inputs(problem, device, generator):
    a, b = (
        torch.randn(16, 16, generator=generator, device=device).to(getattr(torch, problem.dtype))
        for _ in range(2)
    )
    return {"a": a, "b": b, "c": torch.empty_like(a)}


def dot_launch(args, config):
    dot_kernel[(1,)](args["a"], args["b"], args["c"], **config)


dot = KernelDefinition(
    name="dot",
    space=Space(CAST=[False, True]),
    inputs=dot_inputs,
    launch=dot_launch,
    outputs=["c"],
    reference=lambda args: {"c": args["a"] @ args["b"]},
    problems=[Problem(dtype="bfloat16"), Problem(dtype="float32")],
)


def known_limits():
    """Return what the bare interpreter does; each of these is a reason for a rule of the lab."""
    buffer = torch.zeros(32)
    double_kernel[(1,)](torch.ones(16), buffer[:10], 16, BLOCK=16, MASKED=False, num_warps=3)
    a = torch.randn(16, 16).bfloat16()
    c = torch.empty(16, 16)
    dot_kernel[(1,)](a, a, c, CAST=False)
    return {
        "takes three warps and writes past a view": buffer[10:].count_nonzero().item(),
        "error of a bfloat16 dot": (c - a.float() @ a.float()).abs().max().item(),
    }


def outcomes():
    device, cache = open_device("interpreter"), ProblemCache()
    jobs = {
        "masked": (double, 0, Config(MASKED=True, num_warps=4)),
        "unmasked": (double, 0, Config(MASKED=False, num_warps=4)),
        "bfloat16 inputs": (dot, 0, Config(CAST=False)),
        "bfloat16 inside": (dot, 1, Config(CAST=True)),
    }
    return {
        name: to_plain(
            measure(
                definition,
                device,
                MeasureJob(definition.name, definition.problems[number], config, Protocol()),
                cache=cache,
            )
        )
        for name, (definition, number, config) in jobs.items()
    } | {"device": to_plain(device.probe())}


if __name__ == "__main__":
    json.dump({"limits": known_limits(), **outcomes()}, sys.stdout)
