"""What a file in ``search_spaces/`` declares: a kernel, its problems, and how to judge it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autotune_lab import autotuners
from autotune_lab.arguments import unused
from autotune_lab.errors import DefinitionError, did_you_mean
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import Space
from autotune_lab.spaces.values import Value, canonical, digest, identity, to_json

ITEM_BYTES = {
    "float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip

Arguments = dict[str, Any]


class Problem(Mapping[str, Value]):
    """A shape, dtype and layout to tune for: ``Problem(M=4096, N=4096, K=4096, dtype="bfloat16")``.

    Fields are read as attributes; ``itemsize`` is the bytes of one element of ``dtype``.

    Raises:
        DefinitionError: a field's value is of no supported type, its name is no identifier, or a
            problem has an attribute of that name already.
    """

    __slots__ = ("_fields", "_id")

    def __init__(self, items: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        merged = {**(items or {}), **fields}
        if faults := [fault for name in merged for fault in _field_faults(name)]:
            raise DefinitionError("problem", faults)
        self._fields = {k: canonical(merged[k], where=f"problem field {k}") for k in merged}
        self._id = digest(self._fields)

    @classmethod
    def parse(cls, text: str) -> "Problem":
        """Read ``"M=4096,N=4096,dtype=bfloat16"``: ints, floats, true/false, else text.

        Raises:
            DefinitionError: an entry is not ``name=value``.
        """
        fields: dict[str, Value] = {}
        for entry in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = entry.partition("=")
            if not equals or not name.strip() or not value.strip():
                raise DefinitionError(f"problem {text!r}", [f"{entry!r} is not name=value"])
            fields[name.strip()] = _parse_scalar(value.strip())
        if not fields:
            raise DefinitionError(f"problem {text!r}", ["it has no fields; write M=4096,dtype=..."])
        return cls(fields)

    @classmethod
    def from_plain(cls, data: Any) -> "Problem":
        """Rebuild from a JSON object."""
        if not isinstance(data, dict):
            raise DefinitionError("problem", [f"expected an object, got {data!r}"])
        return cls(data)

    @property
    def id(self) -> str:
        """Sixteen hex digits that name this problem in the store; key order does not matter."""
        return self._id

    @property
    def itemsize(self) -> int:
        """Bytes of one element of ``dtype``.

        Raises:
            DefinitionError: the problem has no ``dtype``, or one of unknown size.
        """
        dtype = self._fields.get("dtype")
        if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
            raise DefinitionError(f"problem {self}", [f"dtype {dtype!r} has no known item size"])
        return ITEM_BYTES[dtype]

    def to_json(self) -> str:
        """Return strict JSON with sorted keys."""
        return "{" + ",".join(f'"{k}":{to_json(self._fields[k])}' for k in sorted(self)) + "}"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._fields:
            return self._fields[name]
        raise AttributeError(f"problem has no field {name!r}; it has {', '.join(self._fields)}")

    def __getitem__(self, name: str) -> Value:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __hash__(self) -> int:
        return hash(self._id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._id == other._id

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self._fields.items())

    def __repr__(self) -> str:
        return f"Problem({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"

    def __reduce__(self) -> tuple[type["Problem"], tuple[dict[str, Value]]]:
        return Problem, (dict(self._fields),)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far outputs may be from the reference: ``|out - ref| <= relative * (|ref| + rms(ref))``.

    The reference is computed in float64. Scaling by the output's root mean square lets a long sum
    in another order pass where its exact value is near zero.
    """

    relative: float


DEFAULT_TOLERANCES: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-12),
    "float32": Tolerance(1e-5),
    "tfloat32": Tolerance(5e-3),
    "float16": Tolerance(5e-3),
    "bfloat16": Tolerance(2e-2),
    "float8_e4m3fn": Tolerance(1.5e-1),
    "float8_e5m2": Tolerance(3e-1),
}


@dataclass(frozen=True, kw_only=True)
class KernelDefinition:
    """A kernel, the space of its meta-parameters, and everything needed to judge a config of it.

    Attributes:
        name: the kernel's name in the catalog and the store; the file's stem.
        space: meta-parameters and constraints.
        inputs: ``(problem, device, generator) -> arguments``; fresh random tensors on ``device`` (a
            torch device), drawn from ``generator`` (a torch generator on that device).
        launch: ``(arguments, config) -> None``; the user's own host code. It may launch several
            kernels, zero a buffer or build a descriptor.
        outputs: names of the arguments that the kernel writes in full.
        reference: ``arguments -> {output: tensor}``; called with floating inputs in float64.
        work: ``problem -> {"bytes": ..., "flops": ...}``: the least traffic (bytes) and arithmetic
            (floating-point operations) that the problem needs.
        problems: what is tuned for when the user names nothing.
        default: the config that a user without a tuner would launch; always in the playoff.
        mutates: arguments that the kernel changes in place; restored before every launch.
        zeroes: arguments that must hold zeros before every launch (accumulators).
        tolerances: overrides of ``DEFAULT_TOLERANCES`` by dtype.
        deterministic: the same inputs must give the same bits on every launch.
        buckets: problem field -> function to the value it is tuned at, for fields that vary freely
            (``{"n": next_power_of_two}``). Tuning, storing and look-up all use it.
        replaces: ``arguments -> None``; the PyTorch call that a user would make instead.
    """

    name: str
    space: Space
    inputs: Callable[[Problem, Any, Any], Arguments]
    launch: Callable[[Arguments, Config], Any]
    outputs: Sequence[str]
    reference: Callable[[Arguments], Mapping[str, Any]]
    problems: Sequence[Problem]
    work: Callable[[Problem], Mapping[str, float]] | None = None
    default: Mapping[str, Any] | None = None
    mutates: Sequence[str] = ()
    zeroes: Sequence[str] = ()
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    deterministic: bool = True
    buckets: Mapping[str, Callable[[int], int]] = field(default_factory=dict)
    replaces: Callable[[Arguments], Any] | None = None

    def __post_init__(self) -> None:
        faults = list(self._faults())
        if faults:
            raise DefinitionError(f"kernel {self.name!r}", faults)

    @classmethod
    def from_autotuner(
        cls,
        kernel: Any,
        *,
        inputs: Callable[[Problem, Any, Any], Arguments],
        launch: Callable[[Arguments], Any],
        outputs: Sequence[str],
        reference: Callable[[Arguments], Mapping[str, Any]],
        problems: Sequence[Problem],
        names: Mapping[str, str] | None = None,
        product: bool = False,
        name: str = "",
        default: Any = None,
        mutates: Sequence[str] | None = None,
        zeroes: Sequence[str] | None = None,
        work: Callable[[Problem], Mapping[str, float]] | None = None,
        tolerances: Mapping[str, Tolerance] | None = None,
        deterministic: bool = True,
        buckets: Mapping[str, Callable[[int], int]] | None = None,
        replaces: Callable[[Arguments], Any] | None = None,
    ) -> "KernelDefinition":
        """Return the definition of a kernel that is under ``@triton.autotune`` already.

        Its configs become the space, ``prune_configs_by`` constraints, ``reset_to_zero`` and
        ``restore_value`` what is zeroed and restored before every launch, outside of the timed
        window. Each launch goes through the autotuner held at one config, so hooks of the config
        and heuristics run as they do for a user.

        Args:
            kernel: the decorated kernel.
            inputs: as for any definition; where configs are pruned it is also asked for tensors on
                the device ``meta``, with no generator.
            launch: ``arguments -> None``, host code that launches the kernel as it always did.
            outputs: as for any definition, like all that follows and is not named here.
            reference: see the class.
            problems: each must have the fields that decide the autotuner's ``key``.
            names: kernel argument -> the input or problem field that it is, where they differ.
            product: tune every combination of the listed values, not only the listed configs.
            name: by default the kernel function's.
            default: a mapping, or the ``triton.Config`` that a user without a tuner would launch.
            mutates: instead of ``restore_value``; needed where the autotuner has a hook of its own.
            zeroes: instead of ``reset_to_zero``; the same.
            work: see the class.
            tolerances: see the class.
            deterministic: see the class.
            buckets: see the class.
            replaces: see the class.

        Raises:
            DefinitionError: it is no autotuned kernel, or something of it can't be taken over.
        """
        declared = autotuners.read(
            kernel,
            inputs=inputs,
            launch=launch,
            names=names or {},
            fields=frozenset.intersection(*map(frozenset, problems)) if problems else None,
            product=product,
            is_declared=mutates is not None or zeroes is not None,
        )
        if hasattr(default, "kwargs"):
            chosen = autotuners.values_of(default)
            default = {parameter: chosen.get(parameter) for parameter in declared.space.names}
        return cls(
            name=name or declared.name,
            space=declared.space,
            inputs=inputs,
            launch=declared.launch,
            outputs=outputs,
            reference=reference,
            problems=problems,
            work=work,
            default=default,
            mutates=declared.mutates if mutates is None else mutates,
            zeroes=declared.zeroes if zeroes is None else zeroes,
            tolerances=tolerances or {},
            deterministic=deterministic,
            buckets=buckets or {},
            replaces=replaces,
        )

    def _faults(self) -> Iterator[str]:
        if not self.name.isidentifier():
            yield f"name {self.name!r} is not an identifier"
        yield from self._argument_faults()
        yield from self._problem_faults()
        fields = {name for problem in self.problems for name in problem}
        for name in sorted(fields & set(self.space.names)):
            yield f"{name!r} is both a parameter and a problem field"
        yield from self.space.faults(fields)
        for name in unused(self.space.names, self.launch):
            yield f"parameter {name!r} is taken by no kernel that launch uses, nor by Triton"
        yield from self._default_faults()

    def _argument_faults(self) -> Iterator[str]:
        """Name what is wrong with the lists of arguments."""
        for label in ("outputs", "mutates", "zeroes"):
            names = getattr(self, label)
            if isinstance(names, str):
                yield f"{label} is the text {names!r}; write [{names!r}]"
            for name in sorted({name for name in names if list(names).count(name) > 1}):
                yield f"{label} names {name!r} twice"
        if not self.outputs:
            yield "outputs is empty; name the arguments that the kernel writes"
        for name in sorted(set(self.mutates) & set(self.zeroes)):
            yield f"argument {name!r} is in both mutates and zeroes; restore it or zero it"

    def _problem_faults(self) -> Iterator[str]:
        """Name what is wrong with the problems and the buckets that they fall into."""
        if not self.problems:
            yield "problems is empty; declare at least one Problem"
        if kinds := sorted({type(problem).__name__ for problem in self.problems} - {"Problem"}):
            yield f"problems holds a {' and a '.join(kinds)}; write Problem(...)"
            return
        fields = {name for problem in self.problems for name in problem}
        for name in self.buckets:
            if name not in fields:
                hint = did_you_mean(name, fields)
                yield f"buckets names {name!r}, which is no problem field{hint}"
                return
        for problem in self.problems:
            once = self.bucketed(problem)
            if self.bucketed(once) != once:
                yield f"buckets turn {problem} into {once}, and that into something else again"

    def _default_faults(self) -> Iterator[str]:
        """Name what the default has that the space does not, and the other way round."""
        if self.default is None:
            return
        for name in sorted(set(self.default) ^ set(self.space.names)):
            stands = "not in the space" if name in self.default else "missing"
            yield f"default: parameter {name!r} is {stands}"
        for parameter in self.space.parameters:
            value = self.default.get(parameter.name, parameter.values[0])
            allowed = {to_json(identity(choice)) for choice in parameter.values}
            if to_json(identity(canonical(value, where="default"))) not in allowed:
                listing = ", ".join(map(to_json, parameter.values))
                yield f"default: {parameter.name}={value!r} is not one of {listing}"

    @property
    def default_config(self) -> Config | None:
        """The declared default as a config."""
        return None if self.default is None else Config(self.default)

    def bucketed(self, problem: Problem) -> Problem:
        """Return the problem that stands for this one in tuning, storing and look-up.

        Raises:
            DefinitionError: a field that falls into buckets holds no integer.
        """
        changed = dict(problem)
        for name, bucket in self.buckets.items():
            value = changed.get(name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise DefinitionError(
                    f"kernel {self.name!r}", [f"buckets needs an integer {name}, got {value!r}"]
                )
            changed[name] = bucket(value)
        return Problem(changed)

    def tolerance(self, dtype: str) -> Tolerance:
        """Return the tolerance for an output's dtype (``"float16"``); exact for integers."""
        return self.tolerances.get(dtype) or DEFAULT_TOLERANCES.get(dtype) or Tolerance(0.0)


def _field_faults(name: str) -> Iterator[str]:
    if not name.isidentifier() or name.startswith("_"):
        yield f"{name!r} is not a field name"
    elif hasattr(Problem, name):
        yield f"field {name!r} would hide Problem.{name}; rename it"


def _parse_scalar(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
