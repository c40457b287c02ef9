"""Stands in for Triton where it is not installed, so that kernel files can still be read.

Spaces, problems and code identities are then what they are elsewhere; a launch raises. Triton has
wheels for Linux only, while recordings are replayed and reports written anywhere.
"""

import contextlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

from autotune_lab.errors import NoDevice

TRITON = "triton"


@contextlib.contextmanager
def triton_or_stand_in() -> Iterator[None]:
    """Make ``import triton`` work inside the block; what was there is there again afterwards."""
    if _is_installed():
        yield
        return
    finder = _Finder()
    hidden = _take_out()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _take_out()
        sys.modules.update(hidden)


def is_stand_in(value: object) -> bool:
    """Tell whether something was decorated while Triton was not there."""
    return isinstance(value, _Absent | _Kernel)


def _is_installed() -> bool:
    try:
        return bool(sys.modules.get(TRITON) or importlib.util.find_spec(TRITON))
    except (ImportError, ValueError):  # hidden by a finder, or by None in sys.modules
        return False


def _take_out() -> dict[str, types.ModuleType]:
    names = [name for name in sys.modules if name == TRITON or name.startswith(f"{TRITON}.")]
    return {name: sys.modules.pop(name) for name in names}


class _Finder(MetaPathFinder, Loader):
    """Answers for ``triton`` and all that is below it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the protocol's
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        is_below = fullname == TRITON or fullname.startswith(f"{TRITON}.")
        return ModuleSpec(fullname, self, is_package=True) if is_below else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing: a module makes up its names as they are asked for."""


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return constexpr if name == "constexpr" else _Absent(f"{self.__name__}.{name}")


class _Absent:
    """Any name of Triton. Called with a function it is a decorator, else it is called again."""

    __module__ = TRITON

    def __init__(self, name: str, rules: Mapping[str, Any] | None = None) -> None:
        self.__name__ = name.rpartition(".")[2]
        self._name = name
        self._rules = rules

    def __getattr__(self, name: str) -> "_Absent":
        if name.startswith("__") or name in ("arg_names", "fn", "values"):  # it is no kernel
            raise AttributeError(name)
        return _Absent(f"{self._name}.{name}")

    def __call__(self, *args: Any, **_: Any) -> Any:
        first = args[0] if args else None
        if isinstance(first, types.FunctionType | _Kernel):
            return _Kernel(first, self._rules)
        return _Absent(self._name, first if isinstance(first, Mapping) else None)

    def __repr__(self) -> str:
        return f"<{self._name}, not installed>"


class _Kernel:
    """A kernel that can be read and not launched."""

    __module__ = TRITON

    def __init__(
        self, fn: "types.FunctionType | _Kernel", values: Mapping[str, Any] | None = None
    ) -> None:
        self.fn = fn
        self.values = values
        self.__name__: str = fn.__name__
        self.arg_names: list[str] = (
            fn.arg_names if isinstance(fn, _Kernel) else [*inspect.signature(fn).parameters]
        )

    def __getitem__(self, grid: Any) -> NoReturn:
        raise NoDevice(f"{self.__name__} can't be launched on {grid}: triton is not installed")

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise NoDevice(f"{self.__name__} can't be called: triton is not installed")


class constexpr:  # noqa: N801 - Triton's own name
    """A constant of a kernel."""

    __module__ = "triton.language"

    def __init__(self, value: Any) -> None:
        self.value = value
