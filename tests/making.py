"""Makes kernel files and definitions that are as small as they can be and still run."""

from pathlib import Path

from autotune_lab import KernelDefinition, Problem, Space

KERNEL_FILE = '''\
"""Scale a vector."""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space

FACTOR = 2
OFFSET: tl.constexpr = tl.constexpr(0)


@triton.jit
def shifted(x, by=1):
    """Shift."""
    return x + by - 1 + OFFSET


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, shifted(x) * 2, mask=mask)


def size_of(args):
    return args["x"].numel()


def inputs(problem, device, generator):
    x = torch.randn(problem.n, device=device, generator=generator)
    return {"x": x, "out": torch.empty_like(x)}


def launch(args, config, factor=1):
    """Launch."""
    n = size_of(args) * FACTOR // 2
    scale_kernel[(triton.cdiv(n, config["BLOCK"]),)](args["x"], args["out"], n, **config)


def doubled(x):
    return x * 2


scale = KernelDefinition(
    name="scale",
    space=Space(BLOCK=[64, 128]),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=lambda args: {"out": doubled(args["x"])},
    problems=[Problem(n=1024, dtype="float32")],
)
'''


def write_kernel(folder: Path, name: str = "scale", text: str = KERNEL_FILE) -> Path:
    """Write a kernel file and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path


def edited(old: str, new: str) -> str:
    """Return the kernel file with one passage replaced; the passage must be there once."""
    assert KERNEL_FILE.count(old) == 1, old
    return KERNEL_FILE.replace(old, new)


def nothing(*_: object) -> dict[str, object]:
    """Stand for inputs, launch and reference where none of them is called."""
    return {}


def definition(**changes: object) -> KernelDefinition:
    """Return a definition that has everything it must have, with some of it changed."""
    declared: dict[str, object] = {
        "name": "sample",
        "space": Space(BLOCK=[64, 128]),
        "inputs": nothing,
        "launch": nothing,
        "outputs": ["out"],
        "reference": nothing,
        "problems": [Problem(n=1024, dtype="float32")],
    }
    return KernelDefinition(**{**declared, **changes})  # type: ignore[arg-type]
