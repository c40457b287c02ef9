"""Autotuning experiments for Triton kernels."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from autotune_lab.definitions import KernelDefinition as KernelDefinition
    from autotune_lab.definitions import Problem as Problem
    from autotune_lab.definitions import Tolerance as Tolerance
    from autotune_lab.spaces.parameter import Parameter as Parameter
    from autotune_lab.spaces.parameter import powers_of_two as powers_of_two
    from autotune_lab.spaces.space import Space as Space

# Imported when first asked for, so that the command line answers before numpy is loaded.
_HOMES = {
    "KernelDefinition": "autotune_lab.definitions",
    "Parameter": "autotune_lab.spaces.parameter",
    "Problem": "autotune_lab.definitions",
    "Space": "autotune_lab.spaces.space",
    "Tolerance": "autotune_lab.definitions",
    "powers_of_two": "autotune_lab.spaces.parameter",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
