"""Turns a definition into the identity of its code: hashes that change when a result could.

Hashed is the normalised syntax tree of what is launched, of what that calls in the user's own
files, its default arguments, and the global constants that it reads. Comments, blank lines,
docstrings and line numbers do not count, nor do the module's name and path.
"""

import ast
import hashlib
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from autotune_lab.definitions import DEFAULT_TOLERANCES, KernelDefinition
from autotune_lab.errors import DefinitionError
from autotune_lab.records import KernelIdentity

INSTALLED = ("site-packages", "dist-packages")
WRAPPERS = ("fn", "__wrapped__", "func")


def identify(definition: KernelDefinition, reference: str) -> KernelIdentity:
    """Return the identity of a definition's code.

    Args:
        definition: the kernel.
        reference: how a worker finds it; recorded, not part of the identity.

    Raises:
        DefinitionError: the source of one of its functions can't be read (it was typed in, not
            imported); the message says how to make it importable.
    """
    code: list[Callable[..., Any]] = [definition.launch, definition.inputs]
    tolerances = {**DEFAULT_TOLERANCES, **definition.tolerances}
    judged = "|".join(f"{dtype}:{t.relative!r}" for dtype, t in sorted(tolerances.items()))
    declared = (
        f"{sorted(definition.outputs)}{sorted(definition.mutates)}{sorted(definition.zeroes)}"
    )
    return KernelIdentity(
        name=definition.name,
        code_hash=_digest([*_walk(code, definition.name), declared]),
        reference_hash=_digest([*_walk([definition.reference], definition.name), judged]),
        reference=reference,
    )


def _digest(parts: list[str]) -> str:
    content = hashlib.sha256()
    for part in parts:
        content.update(part.encode())
        content.update(b"\0")
    return content.hexdigest()[:16]


def _walk(roots: list[Callable[..., Any]], kernel: str) -> Iterator[str]:
    """Yield the normalised text of the functions and of everything of the user's that they use."""
    pending: list[tuple[str, Any]] = [(f"root{i}", root) for i, root in enumerate(roots)]
    seen: set[int] = set()
    while pending:
        label, value = pending.pop(0)
        function = _unwrap(value)
        if function is None:
            yield f"{label}={_constant(value)}"
            continue
        if id(function) in seen:
            continue
        seen.add(id(function))
        tree = _tree(function, kernel)
        yield f"{label}:{ast.dump(tree, annotate_fields=False)}"
        yield f"{label}:defaults{_defaults(function)}"
        pending += _used(function, tree)


def _unwrap(value: Any) -> types.FunctionType | None:
    """Return the Python function inside a JIT function, an autotuner, heuristics or a partial."""
    for _ in range(8):
        if isinstance(value, types.FunctionType):
            return value
        inner = next((getattr(value, name) for name in WRAPPERS if hasattr(value, name)), None)
        if inner is None or inner is value:
            return None
        value = inner
    return None


def _tree(function: types.FunctionType, kernel: str) -> ast.AST:
    """Return a function's syntax tree without what can't change a result."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise DefinitionError(
            f"kernel {kernel!r}",
            [f"no source for {function.__name__!r}; put it into a file, path/file.py:attribute"],
        ) from error
    tree = _parse(source, function)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.decorator_list = []
    return tree


def _parse(source: str, function: types.FunctionType) -> ast.AST:
    """Parse a function's source; a lambda stands inside the statement that its lines belong to."""
    for text in (source, f"({source.strip().rstrip(',')})", "{" + source.strip().rstrip(",") + "}"):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        if function.__name__ != "<lambda>":
            return tree.body[0]
        lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        named = [n for n in lambdas if _argument_names(n) == _code_arguments(function)]
        if named:
            return named[0]
    # A lambda amid a call that spans lines: its compiled form stands for its source.
    code = function.__code__
    return ast.Constant(value=f"{code.co_code.hex()}{code.co_names}{_plain_constants(code)}")


def _plain_constants(code: types.CodeType) -> str:
    return repr([c for c in code.co_consts if not isinstance(c, types.CodeType)])


def _argument_names(node: ast.Lambda) -> list[str]:
    return [argument.arg for argument in node.args.args]


def _code_arguments(function: types.FunctionType) -> list[str]:
    return list(function.__code__.co_varnames[: function.__code__.co_argcount])


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _defaults(function: types.FunctionType) -> str:
    keyword = sorted((function.__kwdefaults__ or {}).items())
    return "".join(_constant(v) for v in (*(function.__defaults__ or ()), *(v for _, v in keyword)))


def _used(function: types.FunctionType, tree: ast.AST) -> list[tuple[str, Any]]:
    """List the globals and closure values that a function reads, by name, in a fixed order."""
    closure = {
        name: cell.cell_contents
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=False
        )
        if _has_contents(cell)
    }
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= set(function.__code__.co_names)
    used = []
    for name in sorted(names):
        value = closure.get(name, function.__globals__.get(name))
        if value is not None and _is_the_users(value):
            used.append((name, value))
    return used


def _has_contents(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  reading an empty cell is what raises
    except ValueError:
        return False
    return True


def _is_the_users(value: Any) -> bool:
    """Tell a user's function or constant from modules, classes and installed libraries' code."""
    if isinstance(value, types.ModuleType | type):
        return False
    function = _unwrap(value)
    if function is None:
        return _constant(value) != ""
    path = function.__code__.co_filename
    return not any(folder in path for folder in INSTALLED) and "/lib/python" not in path


def _constant(value: Any) -> str:
    """Return the text of a constant; empty for objects that are not one."""
    if isinstance(value, bool | int | float | str | bytes | None):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, tuple | list | frozenset | set):
        items = [_constant(item) for item in value]
        return f"({','.join(sorted(items) if isinstance(value, set | frozenset) else items)})"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_constant(k)}:{_constant(v)}' for k, v in value.items())}}}"
    kind = type(value)
    if kind.__name__ in ("dtype", "constexpr"):  # torch, triton and NumPy constants
        return f"{kind.__name__}:{getattr(value, 'value', value)!s}"
    return ""
