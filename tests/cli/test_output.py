"""What a store or a file holds is shown on a terminal, and never steers it."""

import json

import pytest

from autotune_lab.cli import output
from autotune_lab.cli.commands import watch
from autotune_lab.records import TrialState
from autotune_lab.store.progress import Progress

HOSTILE = "a\x1b[2J\x1b]0;owned\x07\nb\x9b31m\u202ec\ud800"


def assert_harmless(text):
    text.encode()
    assert not set("\x1b\x07\x9b\u202e") & set(text)


@pytest.mark.parametrize("value", [HOSTILE, [HOSTILE, 1], (HOSTILE,), {"k": HOSTILE}])
def test_a_cell_has_no_control_characters(value):
    shown = output.cell(value)
    assert_harmless(shown)
    assert "\n" not in shown


def test_tables_are_harmless(capsys):
    output.show([{"kernel": HOSTILE, "ms": 1.5}], as_json=False, title="x")
    assert_harmless(capsys.readouterr().out)


def test_json_is_harmless_and_says_the_same(capsys):
    output.show([{HOSTILE: HOSTILE, "é": "ü’"}], as_json=True)
    text = capsys.readouterr().out
    assert_harmless(text)
    assert "ü’" in text
    assert json.loads(text) == [{HOSTILE: HOSTILE, "é": "ü’"}]


def test_a_line_of_watch_is_harmless():
    entry = Progress(
        study=HOSTILE, run_id=1, host="h", pid=1, kernel=HOSTILE, problem=HOSTILE,
        device_model=HOSTILE, source="gpu", trials={TrialState.OK: 1}, best_ms=1.0,
        started_at="", last_at="",
    )  # fmt: skip
    line = watch.line(entry)
    assert_harmless(line)
    assert len(line.splitlines()) == 1
