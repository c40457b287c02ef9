"""What a kernel file declares: parameters and rules between them, before a problem is known."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from autotune_lab.errors import DefinitionError
from autotune_lab.spaces.bound import BoundSpace
from autotune_lab.spaces.constraint import Constraint, DeviceFacts, Rule, Scope
from autotune_lab.spaces.enumeration import enumerate_rows
from autotune_lab.spaces.parameter import Parameter, next_power_of_two, powers_of_two

__all__ = ["BoundSpace", "Parameter", "Space", "next_power_of_two", "powers_of_two"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Space:
    """Meta-parameters with their values, and the constraints between them; immutable.

    ``Space(BLOCK=powers_of_two(64, 1024), num_warps=[1, 2, 4]).where("BLOCK >= 32 * num_warps")``.
    A value list may be a ``Parameter``, to say that its values have an order or have none.

    Attributes:
        parameters: in the order of declaration.
        constraints: legality rules and heuristics, in the order of declaration.

    Raises:
        DefinitionError: no parameters, or some are declared wrongly; all of them are named.
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]

    def __init__(self, /, **parameters: Iterable[Any] | Parameter) -> None:
        faults: list[str] = [] if parameters else ["it has no parameters"]
        made = []
        for name, values in parameters.items():
            try:
                made.append(_parameter(name, values))
            except DefinitionError as error:
                faults.extend(f"{error.where}: {fault}" for fault in error.faults)
        if faults:
            raise DefinitionError("space", faults)
        self._set(tuple(made), ())

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in the order of declaration."""
        return tuple(parameter.name for parameter in self.parameters)

    def where(self, constraint: Rule, *, reason: str = "") -> "Space":
        """Return the space with one more legality rule; what it rejects is never compiled.

        Args:
            constraint: a text over parameters, problem fields (``M``, ``dtype``, ``itemsize``) and
                ``device`` fields (``device.sm_count``), or a function whose arguments have such
                names (``device`` and ``problem`` being the whole thing).
            reason: why, for whoever asks what became of a config; a function is listed by it.

        Raises:
            DefinitionError: the text can't be understood; the message has the column.
        """
        return self._with(Constraint.declare(constraint, reason=reason))

    def heuristic(self, constraint: Rule, *, reason: str = "") -> "Space":
        """Return the space with one more rule of thumb: what it rejects runs, but is not proposed.

        A study that trusts no rule of thumb asks for ``heuristics=False``. Arguments and errors are
        those of ``where``.

        Raises:
            DefinitionError: the text can't be understood; the message has the column.
        """
        return self._with(Constraint.declare(constraint, reason=reason, is_heuristic=True))

    def faults(self, problem_fields: set[str]) -> list[str]:
        """Name what constraints read and neither the space nor any problem has."""
        known = {*self.names, *problem_fields}
        if "dtype" in problem_fields:
            known.add("itemsize")
        return [fault for rule in self.constraints for fault in rule.faults(known)]

    def bind(
        self,
        problem: Mapping[str, Any],
        model: DeviceFacts | None = None,
        *,
        heuristics: bool = True,
        required: bool = True,
    ) -> BoundSpace:
        """Return the valid configs for a problem on a device.

        Args:
            problem: a ``Problem``, or any mapping of its fields.
            model: a device model; without one, rules about the device are skipped and listed.
            heuristics: leave out what rules of thumb advise against.
            required: raise if nothing is valid; else the space is then empty.

        Raises:
            DefinitionError: a constraint names something unknown, fails on some config, or rejects
                all that was left.
        """
        columns = {name: column for column, name in enumerate(self.names)}
        scope = Scope(columns, problem, model)
        rules = [rule for rule in self.constraints if heuristics or not rule.is_heuristic]
        skipped = [rule.label for rule in rules if rule.needs_device and model is None]
        bound = [rule.bind(scope) for rule in rules if not (rule.needs_device and model is None)]
        found = enumerate_rows(self.parameters, bound)
        if required and not len(found.codes):
            raise DefinitionError("space", [_nothing_left(found.rejections, problem)])
        return BoundSpace(
            self.parameters,
            found.codes,
            rejections=found.rejections,
            skipped=skipped,
            bound=bound,
        )

    def __repr__(self) -> str:
        listing = ", ".join(f"{p.name}={list(p.values)}" for p in self.parameters)
        return f"Space({listing})" + "".join(f".where({c.label!r})" for c in self.constraints)

    def _with(self, constraint: Constraint) -> "Space":
        grown = object.__new__(Space)
        grown._set(self.parameters, (*self.constraints, constraint))
        return grown

    def _set(self, parameters: tuple[Parameter, ...], constraints: tuple[Constraint, ...]) -> None:
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "constraints", constraints)


def _parameter(name: str, values: Iterable[Any] | Parameter) -> Parameter:
    if not isinstance(values, Parameter):
        return Parameter(name, values)
    if values.name != name:
        raise DefinitionError(f"parameter {name!r}", [f"it is given {values.name!r} as its name"])
    return values


def _nothing_left(rejections: Mapping[str, int], problem: Mapping[str, Any]) -> str:
    last = [label for label, count in rejections.items() if count][-1]
    counts = ", ".join(f"{label!r} rejects {n}" for label, n in rejections.items() if n)
    fields = ",".join(f"{name}={value}" for name, value in problem.items())
    return (
        f"no config is valid for {fields or 'this problem'}: after {last!r} none is left ({counts})"
    )
