import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab.reporting.markdown import escape


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a|b", "a\\|b"),
        ("[x](javascript:1)", "\\[x\\](javascript:1)"),
        ("two\nlines", "two lines"),
        ("row_softmax", "row\\_softmax"),
        ("`code`", "\\`code\\`"),
        ("- item", "\\- item"),
        ("a - b", "a - b"),
        ("# head", "\\# head"),
        ("&amp;", "&amp;amp;"),
        ("M=4096 N=16", "M=4096 N=16"),
    ],
)
def test_text_becomes_literal(text, literal):
    assert escape(text) == literal


@given(st.text())
def test_no_text_ends_a_cell_a_line_or_opens_a_tag(text):
    literal = escape(text)
    assert "\n" not in literal
    assert "\r" not in literal
    assert "<" not in literal
    bare = literal.replace("\\\\", "")
    assert bare.count("|") == bare.count("\\|")
    assert bare.count("[") == bare.count("\\[")
