"""A driver for a GPU that is not there: kernels are compiled, launches are written down."""

from types import SimpleNamespace

from triton.backends.compiler import GPUTarget

THREADS = 1024


class WritingDriver:
    """Stands in for Triton's driver of an sm_90 GPU with two devices."""

    def __init__(self, max_shared_bytes=232_448):
        self.device = 0
        self.stream = 7
        self.launches = []
        self.launcher_cls = self._launcher
        properties = {"max_shared_mem": max_shared_bytes, "multiprocessor_count": 132,
                      "max_num_regs": 65536, "warpSize": 32}  # fmt: skip
        self.utils = SimpleNamespace(
            get_device_properties=lambda _: properties,
            # No module, so that nothing is unloaded when the driver is gone.
            load_binary=lambda name, *_: (None, (name, self.device), 32, 0, THREADS),
            unload_module=lambda _: None,
        )

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return self.device

    def get_current_stream(self, device):
        return (device, self.stream)

    def _launcher(self, src, metadata):
        def run(x, y, z, stream, function, packed, launch_metadata, enter, leave, *args):
            if enter is not None:
                enter(launch_metadata)
            kernel = (metadata.hash, dict(src.signature), dict(src.attrs), dict(src.constants))
            self.launches.append(((x, y, z), stream, function, packed, kernel, args))
            if leave is not None:
                leave(launch_metadata)

        return run
