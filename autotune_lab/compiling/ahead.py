"""Compiles what a launch would launch, for a GPU that need not be there. Runs in a child.

The user's own launch code runs on meta tensors; each ``kernel[grid](...)`` in it becomes a
compilation with the specialization of the real launch (alignment, divisibility by 16, value 1), so
Triton's cache holds the very entry that the real launch looks up. No driver is asked for anything.
"""

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction, jit

from autotune_lab.compiling.targets import TARGETS, target_of
from autotune_lab.definitions import Arguments, KernelDefinition, Problem
from autotune_lab.records import DeviceModel


class KernelError(Exception):
    """A kernel did not compile; ``__cause__`` is what the compiler raised."""


@contextlib.contextmanager
def compiling_only(model: DeviceModel) -> Iterator[list[Any]]:
    """Turn launches into compilations for a device model, and new tensors into shapes without data.

    Yields:
        A list that receives Triton's ``CompiledKernel`` of each launch.

    Raises:
        KernelError: from the launch whose kernel does not compile.
    """
    compiled: list[Any] = []
    used: list[Any] = []
    run = JITFunction.run

    def compile_instead(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        del warmup
        used.append(self)
        try:
            kernel = run(self, *args, grid=grid, warmup=True, **kwargs)
        except Exception as error:
            raise KernelError(self.__name__) from error
        compiled.append(kernel)
        return kernel

    try:
        with absent_gpu(model), _replaced(JITFunction, run=compile_instead):
            yield compiled
    finally:
        for function in used:
            # Triton keeps every kernel that it compiled; hundreds of configs would pile up.
            function.device_caches.clear()


@contextlib.contextmanager
def absent_gpu(model: DeviceModel) -> Iterator[None]:
    """Let launch code run as if a GPU were here, on tensors that are shapes without data."""
    active = vars(driver).get("_active")
    driver.set_active(_AbsentDriver(model))
    try:
        with _replaced(torch.cuda, **_cuda_answers(model)), _ShapesOnly():
            yield
    finally:
        driver.set_active(active)


def warm_up() -> None:
    """Compile next to nothing, so that no config pays for what a process does once.

    Triton hashes its own files (0.5 s), torch imports sympy for its first meta tensor (0.6 s): that
    would count against the first config's limit.
    """
    torch.empty_like(torch.empty(1, device="meta"))
    with compiling_only(TARGETS["sm_90"].model()):
        _nothing[(1,)]()


@jit  # type: ignore[untyped-decorator]
def _nothing() -> None:
    pass


def shapes_of_inputs(definition: KernelDefinition, problem: Problem) -> Arguments:
    """Return a problem's arguments as meta tensors: shapes, strides and dtypes without data.

    Inputs whose shapes depend on drawn values can't be made without data: those are drawn on the
    CPU, and what they hold is dropped.
    """
    generator = torch.Generator(device="cpu").manual_seed(0)
    try:
        return meta_inputs(definition, problem)
    except (NotImplementedError, RuntimeError):
        arguments = definition.inputs(problem, torch.device("cpu"), generator)
        return {name: _without_data(value) for name, value in arguments.items()}


def meta_inputs(definition: KernelDefinition, problem: Problem) -> Arguments:
    """Return a problem's arguments as meta tensors, whatever its size; raises what ``inputs`` does.

    Fails, as ``shapes_of_inputs`` does not, where shapes depend on drawn values.
    """
    generator = torch.Generator(device="cpu").manual_seed(0)
    with _ShapesOnly():
        return definition.inputs(problem, torch.device("meta"), generator)


def _without_data(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    elements = value.untyped_storage().nbytes() // value.element_size()
    storage = torch.empty(elements, dtype=value.dtype, device="meta")
    return storage.as_strided(value.shape, value.stride(), value.storage_offset())


class _ShapesOnly(TorchFunctionMode):
    """Makes tensors that were meant for a GPU meta tensors, which pass for ones on a GPU.

    Their addresses are those of an allocation at 0, so views have the alignment of real ones.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        if func == torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        if func == torch.Tensor.cuda:
            return args[0]
        kwargs = dict(kwargs or {})
        kwargs.pop("generator", None)
        kwargs.pop("pin_memory", None)
        if kwargs.get("device") is not None:
            kwargs["device"] = "meta"
        if func == torch.Tensor.to:
            args = tuple("meta" if isinstance(arg, str | torch.device) else arg for arg in args)
        return func(*args, **kwargs)


class _AbsentDriver:
    """Answers what Triton's compiler asks of a driver, from a device model."""

    def __init__(self, model: DeviceModel) -> None:
        target = target_of(model)
        self._target = GPUTarget(target.backend, target.triton_arch, target.warp_size)
        properties = {
            "max_shared_mem": target.max_shared_bytes,
            "multiprocessor_count": model.sm_count,
            "max_num_regs": target.registers_per_sm,
            "warpSize": target.warp_size,
        }
        self.utils = SimpleNamespace(get_device_properties=_constant(properties))

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        del device
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("meta")


def _cuda_answers(model: DeviceModel) -> dict[str, Any]:
    """Return what launch code asks of ``torch.cuda``, answered for the device model."""
    digits = "".join(filter(str.isdigit, model.architecture)) or "0"
    capability = (int(digits[:-1] or 0), int(digits[-1]))
    properties = SimpleNamespace(
        name=model.name,
        major=capability[0],
        minor=capability[1],
        multi_processor_count=model.sm_count,
        total_memory=model.memory_bytes,
        L2_cache_size=model.l2_bytes,
        warp_size=model.warp_size,
        shared_memory_per_block_optin=model.max_shared_bytes,
        gcnArchName=model.architecture,
    )
    return {
        "is_available": lambda: True,
        "current_device": lambda: 0,
        "get_device_name": _constant(model.name),
        "get_device_capability": _constant(capability),
        "get_device_properties": _constant(properties),
    }


def _constant(value: Any) -> Callable[[Any], Any]:
    def answer(device: Any = None) -> Any:
        del device
        return value

    return answer


@contextlib.contextmanager
def _replaced(owner: Any, **replacements: Any) -> Iterator[None]:
    originals = {name: getattr(owner, name) for name in replacements}
    for name, replacement in replacements.items():
        setattr(owner, name, replacement)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(owner, name, original)
