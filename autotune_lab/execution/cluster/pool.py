"""Compiles configs on the nodes of a cluster, side by side; the coordinator's half."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from autotune_lab.codec import from_plain, to_json
from autotune_lab.execution.cluster.hosts import compile_remotely
from autotune_lab.execution.cluster.offers import ComputeNode, compute_nodes
from autotune_lab.execution.cluster.remote import Binaries, told, unpacked
from autotune_lab.processes import Child
from autotune_lab.records import CompileJob, Limits, Outcome, TrialState

_REFRESH_S = 10.0
_MOST_LOSSES = 3


@dataclass(slots=True)
class Placement:
    """Which node compiles next: the one with the least to do for its cores. Shared by pools.

    Attributes:
        most: how many configs compile at once, if that is bounded.
    """

    most: int | None = None
    _nodes: list[ComputeNode] = field(default_factory=list)
    _busy: Counter[str] = field(default_factory=Counter)
    _looked: float = float("-inf")

    @property
    def workers(self) -> int:
        """How many configs can compile side by side."""
        cores = sum(node.cpus for node in self._known())
        return max(1, cores if self.most is None else min(cores, self.most))

    def take(self) -> str:
        """Return the node for one more job; ``""`` when Ray shall choose."""
        nodes = self._known()
        if not nodes:
            return ""
        chosen = min(nodes, key=lambda node: (self._busy[node.id] / node.cpus, node.id)).id
        self._busy[chosen] += 1
        return chosen

    def give_back(self, node: str) -> None:
        """Say that a job of a node has ended."""
        self._busy[node] -= 1

    def _known(self) -> list[ComputeNode]:
        now = time.monotonic()
        if now - self._looked > _REFRESH_S:
            self._nodes, self._looked = compute_nodes(), now
        return self._nodes


@dataclass(slots=True)
class _Sent:
    """A job that some node compiles."""

    key: str
    job: CompileJob
    node: str
    answer: Any
    losses: int


class RemotePool:
    """Compiles for the devices of one model; has the interface of ``CompilePool``.

    Args:
        limits: ``compile_s`` is how long one config may take.
        placement: chooses nodes, for all pools of a cluster.
        binaries: where what was compiled is held for whoever measures it.
    """

    def __init__(self, limits: Limits, placement: Placement, binaries: Binaries) -> None:
        self._limits = to_json(limits)
        self._placement = placement
        self._binaries = binaries
        self._sent: list[_Sent] = []
        # Its two values come as two references, which Ray's types don't say.
        self._task: Any = ray.remote(num_cpus=1, num_returns=2, max_retries=0)(compile_remotely)

    @property
    def workers(self) -> int:
        """How many configs compile side by side."""
        return self._placement.workers

    @property
    def children(self) -> Sequence[Child]:
        """None on this machine."""
        return ()

    @property
    def waiting(self) -> list[Any]:
        """What Ray can wait on for an outcome."""
        return [sent.answer for sent in self._sent]

    def submit(self, key: str, job: CompileJob) -> None:
        """Add a job; its outcome comes back under ``key``."""
        self._send(key, job, 0)

    def collect(self) -> list[tuple[str, Outcome]]:
        """Return the outcomes that there are, without blocking.

        A job whose node was lost is sent to another, three times at most.

        Raises:
            AutotuneLabError: the kernel's file can't be used.
        """
        if not self._sent:
            return []
        ready, _ = ray.wait(self.waiting, num_returns=len(self._sent), timeout=0)
        done = set(ready)
        ended = [sent for sent in self._sent if sent.answer in done]
        self._sent = [sent for sent in self._sent if sent.answer not in done]
        outcomes = []
        for sent in ended:
            self._placement.give_back(sent.node)
            try:
                outcome = from_plain(Outcome, unpacked(ray.get(sent.answer))["outcome"])
            except RayError as error:
                if sent.losses + 1 < _MOST_LOSSES:
                    self._send(sent.key, sent.job, sent.losses + 1)
                    continue
                reason = f"{_MOST_LOSSES} compilers were lost with it: {told(error)}"
                outcome = Outcome(TrialState.COMPILE_ERROR, reason=reason)
            outcomes.append((sent.key, outcome))
        return outcomes

    def _send(self, key: str, job: CompileJob, losses: int) -> None:
        node = self._placement.take()
        where = NodeAffinitySchedulingStrategy(node, soft=True) if node else "DEFAULT"
        answer, files = self._task.options(scheduling_strategy=where).remote(
            to_json(job, sort_keys=False), self._limits
        )
        self._binaries.keep(job, files)
        self._sent.append(_Sent(key, job, node, answer, losses))
