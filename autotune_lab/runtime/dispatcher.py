"""Decides once for each problem and device, remembers, counts, and warns once."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from autotune_lab.records import DeviceModel
from autotune_lab.runtime.decision import Decision, Step
from autotune_lab.runtime.ladder import Ladder
from autotune_lab.runtime.policy import Policy
from autotune_lab.runtime.present import Present, present
from autotune_lab.runtime.shelf import key_of
from autotune_lab.runtime.table import KernelTable
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import Space

MOST_DECISIONS = 65_536

_log = logging.getLogger(__name__)

Tune = Callable[[Mapping[str, Any], DeviceModel], Config]


@dataclass
class Dispatcher:
    """Answers which config a kernel is launched with; safe to call from many threads.

    Attributes:
        origin: where the table came from, for warnings.
        model: takes the place of the device model that is found, for a part of a card that no
            driver reports (a green context), and for tests.
        tune: finds a config now; called where the policy for misses is ``tune``.
    """

    table: KernelTable
    origin: str
    policy: Policy
    default: Config | None
    space: Space | None = None
    code_hash: str = ""
    model: DeviceModel | None = None
    tune: Tune | None = None
    decided: Counter[Step] = field(default_factory=Counter)
    stale: int = 0
    _decisions: dict[Any, Decision] = field(default_factory=dict)
    _ladders: dict[int, Ladder] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _warned: set[str] = field(default_factory=set)

    def decide(self, problem: Mapping[str, Any], device: int) -> Decision:
        """Return the decision for a problem on a device, the same one each time.

        Raises:
            ExportError: the policy is to raise: there is no answer, or a stale one.
        """
        key = (device, key_of(problem))
        decision = self._decisions.get(key)
        if decision is None:
            with self._lock:
                decision = self._decisions.get(key) or self._decide(problem, device)
                self._keep(key, decision)
        return decision

    def refuse(self, decision: Decision, device: int, fault: str) -> Decision:
        """Replace a decision whose config turned out not to run here by the default."""
        with self._lock:
            instead = self._ladder(device).without(decision, fault)
            self._count(instead)
            self._keep((device, key_of(decision.problem)), instead)
        return instead

    @property
    def names(self) -> set[str]:
        """Names that some config sets, so that a launch must not."""
        return (
            self.table.parameters
            | set(self.default or ())
            | set(self.space.names if self.space else ())
        )

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All decisions so far, in the order in which they were made."""
        return tuple(self._decisions.values())

    def _decide(self, problem: Mapping[str, Any], device: int) -> Decision:
        ladder = self._ladder(device)
        decision = ladder.decide(problem)
        if decision.step is Step.DEFAULT and self.policy.on_miss == "tune" and self.tune:
            config = self.tune(problem, ladder.present.model)
            decision = replace(decision, step=Step.TUNED_NOW, config=config)
        self._count(decision)
        return decision

    def _keep(self, key: Any, decision: Decision) -> None:
        if len(self._decisions) >= MOST_DECISIONS:
            self._decisions.clear()
        self._decisions[key] = decision

    def _count(self, decision: Decision) -> None:
        self.decided[decision.step] += 1
        if decision.stale:
            self.stale += 1
            self._warn_once("stale", "%s: %s (table %s)", decision)
        if decision.step is Step.DEFAULT:
            self._warn_once("default", "%s: %s (table %s)", decision)

    def _warn_once(self, about: str, text: str, decision: Decision) -> None:
        if about not in self._warned:
            self._warned.add(about)
            _log.warning(text, self.table.name, decision, self.origin)

    def _ladder(self, device: int) -> Ladder:
        ladder = self._ladders.get(device)
        if ladder is None:
            found = present(device)
            here = found if self.model is None else Present(self.model, found.environment)
            ladder = self._ladders[device] = Ladder(
                self.table, here, self.policy, self.default, self.space, self.code_hash
            )
        return ladder
