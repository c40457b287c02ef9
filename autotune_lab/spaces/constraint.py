"""Rules over configs: texts or functions, bound to a problem and a device, then asked by row."""

import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from autotune_lab.errors import DefinitionError, did_you_mean
from autotune_lab.spaces.expression import Evaluate, Expression, Resolve, Row
from autotune_lab.spaces.values import Value

Rule = str | Callable[..., bool]
Bind = Callable[[Resolve, frozenset[str]], Evaluate]


class DeviceFacts(Protocol):
    """What constraints may ask of a device, as ``device.<field>``."""

    @property
    def name(self) -> str:
        """The driver's name."""

    @property
    def vendor(self) -> str:
        """``"nvidia"``, ``"amd"`` or ``"none"``."""

    @property
    def architecture(self) -> str:
        """``"sm_90"``, ``"gfx942"``, ..."""

    @property
    def sm_count(self) -> int:
        """Streaming multiprocessors or compute units."""

    @property
    def memory_bytes(self) -> int:
        """Total memory."""

    @property
    def partition(self) -> str:
        """The part of the card that launches may use."""

    @property
    def power_limit_w(self) -> int:
        """The enforced power cap, 0 when unknown."""

    @property
    def l2_bytes(self) -> int:
        """Size of the L2 cache."""

    @property
    def max_shared_bytes(self) -> int:
        """Shared memory that one block may use."""

    @property
    def warp_size(self) -> int:
        """Threads of a warp: 32 on NVIDIA, 64 on AMD's data-centre cards."""

    @property
    def max_threads_per_sm(self) -> int:
        """Threads resident on one SM."""

    @property
    def registers_per_sm(self) -> int:
        """32-bit registers of one SM."""


DEVICE_FIELDS = tuple(
    name for name, item in vars(DeviceFacts).items() if isinstance(item, property)
)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a rule may read beside a config's own values."""

    parameters: Mapping[str, int]
    problem: Mapping[str, Value]
    device: DeviceFacts | None

    @property
    def names(self) -> set[str]:
        """Every bare name that means something here."""
        names = {*self.parameters, *self.problem}
        return names | {"itemsize"} if "dtype" in self.problem else names

    def constant(self, name: str) -> Any:
        """Return the value of a name that is no parameter."""
        owner, _, field = name.rpartition(".")
        if owner == "device":
            return getattr(self.device, field)
        if name in ("device", "problem"):
            return self.device if name == "device" else self.problem
        if field == "itemsize" and field not in self.problem:
            return self.problem.itemsize  # type: ignore[attr-defined]
        return self.problem[field]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule that a config of the space must hold.

    Attributes:
        label: how lists of rejections, errors and the store name it.
        reason: why it is there, in the words of whoever declared it.
        names: what it must be given; ``device`` fields are dotted, a function's are bare.
        optional: what a function takes if there is such a name, and has a default for if not.
        is_heuristic: what it rejects would run, but is not worth trying.
        bind_names: makes the evaluator, given how to read each name and which names are known.
    """

    label: str
    reason: str
    names: tuple[str, ...]
    bind_names: Bind
    optional: tuple[str, ...] = ()
    is_heuristic: bool = False

    @classmethod
    def declare(cls, rule: Rule, *, reason: str = "", is_heuristic: bool = False) -> "Constraint":
        """Make a constraint of a text or a function.

        Raises:
            DefinitionError: the text can't be understood, or the function's signature can't.
        """
        prefix = "heuristic: " if is_heuristic else ""
        if isinstance(rule, str):
            expression = Expression.parse(rule)
            return cls(
                prefix + expression.text,
                reason,
                expression.names,
                lambda resolve, _: expression.bind(resolve),
                is_heuristic=is_heuristic,
            )
        name = getattr(rule, "__name__", type(rule).__name__)
        required, optional = _signature(rule, reason or name)
        return cls(
            prefix + (reason or f"{name}({', '.join(required)})"),
            reason,
            required,
            functools.partial(_bind_function, rule, required, optional),
            optional,
            is_heuristic=is_heuristic,
        )

    @property
    def needs_device(self) -> bool:
        """It can't be decided without a device."""
        return any(name.split(".")[0] == "device" for name in self.names)

    def faults(self, known: set[str]) -> Iterator[str]:
        """Name what it reads and nothing declares; parameters and problem fields are known."""
        for name in self.names:
            owner, _, field = name.rpartition(".")
            if name in ("device", "problem"):
                continue
            candidates = set(DEVICE_FIELDS) if owner == "device" else known
            if field not in candidates:
                hint = did_you_mean(field, candidates)
                yield f"constraint {self.label!r} names {name!r}, which is unknown{hint}"

    def bind(self, scope: Scope) -> "BoundConstraint":
        """Fix what a problem and a device decide; what is left are the values of a config.

        Raises:
            DefinitionError: it names something unknown.
        """
        if faults := list(self.faults(scope.names)):
            raise DefinitionError("space", faults)
        columns: dict[int, str] = {}

        def resolve(name: str) -> Evaluate:
            if name in scope.parameters:
                column = scope.parameters[name]
                place = list(columns).index(column) if column in columns else len(columns)
                columns[column] = name
                return operator.itemgetter(place)
            value = scope.constant(name)
            return lambda _: value

        evaluate = self.bind_names(resolve, frozenset(scope.names))
        return BoundConstraint(self.label, tuple(columns), tuple(columns.values()), evaluate)


@dataclass(frozen=True, slots=True)
class BoundConstraint:
    """A constraint of which only some of a config's values are still open.

    Attributes:
        columns: positions of the parameters that it reads, in the order of ``evaluate``'s row.
        names: their names, in the same order.
    """

    label: str
    columns: tuple[int, ...]
    names: tuple[str, ...]
    evaluate: Evaluate

    def allows(self, row: Row) -> bool:
        """Decide one combination of the values that it reads.

        Raises:
            DefinitionError: it fails, or gives something that is neither true nor false; the
                message names the values.
        """
        try:
            verdict = self.evaluate(row)
        except Exception as error:  # a user's function may raise anything
            said = str(error).partition("\n")[0]
            what = self._at(row, f"{type(error).__name__}: {said}")
            raise DefinitionError(f"constraint {self.label!r}", [what]) from error
        if verdict is True or verdict is False:
            return verdict
        if type(verdict).__name__ in ("bool", "bool_"):  # NumPy's
            return bool(verdict)
        what = f"it gives {verdict!r}, which is neither True nor False; write a comparison"
        raise DefinitionError(f"constraint {self.label!r}", [self._at(row, what)])

    def _at(self, row: Row, what: str) -> str:
        values = " ".join(f"{n}={v!r}" for n, v in zip(self.names, row, strict=True))
        return f"{what} (for {values})" if values else what


def _signature(
    function: Callable[..., bool], label: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a function's required and optional names."""
    where = f"constraint {label!r}"
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        what = f"{function!r} is neither a text nor a function with named parameters"
        raise DefinitionError(where, [what]) from error
    required: list[str] = []
    optional: list[str] = []
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DefinitionError(where, [f"*{name} says not what it reads; name each parameter"])
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise DefinitionError(where, [f"{name!r} is positional-only; it is called by name"])
        (required if parameter.default is parameter.empty else optional).append(name)
    return tuple(required), tuple(optional)


def _bind_function(
    function: Callable[..., bool],
    required: tuple[str, ...],
    optional: tuple[str, ...],
    resolve: Resolve,
    known: frozenset[str],
) -> Evaluate:
    readers = {n: resolve(n) for n in (*required, *(n for n in optional if n in known))}
    return lambda row: function(**{name: read(row) for name, read in readers.items()})
