"""Kernels whose launches and times are scripted, and jobs that measure them on a fake device."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from autotune_lab import KernelDefinition, Problem, Space
from autotune_lab.devices.fake import FakeDevice
from autotune_lab.measuring.inputs import ProblemCache
from autotune_lab.measuring.protocol import measure
from autotune_lab.records import MeasureJob, Outcome, Phase, Protocol
from autotune_lab.spaces.config import Config

PROBLEM = Problem(n=64, dtype="float32")


def doubling(launch: Callable[..., Any], **changes: Any) -> KernelDefinition:
    """Return a kernel that should write y = 2 x; ``launch(args, config, count)`` gives its time."""
    counts: dict[str, int] = {}

    def counted(args, config):
        counts[config.id] = counts.get(config.id, 0) + 1
        return launch(args, config, counts[config.id])

    declared: dict[str, Any] = {
        "name": "doubling",
        "space": Space(variant=list(range(100))),
        "inputs": doubling_inputs,
        "launch": counted,
        "outputs": ["y"],
        "reference": lambda args: {"y": 2 * args["x"]},
        "problems": [PROBLEM],
    }
    return KernelDefinition(**(declared | changes))


def doubling_inputs(problem, device, generator):
    dtype = getattr(torch, problem.dtype)
    x = torch.randn(problem.n, generator=generator, device=device).to(dtype)
    return {"x": x, "y": torch.empty_like(x)}


def right(args: Mapping[str, torch.Tensor]) -> None:
    args["y"].copy_(2 * args["x"])


def timed(*values: Any) -> KernelDefinition:
    """Return a right kernel whose variant i takes ``values[i]`` as its time."""

    def launch(args, config, count):
        right(args)
        return values[config["variant"]]

    return doubling(launch)


def run(
    definition: KernelDefinition,
    variant: int = 0,
    *,
    device: FakeDevice | None = None,
    cache: ProblemCache | None = None,
    protocol: Protocol = Protocol(),
    problem: Problem | None = None,
    **job: Any,
) -> Outcome:
    """Measure one variant."""
    return measure(
        definition,
        device or FakeDevice(),
        MeasureJob(
            kernel=definition.name,
            problem=problem or definition.problems[0],
            config=Config(variant=variant),
            protocol=protocol,
            **({"phase": Phase.SCREEN} | job),
        ),
        cache=cache or ProblemCache(),
    )
