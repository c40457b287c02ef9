"""Autotuning experiments for Triton kernels: every trial remembered, every winner cross-examined.

The names below are the stable API. Each is imported when it is first asked for, so that this
package costs nothing: neither torch, triton, optuna, pandas, matplotlib nor NumPy is loaded.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autotune_lab.definitions import KernelDefinition, Problem, Tolerance
    from autotune_lab.errors import (
        AutotuneLabError,
        DefinitionError,
        DeviceBusy,
        DeviceError,
        DeviceLost,
        EnvironmentMismatch,
        ExportError,
        ImportFailed,
        NoDevice,
        NoSurvivor,
        ReferenceUnstable,
        StoreBusy,
        StoreDamaged,
        StoreError,
        StoreNeedsUpgrade,
        StoreTooNew,
        TuningError,
        UnknownKernel,
        UsageError,
        WorkerLost,
    )
    from autotune_lab.records import Limits, Phase, Protocol
    from autotune_lab.reporting.making import write_report
    from autotune_lab.runtime.decorator import tuned
    from autotune_lab.spaces.config import Config
    from autotune_lab.spaces.parameter import Parameter, next_power_of_two, powers_of_two
    from autotune_lab.spaces.space import Space
    from autotune_lab.store.query import Query
    from autotune_lab.store.store import Store
    from autotune_lab.tuning.listening import listen
    from autotune_lab.tuning.running import run_study, run_study_here
    from autotune_lab.tuning.study import Budget, Study

__version__ = "0.1.0"

__all__ = [
    "AutotuneLabError",
    "Budget",
    "Config",
    "DefinitionError",
    "DeviceBusy",
    "DeviceError",
    "DeviceLost",
    "EnvironmentMismatch",
    "ExportError",
    "ImportFailed",
    "KernelDefinition",
    "Limits",
    "NoDevice",
    "NoSurvivor",
    "Parameter",
    "Phase",
    "Problem",
    "Protocol",
    "Query",
    "ReferenceUnstable",
    "Space",
    "Store",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreNeedsUpgrade",
    "StoreTooNew",
    "Study",
    "Tolerance",
    "TuningError",
    "UnknownKernel",
    "UsageError",
    "WorkerLost",
    "listen",
    "next_power_of_two",
    "powers_of_two",
    "run_study",
    "run_study_here",
    "tuned",
    "write_report",
]

_HOMES = {
    "Budget": "autotune_lab.tuning.study",
    "Config": "autotune_lab.spaces.config",
    "KernelDefinition": "autotune_lab.definitions",
    "Limits": "autotune_lab.records",
    "Parameter": "autotune_lab.spaces.parameter",
    "Phase": "autotune_lab.records",
    "Problem": "autotune_lab.definitions",
    "Protocol": "autotune_lab.records",
    "Query": "autotune_lab.store.query",
    "Space": "autotune_lab.spaces.space",
    "Store": "autotune_lab.store.store",
    "Study": "autotune_lab.tuning.study",
    "Tolerance": "autotune_lab.definitions",
    "listen": "autotune_lab.tuning.listening",
    "next_power_of_two": "autotune_lab.spaces.parameter",
    "powers_of_two": "autotune_lab.spaces.parameter",
    "run_study": "autotune_lab.tuning.running",
    "run_study_here": "autotune_lab.tuning.running",
    "tuned": "autotune_lab.runtime.decorator",
    "write_report": "autotune_lab.reporting.making",
}  # all other names are errors


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES.get(name, "autotune_lab.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
