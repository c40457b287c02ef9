"""Raw samples survive, bit for bit, in the bytes that are documented."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.samples import SamplesError, pack, unpack

floats = st.floats(allow_nan=False)


@given(st.lists(floats))
def test_any_samples_survive(samples):
    assert unpack(pack(samples)) == tuple(samples)


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1))
def test_what_a_gpu_timer_gives_takes_four_bytes_a_sample(samples):
    blob = pack(samples)
    assert blob[0] == 1
    assert len(zlib.decompress(blob[1:])) == 4 * len(samples)


def test_the_layout_is_the_documented_one():
    assert pack([1.5, 2.0]) == b"\x01" + zlib.compress(struct.pack("<2f", 1.5, 2.0), 6)
    assert pack([0.1]) == b"\x02" + zlib.compress(struct.pack("<d", 0.1), 6)


def test_numbers_of_other_libraries_come_back_as_floats():
    assert [type(value) for value in unpack(pack(np.float32([1.5, 2.5])))] == [float, float]


@pytest.mark.parametrize("blob", [b"", b"\x00", b"\x07abc", b"\x01", b"\x01not zlib"])
def test_what_is_no_samples_is_refused(blob):
    with pytest.raises(SamplesError):
        unpack(blob)


@given(st.lists(floats, min_size=1, max_size=20), st.data())
def test_cut_or_prolonged_samples_are_refused(samples, data):
    blob = pack(samples)
    cut = data.draw(st.integers(0, len(blob) - 1))
    for damaged in (blob[:cut], blob + b"x", blob[:1] + zlib.compress(b"abc")):
        with pytest.raises(SamplesError):
            unpack(damaged)
