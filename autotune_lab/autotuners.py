"""Reads what a ``@triton.autotune`` kernel declares, for ``KernelDefinition.from_autotuner``.

Never imports Triton: it only asks the object that it is given, by attributes that Triton 3.6 to 3.9
share. A config is launched through the autotuner itself, with that one config in its list: Triton
then measures nothing, and everything else happens as in the user's own launch (hooks of the config,
heuristics above and below).
"""

import contextlib
import functools
import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autotune_lab.absence import is_stand_in
from autotune_lab.errors import DefinitionError, UsageError, did_you_mean
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.space import Space
from autotune_lab.spaces.values import to_json

Host = Callable[[dict[str, Any]], Any]

# What Triton launches with where a config says nothing else, in the order of ``triton.Config``.
_OPTIONS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None, "ir_override": None}
_ALWAYS_TUNED = ("num_warps", "num_stages")
LISTED = "one of the autotuner's configs"
EARLY = "kept by early_config_prune"
MODEL = "among the top_k of perf_model"


@dataclass(frozen=True, slots=True)
class Declared:
    """What a definition takes from an autotuner."""

    name: str
    space: Space
    launch: Callable[[dict[str, Any], Config], Any]
    zeroes: tuple[str, ...]
    mutates: tuple[str, ...]


def read(
    kernel: Any,
    *,
    inputs: Callable[..., Mapping[str, Any]],
    launch: Host,
    names: Mapping[str, str],
    fields: frozenset[str] | None,
    product: bool,
    is_declared: bool,
) -> Declared:
    """Return the space, the launch and the declarations of an autotuned kernel.

    Args:
        kernel: what ``@triton.autotune`` made, heuristics above it included.
        inputs: of the definition; asked for tensors without data where configs are pruned.
        launch: host code that launches the kernel, given the inputs by name.
        names: kernel argument -> the input or problem field that decides it, where they differ.
        fields: names that every problem has; None leaves the key unchecked.
        product: tune all combinations of the listed values, not only the listed configs.
        is_declared: the user says what is zeroed and restored, so a hook need not be understood.

    Raises:
        DefinitionError: it is no autotuned kernel, or something of it can't be taken over.
    """
    if is_stand_in(kernel):
        what = "triton is not installed, and without it nobody knows what an autotuner lists"
        raise DefinitionError(f"autotuned kernel {kernel.__name__!r}", [what])
    chain = list(_chain(kernel))
    autotuner = next((link for link in chain if hasattr(link, "prune_configs")), None)
    if autotuner is None:
        raise DefinitionError(f"{kernel!r}", ["it is no kernel under @triton.autotune"])
    name = str(chain[-1].__name__)
    faults = [
        *_key_faults(autotuner, names, fields),
        *([] if is_declared else _hook_faults(autotuner)),
    ]
    table = _ConfigTable(autotuner, product=product, faults=faults)
    if faults:
        raise DefinitionError(f"autotuned kernel {name!r}", faults)
    space = Space(**table.values)
    parameters = tuple(table.values)
    if not product:
        space = space.where(_rule(parameters, table.is_listed), reason=LISTED)
    pruning = _Pruning(autotuner, table, inputs, launch)
    if autotuner.early_config_prune:
        rule = _rule(("problem", *parameters), pruning.keeps_early)
        space = space.where(rule, reason=EARLY)
    if autotuner.perf_model:
        rule = _rule(("problem", *parameters), pruning.keeps)
        space = space.heuristic(rule, reason=MODEL)
    hooks = tuple(dict.fromkeys(c.pre_hook for c in autotuner.configs if c.pre_hook))
    rules = tuple(link.values for link in chain if isinstance(_values_of(link), Mapping))
    return Declared(
        name=name,
        space=space,
        # What the config list says is no part of the code; its hooks and the heuristics are.
        launch=functools.partial(_launch, launch, kernel, (hooks, rules), table),
        zeroes=_named(autotuner.reset_to_zero, names),
        mutates=_named(autotuner.restore_value, names),
    )


def values_of(config: Any) -> dict[str, Any]:
    """Return all that a ``triton.Config`` sets, Triton's defaults included."""
    options = {name: getattr(config, name, default) for name, default in _OPTIONS.items()}
    return {**config.kwargs, **options}


def parameters_of(configs: Sequence[Any]) -> list[str]:
    """Return what a list of ``triton.Config`` tunes; options count where one of them is changed."""
    rows = [values_of(config) for config in configs]
    names = dict.fromkeys(name for config in configs for name in config.kwargs)
    changed = {n for n, usual in _OPTIONS.items() if any(row[n] != usual for row in rows)}
    return [*names, *(n for n in _OPTIONS if n in changed or n in _ALWAYS_TUNED)]


def _chain(kernel: Any) -> Iterator[Any]:
    """Yield a kernel, what it wraps, and so on down to the Python function."""
    while kernel is not None:
        yield kernel
        kernel = None if inspect.isfunction(kernel) else getattr(kernel, "fn", None)


def _values_of(link: Any) -> Any:
    return getattr(link, "values", None)


def _named(arguments: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(names.get(name, name) for name in arguments)


def _key_faults(
    autotuner: Any, names: Mapping[str, str], fields: frozenset[str] | None
) -> Iterator[str]:
    """Name parts of the key that no problem field decides: what they tell apart would be one."""
    for name in names:
        if name not in autotuner.arg_names:
            hint = did_you_mean(name, autotuner.arg_names)
            yield f"names has {name!r}, which is no argument of the kernel{hint}"
    for name in autotuner.keys:
        field = names.get(name, name)
        if field and fields is not None and field not in fields:
            yield (
                f"its key {name!r} is no field of every problem ({', '.join(sorted(fields))}); "
                f"say which one decides it, names={{{name!r}: 'field'}}, or '' if none does"
            )


def _hook_faults(autotuner: Any) -> Iterator[str]:
    for hook in ("pre_hook", "post_hook"):
        if getattr(autotuner, f"user_defined_{hook}", False):
            yield (
                f"its {hook} runs around each measurement of Triton's, never in a real launch; say "
                "what it does: zeroes=[...] and mutates=[...], both empty if nothing of the kind"
            )


class _ConfigTable:
    """The autotuner's configs by what they set, and how each is launched.

    No dataclass, so that the identity of the code does not depend on the list.

    Args:
        autotuner: Triton's.
        product: any combination of the listed values may be launched.
        faults: receives what is wrong with the list.
    """

    def __init__(self, autotuner: Any, *, product: bool, faults: list[str]) -> None:
        self.autotuner = autotuner
        self.listed = list(autotuner.configs)
        self._is_product = product
        names = parameters_of(self.listed)
        rows = [values_of(config) for config in self.listed]
        #: parameter -> its values as they were written, each once
        self.values: dict[str, list[Any]] = {
            name: _distinct([row.get(name) for row in rows]) for name in names
        }
        self._written = {
            (name, to_json(Config({name: value})[name])): value
            for name, values in self.values.items()
            for value in values
        }
        self._hook = self.listed[0].pre_hook
        self._by_id: dict[str, Any] = {}
        for config, row in zip(self.listed, rows, strict=True):
            twin = self._by_id.setdefault(Config({n: row.get(n) for n in names}).id, config)
            if twin.pre_hook != config.pre_hook:
                faults.append(f"configs ({config}) and ({twin}) differ in nothing but pre_hook")
        if product and any(config.pre_hook != self._hook for config in self.listed):
            faults.append("configs have several pre_hooks, so product=True can't choose one")

    def is_listed(self, **values: Any) -> bool:
        """Tell whether the autotuner lists a config."""
        return Config(values).id in self._by_id

    def launched(self, config: Config) -> Any:
        """Return the ``triton.Config`` to launch for a config of the lab's."""
        if config.id in self._by_id:
            return self._by_id[config.id]
        written = {name: self._written[name, to_json(value)] for name, value in config.items()}
        options = {name: written.pop(name) for name in _OPTIONS if name in written}
        absent = [n for n, v in written.items() if v is None and not self._is_given(n)]
        kwargs = {name: value for name, value in written.items() if name not in absent}
        return type(self.listed[0])(kwargs, pre_hook=self._hook, **options)

    def candidates(self) -> list[Any]:
        """Return every ``triton.Config`` that the space has before anything is pruned."""
        if not self._is_product:
            return self.listed
        rows = itertools.product(*self.values.values())
        return [self.launched(Config(dict(zip(self.values, row, strict=True)))) for row in rows]

    def id_of(self, launched: Any) -> str:
        """Return the id of the lab's config that a ``triton.Config`` is."""
        row = values_of(launched)
        return Config({name: row.get(name) for name in self.values}).id

    def _is_given(self, name: str) -> bool:
        """Tell whether some config sets a parameter to None, rather than leave it out."""
        return any(config.kwargs.get(name, 0) is None for config in self.listed)


def _distinct(written: Sequence[Any]) -> list[Any]:
    """Return values once each, as they were written; None may stand for "not set"."""
    return list({(type(value), str(value)): value for value in written}.values())


def _launch(host: Host, kernel: Any, code: Any, table: _ConfigTable, args: Any, config: Any) -> Any:
    """Run the host's code with the autotuner held at one config."""
    del kernel, code
    autotuner = table.autotuner
    chosen = table.launched(config if isinstance(config, Config) else Config(config))
    listed, autotuner.configs = autotuner.configs, [chosen]
    autotuner.best_config = None
    try:
        returned = host(args)
        if autotuner.best_config is not chosen:
            raise UsageError("launch does not launch the autotuned kernel that it was declared for")
    finally:
        autotuner.configs = listed
    return returned


class _Pruning:
    """Asks the autotuner which configs it would try for a problem; no tensor holds data."""

    def __init__(
        self,
        autotuner: Any,
        table: _ConfigTable,
        inputs: Callable[..., Mapping[str, Any]],
        launch: Host,
    ) -> None:
        self._autotuner = autotuner
        self._table = table
        self._inputs = inputs
        self._launch = launch
        self._kept: dict[tuple[str, bool], frozenset[str]] = {}

    def keeps_early(self, problem: Any, **values: Any) -> bool:
        """Tell whether ``early_config_prune`` keeps a config."""
        return Config(values).id in self._ids(problem, early=True)

    def keeps(self, problem: Any, **values: Any) -> bool:
        """Tell whether a config is left after all pruning."""
        return Config(values).id in self._ids(problem, early=False)

    def _ids(self, problem: Any, *, early: bool) -> frozenset[str]:
        key = (str(problem), early)
        if key not in self._kept:
            kept = self._prune(problem, early=early)
            self._kept[key] = frozenset(map(self._table.id_of, kept))
        return self._kept[key]

    def _prune(self, problem: Any, *, early: bool) -> Sequence[Any]:
        autotuner = self._autotuner
        args, kwargs = self._first_launch(problem)
        listed, autotuner.configs = autotuner.configs, self._table.candidates()
        autotuner.nargs = dict(zip(autotuner.arg_names, args, strict=False))
        try:
            if early:
                kept = autotuner.early_config_prune(autotuner.configs, autotuner.nargs, **kwargs)
            else:
                kept = autotuner.prune_configs(kwargs)
            return list(kept)
        finally:
            autotuner.configs = listed
            autotuner.nargs = None

    def _first_launch(self, problem: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with which the host's code launches the kernel."""
        # By name: definitions must load where there is no torch, and only inputs need it here.
        meta = importlib.import_module("torch").device("meta")
        arguments = dict(self._inputs(problem, meta, None))
        seen: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

        def remember(*args: Any, **kwargs: Any) -> None:
            seen.append((args, kwargs))
            raise _Seen

        self._autotuner.run = remember
        try:
            with contextlib.suppress(_Seen):
                self._launch(arguments)
        finally:
            del self._autotuner.run
        if not seen:
            raise UsageError("launch does not launch the autotuned kernel")
        return seen[0]


class _Seen(Exception):
    """The kernel would have been launched now: no error, it ends the host's code."""


def _rule(names: Sequence[str], decide: Callable[..., bool]) -> Callable[..., bool]:
    """Return a function whose parameters have these names, as constraints read them."""

    def rule(**values: Any) -> bool:
        return decide(**values)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind) for name in names]
    rule.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return rule
