"""Raw samples to bytes and back: the one compact form, in the store and in recordings.

Layout: one version byte, then a zlib stream of little-endian floats in the order taken. Version 1
holds float32 and is chosen when every sample survives it; version 2 holds float64.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

_FLOAT32 = 1
_FLOAT64 = 2
_TYPES: dict[int, np.dtype[Any]] = {_FLOAT32: np.dtype("<f4"), _FLOAT64: np.dtype("<f8")}
# A small blob may claim to unfold into any amount of memory; no study takes 10^8 samples.
_MOST_BYTES = 800_000_000


class SamplesError(ValueError):
    """The bytes are not samples of a known version."""


def pack(samples_ms: Sequence[float]) -> bytes:
    """Encode samples in ms; exact, whatever their precision."""
    wide = np.asarray(samples_ms, dtype=_TYPES[_FLOAT64])
    with np.errstate(over="ignore", under="ignore"):
        narrow = wide.astype(_TYPES[_FLOAT32])
    version = _FLOAT32 if np.array_equal(narrow.astype(np.float64), wide) else _FLOAT64
    data = narrow if version == _FLOAT32 else wide
    return bytes([version]) + zlib.compress(data.tobytes(), 6)


def unpack(blob: bytes) -> tuple[float, ...]:
    """Decode what ``pack`` made.

    Raises:
        SamplesError: the bytes are cut, damaged, or of a version that is not known here.
    """
    if not blob or blob[0] not in _TYPES:
        raise SamplesError(f"samples of unknown version {blob[:1].hex() or '(empty)'}")
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(blob[1:], _MOST_BYTES)
        if not stream.eof or stream.unused_data:
            raise SamplesError("samples are cut short or run on")
        return tuple(np.frombuffer(data, dtype=_TYPES[blob[0]]).astype(np.float64).tolist())
    except (zlib.error, ValueError) as error:
        raise SamplesError(f"samples are damaged: {error}") from error
