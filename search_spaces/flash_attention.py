"""Attention without its matrix: softmax(Q K^T) V, a block of keys at a time.

Teaches fusion across a reduction. The scores of 4096 tokens by 4096 keys would be written,
normalised and read again; here a block of queries walks along the keys, carries each row's
maximum and sum as the online softmax does, and rescales what it has added up so far whenever the
maximum grows. Two products and an exponential per block, and nothing but Q, K, V and the output
touches memory. Exponentials are taken to base 2, which is what the hardware has; the scale
carries log2(e).

Bottleneck: tensor cores, in turns with the exponentials. For every score an H100 spends 4 *
head_dim tensor operations of the 4096 that an SM does per cycle, and one exp2 of 16: with 128
channels the softmax takes half as long as the products, and more once its maximum and sums are
counted.
Trade-off: whatever keeps both busy at once. Several small programs on an SM may; so may
WARP_SPECIALIZE, where one warp loads by descriptor for two groups of four warps with half the
rows each, and one group multiplies while the other exponentiates. A causal mask skips the blocks
above the diagonal and masks those on it (all of them when specialised: the compiler takes one
loop). HEADS_FIRST starts the longest rows of all heads together, which evens out the end and
spreads over more keys in L2.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from autotune_lab import KernelDefinition, Problem, Space

from ._descriptors import describable

LOG2_E = 1.4426950408889634


@triton.jit
def load_rows(
    source, batch, head, start, N, stride,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, TMA: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Return ROWS rows from start on, zero past N if MASKED.

    source is a descriptor of (batch, head, row, channel), or (1, WIDTH) pointers to the head's
    row 0.
    """
    if TMA:
        block = source.load([batch, head, start, 0]).reshape(ROWS, WIDTH)
    else:
        rows = start + tl.arange(0, ROWS)[:, None]
        if MASKED:
            block = tl.load(source + rows * stride, mask=rows < N, other=0.0)
        else:
            block = tl.load(source + rows * stride)
    return block


@triton.jit
def attend(
    total, maximum, sums, queries, k, v, batch, head, first, last, rows, N, scale,
    stride_kn, stride_vn,
    BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr, MASKED: tl.constexpr, CAUSAL: tl.constexpr,
    TMA: tl.constexpr, WARP_SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """Return total, maximum and sums after the keys from first to last."""
    for start in tl.range(first, last, BLOCK_N, warp_specialize=WARP_SPECIALIZE):
        keys = load_rows(k, batch, head, start, N, stride_kn, BLOCK_N, HEAD_DIM, TMA, MASKED)
        scores = tl.dot(queries, keys.T)
        if MASKED:
            columns = start + tl.arange(0, BLOCK_N)
            visible = (columns < N)[None, :]
            if CAUSAL:
                visible = visible & (rows[:, None] >= columns[None, :])
            scores = tl.where(visible, scores, -float("inf"))
        # Every row sees the first key of the first block, so the maximum is finite from then on.
        larger = tl.maximum(maximum, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - larger[:, None])
        correction = tl.exp2(maximum - larger)
        sums = sums * correction + tl.sum(weights, 1)
        total = total * correction[:, None]
        values = load_rows(v, batch, head, start, N, stride_vn, BLOCK_N, HEAD_DIM, TMA, MASKED)
        total = tl.dot(weights.to(values.dtype), values, total)
        maximum = larger
    return total, maximum, sums


@triton.jit
def flash_attention_kernel(
    q_ptr, k, v, out_ptr, heads, N, scale,
    stride_qb, stride_qh, stride_qn, stride_qd, stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd, stride_ob, stride_oh, stride_on, stride_od,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
    HEADS_PER_KV: tl.constexpr, CAUSAL: tl.constexpr, EVEN_N: tl.constexpr,
    HEADS_FIRST: tl.constexpr, TMA: tl.constexpr, WARP_SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """Write out = softmax(q @ k.T) @ v for BLOCK_M queries of one head."""
    if HEADS_FIRST:
        batch_head, tile, tiles = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    else:
        batch_head, tile, tiles = tl.program_id(1), tl.program_id(0), tl.num_programs(0)
    batch, head = batch_head // heads, batch_head % heads
    kv_head = head // HEADS_PER_KV
    m = (tiles - 1 - tile) * BLOCK_M  # the last rows see the most keys: start with them
    rows = m + tl.arange(0, BLOCK_M)
    inside = (rows < N)[:, None]
    channels = tl.arange(0, HEAD_DIM)[None, :]
    q_head = q_ptr + batch.to(tl.int64) * stride_qb + head.to(tl.int64) * stride_qh
    if WARP_SPECIALIZE:
        # The compiler can halve a descriptor that it sees being made, not one made by the host.
        q = tl.make_tensor_descriptor(
            q_head, [N, HEAD_DIM], [stride_qn, stride_qd], [BLOCK_M, HEAD_DIM]
        )
        queries = q.load([m, 0])
    else:
        q_rows = q_head + rows[:, None] * stride_qn + channels * stride_qd
        queries = tl.load(q_rows, mask=inside, other=0.0)
    if not TMA:
        k += batch.to(tl.int64) * stride_kb + kv_head.to(tl.int64) * stride_kh
        v += batch.to(tl.int64) * stride_vb + kv_head.to(tl.int64) * stride_vh
        k += channels * stride_kd
        v += channels * stride_vd

    total = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    maximum = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    sums = tl.zeros((BLOCK_M,), dtype=tl.float32)
    last = N
    whole = N // BLOCK_N * BLOCK_N  # all rows of this block see the keys before
    if CAUSAL:
        last = tl.minimum(m + BLOCK_M, N)
        whole = m // BLOCK_N * BLOCK_N
    MASKED: tl.constexpr = CAUSAL or not EVEN_N
    if WARP_SPECIALIZE and MASKED:
        whole = 0  # warps are specialised in one loop only, so that one masks every block
    else:
        total, maximum, sums = attend(
            total, maximum, sums, queries, k, v, batch, kv_head, 0, whole, rows, N, scale,
            stride_kn, stride_vn, BLOCK_N, HEAD_DIM, False, CAUSAL, TMA, WARP_SPECIALIZE,
        )  # fmt: skip
    if MASKED:
        total, maximum, sums = attend(
            total, maximum, sums, queries, k, v, batch, kv_head, whole, last, rows, N, scale,
            stride_kn, stride_vn, BLOCK_N, HEAD_DIM, True, CAUSAL, TMA, WARP_SPECIALIZE,
        )  # fmt: skip
    out_rows = out_ptr + batch.to(tl.int64) * stride_ob + head.to(tl.int64) * stride_oh
    out_rows += rows[:, None] * stride_on + channels * stride_od
    tl.store(out_rows, (total / sums[:, None]).to(out_ptr.dtype.element_ty), mask=inside)


def inputs(problem, device, generator):
    """Return q, out: (batch, heads, length, head_dim) and k, v with kv_heads, of problem.dtype.

    They are views of (batch, length, heads, head_dim) tensors, as a projection leaves them.
    """
    dtype = getattr(torch, problem.dtype)

    def random(heads):
        shape = (problem.batch, problem.length, heads, problem.head_dim)
        values = torch.randn(shape, device=device, dtype=dtype, generator=generator)
        return values.transpose(1, 2)

    q = random(problem.heads)
    return {
        "q": q,
        "k": random(problem.kv_heads),
        "v": random(problem.kv_heads),
        "out": torch.empty_like(q),
        "causal": problem.causal,
    }


def scratch_on(device):
    """Return what gives a launch the memory for the descriptors that its programs make."""
    return lambda size, alignment, stream: torch.empty(size, device=device, dtype=torch.int8)


def launch(args, config):
    q, k, v, out = (args[name] for name in ("q", "k", "v", "out"))
    batch, heads, N, head_dim = q.shape
    strides = (*q.stride(), *k.stride(), *v.stride(), *out.stride())
    heads_per_kv = heads // k.shape[1]
    options = dict(config)
    options["TMA"] = config["TMA"] and describable(q, k, v)
    options["WARP_SPECIALIZE"] = config["WARP_SPECIALIZE"] and options["TMA"]
    if options["TMA"]:
        block = [1, 1, config["BLOCK_N"], head_dim]
        k, v = TensorDescriptor.from_tensor(k, block), TensorDescriptor.from_tensor(v, block)
    if options["WARP_SPECIALIZE"]:
        triton.set_allocator(scratch_on(q.device))
    grid = (triton.cdiv(N, config["BLOCK_M"]), batch * heads)
    flash_attention_kernel[grid[::-1] if config["HEADS_FIRST"] else grid](
        q, k, v, out, heads, N, LOG2_E * head_dim**-0.5, *strides,
        HEAD_DIM=head_dim,
        HEADS_PER_KV=heads_per_kv,
        CAUSAL=args["causal"],
        EVEN_N=N % config["BLOCK_N"] == 0,
        **options,
    )  # fmt: skip


def torch_attention(args):
    """Return what torch's scaled dot product attention computes."""
    return torch.nn.functional.scaled_dot_product_attention(
        args["q"], args["k"], args["v"], is_causal=args["causal"], enable_gqa=True
    )


def reference(args):
    """Return out, some queries at a time: all scores in float64 would not fit on any GPU."""
    q, out = args["q"], torch.empty_like(args["q"])
    k, v = (args[name].repeat_interleave(q.shape[1] // args[name].shape[1], 1) for name in "kv")
    length, head_dim = q.shape[2:]
    positions = torch.arange(length, device=q.device)
    step = 512
    for start in range(0, length, step):
        rows = slice(start, start + step)
        scores = q[:, :, rows] @ k.transpose(2, 3) * head_dim**-0.5
        if args["causal"]:
            scores.masked_fill_(positions[rows, None] < positions, -torch.inf)
        out[:, :, rows] = torch.softmax(scores, dim=-1) @ v
    return {"out": out}


def work(problem):
    """Count Q, K, V and the output once, and two products over the keys that are seen."""
    length, width = problem.length, problem.head_dim
    pairs = length * (length + 1) // 2 if problem.causal else length * length
    rows = 2 * problem.batch * length * (problem.heads + problem.kv_heads)
    return {
        "bytes": rows * width * problem.itemsize,
        "flops": 4 * problem.batch * problem.heads * pairs * width,
    }


llama = {"heads": 32, "kv_heads": 8, "head_dim": 128, "dtype": "bfloat16"}

flash_attention = KernelDefinition(
    name="flash_attention",
    space=Space(
        BLOCK_M=[64, 128],
        BLOCK_N=[32, 64, 128],
        HEADS_FIRST=[False, True],
        TMA=[False, True],
        WARP_SPECIALIZE=[False, True],
        num_warps=[4, 8],
        num_stages=[2, 3, 4],
    )
    .heuristic(
        "not TMA or head_dim * itemsize % 16 == 0",
        reason="a descriptor's rows start on 16-byte boundaries; others fall back to pointers",
    )
    .heuristic(
        "not WARP_SPECIALIZE or (TMA and num_warps == 4 and BLOCK_M == 128)",
        reason="one warp loads by descriptor for two groups of four, which take half the rows each",
    ),
    inputs=inputs,
    launch=launch,
    outputs=["out"],
    reference=reference,
    work=work,
    problems=[
        Problem(batch=2, length=4096, causal=True, **llama),
        Problem(batch=1, length=16384, causal=False, **llama),
        Problem(
            batch=4, length=2048, causal=True, heads=16, kv_heads=16, head_dim=64, dtype="float16"
        ),
        Problem(
            batch=1, length=1021, causal=False, heads=4, kv_heads=2, head_dim=64, dtype="float16"
        ),  # a prime
    ],
    default={
        "BLOCK_M": 128,
        "BLOCK_N": 64,
        "HEADS_FIRST": False,
        "TMA": False,
        "WARP_SPECIALIZE": False,
        "num_warps": 8,
        "num_stages": 2,
    },
    replaces=torch_attention,
)
