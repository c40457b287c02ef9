"""A space as it is declared: parameters and constraints, before a problem and a device bind it."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.bound import BoundSpace
from autotune_lab.spaces.constraint import Constraint, constraint
from autotune_lab.spaces.enumeration import enumerate_codes
from autotune_lab.spaces.expression import suggest
from autotune_lab.spaces.parameter import Parameter, declared

__all__ = ["BoundSpace", "Space"]

DEVICE = "device"
DERIVED_FIELDS = frozenset({"itemsize"})


@dataclass(frozen=True, slots=True, init=False)
class Space:
    """Meta-parameters and what may be combined: ``Space(BLOCK=powers_of_two(64, 1024), ...)``.

    Immutable; ``where`` and ``heuristic`` return a new space.

    Raises:
        DefinitionError: a parameter has no values, equal values, or a bad name; all are named.
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]

    def __init__(self, **parameters: Sequence[Any] | Parameter) -> None:
        faults: list[str] = []
        made: list[Parameter] = []
        for name, values in parameters.items():
            try:
                made.append(declared(name, values))
            except DefinitionError as error:
                faults.append(str(error))
        if not parameters:
            faults.append("it has no parameters")
        if faults:
            raise DefinitionError("space", faults)
        object.__setattr__(self, "parameters", tuple(made))
        object.__setattr__(self, "constraints", ())

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names in the order declared."""
        return tuple(parameter.name for parameter in self.parameters)

    def where(self, rule: str | Callable[..., Any], *, reason: str = "") -> "Space":
        """Add a legality rule: what it rejects is never compiled and never counted as a trial.

        Args:
            rule: an expression over parameters, problem fields and ``device.`` fields, or a
                function whose argument names say what it reads.
            reason: what reports call it; required for a function.

        Raises:
            DefinitionError: the rule is not allowed.
        """
        return self._with(constraint(rule, reason=reason))

    def heuristic(self, rule: str | Callable[..., Any], *, reason: str = "") -> "Space":
        """Add a speed rule: what it rejects is legal, but left out unless a study asks for it.

        Raises:
            DefinitionError: the rule is not allowed.
        """
        return self._with(constraint(rule, reason=reason, is_heuristic=True))

    def faults(self, problem_fields: AbstractSet[str]) -> list[str]:
        """Name the constraints that read something that neither space nor problem has."""
        known = set(self.names) | set(problem_fields) | DERIVED_FIELDS | {DEVICE}
        return [
            f"constraint {rule.text!r} reads {name!r}{suggest(name, known)}"
            for rule in self.constraints
            for name in sorted(rule.names)
            if name not in known and not name.startswith("device.")
        ]

    def bind(
        self, problem: Mapping[str, Any], model: Any = None, *, heuristics: bool = True
    ) -> BoundSpace:
        """Enumerate the configs that are valid for a problem on a device.

        Args:
            problem: its fields; ``itemsize`` is read too where the problem has it.
            model: a device model; without one, constraints over ``device.`` are skipped and listed
                in the result's ``skipped``.
            heuristics: leave out what speed rules reject.

        Raises:
            DefinitionError: a constraint reads an unknown name, fails, or no config is valid.
        """
        if faults := self.faults(set(problem)):
            raise DefinitionError("space", faults)
        rules = [rule for rule in self.constraints if heuristics or not rule.is_heuristic]
        skipped = [] if model is not None else [rule for rule in rules if _reads_device(rule)]
        applied = [rule for rule in rules if rule not in skipped]
        codes, rejections = enumerate_codes(
            self.parameters, applied, _fixed_scope(problem, model, applied)
        )
        bound = BoundSpace(
            parameters=self.parameters,
            codes=codes,
            constraints=tuple(rule.text for rule in rules),
            rejections=rejections,
            skipped=tuple(rule.text for rule in skipped),
        )
        if not len(bound):
            raise DefinitionError("space", [_why_empty(rejections, problem)])
        return bound

    def _with(self, rule: Constraint) -> "Space":
        changed = Space.__new__(Space)
        object.__setattr__(changed, "parameters", self.parameters)
        object.__setattr__(changed, "constraints", (*self.constraints, rule))
        return changed


def _reads_device(rule: Constraint) -> bool:
    return any(name == DEVICE or name.startswith("device.") for name in rule.names)


def _fixed_scope(
    problem: Mapping[str, Any], model: Any, rules: Sequence[Constraint]
) -> dict[str, Any]:
    """Gather what constraints read beside parameters: problem fields and the device's."""
    scope: dict[str, Any] = dict(problem)
    read = {name for rule in rules for name in rule.names}
    for name in DERIVED_FIELDS & read:
        scope[name] = getattr(problem, name)
    if DEVICE in read:
        scope[DEVICE] = model
    for name in read:
        if name.startswith("device."):
            field = name.removeprefix("device.")
            if not hasattr(model, field):
                raise DefinitionError("space", [f"{name!r} is not a field of a device model"])
            scope[name] = getattr(model, field)
    return scope


def _why_empty(rejections: Mapping[str, int], problem: Mapping[str, Any]) -> str:
    ordered = sorted(rejections.items(), key=lambda entry: -entry[1])
    listing = "; ".join(f"{text!r} rejects {count}" for text, count in ordered if count)
    fields = ",".join(f"{name}={value}" for name, value in problem.items())
    return f"no config is valid for {fields or 'this problem'}: {listing}"
