"""Hashes the code that a kernel's times and verdicts depend on; other code has other results.

A function counts by its syntax tree (not by comments, blank lines, docstrings, its line or its
file's path), by its default values, and by everything that it reads: other functions of its own
package, every JIT function, and constants. What torch, Triton and other packages hold counts by
name only: their versions are part of the environment.
"""

import ast
import dataclasses
import enum
import functools
import hashlib
import json
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from autotune_lab import syntax
from autotune_lab.definitions import KernelDefinition
from autotune_lab.records import KernelIdentity

Token = Any  # JSON-able: nested lists of texts and numbers

_LIBRARIES = {"autotune_lab", "numpy", "torch", "triton", *sys.stdlib_module_names} - {"__main__"}


def identify(definition: KernelDefinition, reference: str) -> KernelIdentity:
    """Say which code a definition is, the same in every process and folder.

    Args:
        definition: a loaded definition.
        reference: how a worker finds it; kept in the identity but not part of it.

    Raises:
        DefinitionError: a function has no source file; the message says how to make it importable.
    """
    judge = [
        list(definition.outputs),
        list(definition.mutates),
        list(definition.zeroes),
        definition.deterministic,
        sorted((dtype, tolerance.relative) for dtype, tolerance in definition.tolerances.items()),
    ]
    declared = (definition.launch, definition.inputs, definition.reference)
    return KernelIdentity(
        name=definition.name,
        code_hash=_hash(_Reader(declared).read(definition.launch, definition.inputs)),
        reference_hash=_hash([judge, _Reader(declared).read(definition.reference)]),
        reference=reference,
    )


def identify_kernel(kernel: Any) -> KernelIdentity:
    """Say which code a kernel is by itself: without a definition, so without launch or judge.

    Args:
        kernel: what ``@triton.jit`` made, wrapped or not.

    Raises:
        DefinitionError: a function has no source file.
    """
    function = _innermost(kernel)
    return KernelIdentity(
        name=function.__name__, code_hash=_hash(_Reader((kernel,)).read(kernel)), reference=""
    )


def _hash(content: Token) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()[:16]


class _Reader:
    """Reads functions and all that they use; each is written down once, numbered as it is met."""

    def __init__(self, declared: Iterable[Any]) -> None:
        self._home = {_package(function) for function in map(_innermost, declared)} - _LIBRARIES
        self._numbers: dict[int, int] = {}
        self._parts: dict[int, Token] = {}
        self._met: list[Any] = []  # keeps what is numbered alive, or its id could come again

    def read(self, *functions: Callable[..., Any]) -> Token:
        """Return a description of the functions and of everything that they reach."""
        roots = [self._token(function) for function in functions]
        return [roots, [self._parts[number] for number in sorted(self._parts)]]

    def _token(self, value: Any) -> Token:
        """Describe a value: a constant by content, a function by number, the rest by name."""
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes, type(...)):
            return [kind.__name__, repr(value)]
        if isinstance(value, types.ModuleType):
            return ["module", *([] if self._is_home(value.__name__) else [value.__name__])]
        if (jit := _jit_function(value)) is not None:
            return self._jit_token(value, jit)
        if isinstance(value, types.FunctionType):
            return self._function(value) if self._is_home(value.__module__) else _named(value)
        if isinstance(value, types.MethodType):
            return ["method", self._token(value.__func__), self._token(value.__self__)]
        if isinstance(value, type):
            return self._class(value) if self._is_home(value.__module__) else _named(value)
        if isinstance(value, functools.partial):
            return ["partial", *map(self._token, (value.func, value.args, value.keywords))]
        return self._data_token(value)

    def _data_token(self, value: Any) -> Token:
        kind = type(value)
        if isinstance(value, tuple | list):
            return [kind.__name__, [self._token(item) for item in value]]
        if isinstance(value, Mapping):
            return ["mapping", [[self._token(k), self._token(v)] for k, v in value.items()]]
        if isinstance(value, set | frozenset):
            return ["set", sorted((self._token(item) for item in value), key=json.dumps)]
        if isinstance(value, enum.Enum):
            return ["enum", kind.__qualname__, value.name, self._token(value.value)]
        if kind.__name__ == "constexpr" and _is_triton(kind):
            return self._token(value.value)
        if kind.__name__ == "dtype":
            return ["dtype", str(value)]
        if _is_triton(kind):
            return _named(value)
        if self._numbered(value):
            return ["object", kind.__qualname__]
        fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
        held = [[field.name, self._token(getattr(value, field.name))] for field in fields]
        return ["object", self._token(kind), held]

    def _jit_token(self, value: Any, function: types.FunctionType) -> Token:
        if _package(function) == "triton":
            return _named(function)
        rules = getattr(value, "values", None)  # of triton.heuristics: code that sets constants
        extra = [self._token(rules)] if isinstance(rules, Mapping) else []
        return ["jit", self._function(function), *extra]

    def _function(self, function: types.FunctionType) -> Token:
        number = self._numbers.get(id(function))
        if number is not None:
            return ["function", number]
        number = self._number(function)
        # A longer list of configs is another space, not another kernel.
        node = syntax.without_decorator(syntax.function_node(function), "autotune")
        scope = {**function.__globals__, **_closure(function)}
        self._parts[number] = [
            syntax.shape(node),
            self._token(function.__defaults__),
            self._token(function.__kwdefaults__),
            [[name, self._token(value)] for name, value in _reads(node, scope)],
        ]
        return ["function", number]

    def _class(self, kind: type) -> Token:
        number = self._numbers.get(id(kind))
        if number is not None:
            return ["class", number]
        node = syntax.class_node(kind)
        if node is None:
            return _named(kind)
        number = self._number(kind)
        scope = vars(sys.modules[kind.__module__])
        reads = [[name, self._token(value)] for name, value in _reads(node, scope)]
        self._parts[number] = [syntax.shape(node), reads]
        return ["class", number]

    def _numbered(self, value: Any) -> bool:
        """Tell whether an object was met before, and remember it: objects may hold each other."""
        if id(value) in self._numbers:
            return True
        self._number(value)
        return False

    def _number(self, value: Any) -> int:
        self._numbers[id(value)] = len(self._numbers)
        self._met.append(value)
        return self._numbers[id(value)]

    def _is_home(self, module: str | None) -> bool:
        return (module or "").partition(".")[0] in self._home


def _reads(node: ast.AST, scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the dotted names that a node reads from its scope, sorted, with their values.

    Dots are followed through modules only, and not into libraries: ``shared.LIMIT`` is a number,
    ``table.size`` the table, ``tl.load`` a name of ``triton.language``.
    """
    found: dict[str, Any] = {}
    local = syntax.own_names(node)
    for name, *attributes in syntax.dotted_names(node):
        if name in local or name not in scope:
            continue
        value = scope[name]
        for attribute in attributes:
            if not _is_open(value) or not hasattr(value, attribute):
                break
            value, name = getattr(value, attribute), f"{name}.{attribute}"
        found[name] = value
    yield from sorted(found.items())


def _is_open(value: Any) -> bool:
    is_module = isinstance(value, types.ModuleType)
    return is_module and value.__name__.partition(".")[0] not in _LIBRARIES


def _closure(function: types.FunctionType) -> dict[str, Any]:
    held = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return held


def _jit_function(value: Any) -> types.FunctionType | None:
    """Return the Python function inside Triton's wrappers, or None if there are none."""
    if not _is_triton(type(value)):
        return None
    inner = value
    while hasattr(inner, "fn"):
        inner = inner.fn
    return inner if isinstance(inner, types.FunctionType) else None


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return _jit_function(function) or function


def _package(value: Any) -> str:
    return (getattr(value, "__module__", None) or "").partition(".")[0]


def _is_triton(kind: type) -> bool:
    return _package(kind) == "triton"


def _named(value: Any) -> Token:
    return ["named", _package(value), getattr(value, "__name__", type(value).__name__)]
