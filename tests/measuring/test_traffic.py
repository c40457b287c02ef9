"""Bytes that PyTorch operations move, against what can be counted by hand."""

import pytest
import torch
from torch.nn import functional

from autotune_lab.measuring.traffic import count_traffic

MIB = 2**20
SIDE = 512  # a float32 matrix of this side is one MiB
DEVICES = ("cpu", "meta")


def matrices(device, count, rows=SIDE):
    return [torch.ones(rows, SIDE, device=device) for _ in range(count)]


CASES = {
    "a sum reads two and writes one": (2, lambda a, b: a + b, 3),
    "a product reads two and writes one": (2, lambda a, b: a @ b, 3),
    "out= is written and not read": (3, lambda a, b, c: torch.add(a, b, out=c), 3),
    "in place reads and writes": (2, lambda a, b: a.add_(b), 3),
    "a copy reads one and writes one": (2, lambda a, b: a.copy_(b), 2),
    "a fill writes one": (1, lambda a: a.zero_(), 1),
    "views move nothing": (1, lambda a: a.t().reshape(-1)[4:].view(1, -1).unsqueeze(0), None),
    "memory that is only reserved moves nothing": (1, lambda a: torch.empty_like(a), 0),
    "three steps are three trips": (3, lambda a, b, c: functional.relu(a @ b + c), 3 + 3 + 2),
    "a broadcast is read once": (1, lambda a: a[:1].expand(SIDE, SIDE).contiguous(), 1 + 1 / SIDE),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_bytes_are_those_counted_by_hand(name, device):
    count, call, expected = CASES[name]
    tensors = matrices(device, count)
    found = count_traffic(lambda: call(*tensors))
    if expected is None:  # reshape of a transpose copies; all else are views
        expected, operations = 2, 1
        assert found.operations == operations
    assert found.moved_bytes == expected * MIB


def test_operations_that_move_something_are_counted():
    a, b = matrices("cpu", 2)
    assert count_traffic(lambda: functional.gelu(a @ b).t()).operations == 2


def test_attention_without_data_counts_as_the_one_kernel_that_a_gpu_has():
    q = torch.empty(2, 4, 128, 64, device="meta", dtype=torch.float16)
    k = torch.empty(2, 1, 128, 64, device="meta", dtype=torch.float16)

    def attend():
        return functional.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True)

    found = count_traffic(attend)
    assert (found.operations, found.moved_bytes) == (1, 2 * q.nbytes + 2 * k.nbytes)
    assert attend().shape == q.shape


def test_autograd_is_not_what_is_counted():
    a, b = matrices("cpu", 2)
    a.requires_grad_()
    assert count_traffic(lambda: a * b).moved_bytes == 3 * MIB


def test_what_raises_raises():
    with pytest.raises(RuntimeError, match="mine"):
        count_traffic(lambda: (_ for _ in ()).throw(RuntimeError("mine")))
