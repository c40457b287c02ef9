"""How many blocks of a kernel an SM can hold at once, and what stops one more.

Parent's half: arithmetic only. The formula is that of NVIDIA's occupancy calculator (CUDA toolkit,
``cuda_occupancy.h``): each resource is allocated in units, the scarcest one decides. AMD's waves,
SIMDs and LDS follow the same one with the units of ``Target``.
"""

from dataclasses import dataclass

from autotune_lab.compiling.targets import Target
from autotune_lab.records import Resources


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks that an SM can hold.

    Attributes:
        blocks_per_sm: 0 if not even one fits.
        warps_per_sm: of all those blocks.
        fraction: of the SM's warp slots.
        limited_by: what one more block would lack: ``"threads"``, ``"blocks"``, ``"registers"``,
            ``"shared memory"``.
    """

    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    limited_by: tuple[str, ...]


def occupancy(resources: Resources, target: Target) -> Occupancy | None:
    """Return the theoretical occupancy; None where a resource that decides it is unknown."""
    if None in (resources.threads, resources.registers, resources.shared_bytes):
        return None
    warps = _up(resources.threads or 1, target.warp_size) // target.warp_size
    max_warps = target.max_threads_per_sm // target.warp_size
    limits = {
        "threads": max_warps // warps,
        "blocks": target.max_blocks_per_sm,
        "registers": _warps_by_registers(resources.registers or 0, target) // warps,
        "shared memory": _blocks_by_shared(resources.shared_bytes or 0, target),
    }
    blocks = min(limits.values())
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        fraction=blocks * warps / max_warps,
        limited_by=tuple(name for name, limit in limits.items() if limit == blocks),
    )


def _warps_by_registers(registers: int, target: Target) -> int:
    per_warp = _up(max(registers, 1) * target.warp_size, target.register_unit)
    per_scheduler = target.registers_per_sm // target.schedulers
    return per_scheduler // per_warp * target.schedulers


def _blocks_by_shared(shared_bytes: int, target: Target) -> int:
    taken = _up(shared_bytes + target.reserved_shared_bytes, target.shared_unit_bytes)
    return target.shared_per_sm_bytes // taken if taken else target.max_blocks_per_sm


def _up(value: int, unit: int) -> int:
    """Round up to a multiple of ``unit``."""
    return -(-value // unit) * unit
