"""Reads what the compiler used for a kernel out of its binary. Runs in a child."""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import triton

from autotune_lab.records import Resources

_CUBIN_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)")
_CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
_CUOBJDUMP_S = 20.0


def resources_of(kernels: list[Any]) -> Resources:
    """Return the largest need over the compiled kernels of one launch.

    Args:
        kernels: Triton's ``CompiledKernel`` objects, one for each launch in it.
    """
    needs = [_resources(kernel) for kernel in kernels]
    return Resources(
        shared_bytes=_largest(need.shared_bytes for need in needs),
        registers=_largest(need.registers for need in needs),
        spill_bytes=_largest(need.spill_bytes for need in needs),
        stack_bytes=_largest(need.stack_bytes for need in needs),
        threads=_largest(need.threads for need in needs),
        num_ctas=_largest(need.num_ctas for need in needs),
        launches=len(kernels),
    )


def _largest(values: Any) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _resources(kernel: Any) -> Resources:
    metadata = kernel.metadata
    if "cubin" in kernel.asm:
        registers, stack_bytes, spill_bytes = _cubin_usage(kernel.asm["cubin"])
    else:
        registers, stack_bytes, spill_bytes = _amdgcn_usage(kernel.asm.get("amdgcn", ""))
    return Resources(
        shared_bytes=metadata.shared,
        registers=registers,
        spill_bytes=spill_bytes,
        stack_bytes=stack_bytes,
        threads=metadata.num_warps * metadata.target.warp_size,
        num_ctas=metadata.num_ctas,
    )


def _cubin_usage(cubin: bytes) -> tuple[int | None, int | None, int | None]:
    """Return registers, stack and spilled bytes per thread, as ``cuobjdump`` reads them.

    Triton's kernels put nothing but spilled registers on the stack, and the driver counts the stack
    as local memory (``CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES``, Triton's ``n_spills * 4``).
    """
    if not _CUOBJDUMP.exists():
        return None, None, None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(_CUOBJDUMP), "--dump-resource-usage", file.name]
        text = subprocess.run(
            command, capture_output=True, text=True, timeout=_CUOBJDUMP_S, check=False
        ).stdout
    usage = [tuple(map(int, found)) for found in _CUBIN_USAGE.findall(text)]
    if not usage:
        return None, None, None
    registers, stack_bytes, local_bytes = (max(column) for column in zip(*usage, strict=True))
    return registers, stack_bytes, stack_bytes + local_bytes


def _amdgcn_usage(assembly: str) -> tuple[int | None, int | None, int | None]:
    """Return vector registers (AGPRs included), scratch and spilled bytes per thread."""
    found = dict(re.findall(r"^\s+(?:- )?\.(\w+):\s+(\d+)\s*$", assembly, re.MULTILINE))
    if "vgpr_count" not in found:
        return None, None, None
    spilled = int(found.get("vgpr_spill_count", 0))
    return int(found["vgpr_count"]), int(found.get("private_segment_fixed_size", 0)), 4 * spilled
