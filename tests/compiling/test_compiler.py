"""Real ahead-of-time compilations for GPUs that are not there."""

import gc
import re

import pynvml
import pytest
import torch
from triton.backends.amd.driver import HIPDriver
from triton.backends.nvidia.driver import CudaDriver
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from autotune_lab.compiling.ahead import compiling_only
from autotune_lab.compiling.compiler import compile_config
from autotune_lab.compiling.targets import TARGETS
from autotune_lab.definitions import Problem
from autotune_lab.records import TrialState
from autotune_lab.spaces.config import Config
from tests.compiling import kernels

FP16 = kernels.matmul.problems[0]


def compile_matmul(architecture, m, n, k, *, warps, stages, problem=FP16):
    config = Config(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, num_warps=warps, num_stages=stages)
    return compile_config(kernels.matmul, problem, config, TARGETS[architecture].model())


def compile_copy(definition, block=64, *, problem=None, architecture="sm_90"):
    model = TARGETS[architecture].model()
    return compile_config(definition, problem or definition.problems[0], Config(BLOCK=block), model)


@pytest.mark.parametrize(
    ("architecture", "stages", "shared_bytes", "state"),
    [
        ("sm_90", 5, 163_840, TrialState.OK),
        ("sm_89", 5, 131_072, TrialState.OUT_OF_RESOURCES),
        ("sm_120", 5, 131_072, TrialState.OUT_OF_RESOURCES),
        ("sm_89", 4, 98_304, TrialState.OK),
        ("sm_120", 4, 98_304, TrialState.OK),
    ],
)
def test_legality_on_a_gpu_that_is_not_there(architecture, stages, shared_bytes, state):
    outcome = compile_matmul(architecture, 128, 128, 64, warps=8, stages=stages)
    assert (outcome.state, outcome.resources.shared_bytes) == (state, shared_bytes)
    assert outcome.measurement is None
    if state is TrialState.OUT_OF_RESOURCES:
        assert f"shared memory, Required: {shared_bytes}" in outcome.reason
        assert "Hardware limit: 101376" in outcome.reason


def test_what_compiles_but_can_not_be_launched_is_out_of_resources():
    outcome = compile_matmul("sm_90", 256, 256, 64, warps=8, stages=4)
    assert outcome.state is TrialState.OUT_OF_RESOURCES
    assert outcome.resources.shared_bytes == 262_144
    assert outcome.reason == (
        "out of resource: shared memory, Required: 262144, Hardware limit: 232448"
    )
    assert outcome.resources.spill_bytes > 0


def test_stages_cost_shared_memory_as_in_a_real_launch():
    """Without the alignment of the real arguments all four would need the same."""
    needs = [
        compile_matmul("sm_90", 128, 128, 64, warps=8, stages=stages).resources.shared_bytes
        for stages in (2, 3, 4)
    ]
    assert needs == sorted(set(needs))


def test_each_refusal_has_its_state_and_the_line_that_says_why():
    illegal = compile_matmul("sm_90", 64, 64, 64, warps=3, stages=2)
    assert illegal.state is TrialState.ILLEGAL
    assert illegal.reason == "num_warps=3 is not a power of two"
    odd_block = compile_matmul("sm_90", 48, 64, 64, warps=4, stages=2)
    assert odd_block.state is TrialState.COMPILE_ERROR
    assert "arange's range must be a power of 2" in odd_block.reason
    assert "\n" not in odd_block.reason
    assert "CompilationError" in odd_block.detail
    many_warps = compile_matmul("sm_90", 128, 128, 64, warps=64, stages=2)
    assert many_warps.state is TrialState.COMPILE_ERROR
    assert re.search("PTX codegen error: ptxas.* fatal", many_warps.reason)
    fewer_registers = compile_matmul("sm_90", 64, 64, 64, warps=64, stages=2)
    assert fewer_registers.state is TrialState.OUT_OF_RESOURCES
    assert "threads, Required: 2048, Hardware limit: 1024" in fewer_registers.reason


def test_resources_of_a_small_kernel_are_read_back():
    outcome = compile_copy(kernels.copy)
    assert outcome.state is TrialState.OK
    resources = outcome.resources
    assert (resources.shared_bytes, resources.spill_bytes, resources.stack_bytes) == (0, 0, 0)
    assert (resources.threads, resources.num_ctas, resources.launches) == (128, 1, 1)
    assert 0 < resources.registers <= 255
    assert 0 < resources.compile_ms <= outcome.elapsed_ms


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_100", "gfx942", "gfx1100"])
def test_other_architectures_compile_here_too(architecture):
    outcome = compile_copy(kernels.copy, architecture=architecture)
    assert outcome.state is TrialState.OK
    assert outcome.resources.registers > 0
    assert outcome.resources.threads == 4 * TARGETS[architecture].warp_size


def test_a_launch_may_start_several_kernels_and_ask_for_the_device():
    resources = compile_copy(kernels.several).resources
    assert resources.launches == 2
    assert resources.threads == 256


def test_inputs_that_depend_on_drawn_values_are_made_without_a_gpu():
    assert compile_copy(kernels.drawn).resources.launches == 1


@pytest.mark.parametrize(
    ("definition", "line"),
    [(kernels.reading, "item"), (kernels.odd, "never seen before")],
)
def test_a_launch_that_needs_the_gpu_is_left_to_it(definition, line):
    outcome = compile_copy(definition)
    assert outcome.state is TrialState.OK
    assert outcome.resources is None
    assert outcome.reason.startswith("not compiled ahead: ")
    assert line in outcome.reason
    assert "\n" not in outcome.reason


def test_the_second_compilation_finds_the_first_in_the_cache(triton_cache):
    compile_copy(kernels.copy)
    entries = sorted(triton_cache.rglob("*.cubin"))
    again = compile_copy(kernels.copy)
    assert len(entries) == 1
    assert sorted(triton_cache.rglob("*.cubin")) == entries
    assert again.resources.compile_ms < 1000


@pytest.mark.parametrize(("offset", "alignment"), [(0, 16), (4, 16), (1, 1), (2, 1)])
def test_a_view_is_compiled_with_its_own_alignment(triton_cache, offset, alignment):
    compile_copy(kernels.copy, problem=Problem(n=1024, offset=offset))
    (source,) = triton_cache.rglob("*.ttir")
    argument = re.search(r"%x_ptr: !tt.ptr<f32>( {tt.divisibility = 16)?", source.read_text())
    assert (argument.group(1) is not None) == (alignment == 16)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Triton's __del__
@pytest.mark.parametrize("name", ["copy_kernel.json", "__grp__copy_kernel.json"])
def test_a_damaged_cache_is_set_aside_and_costs_nothing(triton_cache, name):
    compile_copy(kernels.copy)
    (path,) = triton_cache.rglob(name)
    path.write_text('{"garbage')
    outcome = compile_copy(kernels.copy)
    gc.collect()
    assert outcome.state is TrialState.OK
    assert outcome.resources.launches == 1
    if not name.startswith("__grp__"):  # Triton itself rewrites a group that it can't read
        assert str(path) in outcome.detail
        assert path.with_suffix(".damaged").read_text() == '{"garbage'


def test_no_driver_is_asked_for_anything(monkeypatch):
    calls = []
    monkeypatch.setattr(torch._C, "_cuda_init", lambda: calls.append("torch"), raising=False)
    monkeypatch.setattr(pynvml, "nvmlInit", lambda: calls.append("nvml"))
    for driver_class in (CudaDriver, HIPDriver):
        monkeypatch.setattr(driver_class, "__init__", lambda self: calls.append("triton"))
        monkeypatch.setattr(driver_class, "is_active", lambda: calls.append("triton"))
    assert compile_copy(kernels.several).resources.launches == 2
    assert compile_copy(kernels.copy, architecture="gfx942").resources.launches == 1
    assert calls == []


def test_the_process_is_left_as_it_was():
    before = (JITFunction.run, torch.cuda.is_available, driver._active)
    compile_copy(kernels.copy)
    compile_copy(kernels.odd)
    assert (JITFunction.run, torch.cuda.is_available, driver._active) == before
    assert not kernels.copy_kernel.device_caches
    assert torch.zeros(1, device="cpu").device.type == "cpu"


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_a_launch_with_real_tensors_finds_what_was_compiled_without_data(triton_cache, offset):
    problem = Problem(n=1024, offset=offset)
    compile_copy(kernels.copy, problem=problem)
    compiled = sorted(triton_cache.rglob("*.cubin"))
    real = kernels.copy.inputs(problem, torch.device("cpu"), torch.Generator())
    with compiling_only(TARGETS["sm_90"].model()) as launched:
        kernels.copy.launch(real, Config(BLOCK=64))
    assert real["x"].data_ptr() > 0
    assert len(launched) == len(compiled) == 1
    assert sorted(triton_cache.rglob("*.cubin")) == compiled
