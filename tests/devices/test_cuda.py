"""What of the GPU plug-in can be told without a GPU; the rest is in tests/gpu."""

import time
from types import SimpleNamespace

import pytest
import torch

from autotune_lab.devices.base import UntimableError
from autotune_lab.devices.cuda.events import elapsed
from autotune_lab.devices.cuda.nvml import Card, count_others
from autotune_lab.devices.cuda.software import (
    compiler_build,
    read_environment,
    steering_variables,
)
from autotune_lab.devices.cuda.streams import run_alone
from autotune_lab.records import Telemetry


class Stamp:
    def __init__(self, ms):
        self.ms = ms

    def elapsed_time(self, end):
        return end.ms - self.ms


def test_times_are_between_the_events_of_a_pair():
    starts, ends = [Stamp(1.0), Stamp(5.0)], [Stamp(1.5), Stamp(7.0)]
    assert elapsed(starts, ends) == [0.5, 2.0]


def test_events_that_run_backwards_make_the_host_unusable_for_them():
    starts, ends = [Stamp(1.0), Stamp(5.0)], [Stamp(1.5), Stamp(4.0)]
    with pytest.raises(UntimableError, match=r"backwards here.*use timer 'graph'"):
        elapsed(starts, ends)


@pytest.mark.parametrize(
    ("name", "steers"),
    [
        ("TRITON_DEFAULT_FP_FUSION", True),
        ("TRITON_F32_DEFAULT", True),
        ("TRITON_OVERRIDE_ARCH", True),
        ("TRITON_KERNEL_OVERRIDE", True),
        ("TRITON_HIP_USE_BLOCK_PINGPONG", True),
        ("PTXAS_OPTIONS", True),
        ("DISABLE_PTXAS_OPT", True),
        ("CUDA_LAUNCH_BLOCKING", True),
        ("AMDGCN_USE_BUFFER_OPS", True),
        ("TRITON_CACHE_DIR", False),
        ("TRITON_HOME", False),
        ("TRITON_DUMP_DIR", False),
        ("TRITON_KERNEL_DUMP", False),
        ("TRITON_DEBUG", True),
        ("TRITON_PTXAS_PATH", False),
        ("TRITON_PRINT_AUTOTUNING", False),
        ("TRITON_CACHE_AUTOTUNING", False),
        ("TRITON_ALWAYS_COMPILE", False),
        ("AMDGCN_ENABLE_DUMP", False),
        ("HOME", False),
        ("PATH", False),
    ],
)
def test_variables_that_change_the_code_are_part_of_the_environment(name, steers):
    assert (name in steering_variables({name: "1"})) == steers


def test_a_steering_variable_opens_another_environment(monkeypatch):
    before = read_environment("580.1").id
    monkeypatch.setenv("TRITON_CACHE_DIR", "/elsewhere")
    assert read_environment("580.1").id == before
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    assert read_environment("580.1").id != before
    assert read_environment("580.2").differences(read_environment("580.1"))


def test_the_compilers_build_is_the_same_twice_and_short():
    assert compiler_build() == compiler_build()
    assert len(compiler_build()) == 12


def test_a_card_without_a_library_tells_nothing():
    card = Card("GPU-00000000-0000-0000-0000-000000000000")
    assert card.telemetry() == Telemetry()
    assert card.power_limit_w() == 0


@pytest.mark.parametrize(("pids", "others"), [(set(), 0), ({7}, 0), ({7, 8}, 1), ({7, 8, 9}, 2)])
def test_one_of_the_processes_on_the_card_is_this_one(pids, others):
    assert count_others(pids) == others


class FakeStreams:
    """torch.cuda with a device that is busy for ``pending_ms`` after each launch."""

    def __init__(self, monkeypatch, pending_ms):
        self.pending_ms = pending_ms
        self.launches = 0
        self.is_busy = False
        monkeypatch.setattr(torch.cuda, "synchronize", self.synchronize)
        monkeypatch.setattr(torch.cuda, "Event", self)
        monkeypatch.setattr(torch._C, "_cuda_setStream", lambda **stream: None, raising=False)

    def __call__(self):
        return SimpleNamespace(record=lambda: None, synchronize=lambda: None)

    def synchronize(self):
        """Spin, as the driver does: a sleep would end whenever the machine has time for it."""
        until = time.perf_counter() + self.pending_ms / 1e3
        while self.is_busy and time.perf_counter() < until:
            pass
        self.is_busy = False

    def launch(self):
        self.launches += 1
        self.is_busy = True

    def launch_elsewhere(self):
        self.launch()
        torch.cuda._set_stream_by_id(1, 0, 1)


def test_work_that_another_stream_goes_on_with_is_refused(monkeypatch):
    streams = FakeStreams(monkeypatch, pending_ms=0.25)
    with pytest.raises(UntimableError, match="another stream"):
        run_alone(streams.launch_elsewhere)
    assert streams.launches > 2


def test_a_host_that_is_late_refuses_nothing_where_no_stream_was_changed(monkeypatch):
    streams = FakeStreams(monkeypatch, pending_ms=0.25)
    run_alone(streams.launch)
    assert 1 <= streams.launches < 5


def test_a_stream_that_torch_does_not_know_is_found_by_long_work(monkeypatch):
    streams = FakeStreams(monkeypatch, pending_ms=5.0)
    with pytest.raises(UntimableError, match="another stream"):
        run_alone(streams.launch)


def test_noticing_streams_leaves_torch_as_it_was(monkeypatch):
    streams = FakeStreams(monkeypatch, pending_ms=0.0)
    before = torch._C._cuda_setStream
    run_alone(streams.launch_elsewhere)
    assert torch._C._cuda_setStream is before
