"""Writes a launch function for a JIT kernel: one dictionary look-up, then the compiled kernel.

Triton's own C function says how each argument specializes the kernel (type, divisibility by 16,
value 1), so two launches share a compiled kernel here exactly if they do in Triton. What differs
is the rest: no options are parsed and no key is made a text. Knows Triton 3.6 to 3.9 by what they
offer; ``build`` returns None for a kernel or a Triton that lacks any of it.
"""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

MOST_READY = 16_384

Launch = Callable[..., Any]


class _Absent:
    """Stands for a compile-time constant that the caller left out."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a first launch leaves for the next ones of its key.

    Attributes:
        compiled: Triton's ``CompiledKernel``.
        constants: parameter -> value, of those that the config sets.
    """

    compiled: Any
    constants: dict[str, Any]


Prepare = Callable[[Any, dict[str, Any], dict[str, Any]], Prepared | None]


@dataclass(frozen=True, slots=True)
class FastPath:
    """A launch function, and what it holds.

    Attributes:
        launch: ``(grid, *args, **kwargs)``, the kernel's parameters without those that configs set.
        ready: key -> what the launch of that key needs.
        source: the text of the function, for whoever debugs it.
    """

    launch: Launch
    ready: dict[Any, Any]
    source: str


def build(
    kernel: Any, key: Sequence[str], from_config: Collection[str], prepare: Prepare, direct: Launch
) -> FastPath | None:
    """Write the launch function of a kernel.

    Args:
        kernel: a ``JITFunction``.
        key: parameters whose values choose the config.
        from_config: names that configs set.
        prepare: ``(grid, arguments, options)``; decides, launches as Triton does, and says what the
            next launch needs; None to be asked again.
        direct: launches as Triton does; used where a kernel has hooks of its own.
    """
    parts = _capabilities(kernel)
    if parts is None:
        return None
    parameters = list(kernel.params)
    if any(p.name in _RESERVED or p.name.startswith("_") for p in parameters):
        return None  # the function's own names start with an underscore
    source = _source(parameters, key, from_config)
    ready: dict[Any, Any] = {}
    scope: dict[str, Any] = {
        **parts,
        **{f"_default_{p.name}": _default(kernel, p.name) for p in parameters},
        "_ABSENT": ABSENT,
        "_READY": ready,
        "_KERNEL": kernel,
        "_prepare": _keeping(ready, prepare),
        "_direct": direct,
    }
    exec(compile(source, f"<launch of {kernel.__name__}>", "exec"), scope)  # noqa: S102
    return FastPath(scope["launch"], ready, source)


_RESERVED = {"grid", "warmup", "options"}


def _capabilities(kernel: Any) -> dict[str, Any] | None:
    """Return what the function needs of Triton, None if this Triton has something else."""
    try:
        from triton import knobs
        from triton._C.libtriton import native_specialize_impl
        from triton.runtime import driver
        from triton.runtime.jit import JITFunction

        if not isinstance(kernel, JITFunction):
            return None
        active = driver.active
        device = active.get_current_device()
        # (kernels, keys, target, backend, binder) in 3.6 to 3.9
        backend = kernel.device_caches[device][3]
        enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
        return {
            "_specialize": native_specialize_impl,
            "_BACKEND": backend,
            "_KNOBS": knobs.runtime,
            "_QUIET": tuple(h if hasattr(h, "calls") else object() for h in (enter, leave)),
            "_get_device": active.get_current_device,
            "_get_stream": active.get_current_stream,
        }
    except (ImportError, AttributeError, IndexError, TypeError, KeyError):
        return None


def _default(kernel: Any, name: str) -> Any:
    default = kernel.signature.parameters[name].default
    return ABSENT if default is inspect.Parameter.empty else default


def _source(parameters: Sequence[Any], key: Sequence[str], from_config: Collection[str]) -> str:
    own = [p for p in parameters if p.name not in from_config]
    everything = ", ".join(f"{p.name!r}: {_value(p.name, from_config)}" for p in parameters)
    values = ", ".join(_value(p.name, from_config) for p in parameters)
    given = ", ".join(f"{p.name!r}: {p.name}" for p in own)
    return f"""\
def launch(grid, {_signature(parameters, from_config)}**options):
    if _KERNEL.pre_run_hooks:
        return _direct(grid, {{{given}}}, options)
    for (_name, _), (_value, _scope) in _KERNEL.used_global_vals.items():
        if _scope.get(_name, _ABSENT) != _value:
            return _direct(grid, {{{given}}}, options)
    _device = _get_device()
    _key = (_device, {"".join(f"{name}, " for name in key)}{"".join(map(_token, own))})
    if options:
        _key = (*_key, *options.items())
    _ready = _READY.get(_key)
    if _ready is None:
        return _prepare(_key, grid, {{{given}}}, options)
    _run, _function, _packed, _compiled, _constants, _tally = _ready
    _tally[0] += 1
    if callable(grid):
        grid = grid({{{everything}}})
    _size = len(grid)
    _x, _y, _z = grid[0], grid[1] if _size > 1 else 1, grid[2] if _size > 2 else 1
    _stream = _get_stream(_device)
    _enter, _leave = _KNOBS.launch_enter_hook, _KNOBS.launch_exit_hook
    if (_enter, _leave) == _QUIET and not _enter.calls and not _leave.calls:
        _run(_x, _y, _z, _stream, _function, _packed, None, None, None, {values})
    else:
        _metadata = _compiled.launch_metadata(grid, _stream, {values})
        _run(_x, _y, _z, _stream, _function, _packed, _metadata, _enter, _leave, {values})
    return _compiled
"""


def _signature(parameters: Sequence[Any], from_config: Collection[str]) -> str:
    """Write the parameters; those after one that configs set can be given by name only."""
    names = [parameter.name for parameter in parameters]
    first = next((place for place, name in enumerate(names) if name in from_config), len(names))
    written = [f"{name}=_default_{name}" for name in names[:first]]
    by_name = [f"{n}=_default_{n}" for n in names[first:] if n not in from_config]
    return "".join(f"{text}, " for text in (*written, *(["*", *by_name] if by_name else [])))


def _value(name: str, from_config: Collection[str]) -> str:
    return f"_constants[{name!r}]" if name in from_config else name


def _token(parameter: Any) -> str:
    """Write the part of the key that says how an argument specializes the kernel."""
    name = parameter.name
    if parameter.is_constexpr:
        return f"type({name}), {name}, "
    flags = (
        parameter.is_const,
        not parameter.do_not_specialize,
        not parameter.do_not_specialize_on_alignment,
    )
    return f"_specialize(_BACKEND, {name}, {', '.join(map(repr, map(bool, flags)))}), "


def _keeping(ready: dict[Any, Any], prepare: Prepare) -> Launch:
    """Return ``prepare`` with its answer kept in the form that the launch function unpacks."""

    def prepare_and_keep(key: Any, grid: Any, given: dict[str, Any], options: Any) -> Any:
        prepared = prepare(grid, {k: v for k, v in given.items() if v is not ABSENT}, options)
        if prepared is None:
            return None
        compiled = prepared.compiled
        parts = [getattr(compiled, name, None) for name in ("run", "function", "packed_metadata")]
        if all(part is not None for part in parts):
            if len(ready) >= MOST_READY:
                ready.clear()
            ready[key] = (*parts, compiled, prepared.constants, [1])
        return compiled

    return prepare_and_keep
