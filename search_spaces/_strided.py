"""Matrices in the layouts that kernels meet, for the problems that carry a ``layout`` field.

``contiguous`` rows lie end to end; ``padded`` ones are a view into a wider matrix, as a slice of
a batch is; ``column`` is the transpose of a contiguous matrix, as a weight kept the other way is.
"""

import torch

LAYOUTS = ("contiguous", "padded", "column")
PADDING = 24  # elements between rows: keeps 16-byte alignment for dtypes of two bytes and more


def strided(tensor, layout):
    """Return the (M, N) tensor's values in a layout, in memory of its own.

    Raises:
        ValueError: there is no such layout.
    """
    M, N = tensor.shape
    if layout == "contiguous":
        return tensor.contiguous()
    if layout == "padded":
        wide = tensor.new_zeros((M, N + PADDING))
        wide[:, :N] = tensor
        return wide[:, :N]
    if layout == "column":
        return tensor.t().contiguous().t()
    raise ValueError(f"layout {layout!r} is none of {', '.join(LAYOUTS)}")


def matrix(problem, device, generator):
    """Return a random (M, N) tensor of problem.dtype in problem.layout."""
    dtype = getattr(torch, problem.dtype)
    values = torch.randn((problem.M, problem.N), device=device, dtype=dtype, generator=generator)
    return strided(values, problem.layout)


def nbytes(problem):
    """Return the bytes of the problem's (M, N) matrix."""
    return problem.M * problem.N * problem.itemsize


def empty_strided_like(tensor):
    """Return an uninitialised tensor of the same shape, dtype, device and strides."""
    return torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )


def contiguous_last(*matrices):
    """Return the matrices with their axes swapped if the first one is contiguous along columns."""
    stride_m, stride_n = matrices[0].stride()
    return tuple(m.t() for m in matrices) if stride_m < stride_n else matrices
