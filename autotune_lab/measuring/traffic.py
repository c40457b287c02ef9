"""Counts the bytes that a sequence of PyTorch operations moves: what each one reads and writes.

Counted at the dispatcher, one operation after the other, as they run without fusion. An operation
reads each of its tensors once and writes each of its results once; views move nothing. That is the
least: what an operation reads twice, or keeps in scratch memory, is not seen.

PyTorch chooses its kernels by device. On a GPU what runs there is counted; on tensors without data
a function that GPUs have one kernel for counts as one operation.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# They only reserve memory.
_ALLOCATIONS = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided")
# They write a tensor in place without reading it first.
_OVERWRITING = ("copy_", "fill_", "zero_", "normal_", "uniform_", "random_")


def _attended(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> torch.Tensor:
    del key
    attended: torch.Tensor = query.new_empty(*query.shape[:-1], value.shape[-1])
    return attended


def _normalised(x: Any, *_: Any, **__: Any) -> torch.Tensor:
    return torch.empty_like(x)


# What a GPU runs as one kernel and other devices as many, with what it returns for shapes.
_ONE_KERNEL: dict[Any, Callable[..., torch.Tensor]] = {
    functional.scaled_dot_product_attention: _attended,
    functional.rms_norm: _normalised,
}


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a sequence moved.

    Attributes:
        operations: those that moved anything; not launches, for one may start several kernels.
        moved_bytes: read plus written.
    """

    operations: int
    moved_bytes: int


def count_traffic(call: Callable[[], Any]) -> Traffic:
    """Run a call once and return what its operations move; works on meta tensors too."""
    counter = _Counter()
    with counter, _Whole(counter), torch.no_grad():
        call()
    return Traffic(counter.operations, counter.moved_bytes)


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own hook
    """Adds up tensors as operations pass by."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0
        self.moved_bytes = 0

    def add(self, *moved: torch.Tensor) -> None:
        """Count one operation that moves these tensors."""
        self.operations += 1
        self.moved_bytes += sum(map(_bytes, moved))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        returned = func(*args, **kwargs)
        schema = func._schema
        name = schema.name.partition("::")[2]
        if name in _ALLOCATIONS:
            return returned
        given = list(_given(schema, args, kwargs))
        held = {_place(tensor) for tensor, _ in given}
        written = [tensor for tensor in _tensors(returned) if _place(tensor) not in held]
        changed = list(_changed(schema, args, kwargs))
        read = [tensor for tensor, is_out in given if not is_out]
        if name in _OVERWRITING:
            read = read[1:]
        if written or changed:
            self.add(*read, *written, *changed)
        return returned


class _Whole(TorchFunctionMode):
    """Counts functions that a GPU has one kernel for, before they fall into operations."""

    def __init__(self, counter: _Counter) -> None:
        super().__init__()
        self._counter = counter

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        given = list(_tensors([*args, *kwargs.values()]))
        if func not in _ONE_KERNEL or not all(tensor.is_meta for tensor in given):
            return func(*args, **kwargs)
        result = _ONE_KERNEL[func](*args, **kwargs)
        self._counter.add(*given, result)
        return result


def _given(schema: Any, args: Any, kwargs: Any) -> Iterator[tuple[torch.Tensor, bool]]:
    """Yield each tensor that an operation was given, and whether it is only there to be written."""
    for argument, value in _bound(schema, args, kwargs):
        for tensor in _tensors(value):
            yield tensor, argument.is_out


def _changed(schema: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors that an operation writes in place or into ``out=``."""
    for argument, value in _bound(schema, args, kwargs):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from _tensors(value)


def _bound(schema: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, Any]]:
    for place, argument in enumerate(schema.arguments):
        if place < len(args):
            yield argument, args[place]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _place(tensor: torch.Tensor) -> int:
    """Name the memory that a tensor looks at, also where it holds no data."""
    return int(tensor.untyped_storage()._cdata)


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of a tensor's distinct elements: a broadcast one is read once."""
    distinct = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        distinct *= size if stride else min(size, 1)
    return distinct * tensor.element_size()
