"""Runs cases in Triton's interpreter: ``python -m tests.search_spaces.interpreting OUT.json``.

For each case writes what was wrong, ``""`` if nothing was: an output away from the float64
reference or not written, an element written next to an output, an input changed, an exception.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is decorated

import torch

from autotune_lab import Problem, catalog
from autotune_lab.spaces.config import Config
from tests.search_spaces.cases import CASES, Case

ROOT = Path(__file__).resolve().parents[2]
GUARD = 64  # elements on each side of an output, a whole number of 16-byte words
MARK = 77.0


def extreme(args: dict[str, Any]) -> None:
    """Fill rows of x with what breaks a careless softmax."""
    x = args["x"]
    x[0] = 1e4 * torch.randn(x.shape[1], generator=torch.Generator().manual_seed(1))
    x[1] = -float("inf")
    x[2, : x.shape[1] // 2] = -float("inf")  # a whole block of nothing, then something
    x[3, 5] = float("inf")
    x[4, 5] = float("nan")
    x[5] = 3.0
    x[6] = -1e38
    x[7, 1:] = -float("inf")


def far_mean(args: dict[str, Any]) -> None:
    """Move x far from zero, where E[x^2] - E[x]^2 cancels."""
    args["x"] += 3000.0


EDITS = {"": lambda args: None, "extreme": extreme, "far_mean": far_mean}


def guarded(tensor: torch.Tensor, shift: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a copy with the same strides inside a larger buffer, and the buffer."""
    reach = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    size = 2 * GUARD + shift + (reach if tensor.numel() else 0)
    buffer = torch.full((size,), MARK).to(tensor.dtype)
    view = torch.as_strided(buffer, tensor.shape, tensor.stride(), GUARD + shift)
    return view.copy_(tensor), buffer


def run(case: Case) -> str:
    """Return what is wrong with a case, ``""`` if nothing is."""
    definition = catalog.load(case.kernel, root=ROOT)
    problem = Problem(case.problem)
    args = definition.inputs(problem, torch.device("cpu"), torch.Generator().manual_seed(0))
    EDITS[case.edit](args)
    buffers = {}
    for name, value in args.items():
        if isinstance(value, torch.Tensor):
            args[name], buffers[name] = guarded(value, case.shift)
    widened = {
        name: value.double()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
        else value
        for name, value in args.items()
    }
    expected = definition.reference(widened)
    for name in definition.outputs:
        args[name].fill_(float("nan"))
    kept = {name: buffer.clone() for name, buffer in buffers.items()}
    definition.launch(args, Config(case.config))
    for name, buffer in buffers.items():
        before, after = kept[name].double(), buffer.double()
        if name in definition.outputs:
            places = torch.zeros(buffer.shape, dtype=torch.bool)
            shape, stride = args[name].shape, args[name].stride()
            torch.as_strided(places, shape, stride, GUARD + case.shift).fill_(True)
            before, after = before[~places], after[~places]
        if not torch.equal(
            before.view(torch.int64), after.view(torch.int64)
        ):  # bits: NaN is itself
            return f"{name} or what lies beside it was written"
    for name in definition.outputs:
        limit = case.relative or definition.tolerance(str(args[name].dtype)[6:]).relative
        if fault := difference(args[name].double(), expected[name].double(), limit):
            return f"{name} {fault}"
    return ""


def difference(found: torch.Tensor, expected: torch.Tensor, limit: float) -> str:
    """Return how a tensor differs from its reference, ``""`` if it is near enough."""
    if found.shape != expected.shape:
        return f"has shape {tuple(found.shape)}, expected {tuple(expected.shape)}"
    if not torch.equal(found.isnan(), expected.isnan()):
        return "is NaN elsewhere than expected, or was not written"
    known = expected.isfinite()
    if not torch.equal(found[~known].nan_to_num(), expected[~known].nan_to_num()):
        return "is infinite elsewhere than expected"
    if not known.any():
        return ""
    found, expected = found[known], expected[known]
    error = (
        (found - expected).abs() / (expected.abs() + expected.square().mean().sqrt() + 1e-300)
    ).max()
    return "" if error <= limit else f"is off by {error:.1e}, allowed {limit:.0e}"


def main() -> None:
    outcomes = {}
    for case in CASES:
        try:
            outcomes[case.id] = run(case)
        except Exception as error:
            outcomes[case.id] = f"{type(error).__name__}: {error}"
    Path(sys.argv[1]).write_text(json.dumps(outcomes))


if __name__ == "__main__":
    main()
