"""Messages on a pipe: four bytes of length, then a JSON object."""

import json
import os
import struct
from typing import Any

Message = dict[str, Any]

_HEADER = struct.Struct("<I")
_MAX_FRAME_BYTES = 64 * 2**20


class NoFrameError(Exception):
    """The bytes that arrived are no frame."""


def take_frame(buffer: bytearray) -> Message | None:
    """Remove the first frame from a buffer and return it; None if it is not all there yet.

    Raises:
        NoFrameError: the buffer does not begin with a frame.
    """
    if len(buffer) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack_from(buffer)
    if length > _MAX_FRAME_BYTES:
        raise NoFrameError(f"{length} bytes")
    end = _HEADER.size + length
    if len(buffer) < end:
        return None
    try:
        frame: Message = json.loads(bytes(buffer[_HEADER.size : end]))
    except ValueError as error:
        raise NoFrameError(str(error)) from error
    del buffer[:end]
    return frame


def write_frame(descriptor: int, message: Message) -> None:
    """Write a message in full.

    Raises:
        ValueError: it is not strict JSON.
        BrokenPipeError: nobody will read it.
    """
    body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    data = memoryview(_HEADER.pack(len(body)) + body)
    while data:
        data = data[os.write(descriptor, data) :]
