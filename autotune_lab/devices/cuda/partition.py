"""A part of one card as a device of its own: a green context that gives launches some of the SMs.

CUDA Driver API, cuGreenCtxCreate; through torch 2.11 and later.
"""

import re
from dataclasses import dataclass
from typing import Any

import torch

from autotune_lab.errors import NoDevice, UsageError

_PROBE_PROGRAMS = 2**14


@dataclass(frozen=True, slots=True)
class Part:
    """A green context that is current.

    Attributes:
        sm_count: what launches really run on. The driver rounds up, to groups of 8 SMs on cc 9.0,
            so ``60sm`` and ``64sm`` are the same part there.
    """

    context: Any
    sm_count: int

    @property
    def name(self) -> str:
        """``64sm``, by the real count."""
        return f"{self.sm_count}sm"


def enter_part(index: int, part: str) -> Part:
    """Make a green context of ``64sm`` current, for as long as the process lives.

    Raises:
        UsageError: the part is no number of SMs, or more than the card has.
        NoDevice: this torch, driver or card has no green contexts.
    """
    available = torch.cuda.get_device_properties(index).multi_processor_count
    match = re.fullmatch(r"(\d+)sm", part)
    if match is None or not 0 < int(match[1]) < available:
        raise UsageError(f"part {part!r} is not a number of SMs below {available}; write 64sm")
    try:
        from torch.cuda.green_contexts import GreenContext

        torch.zeros(1, device=f"cuda:{index}")
        context: Any = GreenContext.create(num_sms=int(match[1]), device_id=index)
        context.set_context()
    except (ImportError, RuntimeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise NoDevice(
            f"cuda:{index}@{part}: no green contexts with torch {torch.__version__}, driver and "
            f"card: {first}; use the whole card"
        ) from error
    return Part(context, _count_sms(index))


def _count_sms(index: int) -> int:
    """Count the SMs that many small programs run on."""
    from autotune_lab.devices.cuda.probes import which_sm_kernel

    numbers = torch.full((_PROBE_PROGRAMS,), -1, dtype=torch.int32, device=f"cuda:{index}")
    which_sm_kernel[(_PROBE_PROGRAMS,)](numbers)
    return int(torch.unique(numbers).numel())
