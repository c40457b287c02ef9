"""Kernels to compile ahead: a plain matmul, and ones that misbehave in the compiler's process."""

import ctypes
import os
import time

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offsets_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offsets_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offsets_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offsets_m[:, None] * stride_am + offsets_k[None, :] * stride_ak
    b_ptrs = b_ptr + offsets_k[:, None] * stride_bk + offsets_n[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        inside = offsets_k < K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=inside[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=inside[:, None], other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + offsets_m[:, None] * stride_cm + offsets_n[None, :] * stride_cn
    inside = (offsets_m < M)[:, None] & (offsets_n < N)[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def matmul_inputs(problem, device, generator):
    made = {"device": device, "dtype": getattr(torch, problem.dtype)}
    return {
        "a": torch.randn((problem.M, problem.K), generator=generator, **made),
        "b": torch.randn((problem.K, problem.N), generator=generator, **made),
        "c": torch.empty((problem.M, problem.N), **made),
    }


def matmul_launch(args, config):
    a, b, c = args["a"], args["b"], args["c"]
    (M, K), N = a.shape, b.shape[1]
    grid = (triton.cdiv(M, config["BLOCK_M"]), triton.cdiv(N, config["BLOCK_N"]))
    matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **config)


matmul = KernelDefinition(
    name="matmul",
    space=Space(
        BLOCK_M=[48, 64, 128, 256],
        BLOCK_N=[64, 128, 256],
        BLOCK_K=[64],
        num_warps=[3, 4, 8, 64],
        num_stages=[1, 2, 3, 4, 5],
    ),
    inputs=matmul_inputs,
    launch=matmul_launch,
    outputs=["c"],
    reference=lambda args: {"c": args["a"] @ args["b"]},
    problems=[Problem(M=4096, N=4096, K=4096, dtype="float16")],
)


def copy_inputs(problem, device, generator):
    x = torch.randn(problem.n + 64, device=device, generator=generator)
    return {"x": x[problem.offset : problem.offset + problem.n], "out": torch.empty_like(x)}


def copy_launch(args, config):
    assert args["x"].is_cuda
    n = args["x"].numel()
    copy_kernel[(triton.cdiv(n, config["BLOCK"]),)](
        args["x"], args["out"], n, BLOCK=config["BLOCK"]
    )


def declare(name, launch, inputs=copy_inputs):
    return KernelDefinition(
        name=name,
        space=Space(BLOCK=[64, 128, 256, 512]),
        inputs=inputs,
        launch=launch,
        outputs=["out"],
        reference=lambda args: {"out": args["x"]},
        problems=[Problem(n=1024, offset=0)],
    )


copy = declare("copy", copy_launch)


def drawn_inputs(problem, device, generator):
    """Lengths that are read back on the host, as grouped kernels do."""
    lengths = torch.randint(8, 64, (4,), device=device, generator=generator).tolist()
    x = torch.randn(sum(lengths), device=device, generator=generator)
    return {"x": x, "out": torch.empty_like(x)}


drawn = declare("drawn", copy_launch, drawn_inputs)


def several_launch(args, config):
    """Zero a buffer, make another, ask for the SM count, launch two kernels on what results."""
    sms = torch.cuda.get_device_properties("cuda").multi_processor_count
    args["out"].zero_()
    scratch = torch.zeros(args["x"].numel() * sms, device="cuda", dtype=torch.float16)
    copy_kernel[(1,)](args["x"], scratch, 7, BLOCK=4 * config["BLOCK"], num_warps=8)
    copy_kernel[lambda meta: (meta["BLOCK"],)](scratch, args["out"], 16, BLOCK=config["BLOCK"])


several = declare("several", several_launch)


def reading_launch(args, config):
    if args["x"][0].item() > 0:
        copy_launch(args, config)


reading = declare("reading", reading_launch)


class OddError(Exception):
    pass


def odd_launch(args, config):
    raise OddError("never seen before\nsecond line")


odd = declare("odd", odd_launch)


def harmful_launch(args, config):
    """Do harm to the compiler's process at some values of BLOCK."""
    match config["BLOCK"]:
        case 128:
            os.abort()
        case 256:
            time.sleep(600)
        case 512:
            ctypes.string_at(0)
    copy_launch(args, config)


harmful = declare("harmful", harmful_launch)


def greedy_launch(args, config):
    """Take memory without end: as Python does, and as foreign code does that checks nothing."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    hoard = []
    while config["BLOCK"] == 128:
        hoard.append(bytearray(2**26))
    while config["BLOCK"] == 256:
        ctypes.memset(libc.malloc(2**26), 1, 2**26)
    copy_launch(args, config)


greedy = declare("greedy", greedy_launch)
