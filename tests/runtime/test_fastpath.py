"""The written launch function does what Triton's own launch does, argument for argument."""

import threading

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime import driver

from autotune_lab import tuned
from autotune_lab.errors import UsageError
from autotune_lab.runtime.decision import Step
from autotune_lab.runtime.shelf import Shelf
from autotune_lab.runtime.table import KernelTable, Table
from autotune_lab.spaces.config import Config
from tests.exporting.samples import H200
from tests.runtime.absent import WritingDriver
from tests.runtime.tables import table, winner

CONFIG = {"BLOCK": 64, "num_warps": 2}

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")


@triton.jit
def shift(x_ptr, out_ptr, n, stride, MODE: tl.constexpr, BLOCK: tl.constexpr, offset=0):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + (offsets * stride).to(tl.int64) + offset, mask=inside)
    if MODE == 1:
        x = x + 1
    tl.store(out_ptr + offsets, x, mask=inside)


@pytest.fixture
def gpu():
    absent = WritingDriver()
    before = vars(driver).get("_active")
    driver.set_active(absent)
    shift.device_caches.clear()
    try:
        yield absent
    finally:
        driver.set_active(before)
        shift.device_caches.clear()


def launcher(**options):
    empty = Table({"shift": KernelTable("shift", {"x": Shelf()}, {"x": H200})}, "test")
    made = tuned("shift", key=["n"], table=empty, default=CONFIG, **options)
    return made(shift)


def pointer(dtype=torch.float32, *, shifted=False):
    """A tensor at a multiple of 64 bytes, or one element past it."""
    whole = torch.empty(2048, dtype=dtype)
    skip = -whole.data_ptr() % 64 // whole.element_size()
    return whole[skip + shifted :]


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


CASES = [
    (dtype, aligned, n, stride, mode)
    for dtype in (torch.float32, torch.float16)
    for aligned in (True, False)
    for n, stride in ((1, 1), (16, 1), (17, 3), (17, 16))
    for mode in (0, 1)
]


@pytest.mark.slow
def test_every_launch_equals_the_direct_one(gpu):
    kernel = launcher()
    for _ in range(2):  # the first time each is prepared, the second time looked up
        for dtype, aligned, n, stride, mode in CASES:
            x, out = pointer(dtype, shifted=not aligned), pointer(dtype)
            kernel[grid](x, out, n, stride, MODE=mode)
            shift[grid](x, out, n, stride, MODE=mode, **CONFIG)
            mine, direct = gpu.launches[-2:]
            assert mine[:5] == direct[:5]
            assert all(a is b or a == b for a, b in zip(mine[5], direct[5], strict=True))
    assert len(kernel._fast.ready) == len(CASES)
    assert kernel.launches == 2 * len(CASES)


@pytest.mark.parametrize("other", [True, 1.0, 2**40, 1])
def test_values_that_are_equal_as_keys_do_not_share_a_kernel(gpu, other):
    kernel = launcher()
    x = pointer()
    for stride in (1, other):
        kernel[grid](x, x, 16, stride, MODE=0)
        shift[grid](x, x, 16, stride, MODE=0, **CONFIG)
        assert gpu.launches[-2][:5] == gpu.launches[-1][:5]


def test_device_and_stream_are_those_of_the_moment(gpu):
    kernel = launcher()
    x = pointer()
    for device, stream in ((0, 7), (0, 8), (1, 8), (0, 9)):
        gpu.device, gpu.stream = device, stream
        kernel[grid](x, x, 16, 1, MODE=0)
        _, used, function, *_ = gpu.launches[-1]
        assert (used, function) == ((device, stream), ("shift", device))


def test_grids_are_tuples_of_any_length_or_functions(gpu):
    kernel = launcher()
    x = pointer()
    for shape, wanted in (((3,), (3, 1, 1)), ((3, 2), (3, 2, 1)), ((3, 2, 4), (3, 2, 4))):
        for way in (shape, lambda meta, shape=shape: shape):
            kernel[way](x, x, 16, 1, MODE=0)
            assert gpu.launches[-1][0] == wanted


def test_arguments_by_name_and_defaults_equal_a_direct_launch(gpu):
    kernel = launcher()
    x = pointer()
    for _ in range(2):
        kernel[grid](x, out_ptr=x, n=16, stride=1, MODE=0, offset=5)
        shift[grid](x, out_ptr=x, n=16, stride=1, MODE=0, offset=5, **CONFIG)
        assert gpu.launches[-2] == gpu.launches[-1]


@triton.jit
def named(x, y, z, device, key, stream, size, run, ready, constants, value, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = device + key + stream + size + run + ready + constants + value
    tl.store(z + offsets, tl.load(x + offsets) + tl.load(y + offsets) + total)


def test_arguments_may_have_any_name(gpu):
    made = tuned("named", key=["size"], dtype="x", table=Table.empty("none"), default=CONFIG)
    kernel = made(named)
    named.device_caches.clear()
    arguments = [pointer(), pointer(), pointer(), *range(2, 10)]
    for _ in range(2):
        kernel[(3, 2)](*arguments)
        named[(3, 2)](*arguments, **CONFIG)
        mine, direct = gpu.launches[-2:]
        assert mine[:5] == direct[:5]
        assert all(a is b or a == b for a, b in zip(mine[5], direct[5], strict=True))
    assert kernel.launches == 2
    named.device_caches.clear()


def test_further_options_reach_the_compiler(gpu):
    kernel = launcher()
    x = pointer()
    for _ in range(2):
        kernel[grid](x, x, 16, 1, MODE=0)
        kernel[grid](x, x, 16, 1, MODE=0, num_stages=1)
        plain, staged = gpu.launches[-2:]
        assert plain[4][0] != staged[4][0]


def test_launch_hooks_are_called_each_time(gpu):
    kernel = launcher()
    x = pointer()
    seen = []
    enter, leave = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook

    def note(metadata):
        seen.append(metadata.get()["name"])

    kernel[grid](x, x, 16, 1, MODE=0)
    enter.add(note)
    leave.add(note)
    try:
        kernel[grid](x, x, 16, 1, MODE=0)
    finally:
        enter.remove(note)
        leave.remove(note)
    kernel[grid](x, x, 16, 1, MODE=0)
    assert seen == ["shift", "shift"]


def test_hooks_of_the_kernel_are_called_each_time(gpu, monkeypatch):
    kernel = launcher()
    x = pointer()
    seen = []
    kernel[grid](x, x, 16, 1, MODE=0)
    monkeypatch.setattr(shift, "pre_run_hooks", [lambda *_, **kwargs: seen.append(kwargs["BLOCK"])])
    kernel[grid](x, x, 16, 1, MODE=0)
    kernel[grid](x, x, 16, 1, MODE=0)
    assert seen == [64, 64]


def test_what_the_config_sets_can_not_be_given(gpu):
    with pytest.raises(UsageError, match="BLOCK is set by the config"):
        launcher()[(1,)](pointer(), pointer(), 16, 1, MODE=0, BLOCK=32)


def test_config_that_does_not_fit_falls_back_to_the_default_and_says_so(gpu):
    picks = [winner(4096, config=Config(BLOCK=128, num_warps=64))]
    fields = {"N": 4096, "K": 4096, "dtype": "bfloat16"}
    made = tuned(
        "matmul", key={"M": "n"}, fields=fields, dtype="",
        table=table(picks), default=CONFIG, device_model=H200,
    )  # fmt: skip
    kernel = made(shift)
    x = pointer()
    for _ in range(2):
        kernel[grid](x, x, 4096, 1, MODE=0)
        assert gpu.launches[-1][0] == (64, 1, 1)
    (decision,) = kernel.record.decisions
    assert decision.step is Step.DEFAULT
    assert "out of resource: threads" in decision.refused[0]


def test_eight_threads_launch_what_one_does(gpu):
    kernel = launcher()
    x = pointer()
    faults = []

    def work(seed):
        for i in range(200):
            n = 1 + (seed * 7 + i) % 33
            try:
                kernel[grid](x, x, n, 1, MODE=0)
            except Exception as error:
                faults.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert len(gpu.launches) == 1600
    by_n = {}
    for _, _, _, _, compiled, args in gpu.launches:
        by_n.setdefault(args[2], set()).add(compiled[0])
    assert all(len(hashes) == 1 for hashes in by_n.values())
    assert kernel.record.decided == {Step.DEFAULT: 33}


def test_unknown_argument_is_named_when_decorating():
    with pytest.raises(UsageError, match="no argument 'nn'; did you mean n"):
        tuned("shift", key=["nn"], table=Table.empty("x"), default=CONFIG)(shift)


def test_autotuned_kernel_is_refused():
    autotuned = triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])(shift)
    with pytest.raises(UsageError, match="autotuner"):
        tuned("shift", key=["n"], table=Table.empty("x"), default=CONFIG)(autotuned)


FACTOR = tl.constexpr(2)


@triton.jit(do_not_specialize=["seed"], do_not_specialize_on_alignment=["x_ptr"])
def declared(x_ptr, seed, wide: tl.int64, ratio: tl.float32, BLOCK: tl.constexpr = 32):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, (offsets + seed + wide) * ratio * FACTOR)


def test_declared_specializations_are_those_of_the_direct_launch(gpu):
    config = {"num_warps": 1}
    made = tuned("declared", key=[], dtype="", table=Table.empty("none"), default=config)
    kernel = made(declared)
    declared.device_caches.clear()
    cases = [(shifted, seed, wide, ratio) for shifted in (False, True) for seed in (1, 7, 16)
             for wide in (1, 16, 5) for ratio in (1.0, 0.5)]  # fmt: skip
    for _ in range(2):
        for shifted, *rest in cases:
            x = pointer(shifted=shifted)
            kernel[(1,)](x, *rest)
            declared[(1,)](x, *rest, **config)
            mine, direct = gpu.launches[-2:]
            assert mine[:5] == direct[:5]
            assert all(a is b or a == b for a, b in zip(mine[5], direct[5], strict=True))
    seeds_apart = {key for key in kernel._fast.ready if 7 in key}
    assert not seeds_apart  # a seed that is not specialized is no part of the key
    declared.device_caches.clear()
