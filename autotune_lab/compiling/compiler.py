"""Compiles one config ahead of time and judges whether it can run. Runs in a child.

Leaves the binaries in Triton's cache folder, where the process that owns the GPU finds them.
"""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import triton
from triton.runtime.errors import OutOfResources

from autotune_lab.compiling.ahead import KernelError, compiling_only, shapes_of_inputs
from autotune_lab.compiling.resources import resources_of
from autotune_lab.compiling.targets import fits, illegal_option
from autotune_lab.definitions import Arguments, KernelDefinition, Problem
from autotune_lab.records import DeviceModel, Outcome, TrialState
from autotune_lab.spaces.config import Config

# Columns of tensor memory on an SM of compute capability 10.x (PTX ISA 8.6, tcgen05.alloc).
_TENSOR_MEMORY_COLUMNS = 512


def compile_config(
    definition: KernelDefinition,
    problem: Problem,
    config: Config,
    model: DeviceModel,
    *,
    shapes: Callable[[], Arguments] | None = None,
) -> Outcome:
    """Compile what a config launches.

    Args:
        definition: whose launch is run, on tensors without data.
        problem: gives their shapes and dtypes.
        config: one value for each meta-parameter.
        model: gives the target and its limits.
        shapes: answers with what ``shapes_of_inputs`` returns, for callers that keep it.

    Returns:
        ``OK`` with ``resources``; ``ILLEGAL``, ``COMPILE_ERROR`` or ``OUT_OF_RESOURCES`` with a
        reason. ``OK`` without resources means that the launch can't be run ahead of time (it reads
        data, or asks for a GPU); the first real launch compiles it.
    """
    if reason := illegal_option(config):
        return Outcome(TrialState.ILLEGAL, reason=reason)
    started = time.perf_counter()
    shapes = shapes or (lambda: shapes_of_inputs(definition, problem))
    outcome = _compile(definition, config, model, shapes)
    if isinstance(outcome, json.JSONDecodeError):
        damaged = _set_aside_damaged(Path(triton.knobs.cache.dir))
        again = _compile(definition, config, model, shapes)
        outcome = again if isinstance(again, Outcome) else _failure(again)
        outcome = replace(outcome, detail=f"set aside {', '.join(damaged)}\n{outcome.detail}")
    return replace(outcome, elapsed_ms=(time.perf_counter() - started) * 1e3)


def _compile(
    definition: KernelDefinition,
    config: Config,
    model: DeviceModel,
    shapes: Callable[[], Arguments],
) -> Outcome | json.JSONDecodeError:
    """Return the outcome, or the error with which a damaged cache file was read."""
    compiled: list[Any] = []
    started = time.perf_counter()
    try:
        arguments = shapes()
        with compiling_only(model) as compiled:
            definition.launch(dict(arguments), config)
    except KernelError as error:
        cause = error.__cause__
        assert isinstance(cause, Exception)
        return cause if isinstance(cause, json.JSONDecodeError) else _failure(cause)
    except MemoryError:
        return Outcome(TrialState.COMPILE_ERROR, reason="out of memory", detail="MemoryError")
    except Exception as error:  # noqa: BLE001 - the user's code may need what is not there
        line = _first_line(error)
        detail = type(error).__name__
        return Outcome(TrialState.OK, reason=f"not compiled ahead: {line}", detail=detail)
    compile_ms = (time.perf_counter() - started) * 1e3
    resources = replace(resources_of(compiled), compile_ms=compile_ms)
    reason = fits(resources, model) or _tensor_memory(compiled)
    state = TrialState.OUT_OF_RESOURCES if reason else TrialState.OK
    return Outcome(state, reason=reason, resources=resources)


def _failure(error: Exception) -> Outcome:
    exhausted = isinstance(error, OutOfResources)
    state = TrialState.OUT_OF_RESOURCES if exhausted else TrialState.COMPILE_ERROR
    return Outcome(state, reason=_first_line(error), detail=f"{type(error).__name__}: {error}")


def _first_line(error: BaseException) -> str:
    """Return the line that says what is wrong: of the innermost cause, without a preamble."""
    if type(error).__name__ == "CompilationError" and error.__cause__ is not None:
        return _first_line(error.__cause__)
    message = str(getattr(error, "error_message", None) or error)
    lines = [line for line in message.splitlines() if line.strip()] or [type(error).__name__]
    fatal = next((line for line in lines if line.startswith("ptxas") and "info" not in line), None)
    return f"{lines[0]}: {fatal}" if fatal and fatal is not lines[0] else lines[0]


def _tensor_memory(compiled: list[Any]) -> str:
    columns = max((getattr(k.metadata, "tmem_size", None) or 0 for k in compiled), default=0)
    if columns <= _TENSOR_MEMORY_COLUMNS:
        return ""
    return (
        f"out of resource: tensor memory, Required: {columns}, "
        f"Hardware limit: {_TENSOR_MEMORY_COLUMNS}"
    )


def _set_aside_damaged(cache: Path) -> list[str]:
    """Rename the files of Triton's cache that are no JSON, so that they are written again."""
    damaged = []
    for path in cache.glob("*/*.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            path.rename(path.with_suffix(".damaged"))
            damaged.append(str(path))
    logging.getLogger(__name__).warning("set aside damaged cache files: %s", ", ".join(damaged))
    return damaged
