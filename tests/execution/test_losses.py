"""What happens to the device or its process from outside is never held against a config."""

import os
import signal

import pytest

from autotune_lab.errors import DeviceLost, NoDevice, WorkerLost
from autotune_lab.execution.process import ProcessExecutor
from autotune_lab.processes import wait
from autotune_lab.records import Limits, TrialState
from tests.execution.test_process import finish, job


@pytest.fixture
def gone(tmp_path):
    """A file; while it is there, the device is not."""
    return tmp_path / "gone"


@pytest.fixture
def executor(tmp_path, gone):
    made = ProcessExecutor(f"fake:gone={gone}", Limits(run_s=30.0), log_dir=tmp_path)
    yield made
    made.close()


def outcome_of(executor):
    while (outcome := executor.collect()) is None:
        wait(executor.children, 60)
    return outcome


def kill(executor):
    os.kill(executor.children[0].pid, signal.SIGKILL)


def test_a_device_that_falls_off_in_a_launch_is_lost_and_no_config_is_to_blame(executor, gone):
    executor.start()
    gone.touch()
    with pytest.raises(DeviceLost, match=r"the device is lost .*same command goes on") as caught:
        finish(executor, job("good"))
    assert not isinstance(caught.value, NoDevice)
    assert not executor.busy
    with pytest.raises(DeviceLost):
        executor.start()
    gone.unlink()
    assert executor.start().device.uuid == "fake-0"


def test_a_device_that_was_never_there_is_absent_and_not_lost(executor, gone):
    gone.touch()
    with pytest.raises(NoDevice):
        executor.start()


def test_a_job_whose_process_somebody_kills_runs_again_once(executor):
    executor.submit(job("good"))
    kill(executor)  # while it starts
    outcome = outcome_of(executor)
    assert (outcome.state, outcome.launches) == (TrialState.OK, 20)
    assert executor.starts == 2
    executor.submit(job("hang"))
    kill(executor)
    while executor.starts == 2:
        wait(executor.children, 60)
        assert executor.collect() is None
    while not executor.children[0]._process.is_ready:
        wait(executor.children, 1)
        assert executor.collect() is None
    kill(executor)
    outcome = outcome_of(executor)
    assert outcome.state is TrialState.CRASHED
    assert "SIGKILL" in outcome.reason


def test_a_process_that_can_not_start_is_no_fault_of_a_config(tmp_path, monkeypatch):
    executor = ProcessExecutor("fake", Limits(), log_dir=tmp_path)
    monkeypatch.setattr(executor._child, "_command", ("tests.no_such_module", ()))
    with pytest.raises(WorkerLost, match="no_such_module"):
        executor.start()
