"""Jobs in a real process on the fake device: whatever one does to it costs its own outcome."""

import dataclasses
import os
import time
from pathlib import Path

import pytest

from autotune_lab.errors import DeviceBusy, NoDevice, UsageError
from autotune_lab.execution.inline import InlineExecutor
from autotune_lab.execution.opening import open_executor
from autotune_lab.execution.process import ProcessExecutor
from autotune_lab.processes import wait
from autotune_lab.records import Limits, MeasureJob, Protocol, Source, TrialState
from autotune_lab.spaces.config import Config
from tests.execution import kernels

FILE = Path(kernels.__file__)
PROTOCOL = Protocol(warmup_ms=0.0, min_samples=20, max_samples=20, budget_ms=60_000.0)


def job(mode, name="harm"):
    return MeasureJob(
        kernel=f"{FILE}:{name}",
        problem=kernels.harm.problems[0],
        config=Config(MODE=mode),
        protocol=PROTOCOL,
    )


def finish(executor, a_job):
    executor.submit(a_job)
    while (outcome := executor.collect()) is None:
        wait(executor.children, 60)
    return outcome


@pytest.fixture
def open_process(tmp_path):
    opened = []

    def open_process(spec="fake", run_s=30.0, **options):
        executor = ProcessExecutor(spec, Limits(run_s=run_s), log_dir=tmp_path, **options)
        opened.append(executor)
        return executor

    yield open_process
    for executor in opened:
        executor.close()


def test_a_crash_costs_one_outcome_and_one_fresh_process(open_process):
    executor = open_process()
    hello = executor.start()
    assert hello.device.source is Source.FAKE
    assert hello.pid not in (0, os.getpid())
    modes = ["good", "slow", "abort", "good", "exit", "slow", "good", "segfault"]
    outcomes = [finish(executor, job(mode)) for mode in modes]
    assert [outcome.state.value for outcome in outcomes] == [
        "ok", "ok", "crashed", "ok", "crashed", "ok", "ok", "crashed",
    ]  # fmt: skip
    medians = [outcome.measurement.median_ms for outcome in outcomes if outcome.measurement]
    assert medians == [1.0, 2.0, 1.0, 2.0, 1.0]
    assert executor.starts == 4  # the first, and one after each death to see what is still there
    abort, exited, segfault = outcomes[2], outcomes[4], outcomes[7]
    assert "SIGABRT" in abort.reason
    assert "about to abort" in abort.detail
    assert exited.reason == "ended with exit code 7"
    assert exited.detail == "leaving"
    assert "SIGSEGV" in segfault.reason
    assert "kernels.py" in segfault.detail


def test_a_crash_half_way_keeps_the_count_of_launches(open_process):
    executor = open_process()
    executor.start()
    outcome = finish(executor, job("segfault_later"))
    assert outcome.state is TrialState.CRASHED
    assert outcome.launches == 7
    assert outcome.measurement is None
    assert finish(executor, job("good")).launches == 20


def test_a_hang_is_a_time_out_and_never_overlaps_the_next_job(open_process, tmp_path, monkeypatch):
    monkeypatch.setenv("STAMPS", str(tmp_path))
    executor = open_process(run_s=1.0)
    executor.start()
    finish(executor, job("good"))  # draws the inputs
    hung = finish(executor, job("stamp_slow"))
    assert hung.state is TrialState.TIMEOUT
    assert 1000 <= hung.elapsed_ms < 2000
    assert hung.measurement is None
    good = finish(executor, job("stamp"))
    assert good.state is TrialState.OK
    assert good.measurement.median_ms == 1.0
    assert not (tmp_path / "stamp_slow.end").exists()
    first_start = float((tmp_path / "stamp_slow.start").read_text())
    assert float((tmp_path / "stamp.start").read_text()) > first_start + 1.0


def test_what_a_launch_raises_leaves_the_process_alive(open_process):
    executor = open_process()
    executor.start()
    outcome = finish(executor, job("raise"))
    assert outcome.state is TrialState.LAUNCH_ERROR
    assert "KeyError" in outcome.detail
    assert finish(executor, job("good")).state is TrialState.OK
    assert executor.starts == 1


def test_output_in_between_does_no_harm(open_process):
    executor = open_process()
    executor.start()
    assert finish(executor, job("floods")).measurement.median_ms == 1.0


def test_the_process_is_renewed_every_few_jobs(open_process):
    executor = open_process(recycle_after=2)
    executor.start()
    pids = [finish(executor, job("pid")).measurement.median_ms for _ in range(5)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]
    assert executor.starts == 3


def test_a_device_that_is_not_there_is_one_line_at_start(open_process, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    executor = open_process("cuda:0")
    with pytest.raises(NoDevice, match="--device replay"):
        executor.start()
    assert executor.children[0].pid is None


def test_a_wrong_kernel_file_is_an_error_with_the_reason(open_process, tmp_path):
    executor = open_process()
    executor.start()
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0\n")
    with pytest.raises(UsageError, match=r"broken.py:1: ZeroDivisionError"):
        finish(executor, dataclasses.replace(job("good"), kernel=str(broken)))
    with pytest.raises(UsageError):
        finish(executor, job("good", "unstable"))
    assert finish(executor, job("good")).state is TrialState.OK


def test_one_study_per_device(open_process, tmp_path):
    first, second, other = map(open_process, ("fake:1", "fake:1@64sm", "fake:2"))
    first.start()
    with pytest.raises(DeviceBusy, match=f"pid {os.getpid()}"):
        second.start()
    assert second.children[0].pid is None
    assert other.start().device.uuid == "fake-2"
    first.close()
    assert second.start().device.model.partition == "64sm"


def test_closing_ends_the_process_even_inside_a_job(open_process):
    executor = open_process()
    hello = executor.start()
    executor.submit(job("hang"))
    time.sleep(0.3)
    executor.close()
    executor.close()
    assert not Path(f"/proc/{hello.pid}").exists()


def test_an_executor_is_chosen_by_what_the_device_says(tmp_path):
    assert isinstance(open_executor("fake", Limits(), log_dir=tmp_path), ProcessExecutor)
    assert isinstance(open_executor("interpreter", Limits(), log_dir=tmp_path), ProcessExecutor)
    assert isinstance(open_executor("replay", Limits(), log_dir=tmp_path), InlineExecutor)
    with pytest.raises(UsageError, match="abacus"):
        open_executor("abacus", Limits(), log_dir=tmp_path)


def test_inline_and_process_answer_alike(open_process, tmp_path):
    inline, process = InlineExecutor("fake", Limits()), open_process()
    hellos = [executor.start() for executor in (inline, process)]
    assert hellos[0].device == hellos[1].device
    assert hellos[0].environment == hellos[1].environment
    assert hellos[0].pid == os.getpid() != hellos[1].pid
    for mode in ("good", "slow", "raise"):
        one, other = (finish(executor, job(mode)) for executor in (inline, process))
        assert (one.state, one.reason, one.launches) == (other.state, other.reason, other.launches)
        if one.measurement:
            assert one.measurement.samples_ms == other.measurement.samples_ms
    assert inline.collect() is None
    assert list(inline.children) == []
    inline.submit(job("good"))
    with pytest.raises(RuntimeError, match="busy"):
        inline.submit(job("good"))
    inline.close()
    with pytest.raises(RuntimeError, match="not started"):
        inline.submit(job("good"))
