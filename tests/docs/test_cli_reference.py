"""docs/cli.md is what the commands' help says now, and every command is in it."""

import pkgutil
from pathlib import Path

from autotune_lab.cli import commands
from autotune_lab.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs/cli.md"


def test_the_page_is_up_to_date():
    """Else write it again: python -m autotune_lab.cli.reference > docs/cli.md."""
    assert PAGE.read_text(encoding="utf-8") == reference()


def test_every_command_is_in_it():
    text = PAGE.read_text(encoding="utf-8")
    for module in pkgutil.iter_modules(commands.__path__):
        assert f"## autotune-lab {module.name.rstrip('_').replace('_', '-')}\n" in text
