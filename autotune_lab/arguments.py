"""Finds meta-parameters that nothing takes, by what a launch function reaches; runs nothing."""

import functools
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

TRITON_OPTIONS = frozenset(
    {
        "num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "ptx_options",
        "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint", "ir_override",
    }
)  # fmt: skip

_ELSEWHERE = frozenset({"numpy", "torch", "triton"})


def unused(names: Iterable[str], launch: Any) -> list[str]:
    """Return the parameters that neither kernel, nor Triton, nor launch code can take, sorted.

    Follows what the launch code reaches by name. Returns none if no kernel is found that way, since
    the kernel may then be hidden from this search.
    """
    taken: set[str] = set(TRITON_OPTIONS)
    finds_kernel = False
    pending, seen = [launch], set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        arguments = getattr(value, "arg_names", None)
        if isinstance(arguments, list | tuple):
            finds_kernel = True
            taken.update(arguments)
        elif isinstance(value, functools.partial):
            taken.update(value.keywords)
            pending += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, list | tuple | set | dict):
            pending += value.values() if isinstance(value, dict) else value
        elif isinstance(value, MethodType):
            pending += [value.__func__]
        elif isinstance(value, FunctionType) and _is_readable(value.__module__):
            taken |= _texts(value.__code__)
            pending += _reached(value)
    return sorted(set(names) - taken) if finds_kernel else []


def _reached(function: FunctionType) -> list[Any]:
    """Return what a function holds or can read by name: cells, globals, attributes of modules."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    held = [cell.cell_contents for _, cell in cells if _is_filled(cell)]
    names = _names(function.__code__)
    read = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [
        value
        for value in (*held, *read)
        if isinstance(value, ModuleType) and _is_readable(value.__name__)
    ]
    inside = [vars(module)[name] for module in modules for name in names & set(vars(module))]
    return [*held, *read, *inside, *(function.__defaults__ or ())]


def _is_readable(module: str | None) -> bool:
    """Tell a user's module from the large ones, which hold no kernel of theirs."""
    return (module or "").partition(".")[0] not in _ELSEWHERE


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading an empty cell is what raises
    except ValueError:
        return False
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    return {name for inner in _codes(code) for name in inner.co_names}


def _texts(code: CodeType) -> set[str]:
    """Return every text in the code: keys of the config, names of keyword arguments."""
    constants = [constant for inner in _codes(code) for constant in inner.co_consts]
    nested = [item for constant in constants if isinstance(constant, tuple) for item in constant]
    return {item for item in (*constants, *nested) if isinstance(item, str)}
