"""Kernels for the tests of timing on a real GPU."""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space

BYSTANDER_BYTES = 40 * 2**30


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


def copy_inputs(problem, device, generator):
    x = torch.randn(problem.n, device=device, generator=generator)
    return {"x": x, "y": torch.empty_like(x)}


def copy_launch(args, config):
    n = args["x"].numel()
    copy_kernel[(triton.cdiv(n, config["BLOCK"]),)](args["x"], args["y"], n, **config)


def side_launch(args, config):
    side = torch.cuda.Stream()
    if config["joins"]:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        copy_launch(args, {"BLOCK": 4096})
    if config["joins"]:
        torch.cuda.current_stream().wait_stream(side)


def bystander_inputs(problem, device, generator):
    made = copy_inputs(problem, device, generator)
    made["bystander"] = torch.ones(BYSTANDER_BYTES, device=device, dtype=torch.uint8)
    torch.cuda.reset_peak_memory_stats()
    return made


def declare(name, **changes):
    declared = {
        "name": name,
        "space": Space(BLOCK=[1024, 4096]),
        "inputs": copy_inputs,
        "launch": copy_launch,
        "outputs": ["y"],
        "reference": lambda args: {"y": args["x"]},
        "problems": [Problem(n=2**20, dtype="float32")],
    }
    return KernelDefinition(**(declared | changes))


copy = declare("copy")
side = declare("side", launch=side_launch, space=Space(joins=[False, True]))
bystander = declare("bystander", inputs=bystander_inputs)
