"""An error is one line that a terminal shows as it is, whatever a store or a file had in it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autotune_lab.errors import (
    AutotuneLabError,
    DefinitionError,
    NoSurvivor,
    StoreError,
    UnknownKernel,
    one_line,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, as it is: ’ü ", "plain, as it is: ’ü "),
        ("two\r\nlines", "two  lines"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("half a pair \ud800", r"half a pair \ud800"),
        ("nul\x00", r"nul\x00"),
    ],
)
def test_control_characters_are_shown_and_not_obeyed(text, shown):
    assert one_line(text) == shown


@given(st.text())
@example("\x85\x9b31m\u2028")
def test_any_text_becomes_one_line_that_can_be_written(text):
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    line.encode()
    assert one_line(line) == line


def test_a_long_message_keeps_its_beginning_and_its_end():
    message = str(StoreError("lab.db: " + "x" * 10**6 + "; restore it from a copy"))
    assert len(message) < 2100
    assert message.startswith("lab.db: xxx")
    assert message.endswith("; restore it from a copy")


@pytest.mark.parametrize(
    "error",
    [
        AutotuneLabError("a\nb"),
        DefinitionError("file\n.py", ["one\x1b[0m", "two"]),
        UnknownKernel("a\nb", ["c\rd"]),
        NoSurvivor("x\ny", {"ok\n": 1}),
    ],
)
def test_every_error_keeps_to_one_line(error):
    assert len(str(error).splitlines()) == 1
    assert "\x1b" not in str(error)
