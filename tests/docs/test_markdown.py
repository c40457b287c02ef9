"""What the pages point to is there, and what they tell to type is understood."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from autotune_lab.cli.app import build

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "reports/*/*.md") for path in ROOT.glob(pattern)
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(?:bash|sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_lead_somewhere(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for found in LINK.findall(text):
        target = (found[0] or found[1]).partition("#")[0]
        if target and "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def typed(page):
    """Yield the calls of autotune-lab in a page's shell blocks, continued lines joined."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"\s(?:&&|\|\|?|;)\s", line.removeprefix("$ ").strip()):
                if re.match(r"(\S+/)?autotune-lab(\s|$)", part):
                    yield shlex.split(part, comments=True)[1:]


def parse(words):
    """Parse as the command line does, and run nothing."""
    group = typer.main.get_command(build())
    context = group.make_context("autotune-lab", [*words])
    rest = [*context._protected_args, *context.args]
    while rest and hasattr(group, "commands"):
        name, group, rest = group.resolve_command(context, rest)
        context = group.make_context(name, rest, parent=context)
        rest = [*getattr(context, "_protected_args", []), *context.args]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_in_shell_blocks_parse(page):
    for words in typed(page):
        if words and not {"-h", "--help", "--version"} & set(words):
            parse(words)


def test_a_wrong_option_would_be_noticed():
    parse(["tune", "matmul", "--trials", "3"])
    parse(["store", "check", "--json"])
    with pytest.raises(Exception, match="No such option"):
        parse(["tune", "matmul", "--trails", "3"])
