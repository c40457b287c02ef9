"""Real child processes that crash, hang, print and start processes of their own."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autotune_lab.errors import DefinitionError, NoDevice, UsageError
from autotune_lab.processes import Child, Lost, wait

ROOT = Path(__file__).parents[2]


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    children = []

    def make(*arguments, **options):
        child = Child(
            "tests.processes.a_child",
            name="the child",
            log_path=tmp_path / f"{len(children)}.log",
            arguments=arguments,
            **options,
        )
        children.append(child)
        return child

    yield make
    for child in children:
        child.kill()


def is_gone(pid, within_s=5.0):
    """True once no such process runs; one that waits to be reaped by its parent is gone."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_a_child_starts_at_its_first_message_and_answers_many(make):
    child = make()
    assert child.starts == 0
    assert child.pid is None
    answers = [child.call({"do": "echo", "text": text}, 5) for text in ("a", "ü", "x" * 200_000)]
    assert [answer["said"] for answer in answers] == ["a", "ü", "x" * 200_000]
    assert {answer["pid"] for answer in answers} == {child.pid}
    assert child.starts == 1


def test_a_child_is_in_a_group_of_its_own_so_ctrl_c_does_not_reach_it(make):
    child = make()
    answer = child.call({"do": "echo", "text": ""}, 5)
    assert answer["group"] == answer["pid"] != os.getpgrp()


@pytest.mark.parametrize(
    ("message", "kind", "code", "text"),
    [
        ({"do": "abort"}, "signal", signal.SIGABRT, "SIGABRT"),
        ({"do": "segfault"}, "signal", signal.SIGSEGV, "SIGSEGV"),
        ({"do": "exit", "code": 7}, "exit", 7, "exit code 7"),
        ({"do": "exit", "code": 0}, "exit", 0, "exit code 0"),
        ({"do": "raise"}, "exit", 1, "exit code 1"),
    ],
)
def test_a_death_is_a_loss_with_its_cause_and_the_next_message_finds_a_fresh_child(
    make, message, kind, code, text
):
    child = make()
    lost = child.call(message, 5)
    assert isinstance(lost, Lost)
    assert (lost.kind, lost.code) == (kind, code)
    assert text in str(lost)
    assert not lost.before_ready
    assert child.call({"do": "echo", "text": "again"}, 5)["said"] == "again"
    assert child.starts == 2


def test_a_loss_carries_the_last_lines_and_the_last_progress(make):
    child = make()
    lost = child.call({"do": "segfault"}, 5)
    assert "Segmentation fault" in lost.log_tail
    assert "a_child.py" in lost.log_tail
    assert lost.progress == 7
    lost = child.call({"do": "exit", "code": 3}, 5)
    assert lost.log_tail == "leaving with 3"
    assert lost.progress == 0


def test_a_hang_is_ended_at_its_deadline(make):
    child = make()
    child.call({"do": "echo", "text": "warm"}, 5)
    started = time.monotonic()
    lost = child.call({"do": "hang"}, 0.5)
    assert time.monotonic() - started < 1.5
    assert lost.kind == "timeout"
    assert 500 <= lost.elapsed_ms < 1500
    assert lost.progress == 3
    assert child.pid is None


def test_the_deadline_counts_from_when_the_child_is_ready(make):
    child = make("slow_start")
    assert child.call({"do": "echo", "text": "late"}, 0.5)["said"] == "late"


def test_a_start_has_a_limit_of_its_own(make):
    lost = make("slow_start", start_s=0.3).call({"do": "echo", "text": ""}, 60)
    assert lost.kind == "timeout"
    assert lost.before_ready


def test_a_child_that_dies_while_starting_says_so(make):
    lost = make("dead_start").call({"do": "echo", "text": ""}, 5)
    assert (lost.kind, lost.code, lost.before_ready) == ("exit", 9, True)
    assert lost.log_tail == "can't load the compiler"


def test_a_late_answer_is_a_time_out_even_if_nobody_looked_in_time(make):
    child = make()
    child.call({"do": "echo", "text": "warm"}, 5)
    child.send({"do": "print"}, 1e-9)
    time.sleep(0.3)
    assert child.poll().kind == "timeout"


def test_floods_of_output_neither_block_nor_break_the_protocol(make, tmp_path):
    child = make()
    for _ in range(8):
        assert child.call({"do": "print"}, 10) == {"printed": True}
    assert (tmp_path / "0.log").stat().st_size < 2 * 2**20
    lost = child.call({"do": "exit", "code": 1}, 5)
    assert lost.log_tail == "leaving with 1"


def test_what_a_child_started_ends_with_it(make, tmp_path):
    child = make()
    lost = child.call({"do": "grandchild", "path": str(tmp_path / "pid")}, 1.0)
    assert lost.kind == "timeout"
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_bytes_that_are_no_frame_end_the_child(make):
    lost = make().call({"do": "garbage"}, 5)
    assert lost.kind == "protocol"
    assert lost.elapsed_ms < 5000


def test_errors_of_the_lab_cross_by_class_and_leave_the_child_alive(make):
    child = make()
    with pytest.raises(UsageError, match="kernel 'x': one fault; another") as caught:
        child.call({"do": "bad_definition"}, 5)
    assert not isinstance(caught.value, DefinitionError)  # its own arguments did not cross
    assert not child.busy
    child.call({"do": "echo", "text": ""}, 5)
    assert child.starts == 1
    with pytest.raises(NoDevice, match="no such device"):
        make("no_device").call({"do": "echo", "text": ""}, 5)


def test_variables_are_set_before_the_child_starts(make):
    child = make(env={"CUDA_VISIBLE_DEVICES": "GPU-1"})
    answer = child.call({"do": "environment", "name": "CUDA_VISIBLE_DEVICES"}, 5)
    assert answer == {"value": "GPU-1"}
    assert os.environ.get("CUDA_VISIBLE_DEVICES") != "GPU-1"


def test_a_child_that_died_while_idle_is_replaced_without_a_loss(make):
    child = make()
    child.call({"do": "echo", "text": ""}, 5)
    os.kill(child.pid, signal.SIGKILL)
    select.select([child.exit_fileno()], [], [], 5)
    assert child.call({"do": "echo", "text": "well"}, 5)["said"] == "well"
    assert child.starts == 2


def test_a_busy_child_takes_no_second_message(make):
    child = make()
    child.send({"do": "hang"}, 5)
    with pytest.raises(RuntimeError, match="busy"):
        child.send({"do": "echo", "text": ""}, 5)


def test_wait_names_the_children_that_answered_died_or_ran_out_of_time(make):
    quick, dying, slow, idle = (make() for _ in range(4))
    everyone = [quick, dying, slow, idle]
    for child in everyone:
        child.call({"do": "echo", "text": "warm"}, 10)
    slow.send({"do": "hang"}, 1.0)
    dying.send({"do": "abort"}, 30)
    quick.send({"do": "echo", "text": "done"}, 30)
    answers = {}
    while len(answers) < 3:
        for child in wait(everyone, 10):
            if (answer := child.poll()) is not None:
                answers[child] = answer
    assert answers[quick]["said"] == "done"
    assert answers[dying].kind == "signal"
    assert answers[slow].kind == "timeout"
    assert wait(everyone, 0.0) == []


def test_no_descriptor_is_left_open(make):
    child = make()
    child.call({"do": "echo", "text": ""}, 5)
    child.kill()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        child.call({"do": "exit", "code": 1}, 5)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_child_started_from_a_thread_outlives_the_thread(make):
    child = make()
    thread = threading.Thread(target=lambda: child.call({"do": "echo", "text": ""}, 5))
    thread.start()
    thread.join()
    time.sleep(1.5)
    assert child.call({"do": "echo", "text": "here"}, 5)["said"] == "here"
    assert child.starts == 1


PARENT = """
import sys, time
from pathlib import Path
from autotune_lab.processes import Child
child = Child("tests.processes.a_child", name="child", log_path=Path(sys.argv[1]) / "log")
child.call({"do": "echo", "text": ""}, 20)
child.send({"do": sys.argv[2], "path": sys.argv[1] + "/grandchild"}, 600)
time.sleep(0.5)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("doing", ["hang", "hang_holding_the_lock", "grandchild"])
def test_a_child_dies_with_its_parent_however_that_ends(tmp_path, ending, doing):
    command = [sys.executable, "-c", PARENT, str(tmp_path), doing]
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    parent = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        pid = int(parent.stdout.readline())
        assert not is_gone(pid, 0.05)
        parent.send_signal(ending)
        parent.wait(5)
        assert is_gone(pid)
        if doing == "grandchild":
            assert is_gone(int((tmp_path / "grandchild").read_text()))
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
        parent.kill()
        parent.wait()
        parent.stdout.close()
