"""Autotuning experiments for Triton kernels: every trial remembered, every winner cross-examined.

Everything here is loaded when it is first used, so that importing the package costs nothing and
needs no GPU stack.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autotune_lab.definitions import KernelDefinition, Problem, Tolerance
    from autotune_lab.errors import AutotuneLabError, DefinitionError
    from autotune_lab.records import Limits, Phase, Protocol
    from autotune_lab.reporting.builder import write_report
    from autotune_lab.spaces.config import Config
    from autotune_lab.spaces.parameter import Parameter, next_power_of_two, powers_of_two
    from autotune_lab.spaces.space import Space
    from autotune_lab.store.query import Query
    from autotune_lab.store.store import Store
    from autotune_lab.tuning.running import run_study
    from autotune_lab.tuning.study import Budget, Study

__version__ = "0.1.0"

__all__ = [
    "AutotuneLabError",
    "Budget",
    "Config",
    "DefinitionError",
    "KernelDefinition",
    "Limits",
    "Parameter",
    "Phase",
    "Problem",
    "Protocol",
    "Query",
    "Space",
    "Store",
    "Study",
    "Tolerance",
    "next_power_of_two",
    "powers_of_two",
    "run_study",
    "write_report",
]

_HOMES = {
    "AutotuneLabError": "errors",
    "Budget": "tuning.study",
    "Config": "spaces.config",
    "DefinitionError": "errors",
    "KernelDefinition": "definitions",
    "Limits": "records",
    "Parameter": "spaces.parameter",
    "Phase": "records",
    "Problem": "definitions",
    "Protocol": "records",
    "Query": "store.query",
    "Space": "spaces.space",
    "Store": "store.store",
    "Study": "tuning.study",
    "Tolerance": "definitions",
    "next_power_of_two": "spaces.parameter",
    "powers_of_two": "spaces.parameter",
    "run_study": "tuning.running",
    "write_report": "reporting.builder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
