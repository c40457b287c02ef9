"""Which tensors the hardware can load by descriptor (TMA)."""


def describable(*tensors):
    """Return whether each tensor has elements, and contiguous rows that start 16-byte aligned.

    A launch falls back to pointers where it is false, so that a sliced or shifted view of a tensor
    is slower and not an error.
    """
    return all(
        tensor.numel() > 0
        and tensor.data_ptr() % 16 == 0
        and tensor.stride(-1) == 1
        and all(stride * tensor.element_size() % 16 == 0 for stride in tensor.stride()[:-1])
        for tensor in tensors
    )
