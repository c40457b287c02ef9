"""Autotuning experiments for Triton kernels: every trial remembered, every winner cross-examined.

The names below are the stable API. Each is imported when it is first asked for, so that this package
itself costs nothing: neither torch, triton, optuna, pandas, matplotlib nor NumPy is loaded.
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
    from autotune_lab.spaces.config import Config
    from autotune_lab.spaces.parameter import Parameter, next_power_of_two, powers_of_two
    from autotune_lab.spaces.space import Space

__version__ = "0.1.0"

__all__ = [
    "AutotuneLabError",
    "Config",
    "DefinitionError",
    "DeviceBusy",
    "DeviceError",
    "EnvironmentMismatch",
    "ExportError",
    "ImportFailed",
    "KernelDefinition",
    "NoDevice",
    "NoSurvivor",
    "Parameter",
    "Problem",
    "ReferenceUnstable",
    "Space",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreNeedsUpgrade",
    "StoreTooNew",
    "Tolerance",
    "TuningError",
    "UnknownKernel",
    "UsageError",
    "WorkerLost",
    "next_power_of_two",
    "powers_of_two",
]

_HOMES = {
    "Config": "autotune_lab.spaces.config",
    "KernelDefinition": "autotune_lab.definitions",
    "Parameter": "autotune_lab.spaces.parameter",
    "Problem": "autotune_lab.definitions",
    "Space": "autotune_lab.spaces.space",
    "Tolerance": "autotune_lab.definitions",
    "next_power_of_two": "autotune_lab.spaces.parameter",
    "powers_of_two": "autotune_lab.spaces.parameter",
}  # all other names are errors


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES.get(name, "autotune_lab.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
