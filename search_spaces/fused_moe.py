"""A mixture of experts: two products whose rows each pick their own weights.

Teaches indirection. Every token goes to TOP_K of the experts, so there is no matrix to multiply,
only rows to gather: they are sorted by expert, padded to whole blocks, and a block looks up whose
weights it multiplies. The first product (gate and up projection), the activation, the second
product (down projection, scaled by the router's weight) and the sum over a token's experts are
four launches; a PyTorch loop over experts is hundreds.

Bottleneck: memory for a few tokens, which read the weights of nearly all experts for little work
each; tensor cores for thousands of them.
Trade-off: BLOCK_SIZE_M against padding. With 16 tokens on 8 experts a block of 128 rows is nearly
all padding; with 4096, a block of 16 reads the weights over and over. The parameters carry the
names under which inference servers publish their tuned tables, one config for both products, so
that such a table can be measured here as it stands.

Rows are sorted once for each BLOCK_SIZE_M among the inputs, before any clock starts.
"""

import torch
import triton
import triton.language as tl

from autotune_lab import KernelDefinition, Problem, Space

from ._activations import sigmoid
from ._routing import BLOCK_SIZES, sort_by_expert
from ._tiles import grouped_tile


@triton.jit
def moe_gemm_kernel(
    a_ptr, b_ptr, c_ptr, weights_ptr, order_ptr, experts_ptr, padded_ptr, rows, N, K,
    stride_am, stride_ak, stride_be, stride_bn, stride_bk, stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr, ROWS_PER_A: tl.constexpr, WEIGHTED: tl.constexpr,
    EVEN_K: tl.constexpr,
):  # fmt: skip
    """Write c[r] = a[r // ROWS_PER_A] @ b[expert of r].T, times the weight of r if WEIGHTED."""
    tiles_m = tl.load(padded_ptr) // BLOCK_SIZE_M
    tiles_n = tl.cdiv(N, BLOCK_SIZE_N)
    tile = tl.program_id(0)
    if tile >= tiles_m * tiles_n:
        return
    tile_m, tile_n = grouped_tile(tile, tiles_m, tiles_n, GROUP_SIZE_M)
    row = tl.load(order_ptr + tile_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)).to(tl.int64)
    expert = tl.load(experts_ptr + tile_m).to(tl.int64)
    is_row = row < rows
    row = tl.where(is_row, row, 0)  # padding loads the first row and is not stored
    n = tile_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    column = (n % N).to(tl.int64)
    k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (row // ROWS_PER_A)[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b_ptr + expert * stride_be
    b_ptrs += k[:, None] * stride_bk + column[None, :] * stride_bn

    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_SIZE_K):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=(start + k < K)[None, :], other=0.0)
            b = tl.load(b_ptrs, mask=(start + k < K)[:, None], other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk

    if WEIGHTED:
        total *= tl.load(weights_ptr + row)[:, None]
    c_ptrs = c_ptr + row[:, None] * stride_cm + n[None, :] * stride_cn
    inside = is_row[:, None] & (n < N)[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def gated_activation_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Write out[r, n] = silu(x[r, n]) * x[r, N + n]; both are contiguous."""
    row = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(x_ptr + row * 2 * N + n, mask=n < N).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * N + N + n, mask=n < N).to(tl.float32)
    out = (gate * sigmoid(gate) * up).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + row * N + n, out, mask=n < N)


@triton.jit
def sum_experts_kernel(x_ptr, out_ptr, N, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    """Write out[t] = the sum of x's TOP_K rows of token t; both are contiguous."""
    token = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for index in tl.static_range(TOP_K):
        row = x_ptr + (token * TOP_K + index) * N
        total += tl.load(row + n, mask=n < N).to(tl.float32)
    tl.store(out_ptr + token * N + n, total.to(out_ptr.dtype.element_ty), mask=n < N)


def inputs(problem, device, generator):
    """Return tokens, expert weights, their routing, and a buffer for each step's result.

    x: (tokens, hidden); gate_up_weights: (experts, 2 * intermediate, hidden); down_weights:
    (experts, hidden, intermediate), all of problem.dtype; expert_ids: (tokens, top_k) int64;
    router_weights: the same shape, float32, each token's adding up to 1.
    """
    tokens, experts, top_k = problem.tokens, problem.experts, problem.top_k
    hidden, intermediate = problem.hidden, problem.intermediate
    dtype = getattr(torch, problem.dtype)
    random = {"device": device, "generator": generator}
    scores = torch.randn((tokens, experts), **random)
    router_weights, expert_ids = torch.softmax(scores, dim=-1).topk(top_k, dim=-1)
    buffer = {"device": device, "dtype": dtype}
    args = {
        "x": torch.randn((tokens, hidden), dtype=dtype, **random),
        "gate_up_weights": torch.randn((experts, 2 * intermediate, hidden), dtype=dtype, **random),
        "down_weights": torch.randn((experts, hidden, intermediate), dtype=dtype, **random),
        "expert_ids": expert_ids,
        "router_weights": router_weights / router_weights.sum(dim=-1, keepdim=True),
        "gate_up": torch.empty((tokens * top_k, 2 * intermediate), **buffer),
        "activated": torch.empty((tokens * top_k, intermediate), **buffer),
        "down": torch.empty((tokens * top_k, hidden), **buffer),
        "out": torch.empty((tokens, hidden), **buffer),
    }
    # Scaled as a model's weights are, so that no step's values grow with its length.
    args["gate_up_weights"] *= hidden**-0.5
    args["down_weights"] *= intermediate**-0.5
    for size in BLOCK_SIZES:
        names = (f"order_{size}", f"block_experts_{size}", f"padded_{size}")
        routing = sort_by_expert(expert_ids.flatten(), experts, size)
        args.update(zip(names, routing, strict=True))
    return args


def launch(args, config):
    x, gate_up, activated, down = (args[n] for n in ("x", "gate_up", "activated", "down"))
    rows, top_k = gate_up.shape[0], args["expert_ids"].shape[1]
    product(args, x, args["gate_up_weights"], gate_up, config, rows_per_a=top_k, weighted=False)
    block = 1024
    columns = activated.shape[1]
    gated_activation_kernel[(rows, triton.cdiv(columns, block))](gate_up, activated, columns, block)
    product(args, activated, args["down_weights"], down, config, rows_per_a=1, weighted=True)
    tokens, columns = args["out"].shape
    grid = (tokens, triton.cdiv(columns, block))
    sum_experts_kernel[grid](down, args["out"], columns, top_k, block)


def product(args, a, b, c, config, *, rows_per_a, weighted):
    """Launch c[r] = a[r // rows_per_a] @ b[expert of r].T for all rows."""
    size = config["BLOCK_SIZE_M"]
    order, block_experts = args[f"order_{size}"], args[f"block_experts_{size}"]
    N, K = b.shape[1:]
    grid = (block_experts.numel() * triton.cdiv(N, config["BLOCK_SIZE_N"]),)
    moe_gemm_kernel[grid](
        a, b, c, args["router_weights"], order, block_experts, args[f"padded_{size}"],
        c.shape[0], N, K, *a.stride(), *b.stride(), *c.stride(),
        ROWS_PER_A=rows_per_a,
        WEIGHTED=weighted,
        EVEN_K=K % config["BLOCK_SIZE_K"] == 0,
        **config,
    )  # fmt: skip


def experts_in_torch(args):
    """Return every step's result, one expert after the other, as a PyTorch user would."""
    x, expert_ids = args["x"], args["expert_ids"].flatten()
    top_k = args["expert_ids"].shape[1]
    weights = args["router_weights"].flatten().to(x.dtype)
    steps = {name: torch.empty_like(args[name], dtype=x.dtype) for name in ("gate_up", "activated")}
    steps["down"] = torch.empty_like(args["down"], dtype=x.dtype)
    for expert in range(args["gate_up_weights"].shape[0]):
        rows = (expert_ids == expert).nonzero().squeeze(1)
        gate_up = x[rows // top_k] @ args["gate_up_weights"][expert].t()
        gate, up = gate_up.chunk(2, dim=-1)
        activated = torch.nn.functional.silu(gate) * up
        steps["gate_up"][rows] = gate_up
        steps["activated"][rows] = activated
        steps["down"][rows] = activated @ args["down_weights"][expert].t() * weights[rows, None]
    return steps | {"out": steps["down"].unflatten(0, (-1, top_k)).sum(dim=1)}


def work(problem):
    """Count every expert's weights once, rows in and out once, and two operations for each."""
    rows = problem.tokens * problem.top_k
    weights = 3 * problem.intermediate * problem.hidden
    used = min(problem.experts, rows)
    moved = used * weights + 2 * problem.tokens * problem.hidden
    return {"bytes": moved * problem.itemsize, "flops": 2 * rows * weights}


mixtral = {"experts": 8, "top_k": 2, "hidden": 4096, "intermediate": 3584, "dtype": "bfloat16"}

fused_moe = KernelDefinition(
    name="fused_moe",
    space=Space(
        BLOCK_SIZE_M=list(BLOCK_SIZES),
        BLOCK_SIZE_N=[32, 64, 128, 256],
        BLOCK_SIZE_K=[32, 64, 128, 256],
        GROUP_SIZE_M=[1, 16, 32, 64],
        num_warps=[4, 8],
        num_stages=[2, 3, 4, 5],
    )
    .heuristic(
        "BLOCK_SIZE_M <= max(16, 4 * cdiv(tokens * top_k, experts))",
        reason="a block is no more than four times an expert's share of the rows",
    )
    .heuristic(
        "BLOCK_SIZE_M * BLOCK_SIZE_N <= 8192 * num_warps",
        reason="the sum alone would take all registers of a thread",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["gate_up", "activated", "down", "out"],
    reference=experts_in_torch,
    work=work,
    problems=[
        Problem(tokens=16, **mixtral),
        Problem(tokens=512, **mixtral),
        Problem(tokens=4096, **mixtral),
        Problem(
            tokens=37, experts=5, top_k=3, hidden=200, intermediate=72, dtype="float16"
        ),  # nothing divides anything
    ],
    default={
        "BLOCK_SIZE_M": 16,
        "BLOCK_SIZE_N": 64,
        "BLOCK_SIZE_K": 64,
        "GROUP_SIZE_M": 16,
        "num_warps": 4,
        "num_stages": 3,
    },
    replaces=experts_in_torch,
)
