"""Activation functions that fit into a kernel's epilogue, each beside torch's own.

All take and return float32. ``gelu_tanh`` is written with a sigmoid, because 0.5 * (1 + tanh(u))
= sigmoid(2 * u): one exponential and one division instead of a tanh. The exact ``gelu`` costs an
error function, some thirty instructions for each element.
"""

import torch
import triton
import triton.language as tl

TORCH_ACTIVATIONS = {
    "none": lambda x: x,
    "relu": torch.nn.functional.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}


@triton.jit
def sigmoid(x):
    """Return 1 / (1 + exp(-x)); large negative x gives 0, with no overflow in between."""
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def activate(x, ACTIVATION: tl.constexpr):
    """Return the named activation of x."""
    tl.static_assert(
        ACTIVATION == "none" or ACTIVATION == "relu" or ACTIVATION == "gelu"
        or ACTIVATION == "gelu_tanh" or ACTIVATION == "silu",
        "unknown activation",
    )  # fmt: skip
    if ACTIVATION == "relu":
        x = tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)
    elif ACTIVATION == "gelu":
        x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif ACTIVATION == "gelu_tanh":
        x = x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    elif ACTIVATION == "silu":
        x = x * sigmoid(x)
    return x
