"""A live process is told from a dead one, and from one that was given its number."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from autotune_lab.store.liveness import Owner, is_alive, moment, process_start, this_process

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LONG_AGO = moment(NOW - timedelta(days=3))


def test_this_process_is_alive_however_long_it_was_silent():
    assert is_alive(this_process(), LONG_AGO, NOW)


def test_another_process_of_the_same_number_is_not_the_owner():
    owner = replace(this_process(), process_start="another boot/1")
    assert not is_alive(owner, moment(NOW), NOW)


def test_a_process_that_has_ended_is_dead_even_before_it_is_waited_for():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = Owner(this_process().host, child.pid, process_start(child.pid))
    assert is_alive(owner, LONG_AGO, NOW)
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(owner, moment(NOW), NOW)
    child.wait()
    assert process_start(child.pid) == ""
    assert not is_alive(owner, moment(NOW), NOW)


def test_a_process_elsewhere_is_alive_for_ten_minutes_after_its_last_word():
    elsewhere = replace(this_process(), host="elsewhere/1", process_start="")
    assert is_alive(elsewhere, moment(NOW - timedelta(minutes=9)), NOW)
    assert not is_alive(elsewhere, moment(NOW - timedelta(minutes=11)), NOW)
    assert is_alive(elsewhere, moment(NOW + timedelta(hours=1)), NOW), "its clock may be ahead"
    assert not is_alive(elsewhere, "no time", NOW)


def test_moments_are_utc_and_sort_as_text():
    local = datetime.fromisoformat("2026-01-02T05:04:05+02:00")
    assert moment(local) == moment(NOW) == "2026-01-02T03:04:05.000000+00:00"
    assert moment(NOW) < moment(NOW + timedelta(microseconds=1))
