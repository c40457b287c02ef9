"""The software that a time depends on: versions, the compiler's build, steering variables."""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch
import triton

from autotune_lab.records import Environment

_STEERING = frozenset(
    {
        "CUDA_LAUNCH_BLOCKING", "DISABLE_LLVM_OPT", "DISABLE_PTXAS_OPT", "NVCC_APPEND_FLAGS",
        "NVCC_PREPEND_FLAGS", "NVIDIA_TF32_OVERRIDE", "PTXAS_OPTIONS", "USE_IR_LOC",
    }
)  # fmt: skip
_STEERING_PREFIXES = ("TRITON_", "AMDGCN_", "LLVM_")
# Where things lie, what is printed and how often it is compiled changes no kernel.
_HARMLESS = re.compile(
    r"_(DIR|HOME|PATH|PRINT|DUMP|DEBUGGING|LOG|CACHE|REDIS|PROTON|INTERPRET|TIMING)(_|$)"
    r"|TRITON_(ALWAYS_COMPILE|STORE_BINARY_ONLY|DISABLE_LINE_INFO)$"
)
_AMD_DRIVER = Path("/sys/module/amdgpu/version")


def read_environment(driver: str) -> Environment:
    """Return the environment of this process.

    Args:
        driver: NVIDIA's driver version; ``""`` where NVML does not know it.
    """
    hip = torch.version.hip
    if not driver and _AMD_DRIVER.exists():
        driver = _AMD_DRIVER.read_text().strip()
    return Environment(
        driver=driver,
        runtime=f"hip {hip}" if hip else f"cuda {torch.version.cuda}",
        torch=torch.__version__,
        triton=triton.__version__,
        compiler=compiler_build(),
        variables=steering_variables(os.environ),
    )


def steering_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that change what Triton's compiler makes or how it is launched."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if name in _STEERING or (name.startswith(_STEERING_PREFIXES) and not _HARMLESS.search(name))
    }


def compiler_build() -> str:
    """Return what tells two builds of one Triton version apart: a hash of its files, 12 digits."""
    from triton.runtime.cache import triton_key

    return hashlib.sha256(triton_key().encode()).hexdigest()[:12]
