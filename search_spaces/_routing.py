"""Sorts the rows of a mixture of experts by expert, for kernels that take a block at a time."""

import torch

BLOCK_SIZES = (16, 32, 64, 128, 256)


def sort_by_expert(expert_ids, experts, block_size):
    """Return rows in order of their expert, each expert's padded to whole blocks.

    No step waits for the device or depends on values for its shapes, so that this also works on
    tensors without data.

    Args:
        expert_ids: (rows,) int64, the expert of each row.
        experts: how many there are.
        block_size: rows of a block.

    Returns:
        order: (blocks * block_size,) int32, row numbers; ``rows`` itself where there is none.
        block_experts: (blocks,) int32.
        padded: (1,) int32, how much of ``order`` is in use; what follows belongs to no expert.
    """
    rows, device = expert_ids.numel(), expert_ids.device
    blocks = min(rows, rows // block_size + min(experts, rows))
    counts = torch.zeros(experts, dtype=torch.int64, device=device)
    counts.scatter_add_(0, expert_ids, torch.ones_like(expert_ids))
    padded_counts = (counts + block_size - 1) // block_size * block_size
    ends = padded_counts.cumsum(0)
    by_expert = torch.argsort(expert_ids, stable=True)
    sorted_ids = expert_ids[by_expert]
    rank = torch.arange(rows, device=device) - (counts.cumsum(0) - counts)[sorted_ids]
    order = torch.full((blocks * block_size,), rows, dtype=torch.int32, device=device)
    places = (ends - padded_counts)[sorted_ids] + rank
    order.scatter_(0, places, by_expert.to(torch.int32))
    starts = torch.arange(blocks, device=device) * block_size
    block_experts = torch.searchsorted(ends, starts, right=True).clamp(max=experts - 1)
    return order, block_experts.to(torch.int32), ends[-1:].to(torch.int32)
