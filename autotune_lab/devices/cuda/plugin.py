"""The hook that opens a GPU; torch is imported only then.

``cuda:0`` is the first visible device, ``cuda:GPU-...`` or ``cuda:MIG-...`` the one of that UUID.
``cuda:0@64sm`` is a part of it, and a device model of its own.
"""

from autotune_lab.devices.base import TimingDevice
from autotune_lab.devices.cuda.presence import missing, no_device


def open(argument: str, part: str) -> TimingDevice:  # noqa: A001 - the plug-in contract's name
    """Open a GPU, or a part of one.

    Raises:
        NoDevice: it is not there, its driver is missing, or torch was built without it.
        UsageError: the argument or the part makes no sense, or a CUDA graph is being captured.
    """
    if fault := missing():
        raise no_device(fault)
    # Imported late: the study's process asks for capabilities and must not load torch for that.
    from autotune_lab.devices.cuda.device import open_cuda

    return open_cuda(argument, part)
