"""Whether the machine may have a GPU at all, told without torch and without asking a driver."""

import os
from pathlib import Path

from autotune_lab.devices.base import Capabilities
from autotune_lab.errors import NoDevice

CAPABILITIES = Capabilities(compiles=True, recorded=False, isolated=True)

# What the kernel's driver leaves in /dev: NVIDIA's, AMD's, and Windows' under WSL.
_NODES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
_MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


def missing() -> str:
    """Say which driver is missing, or that every GPU is hidden; ``""`` if there may be one."""
    for mask in _MASKS:
        if os.environ.get(mask, "all").strip() in ("", "-1"):
            return f"{mask} hides every GPU"
    if not any(Path(node).exists() for node in _NODES):
        return "no NVIDIA or AMD driver (there is neither /dev/nvidiactl nor /dev/kfd)"
    return ""


def no_device(fault: str) -> NoDevice:
    """Return the error that names a fault and what works without a GPU."""
    return NoDevice(
        f"{fault}; without a GPU use --device replay (recorded measurements), "
        "--device interpreter (semantics only) or --device fake (scripted times)"
    )
