"""Tells whether a tensor still holds the same bits, without keeping a copy of it.

A bystander of 40 GiB is read in pieces of 64 MiB, so nothing of its size is ever allocated.
"""

from collections.abc import Iterator

import torch

_PIECE_BYTES = 2**26


def checksum(tensor: torch.Tensor) -> int:
    """Return a number that depends on each byte and on its position.

    It is the sum of the 32-bit words, each times an odd number of its own, modulo 2**64: any single
    change shows, and so does an exchange of two values.
    """
    total = torch.zeros((), dtype=torch.int64, device=tensor.device)
    position = 0
    weights: torch.Tensor | None = None
    for piece in _pieces(tensor.detach()):
        words = _words(piece).to(torch.int64)
        count = words.numel()
        if weights is None or weights.numel() < count:
            weights = torch.arange(1, 2 * count + 1, 2, dtype=torch.int64, device=tensor.device)
        total += (words * weights[:count]).sum() + 2 * position * words.sum()
        position += count
    return int(total.item())


def _pieces(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Cut a tensor into contiguous pieces in row-major order, copying only what has gaps."""
    limit = max(1, _PIECE_BYTES // tensor.element_size())
    if tensor.is_contiguous():
        yield from torch.split(tensor.view(-1), limit)
        return
    row_elements = tensor[0].numel()
    if row_elements > limit:
        for row in tensor:
            yield from _pieces(row)
        return
    for rows in torch.split(tensor, max(1, limit // max(1, row_elements))):
        yield rows.contiguous()


def _words(piece: torch.Tensor) -> torch.Tensor:
    """View contiguous memory as 32-bit words, or as bytes where it does not divide into words."""
    raw = piece.view(-1).view(torch.uint8)
    if raw.numel() % 4 or raw.storage_offset() % 4 or raw.data_ptr() % 4:
        return raw
    return raw.view(torch.int32)
