"""What a cluster offers: devices to measure on, and nodes to compile on.

Every GPU that Ray knows of is a device. A node can offer others by a custom resource named
``device:SPEC``, as many as the resource counts: ``ray start --resources '{"device:replay": 1}'``.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray

from autotune_lab.devices.opening import DeviceSpec

PREFIX = "device:"

_GPU = "GPU"
_ACCELERATOR = "accelerator_type:"
# Asks for a node that has the resource without taking any of it from others.
_TRACE = 0.001


@dataclass(frozen=True, slots=True)
class Offer:
    """One kind of device, as a request that Ray can place.

    Attributes:
        spec: the device spec inside the process that Ray places; it sees only its own GPU.
        resources: custom resources that it takes.
        name: what messages call it.
    """

    spec: str
    gpus: int
    resources: tuple[tuple[str, float], ...]
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """What Ray is asked for; a core of its own, so that compilers don't disturb it."""
        return {"num_cpus": 1, "num_gpus": self.gpus, "resources": dict(self.resources)}


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """A node to compile on."""

    id: str
    cpus: int


def offers() -> list[Offer]:
    """Return the devices of all living nodes, one entry each, in a fixed order."""
    counted: Counter[Offer] = Counter()
    for resources in _living().values():
        counted.update(_of_node(resources))
    return [offer for offer in sorted(counted, key=lambda o: o.name) for _ in range(counted[offer])]


def compute_nodes() -> list[ComputeNode]:
    """Return the nodes without a device, or all where each has one; only those with a core."""
    nodes = {
        node: (int(resources.get("CPU", 0)), bool(_of_node(resources)))
        for node, resources in _living().items()
    }
    found = [ComputeNode(node, cpus) for node, (cpus, owns) in nodes.items() if cpus and not owns]
    return found or [ComputeNode(node, cpus) for node, (cpus, _) in nodes.items() if cpus]


def _living() -> dict[str, Mapping[str, float]]:
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return {node["NodeID"]: node["Resources"] for node in nodes if node["Alive"]}


def _of_node(resources: Mapping[str, float]) -> Counter[Offer]:
    found: Counter[Offer] = Counter()
    for name, count in resources.items():
        if name.startswith(PREFIX):
            spec = name.removeprefix(PREFIX)
            gpus = int(DeviceSpec.parse(spec).name == "cuda")
            found[Offer(spec, gpus, ((name, 1.0),), spec)] += int(count)
    if not any(offer.gpus for offer in found):
        kinds = [name for name in resources if name.startswith(_ACCELERATOR)]
        kind = kinds[0] if len(kinds) == 1 else ""
        asked = ((kind, _TRACE),) if kind else ()
        name = f"GPU {kind.removeprefix(_ACCELERATOR)}".strip()
        if gpus := int(resources.get(_GPU, 0)):
            found[Offer("cuda:0", 1, asked, name)] += gpus
    return found
