"""A JIT kernel that is launched with configs from a table, and a definition that is."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from torch.compiler import is_compiling
from triton.runtime.errors import OutOfResources

from autotune_lab.definitions import Arguments, KernelDefinition, Problem
from autotune_lab.errors import UsageError, did_you_mean
from autotune_lab.runtime.decision import Decision
from autotune_lab.runtime.dispatcher import Dispatcher
from autotune_lab.runtime.fastpath import ABSENT, MOST_READY, FastPath, Prepared, build
from autotune_lab.runtime.present import current_index
from autotune_lab.spaces.config import Config
from autotune_lab.spaces.values import Value


class TunedKernel:
    """Launches like the kernel it stands for, ``kernel[grid](...)``, without what configs set.

    The first launch with a new combination of device, key values, dtypes, alignments and constants
    looks the config up and launches as Triton does; the next ones cost a dictionary look-up.

    Args:
        kernel: what ``@triton.jit`` made, possibly under ``@triton.heuristics``.
        dispatcher: decides.
        fields: problem field -> parameter that holds it.
        constants: problem fields that are the same in every launch.
        dtype: parameter whose dtype is the problem's field ``dtype``; ``""`` for none.

    Raises:
        UsageError: the kernel is none, is autotuned already, or lacks a parameter of that name.
    """

    def __init__(
        self,
        kernel: Any,
        dispatcher: Dispatcher,
        *,
        fields: Mapping[str, str],
        constants: Mapping[str, Value],
        dtype: str,
    ) -> None:
        names = getattr(kernel, "arg_names", None)
        if names is None or hasattr(kernel, "configs"):
            raise UsageError(f"{kernel!r} is no @triton.jit kernel without an autotuner around it")
        for name in (*fields.values(), *([dtype] if dtype else [])):
            if name not in names:
                hint = did_you_mean(name, names)
                raise UsageError(f"kernel {dispatcher.table.name!r} has no argument {name!r}{hint}")
        self.fn = kernel
        self.arg_names = names
        self._dispatcher = dispatcher
        self._fields = dict(fields)
        self._constants = dict(constants)
        self._dtype = dtype
        self._fast: FastPath | None = None
        self._launch = self._first
        self.__name__ = dispatcher.table.name
        self.__doc__ = getattr(kernel, "__doc__", None)

    def __getitem__(self, grid: Any) -> Any:
        """Return what launches the kernel on a grid: a tuple, or a function of all arguments."""
        if is_compiling():  # torch.compile captures the kernel itself, with its config
            return functools.partial(self._as_triton_does, grid)
        return functools.partial(self._launch, grid)

    def explain(self, *args: Any, **kwargs: Any) -> Decision:
        """Return the decision for a launch with these arguments, without launching."""
        return self._dispatcher.decide(self._problem(self._named(args, kwargs)), current_index())

    @property
    def record(self) -> Dispatcher:
        """What was decided so far, and how often by which step."""
        return self._dispatcher

    @property
    def launches(self) -> int:
        """Launches through the dictionary; threads that count at once may lose some."""
        return sum(ready[-1][0] for ready in self._fast.ready.values()) if self._fast else 0

    def _first(self, grid: Any, *args: Any, **kwargs: Any) -> Any:
        """Choose the way of launching, now that there must be a device."""
        names = self._dispatcher.names
        self._fast = build(
            self.fn, tuple(self._fields.values()), names, self._prepare, self._by_names
        )
        self._launch = self._fast.launch if self._fast else self._as_triton_does
        return self._launch(grid, *args, **kwargs)

    def _prepare(self, grid: Any, given: dict[str, Any], options: dict[str, Any]) -> Prepared:
        """Decide and launch; the compiled kernel that Triton returns is what the next one runs."""
        device = current_index()
        decision = self._dispatcher.decide(self._problem(given), device)
        try:
            compiled = self._run(grid, given, options, decision.config)
        except OutOfResources as error:
            instead = self._dispatcher.refuse(decision, device, str(error))
            if instead.config == decision.config:
                raise
            decision = instead
            compiled = self._run(grid, given, options, decision.config)
        held = {
            name: parameter.default
            for name, parameter in self.fn.signature.parameters.items()
            if name in self._dispatcher.names
        }
        return Prepared(compiled, held | dict(decision.config or {}))

    def _run(
        self, grid: Any, given: Mapping[str, Any], options: Mapping[str, Any], config: Config | None
    ) -> Any:
        chosen = dict(config or {})
        if clash := sorted(chosen.keys() & (given.keys() | options.keys())):
            raise UsageError(
                f"kernel {self._dispatcher.table.name!r}: {', '.join(clash)} is set by the config; "
                "leave it out of the launch"
            )
        # By place as far as that goes: Triton refuses some names (device, stream) by name.
        first = next((i for i, name in enumerate(self.arg_names) if name not in given), None)
        placed = [given[name] for name in self.arg_names[:first]]
        named = {name: given[name] for name in self.arg_names[len(placed) :] if name in given}
        return self.fn.run(*placed, grid=grid, warmup=False, **named, **options, **chosen)

    def _by_names(self, grid: Any, given: dict[str, Any], options: dict[str, Any]) -> Any:
        known = {name: value for name, value in given.items() if value is not ABSENT}
        return self._prepare(grid, known, options).compiled

    def _as_triton_does(self, grid: Any, *args: Any, **kwargs: Any) -> Any:
        """Launch through Triton's own code: the interpreter, heuristics, an unknown version."""
        problem = self._problem(self._named(args, kwargs))
        config = self._dispatcher.decide(problem, current_index()).config
        return self.fn[grid](*args, **kwargs, **dict(config or {}))

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(self.arg_names, args, strict=False)) | dict(kwargs)

    def _problem(self, given: Mapping[str, Any]) -> dict[str, Any]:
        problem = {field: given[name] for field, name in self._fields.items()} | self._constants
        if self._dtype:
            problem["dtype"] = str(given[self._dtype].dtype).removeprefix("torch.")
        return problem


class TunedDefinition:
    """Launches a kernel definition with configs from a table: ``launch(problem, arguments)``."""

    def __init__(self, definition: KernelDefinition, dispatcher: Dispatcher) -> None:
        self.definition = definition
        self._dispatcher = dispatcher
        self._ready: dict[tuple[int, str], Config] = {}

    def __call__(self, problem: Problem, arguments: Arguments) -> Any:
        """Launch for a problem; its buckets decide which winner is its own."""
        key = (current_index(), problem.id)
        config = self._ready.get(key)
        if config is None:
            config = self.explain(problem).config or Config()
            if len(self._ready) >= MOST_READY:
                self._ready.clear()
            self._ready[key] = config
        return self.definition.launch(arguments, config)

    def explain(self, problem: Problem) -> Decision:
        """Return the decision for a problem on the current GPU, without launching."""
        return self._dispatcher.decide(self.definition.bucketed(problem), current_index())

    @property
    def record(self) -> Dispatcher:
        """What was decided so far, and how often by which step."""
        return self._dispatcher


def first_pointer(kernel: Any) -> str:
    """Guess which parameter holds the tensor whose dtype a problem is named by: the first."""
    names = getattr(kernel, "arg_names", ())
    return str(names[0]) if names else ""
