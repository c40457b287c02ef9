import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.measuring.guards import GUARD_BYTES, GuardedTensor


def layouts():
    wide = torch.arange(60.0).reshape(6, 10)
    return {
        "flat": torch.arange(10.0),
        "matrix": wide,
        "column": wide.t(),
        "padded": wide[:, :7],
        "every other": torch.arange(20.0)[::2],
        "scalar": torch.tensor(3.0),
        "offset": torch.arange(12.0)[1:],
        "empty": torch.empty(0),
    }


@pytest.mark.parametrize("name", layouts())
def test_stand_in_is_laid_out_as_the_original(name):
    original = layouts()[name]
    guarded = GuardedTensor(original)
    assert torch.equal(guarded.tensor, original)
    assert guarded.tensor.stride() == original.stride()
    assert guarded.tensor.data_ptr() % 256 == original.data_ptr() % 256 or not original.numel()
    assert guarded.is_intact()
    guarded.tensor.fill_(5.0)
    assert guarded.is_intact()


@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e5m2,
     torch.float8_e4m3fn],
)  # fmt: skip
def test_poison_reads_as_nan(dtype):
    guarded = GuardedTensor(torch.zeros(7).to(dtype))
    guarded.poison()
    assert guarded.tensor.to(torch.float64).isnan().all()
    assert guarded.unwritten() == 7


@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.bool, torch.uint8])
def test_poisoned_integers_are_unlikely_ones(dtype):
    guarded = GuardedTensor(torch.zeros(7).to(dtype))
    guarded.poison()
    assert guarded.unwritten() == 7
    guarded.tensor[:5] = 1
    assert guarded.unwritten() == 2


@given(st.integers(-GUARD_BYTES // 4, GUARD_BYTES // 4 + 9))
def test_any_store_near_the_tensor_is_noticed(element):
    guarded = GuardedTensor(torch.zeros(10))
    raw = guarded.tensor.as_strided((1,), (1,), guarded.tensor.storage_offset() + element)
    raw.fill_(0.0)
    assert guarded.is_intact() == (0 <= element < 10)


def test_a_store_between_the_rows_is_noticed():
    guarded = GuardedTensor(torch.zeros(4, 16)[:, :10])
    guarded.tensor.as_strided((4, 10), (16, 1)).fill_(1.0)
    assert guarded.is_intact()
    guarded.tensor.as_strided((1, 11), (16, 1)).fill_(1.0)
    assert not guarded.is_intact()


def test_poison_repairs_the_zones():
    guarded = GuardedTensor(torch.zeros(10))
    guarded.tensor.as_strided((11,), (1,)).fill_(1.0)
    guarded.poison()
    assert guarded.is_intact()
