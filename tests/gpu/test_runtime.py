"""Launching through ``tuned`` on a GPU: bit-equal with the direct launch in every case."""

import threading

import pytest
import torch
import triton
import triton.language as tl

from autotune_lab import tuned
from autotune_lab.runtime import Step, Table
from autotune_lab.spaces.config import Config

CONFIG = {"BLOCK": 128, "num_warps": 4}

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")


@triton.jit
def affine(x_ptr, out_ptr, n, stride, scale, BLOCK: tl.constexpr):
    """out = x * scale + 1, x read with a stride."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets.to(tl.int64) * stride, mask=inside)
    tl.store(out_ptr + offsets, x * scale + 1, mask=inside)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


@pytest.fixture
def kernel():
    made = tuned("affine", key=["n"], table=Table.empty("none"), default=CONFIG)
    return made(affine)


def launch(way, x, n, stride=1, scale=1.5, **options):
    out = torch.full((n,), float("nan"), device=x.device).to(x.dtype)
    way[grid](x, out, n, stride, scale, **options)
    return out


def same(kernel, x, n, **options):
    """Compare two launches through the table, the second looked up, with a direct one."""
    wanted = launch(affine, x, n, **options, **CONFIG)
    for _ in range(2):
        torch.testing.assert_close(launch(kernel, x, n, **options), wanted, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shift", [0, 1, 8])
@pytest.mark.parametrize("n", [1, 15, 16, 1000, 1024])
def test_equals_a_direct_launch_at_any_alignment_and_size(kernel, dtype, shift, n):
    x = torch.randn(4096, device="cuda").to(dtype)
    same(kernel, x[shift:], n)
    same(kernel, x, n)
    same(kernel, x[shift:], n)


def test_strides_and_value_one_keep_their_kernels_apart(kernel):
    x = torch.randn(40_000, device="cuda")
    for stride in (1, 2, 16, 1, 17, 32):
        same(kernel, x, 1000, stride=stride)


def test_dtypes_take_turns(kernel):
    x = torch.randn(4096, device="cuda")
    for dtype in (torch.float32, torch.float16, torch.float32, torch.bfloat16):
        same(kernel, x.to(dtype), 1024)


def test_side_stream_is_used(kernel):
    x = torch.randn(2**20, device="cuda")
    launch(kernel, x, 2**20)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        out = launch(kernel, x, 2**20)
        done = torch.cuda.Event()
        done.record()
    assert not done.query()  # had it gone to the default stream, the sleep would not delay it
    side.synchronize()
    torch.testing.assert_close(out, launch(affine, x, 2**20, **CONFIG), rtol=0, atol=0)


def test_graph_capture_replays_the_launch(kernel):
    x, out = torch.randn(1000, device="cuda"), torch.zeros(1000, device="cuda")
    kernel[grid](x, out, 1000, 1, 2.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel[grid](x, out, 1000, 1, 2.0)
    x.copy_(torch.randn(1000, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(out, launch(affine, x, 1000, scale=2.0, **CONFIG), rtol=0, atol=0)


def test_first_launch_may_be_captured(kernel):
    x, out = torch.randn(1000, device="cuda"), torch.zeros(1000, device="cuda")
    launch(affine, x, 1000, scale=2.0, **CONFIG)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        kernel[grid](x, out, 1000, 1, 2.0)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(out, launch(affine, x, 1000, scale=2.0, **CONFIG), rtol=0, atol=0)


def test_eight_threads_get_right_results(kernel):
    x = torch.randn(8192, device="cuda")
    wanted = {n: launch(affine, x, n, **CONFIG) for n in range(1, 66)}
    torch.cuda.synchronize()
    faults = []

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(300):
                n = 1 + (seed * 11 + i) % 65
                out = launch(kernel, x, n)
                torch.cuda.current_stream().synchronize()
                if not torch.equal(out, wanted[n]):
                    faults.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert kernel.record.decided[Step.DEFAULT] == 65


@pytest.mark.filterwarnings("ignore")  # torch's compiler has its own deprecations
def test_torch_compile_is_not_broken(kernel):
    def double(x):
        out = torch.empty_like(x)
        kernel[grid](x, out, x.numel(), 1, 2.0)
        return out * 2

    x = torch.randn(1000, device="cuda")
    for _ in range(2):
        torch.testing.assert_close(torch.compile(double)(x), double(x), rtol=1e-6, atol=1e-6)


def test_launch_hooks_are_called(kernel):
    x = torch.randn(1000, device="cuda")
    launch(kernel, x, 1000)
    names = []

    def note(metadata):
        names.append(metadata.get()["name"])

    triton.knobs.runtime.launch_enter_hook.add(note)
    try:
        launch(kernel, x, 1000)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(note)
    assert names == ["affine"]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_each_device_has_its_own_kernel(kernel):
    for index in (0, 1, 0):
        with torch.cuda.device(index):
            same(kernel, torch.randn(1000, device="cuda"), 1000)


def test_config_too_large_for_the_gpu_falls_back():
    made = tuned(
        "affine", key=["n"], table=Table.empty("none"), default=CONFIG, on_miss="tune",
        tune=lambda problem, model: Config(BLOCK=128, num_warps=64),
    )  # fmt: skip
    large = made(affine)
    x = torch.randn(1000, device="cuda")
    same(large, x, 1000)
    (decision,) = large.record.decisions
    assert decision.step is Step.DEFAULT
    assert "threads" in decision.refused[0]
