import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from autotune_lab.measuring import checksums
from autotune_lab.measuring.checksums import checksum

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int32,
    torch.bool, torch.float8_e4m3fn,
]  # fmt: skip


@given(st.integers(1, 200), st.data())
def test_one_changed_element_shows(count, data):
    tensor = torch.arange(count, dtype=torch.float32)
    before = checksum(tensor)
    place = data.draw(st.integers(0, count - 1))
    tensor[place] += 1
    assert checksum(tensor) != before
    tensor[place] -= 1
    assert checksum(tensor) == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_exchanged_values_show(dtype):
    tensor = torch.tensor([0, 1, 0, 1, 1, 0, 0])
    assert checksum(tensor.to(dtype)) != checksum(tensor.flip(0).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_layout_does_not_count(dtype):
    tensor = torch.arange(60).reshape(6, 10).to(dtype)
    wide = torch.ones(6, 13).to(dtype)
    wide[:, :10] = tensor
    assert checksum(wide[:, :10]) == checksum(wide[:, :10].contiguous())


def test_nothing_in_a_tensor_is_a_number_too():
    assert checksum(torch.empty(0)) == 0


class LargestAllocation(TorchDispatchMode):
    """Notes the largest tensor that shares no memory with what it was made from."""

    def __init__(self):
        super().__init__()
        self.largest_bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = {a.untyped_storage().data_ptr() for a in args if isinstance(a, torch.Tensor)}
        if isinstance(result, torch.Tensor):
            storage = result.untyped_storage()
            if storage.data_ptr() not in given:
                self.largest_bytes = max(self.largest_bytes, storage.nbytes())
        return result


@pytest.mark.parametrize("layout", ["contiguous", "gaps"])
def test_a_large_tensor_is_read_in_pieces(monkeypatch, layout):
    monkeypatch.setattr(checksums, "_PIECE_BYTES", 2**12)
    tensor = torch.randn(2**8, 2**10)
    if layout == "gaps":
        tensor = tensor[:, :1000]
    with LargestAllocation() as seen:
        checksum(tensor)
    assert 0 < seen.largest_bytes <= 4 * 2**12
