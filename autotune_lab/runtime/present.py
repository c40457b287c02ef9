"""What a launch runs on: the GPU that torch calls current, and the software around it."""

import functools
from dataclasses import dataclass, field

from autotune_lab.records import DeviceModel, Environment

NO_GPU = DeviceModel("no GPU", "none", "none", sm_count=0, memory_bytes=0)


@dataclass(frozen=True, slots=True)
class Present:
    """A device model and its environment; of the latter, what can make a winner stale."""

    model: DeviceModel = NO_GPU
    environment: Environment = field(default_factory=Environment)


@functools.lru_cache(maxsize=64)
def present(index: int) -> Present:
    """Return what the GPU of an ordinal is; ``NO_GPU`` for a negative one."""
    import triton

    if index < 0:
        return Present(environment=Environment(triton=triton.__version__))
    from autotune_lab.devices.cuda.device import read_driver, read_model

    environment = Environment(driver=read_driver(index), triton=triton.__version__)
    return Present(read_model(index), environment)


def current_index() -> int:
    """Return torch's current GPU, or -1 without one."""
    import torch

    return torch.cuda.current_device() if torch.cuda.is_available() else -1
