"""Two tuners: on one device the second waits or goes away, on two devices they run side by side."""

import time

import pytest

HELPERS = "import os, time\nfrom pathlib import Path\n"
SLOW = """\
args['out'].copy_(args['x'] + 1)
(Path(__file__).parent / f"started_{os.environ['WHO']}").touch()
time.sleep(0.2)
return 1.0
"""


def start(lab, who, device):
    return lab.start(
        "--store", f"{who}.db", "tune", lab.reference, "--device", device, env={"WHO": who}
    )


def wait_until_started(lab, who, process):
    marker = lab.root / f"search_spaces/started_{who}"
    while not marker.exists():
        assert process.poll() is None, process.printed("stderr")
        time.sleep(0.05)


@pytest.fixture
def slow(lab):
    lab.write(space="Space(a=range(40))", launch=SLOW, helpers=HELPERS)
    return lab


def test_the_second_tuner_of_a_device_is_told_who_holds_it(slow):
    first = start(slow, "first", "fake:7")
    try:
        wait_until_started(slow, "first", first)
        second = start(slow, "second", "fake:7")
        _, said = second.communicate(timeout=60)
        assert second.returncode == 3
        (line,) = said.splitlines()
        assert "in use by another study" in line
        assert f"(pid {first.pid})" in line
        assert not (slow.root / "search_spaces/started_second").exists()
    finally:
        first.kill()
        first.communicate()


def test_the_lock_of_a_dead_tuner_is_taken_over(slow):
    first = start(slow, "first", "fake:7")
    wait_until_started(slow, "first", first)
    first.kill()
    first.communicate()
    second = start(slow, "second", "fake:7")
    try:
        wait_until_started(slow, "second", second)
    finally:
        second.kill()
        second.communicate()


def test_different_devices_run_side_by_side(slow):
    both = {who: start(slow, who, device) for who, device in (("a", "fake:1"), ("b", "fake:2"))}
    try:
        for who, process in both.items():
            wait_until_started(slow, who, process)
        assert [process.poll() for process in both.values()] == [None, None]
    finally:
        for process in both.values():
            process.kill()
            process.communicate()
