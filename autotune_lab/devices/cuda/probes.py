"""Two kernels that ask the device about itself: what a launch costs, and where programs run.

Their arguments carry no type hints: Triton 3.6 takes a hint for a global that the kernel reads.
"""

import triton
import triton.language as tl


@triton.jit
def empty_kernel(unused_ptr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Do nothing: its time is the least that a launch can take."""


@triton.jit
def which_sm_kernel(out_ptr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Write the number of the SM that each program runs on (PTX ISA, special register %smid)."""
    number = tl.inline_asm_elementwise(
        "mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(out_ptr + tl.program_id(0), number)
