"""What each GPU architecture allows a kernel, and what can't fit it.

Parent's half: no torch, no triton. NVIDIA figures are from the CUDA C++ Programming Guide 13, table
"Technical Specifications per Compute Capability"; AMD's from the ISA guides named in each entry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from autotune_lab.records import DeviceModel, Resources

_CUDA_GUIDE = "CUDA C++ Programming Guide 13, technical specifications, compute capability"


@dataclass(frozen=True, slots=True)
class Target:
    """The limits of one architecture; ``sm`` is a compute unit on CDNA, a WGP on RDNA.

    Attributes:
        backend: Triton's name for the compiler: ``"cuda"`` or ``"hip"``.
        max_shared_bytes: per block, with opt-in.
        shared_per_sm_bytes, reserved_shared_bytes, shared_unit_bytes: per SM; taken from it by each
            resident block for the system; the unit of allocation.
        registers_per_sm, max_registers, register_unit: 32-bit registers per SM and per thread; the
            unit of allocation, in registers of a whole warp.
        schedulers: parts of an SM with registers and warp slots of their own.
        max_threads: per block.
        source: the manual that these numbers are from.
    """

    architecture: str
    backend: str
    warp_size: int
    max_shared_bytes: int
    shared_per_sm_bytes: int
    reserved_shared_bytes: int
    shared_unit_bytes: int
    registers_per_sm: int
    max_registers: int
    register_unit: int
    schedulers: int
    max_threads: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    source: str

    @property
    def triton_arch(self) -> int | str:
        """The architecture as Triton's ``GPUTarget`` wants it: ``90`` or ``"gfx942"``."""
        return (
            int(self.architecture.removeprefix("sm_"))
            if self.backend == "cuda"
            else self.architecture
        )

    def model(self) -> DeviceModel:
        """Return a device model that stands for the architecture where no card is at hand."""
        return DeviceModel(
            name=self.architecture,
            vendor="nvidia" if self.backend == "cuda" else "amd",
            architecture=self.architecture,
            sm_count=0,
            memory_bytes=0,
            max_shared_bytes=self.max_shared_bytes,
            warp_size=self.warp_size,
            max_threads_per_sm=self.max_threads_per_sm,
            registers_per_sm=self.registers_per_sm,
        )


def _nvidia(capability: str, *, threads: int, blocks: int, shared_kib: int) -> Target:
    """Per SM: ``threads``, ``blocks``, ``shared_kib``. Since 8.0 a block may have 1 KiB less."""
    reserved = 0 if capability == "7.5" else 1024
    return Target(
        architecture=f"sm_{capability.replace('.', '')}",
        backend="cuda",
        warp_size=32,
        max_shared_bytes=shared_kib * 1024 - reserved,
        shared_per_sm_bytes=shared_kib * 1024,
        reserved_shared_bytes=reserved,
        shared_unit_bytes=128 if reserved else 256,
        registers_per_sm=65536,
        max_registers=255,
        register_unit=256,
        schedulers=4,
        max_threads=1024,
        max_threads_per_sm=threads,
        max_blocks_per_sm=blocks,
        source=f"{_CUDA_GUIDE} {capability}",
    )


def _cdna(architecture: str, *, shared_kib: int, source: str) -> Target:
    """A compute unit: four SIMDs with 8 waves of 64 lanes, 512 registers a lane (VGPR and AGPR)."""
    return Target(
        architecture=architecture,
        backend="hip",
        warp_size=64,
        max_shared_bytes=shared_kib * 1024,
        shared_per_sm_bytes=shared_kib * 1024,
        reserved_shared_bytes=0,
        shared_unit_bytes=512,
        registers_per_sm=4 * 512 * 64,
        max_registers=512,
        register_unit=8 * 64,
        schedulers=4,
        max_threads=1024,
        max_threads_per_sm=2048,
        max_blocks_per_sm=32,
        source=source,
    )


def _rdna(architecture: str, *, source: str) -> Target:
    """A work-group processor: four SIMDs with 16 waves of 32 lanes, 1536 registers a lane."""
    return Target(
        architecture=architecture,
        backend="hip",
        warp_size=32,
        max_shared_bytes=65536,
        shared_per_sm_bytes=131072,
        reserved_shared_bytes=0,
        shared_unit_bytes=512,
        registers_per_sm=4 * 1536 * 32,
        max_registers=256,
        register_unit=24 * 32,
        schedulers=4,
        max_threads=1024,
        max_threads_per_sm=2048,
        max_blocks_per_sm=64,
        source=source,
    )


TARGETS: Mapping[str, Target] = {
    target.architecture: target
    for target in (
        _nvidia("7.5", threads=1024, blocks=16, shared_kib=64),
        _nvidia("8.0", threads=2048, blocks=32, shared_kib=164),
        _nvidia("8.6", threads=1536, blocks=16, shared_kib=100),
        _nvidia("8.7", threads=1536, blocks=16, shared_kib=164),
        _nvidia("8.9", threads=1536, blocks=24, shared_kib=100),
        _nvidia("9.0", threads=2048, blocks=32, shared_kib=228),
        _nvidia("10.0", threads=2048, blocks=32, shared_kib=228),
        _nvidia("10.3", threads=2048, blocks=32, shared_kib=228),
        _nvidia("12.0", threads=1536, blocks=24, shared_kib=100),
        _nvidia("12.1", threads=1536, blocks=24, shared_kib=100),
        _cdna("gfx90a", shared_kib=64, source="AMD Instinct MI200 (CDNA2) ISA guide"),
        _cdna("gfx942", shared_kib=64, source="AMD Instinct MI300 (CDNA3) ISA guide"),
        _cdna("gfx950", shared_kib=160, source="AMD CDNA4 ISA guide"),
        _rdna("gfx1100", source="AMD RDNA3 ISA guide"),
        _rdna("gfx1201", source="AMD RDNA4 ISA guide"),
    )
}


def target_of(model: DeviceModel) -> Target:
    """Return a model's limits: what its device reported, on top of its architecture's table entry.

    An architecture that the table lacks is taken as the newest one of its vendor that it has.
    """
    known = TARGETS.get(model.architecture)
    if known is None:
        newest = "sm_121" if model.vendor == "nvidia" else "gfx950"
        source = f"the device itself, else {newest}: {model.architecture} is not in the table"
        known = replace(TARGETS[newest], architecture=model.architecture, source=source)
    return replace(
        known,
        warp_size=model.warp_size or known.warp_size,
        max_shared_bytes=model.max_shared_bytes or known.max_shared_bytes,
        registers_per_sm=model.registers_per_sm or known.registers_per_sm,
        max_threads_per_sm=model.max_threads_per_sm or known.max_threads_per_sm,
    )


def illegal_option(config: Mapping[str, Any]) -> str:
    """Return why Triton can't take an option of a config at all; ``""`` if it can."""
    for name in ("num_warps", "num_ctas"):
        value = config.get(name, 1)
        if not isinstance(value, int) or value < 1 or value & (value - 1):
            return f"{name}={value} is not a power of two"
    stages = config.get("num_stages", 1)
    if not isinstance(stages, int) or stages < 0:
        return f"num_stages={stages} is not a number of stages"
    return ""


def fits(resources: Resources, limits: DeviceModel | Target) -> str:
    """Return why a kernel can't be launched, in the words of Triton's own error; ``""`` if it can.

    What is unknown (None) is taken to fit.
    """
    target = limits if isinstance(limits, Target) else target_of(limits)
    threads = resources.threads or 0
    needs = [
        ("shared memory", resources.shared_bytes or 0, target.max_shared_bytes),
        ("threads", threads, target.max_threads),
        ("registers", (resources.registers or 0) * threads, target.registers_per_sm),
    ]
    for name, required, limit in needs:
        if required > limit:
            return f"out of resource: {name}, Required: {required}, Hardware limit: {limit}"
    return ""
