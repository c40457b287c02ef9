"""A stand-in for a tensor that a kernel writes, with zones around it that must stay untouched.

An unmasked store lands in a zone instead of in somebody else's memory, and is found there.
"""

import torch

GUARD_BYTES = 2**16
_ALIGNMENT_BYTES = 256
# All ones is a NaN in every float format; -1 is too common an integer to be a sentinel.
_FLOAT_PATTERN = 0xFF
_OTHER_PATTERN = 0xA5


class GuardedTensor:
    """Memory of its own, laid out as another tensor's: same shape, strides, dtype and alignment.

    Attributes:
        tensor: what the kernel gets; it holds a copy of the original's values.
    """

    def __init__(self, original: torch.Tensor) -> None:
        original = original.detach()
        self._pattern = _FLOAT_PATTERN if _has_nan(original.dtype) else _OTHER_PATTERN
        span = _span(original)
        item_bytes = original.element_size()
        self._storage = torch.empty(
            2 * GUARD_BYTES + 2 * _ALIGNMENT_BYTES + span * item_bytes,
            dtype=torch.uint8,
            device=original.device,
        )
        self._storage.fill_(self._pattern)
        shift = (original.data_ptr() - self._storage.data_ptr()) % _ALIGNMENT_BYTES
        self._start = GUARD_BYTES + shift
        self._end = self._start + span * item_bytes
        body = self._storage[self._start : self._end].view(original.dtype)
        self.tensor = body.as_strided(original.shape, original.stride())
        _once(self.tensor).copy_(_once(original))
        self._gaps = _gaps(self.tensor, span)
        self._item_bytes = item_bytes

    def poison(self) -> None:
        """Fill all of it, zones too, with what reads as NaN, or as an unlikely integer."""
        self._storage.fill_(self._pattern)

    def is_intact(self) -> bool:
        """Nothing was written before, behind or between the tensor's elements."""
        zones = [self._storage[: self._start], self._storage[self._end :]]
        if self._gaps is not None:
            body = self._storage[self._start : self._end].view(-1, self._item_bytes)
            zones.append(body[self._gaps])
        return all(bool((zone == self._pattern).all()) for zone in zones)

    @property
    def places(self) -> tuple[int, int, int, int]:
        """Addresses where the front zone, the tensor, the zone behind it and the next one begin."""
        base = self._storage.data_ptr()
        return base, base + self._start, base + self._end, base + self._storage.numel()

    def unwritten(self) -> int:
        """Return how many elements still hold the poison, bit by bit."""
        raw = self.tensor.contiguous().view(-1).view(torch.uint8).view(-1, self._item_bytes)
        return int((raw == self._pattern).all(dim=1).sum())


def _has_nan(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _span(tensor: torch.Tensor) -> int:
    """Return the elements from the first to the last one in memory."""
    if tensor.numel() == 0:
        return 0
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return 1 + sum((size - 1) * stride for size, stride in steps)


def _gaps(tensor: torch.Tensor, span: int) -> torch.Tensor | None:
    """Return a mask of the elements inside the span that are not the tensor's; None if dense."""
    if span == tensor.numel():
        return None
    mask = torch.ones(span, dtype=torch.bool, device=tensor.device)
    _once(mask.as_strided(tensor.shape, tensor.stride())).fill_(False)
    return mask


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """Return each element in memory once: an expanded axis has stride 0 and repeats the first."""
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if size > 1 and stride == 0:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor
