"""What timing means on a real GPU; the thresholds were set on an H200."""

import dataclasses
import statistics
import subprocess
import sys
import time

import pytest

from autotune_lab import Problem, catalog
from autotune_lab.devices.opening import open_device
from autotune_lab.errors import UsageError
from autotune_lab.execution.process import ProcessExecutor
from autotune_lab.measuring.ceilings import measure_ceilings
from autotune_lab.measuring.inputs import ProblemCache
from autotune_lab.measuring.protocol import measure
from autotune_lab.processes import wait
from autotune_lab.records import (
    FLAG_CONTENDED,
    FLAG_LAUNCH_BOUND,
    Limits,
    MeasureJob,
    Protocol,
    TrialState,
)
from autotune_lab.spaces.config import Config
from tests.gpu import kernels

COLD, HOT = Protocol(), Protocol(cache="hot")
GRAPH = Protocol(cache="hot", timer="graph")
MIB = 2**20 // 4  # elements of float32


@pytest.fixture(scope="module")
def device():
    return open_device("cuda:0")


@pytest.fixture(scope="module")
def cache():
    return ProblemCache()


@pytest.fixture
def timed(device, cache):
    """Measure a copy of some MiB, or another kernel, and return its outcome."""

    def run(mib=64, protocol=COLD, definition=kernels.copy, **config):
        problem = Problem(n=mib * MIB, dtype="float32")
        chosen = Config(config or {"BLOCK": 4096})
        job = MeasureJob(definition.name, problem, chosen, protocol)
        return measure(definition, device, job, cache=cache)

    return run


def median_ms(outcome):
    assert outcome.state is TrialState.OK, f"{outcome.reason}\n{outcome.detail}"
    return outcome.measurement.median_ms


def test_a_small_copy_is_faster_from_a_hot_l2(timed):
    assert median_ms(timed(8, COLD)) > 1.3 * median_ms(timed(8, HOT))


def test_a_copy_that_no_l2_holds_is_as_fast_hot_as_cold(timed):
    assert median_ms(timed(2048, HOT)) == pytest.approx(median_ms(timed(2048, COLD)), rel=0.05)


def test_events_and_graphs_agree_above_fifty_microseconds(timed):
    by_events, by_graph = median_ms(timed(512, HOT)), median_ms(timed(512, GRAPH))
    assert by_events > 0.05
    assert by_graph == pytest.approx(by_events, rel=0.10)


def test_a_kernel_of_microseconds_is_launch_bound_by_events_and_shorter_by_graph(timed, device):
    outcome = timed(1, HOT)
    assert FLAG_LAUNCH_BOUND in outcome.measurement.flags
    assert median_ms(timed(1, GRAPH)) < median_ms(outcome)
    assert 0.0005 < device.launch_floor_ms() < 0.02


def test_a_long_kernel_is_not_launch_bound(timed):
    assert FLAG_LAUNCH_BOUND not in timed(512).measurement.flags


def test_host_time_is_not_in_the_kernels_time(timed):
    """A launch that keeps the host busy for 300 us takes the device no longer."""

    def launch(args, config):
        until = time.perf_counter() + 300e-6
        while time.perf_counter() < until:
            pass
        kernels.copy_launch(args, config)

    slow_host = dataclasses.replace(kernels.copy, name="slow_host", launch=launch)
    expected = median_ms(timed(16))
    assert median_ms(timed(16, definition=slow_host)) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("protocol", [COLD, GRAPH], ids=["events", "graph"])
def test_a_side_stream_that_is_not_joined_is_refused(timed, protocol):
    """Some 250 us of copy, which never look like the 5 us that the timed stream sees of it."""
    outcome = timed(512, protocol, definition=kernels.side, joins=False)
    assert outcome.state is TrialState.BAD_TIMING
    assert "stream" in outcome.reason or "captured" in outcome.reason


def test_a_side_stream_that_is_joined_is_timed(timed):
    expected = median_ms(timed(512))
    joined = timed(512, definition=kernels.side, joins=True)
    assert median_ms(joined) == pytest.approx(expected, rel=0.05)


def test_a_large_bystander_is_not_copied(device):
    import torch

    cache = ProblemCache()
    job = MeasureJob(
        "bystander", kernels.bystander.problems[0], Config(BLOCK=4096), Protocol(warmup_ms=0.0)
    )
    if torch.cuda.mem_get_info()[0] < kernels.BYSTANDER_BYTES + 2**31:
        pytest.skip("needs 42 GiB of free device memory")
    before = torch.cuda.memory_allocated()
    outcome = measure(kernels.bystander, device, job, cache=cache)
    peak_rise = torch.cuda.max_memory_allocated() - before - kernels.BYSTANDER_BYTES
    cache.drop()
    torch.cuda.empty_cache()
    assert outcome.state is TrialState.OK
    assert peak_rise < 2**30


def test_a_capture_is_refused_and_stays_usable(timed):
    import torch

    x = torch.zeros(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
        with pytest.raises(UsageError, match="captured"):
            timed()
    graph.replay()
    torch.cuda.synchronize()
    assert x.tolist() == [1.0] * 8


def test_the_shipped_matmul_gives_the_same_bits_twenty_times(device):
    definition, cache = catalog.load("matmul"), ProblemCache()
    problem = Problem(M=1000, N=4000, K=2000, dtype="bfloat16")
    times = []
    for _ in range(20):
        job = MeasureJob("matmul", problem, definition.default_config, COLD)
        times.append(median_ms(measure(definition, device, job, cache=cache)))
    assert statistics.quantiles(times, n=10)[-1] < 1.10 * statistics.median(times)


def test_ceilings_are_those_of_a_gpu_and_quickly_found(device):
    started = time.perf_counter()
    ceilings = measure_ceilings(device)
    assert time.perf_counter() - started < 5.0
    assert ceilings.copy_gbs > 100
    assert ceilings.matmul_tflops["bfloat16"] > ceilings.matmul_tflops["float32"] > 1
    if device.probe().model.architecture in ("sm_89", "sm_90", "sm_100"):
        rates = ceilings.matmul_tflops
        assert rates["float8_e4m3fn"] > 1.2 * rates["bfloat16"]


def test_the_card_tells_its_clocks_and_its_identity(device):
    telemetry, found = device.telemetry(), device.probe()
    assert telemetry.sm_clock_mhz > 100
    assert 1 < telemetry.power_w < 2000
    assert 0 < telemetry.temperature_c < 110
    assert found.uuid.startswith(("GPU-", "MIG-"))
    assert found.model.architecture.startswith(("sm_", "gfx"))
    assert found.model.l2_bytes > 2**20
    assert found.model.max_shared_bytes >= 48 * 1024
    assert found.model.power_limit_w > 0
    assert device.environment().driver
    assert len(device.environment().compiler) == 12


def in_process(spec, tmp_path, *protocols):
    """Measure the copy in a process of its own; a part stays entered as long as its process."""
    executor = ProcessExecutor(spec, Limits(run_s=20.0), log_dir=tmp_path)
    try:
        hello = executor.start()
        outcomes = []
        for protocol in protocols:
            problem, config = Problem(n=64 * MIB, dtype="float32"), Config(BLOCK=4096)
            executor.submit(MeasureJob(f"{kernels.__file__}:copy", problem, config, protocol))
            while (outcome := executor.collect()) is None:
                wait(executor.children, 60)
            outcomes.append(outcome)
        return hello.device.model, outcomes
    finally:
        executor.close()


@pytest.mark.parametrize("asked", ["64sm", "60sm"])
def test_a_part_is_named_by_the_sms_that_launches_run_on(tmp_path, asked):
    model, (outcome, by_graph) = in_process(f"cuda:0@{asked}", tmp_path, COLD, GRAPH)
    assert model.partition == f"{model.sm_count}sm"
    assert int(asked.removesuffix("sm")) <= model.sm_count <= 64
    assert outcome.state is TrialState.OK
    assert by_graph.state is TrialState.BAD_TIMING
    whole, _ = in_process("cuda:0", tmp_path)
    assert whole.id != model.id
    assert whole.sm_count > model.sm_count


def test_a_second_process_finds_the_same_time(tmp_path):
    times = [median_ms(in_process("cuda:0", tmp_path, COLD)[1][0]) for _ in range(2)]
    assert times[0] == pytest.approx(times[1], rel=0.03)


def test_another_process_on_the_card_is_flagged(timed, device):
    code = (
        "import time, torch; a = torch.randn(4096, 4096, device='cuda'); print('on', flush=True);"
        "end = time.time() + 8\n"
        "while time.time() < end: a @ a; torch.cuda.synchronize()"
    )
    rival = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert rival.stdout.readline() == "on\n"
        if not device.telemetry().other_processes:
            pytest.skip("this machine does not show other processes on the card")
        assert FLAG_CONTENDED in timed().measurement.flags
    finally:
        rival.kill()
        rival.wait()
