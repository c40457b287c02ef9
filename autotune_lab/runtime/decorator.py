"""``tuned``: the decorator that takes the place of ``@triton.autotune`` in production."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autotune_lab.definitions import KernelDefinition
from autotune_lab.errors import ExportError, UsageError, did_you_mean
from autotune_lab.fingerprint import identify
from autotune_lab.records import DeviceModel
from autotune_lab.runtime import sources
from autotune_lab.runtime.dispatcher import Dispatcher, Tune
from autotune_lab.runtime.kernel import TunedDefinition, TunedKernel, first_pointer
from autotune_lab.runtime.now import tune_now
from autotune_lab.runtime.policy import OnMiss, OnStale, Policy
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import Space
from autotune_lab.spaces.values import Value


class _Tuned:
    """Makes kernels that take their configs from a table of winners; see ``__call__``."""

    def __call__(
        self,
        name: str,
        *,
        key: Sequence[str] | Mapping[str, str],
        table: sources.Source = None,
        dtype: str | None = None,
        fields: Mapping[str, Value] | None = None,
        default: Mapping[str, Any] | None = None,
        space: Space | None = None,
        nearest_octaves: float = 1.0,
        on_miss: OnMiss = "default",
        on_stale: OnStale = "use",
        on_bad_table: sources.OnBadTable = "error",
        device_model: DeviceModel | None = None,
        tune: Tune | None = None,
    ) -> Callable[[Any], TunedKernel]:
        """Launch a ``@triton.jit`` kernel with the configs that a table has for it.

        Args:
            name: the kernel's name in the table.
            key: arguments that make the problem, by the names of its fields, or a mapping of field
                to argument.
            table: a file or folder of the ``json`` format, package data, a function that returns a
                table or picks; None for what the variable ``AUTOTUNE_LAB_TABLE`` names.
            dtype: argument whose dtype is the problem's field ``dtype``; by default the first one,
                ``""`` for none.
            fields: further fields of the problem, the same in every launch.
            default: the config where the table has no answer; by default the one that was declared
                when the kernel was tuned.
            space: constraints; a config that they reject for a problem is not launched for it.
            nearest_octaves: how far the nearest tuned problem may be away.
            on_miss: ``"default"``, ``"error"`` or ``"tune"``.
            on_stale: ``"use"``, ``"fallback"`` or ``"error"``, for a winner of another Triton,
                driver or source.
            on_bad_table: ``"error"`` or ``"default"``, for a table that can't be read.
            device_model: what launches run on, if the driver can't know (a part of a card).
            tune: ``(problem, device_model) -> config``; what ``on_miss="tune"`` calls.

        Raises:
            ExportError: the table is absent or can't be used, or has no config for this kernel and
                there is no default.
            UsageError: the kernel has no argument of that name, or an option is none of the above.
        """
        policy = Policy(nearest_octaves, on_miss, on_stale)
        if on_miss == "tune" and tune is None:
            tune = functools.partial(tune_now, name)
        found = sources.load(table, on_bad_table=on_bad_table)
        kernel_table = found.kernel(name)
        if default is None and not kernel_table.shelves and on_bad_table == "error":
            raise ExportError(
                f"{found.origin}: no winner of kernel {name!r}{did_you_mean(name, found)}, "
                "and no default is given; export one, or give default="
            )
        dispatcher = Dispatcher(
            kernel_table,
            found.origin,
            policy,
            kernel_table.default if default is None else Config(default),
            space=space,
            model=device_model,
            tune=tune,
        )
        names = key if isinstance(key, Mapping) else {field: field for field in key}

        def decorate(kernel: Any) -> TunedKernel:
            return TunedKernel(
                kernel,
                dispatcher,
                fields=names,
                constants=fields or {},
                dtype=first_pointer(kernel) if dtype is None else dtype,
            )

        return decorate

    def from_definition(
        self,
        definition: KernelDefinition,
        *,
        table: sources.Source = None,
        nearest_octaves: float = 1.0,
        on_miss: OnMiss = "default",
        on_stale: OnStale = "use",
        on_bad_table: sources.OnBadTable = "error",
        device_model: DeviceModel | None = None,
        tune: Tune | None = None,
    ) -> TunedDefinition:
        """Launch a kernel definition with the configs that a table has for it.

        Its space, buckets and default are the definition's, and its source is compared with the one
        that was tuned. Arguments are those of ``tuned``.

        Raises:
            ExportError: the table is absent or can't be used.
            UsageError: the definition has no default, or an option makes no sense.
        """
        policy = Policy(nearest_octaves, on_miss, on_stale)
        found = sources.load(table, on_bad_table=on_bad_table)
        kernel_table = found.kernel(definition.name)
        default = definition.default_config or kernel_table.default
        if default is None:
            raise UsageError(
                f"kernel {definition.name!r} declares no default config to fall back to; "
                "give the definition one"
            )
        if on_miss == "tune" and tune is None:
            tune = functools.partial(tune_now, definition.name)
        dispatcher = Dispatcher(
            kernel_table,
            found.origin,
            policy,
            default,
            space=definition.space,
            code_hash=identify(definition, definition.name).code_hash,
            model=device_model,
            tune=tune,
        )
        return TunedDefinition(definition, dispatcher)


tuned = _Tuned()
