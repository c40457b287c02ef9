"""The fallback ladder: from the winner of exactly this problem here down to the default.

A candidate is passed over when a constraint of the kernel's space rejects it for the problem asked
for, when it can't fit the present GPU, or when it is stale and the policy says to look further.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autotune_lab.compiling.targets import fits, illegal_option
from autotune_lab.errors import DefinitionError, EnvironmentMismatch, ExportError
from autotune_lab.runtime.decision import Decision, Step
from autotune_lab.runtime.policy import Policy
from autotune_lab.runtime.present import Present
from autotune_lab.runtime.shelf import Entry, Neighbour, Shelf
from autotune_lab.runtime.table import KernelTable
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.constraint import Scope
from autotune_lab.spaces.space import Space
from autotune_lab.spaces.values import Value


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config that a step offers."""

    step: Step
    config: Config
    problem: Mapping[str, Value] | None = None
    device: str = ""
    distance_octaves: float = 0.0
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Ladder:
    """The winners of one kernel as seen from one device.

    Attributes:
        default: what is launched when no step has an answer; None leaves it to the kernel.
        space: gives the constraints; without it, none is checked.
        code_hash: of the kernel as it is today; ``""`` if it is not known.
    """

    table: KernelTable
    present: Present
    policy: Policy
    default: Config | None
    space: Space | None = None
    code_hash: str = ""

    def decide(self, problem: Mapping[str, Value]) -> Decision:
        """Choose the config for a problem.

        Raises:
            EnvironmentMismatch: the best answer is stale, and the policy is ``error``.
            ExportError: there is no answer, and the policy for misses is ``error``.
        """
        reasons: list[str] = []
        refused: list[str] = []
        for candidate in self._candidates(problem, reasons):
            stale = self._stale(candidate.entry)
            if stale and self.policy.on_stale == "error":
                raise EnvironmentMismatch(
                    f"{self.table.name}: the winner for {dict(problem)} is stale: "
                    f"{'; '.join(stale)}; tune again, or set on_stale to 'use' or 'fallback'"
                )
            fault = self._fault(candidate, problem)
            if not fault and stale and self.policy.on_stale == "fallback":
                fault = f"stale: {'; '.join(stale)}"
            if fault:
                refused.append(f"{candidate.step} ({candidate.config}): {fault}")
                continue
            return Decision(
                step=candidate.step,
                config=candidate.config,
                problem=dict(problem),
                tuned_problem=candidate.problem,
                device=candidate.device,
                distance_octaves=candidate.distance_octaves,
                reason="; ".join(reasons),
                refused=tuple(refused),
                stale=stale,
            )
        return self._miss(problem, reasons, refused)

    def without(self, decision: Decision, fault: str) -> Decision:
        """Return the default in place of a decision whose config turned out not to run here."""
        refused = (*decision.refused, f"{decision.step} ({decision.config}): {fault}")
        return replace(
            decision,
            step=Step.DEFAULT,
            config=self.default,
            tuned_problem=None,
            device="",
            distance_octaves=0.0,
            refused=refused,
            stale=(),
        )

    def _candidates(self, problem: Mapping[str, Value], reasons: list[str]) -> Iterator[Candidate]:
        """Yield what each step offers, and note why a step offers nothing."""
        here = self.present.model
        own = self.table.shelves.get(here.id)
        if own is None:
            known = ", ".join(sorted(model.slug for model in self.table.models.values()))
            reasons.append(
                f"nothing was tuned on {here.slug} ({here.id}), but on {known or 'none'}"
            )
        else:
            yield from self._offers(own, here.slug, problem, reasons, (Step.EXACT, Step.NEAREST))
        twins = (Step.SAME_ARCHITECTURE, Step.SAME_ARCHITECTURE)
        for model_id, model in sorted(self.table.models.items()):
            if (
                model_id != here.id
                and model.architecture == here.architecture
                and model.sm_count == here.sm_count
            ):
                shelf = self.table.shelves[model_id]
                yield from self._offers(shelf, model.slug, problem, reasons, twins)
        if not any("outside the tuned range" in reason for reason in reasons):
            for config in self.table.portfolio:
                yield Candidate(Step.PORTFOLIO, config)

    def _offers(
        self,
        shelf: Shelf,
        slug: str,
        problem: Mapping[str, Value],
        reasons: list[str],
        steps: tuple[Step, Step],
    ) -> Iterator[Candidate]:
        """Yield the winners of the problem on a shelf, then those of the nearest one."""
        exact = shelf.exact(problem)
        for entry in self._freshest(exact):
            yield Candidate(steps[0], entry.config, dict(problem), slug, entry=entry)
        if exact:
            return
        near = shelf.nearest(problem)
        if near.reason:
            reasons.append(f"{slug}: {near.reason}")
            return
        for entry in self._freshest(near.entries):
            if fault := self._too_far(near, entry):
                reasons.append(f"{slug}: {fault}")
                continue
            yield Candidate(
                steps[1], entry.config, near.problem, slug, near.distance_octaves, entry
            )

    def _freshest(self, entries: Sequence[Entry]) -> list[Entry]:
        """Sort winners of one problem: those of the present software first."""
        return sorted(entries, key=lambda entry: len(self._stale(entry)))

    def _too_far(self, near: Neighbour, entry: Entry) -> str:
        tuned = ",".join(f"{name}={value}" for name, value in near.problem.items())
        said = f"the nearest tuned problem {tuned} is {near.distance_octaves:.2g} octaves away"
        if near.distance_octaves > self.policy.nearest_octaves:
            return f"{said}, more than {self.policy.nearest_octaves:g}"
        if entry.reach_octaves is None:
            return f"{said}, and how it does on other problems than its own was not measured"
        if near.distance_octaves > entry.reach_octaves:
            return (
                f"{said}, and its config was measured to be no worse than the default only "
                f"up to {entry.reach_octaves:.2g}"
            )
        return ""

    def _stale(self, entry: Entry | None) -> tuple[str, ...]:
        if entry is None:
            return ()
        now, then = self.present.environment, entry.environment
        found = [
            f"{name} {before} -> {today}"
            for name, before, today in (
                ("triton", then.triton, now.triton),
                ("driver", then.driver, now.driver),
                ("source", entry.kernel.code_hash, self.code_hash),
            )
            if before and today and before != today
        ]
        return tuple(found)

    def _fault(self, candidate: Candidate, problem: Mapping[str, Value]) -> str:
        """Say why a config must not be launched here; ``""`` if it may."""
        config = candidate.config
        if fault := illegal_option(config):
            return fault
        needs = candidate.entry.resources if candidate.entry else None
        if needs and self.present.model.sm_count and (fault := fits(needs, self.present.model)):
            return fault
        return self._broken_constraint(config, problem)

    def _broken_constraint(self, config: Config, problem: Mapping[str, Any]) -> str:
        if self.space is None:
            return ""
        if missing := sorted(set(self.space.names) - set(config)):
            return f"it has no value for {', '.join(missing)}"
        model = self.present.model if self.present.model.sm_count else None
        scope = Scope({name: i for i, name in enumerate(self.space.names)}, problem, model)
        for rule in self.space.constraints:
            if rule.is_heuristic or (rule.needs_device and model is None):
                continue
            try:
                bound = rule.bind(scope)
                is_held = bound.allows([config[name] for name in bound.names])
            except DefinitionError as error:
                return str(error)
            if not is_held:
                return f"constraint {bound.label!r} rejects it"
        return ""

    def _miss(
        self, problem: Mapping[str, Value], reasons: list[str], refused: list[str]
    ) -> Decision:
        why = "; ".join(reasons) or "nothing that was tuned may be used"
        if self.policy.on_miss == "error":
            said = "; ".join([why, *refused])
            raise ExportError(f"{self.table.name}: no config for {dict(problem)}: {said}")
        return Decision(
            step=Step.DEFAULT,
            config=self.default,
            problem=dict(problem),
            reason=why,
            refused=tuple(refused),
        )
