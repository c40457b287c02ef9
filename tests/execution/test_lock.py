"""One tuner per device: real processes that hold, wait for, and die with a lock."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autotune_lab.errors import DeviceBusy
from autotune_lab.execution.lock import DeviceLock, lock_folder

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from autotune_lab.execution.lock import DeviceLock
lock = DeviceLock(sys.argv[1], folder=Path(sys.argv[2]))
lock.acquire(notify=print)
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def hold(tmp_path):
    """Start processes that hold a lock for as long as they live."""
    holders = []

    def hold(uuid):
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, uuid, str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        holders.append(holder)
        assert holder.stdout.readline() == "held\n"
        return holder

    yield hold
    for holder in holders:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_a_second_tuner_is_refused_and_told_who_holds_the_device(hold, tmp_path):
    holder = hold("GPU-1")
    lines = []
    with pytest.raises(DeviceBusy, match=rf"GPU-1 is in use .*pid {holder.pid}\b"):
        DeviceLock("GPU-1", folder=tmp_path).acquire(notify=lines.append)
    assert lines == []


def test_other_devices_are_free(hold, tmp_path):
    hold("GPU-1")
    lock = DeviceLock("GPU-2", folder=tmp_path)
    lock.acquire(notify=print)
    lock.release()


def test_the_lock_of_a_dead_holder_is_free(hold, tmp_path):
    holder = hold("GPU-1")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock = DeviceLock("GPU-1", folder=tmp_path)
    lock.acquire(notify=print)
    assert (tmp_path / "GPU-1.lock").read_text() == f"{os.getpid()}\n"
    lock.release()


def test_a_waiting_tuner_says_so_once_and_takes_over(hold, tmp_path):
    holder = hold("GPU-1")
    timer = threading.Timer(0.7, holder.kill)
    timer.start()
    lines = []
    lock = DeviceLock("GPU-1", folder=tmp_path)
    lock.acquire(wait_s=10, notify=lines.append)
    lock.release()
    timer.join()
    assert len(lines) == 1
    assert f"held by pid {holder.pid}" in lines[0]


def test_waiting_ends(hold, tmp_path):
    hold("GPU-1")
    with pytest.raises(DeviceBusy):
        DeviceLock("GPU-1", folder=tmp_path).acquire(wait_s=0.3, notify=lambda line: None)


def test_a_released_lock_can_be_taken_again_in_the_same_process(tmp_path):
    for _ in range(2):
        lock = DeviceLock("MIG-1/2:3", folder=tmp_path)
        lock.acquire(notify=print)
        with pytest.raises(DeviceBusy, match=f"pid {os.getpid()}"):
            DeviceLock("MIG-1/2:3", folder=tmp_path).acquire(notify=print)
        lock.release()
        lock.release()
    assert [path.name for path in tmp_path.iterdir()] == ["MIG-1-2-3.lock"]


def test_locks_lie_in_the_users_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert lock_folder() == tmp_path / "autotune-lab"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    assert str(os.getuid()) in lock_folder().name
