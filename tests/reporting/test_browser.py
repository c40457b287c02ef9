"""Opens the page in a real browser: nothing in its console, nothing asked of any network."""

import re
import shutil
import subprocess
from dataclasses import dataclass

import pytest

from autotune_lab.reporting.builder import build
from autotune_lab.reporting.data import gather
from autotune_lab.reporting.writing import write
from autotune_lab.store.query import Query

from .samples import CONFIGS, MODELS, PROBLEMS, fleet

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# The browser's own housekeeping, which flags can't all turn off; its names never resolve here.
OWN_HOSTS = re.compile(r"^https?://([a-z0-9-]+\.)*(google|googleapis|gstatic|gvt1)\.com")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@dataclass(frozen=True)
class Visit:
    dom: str
    console: list[str]
    requests: set[str]


def visit(page, folder, *, width=960):
    log = folder / "net.json"
    finished = subprocess.run(
        [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
            f"--log-net-log={log}", f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},900", "--virtual-time-budget=2000", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    asked = set(re.findall(r'"url":"(https?://[^"]+)', log.read_text()))
    return Visit(
        dom=finished.stdout,
        console=[line for line in finished.stderr.splitlines() if "CONSOLE" in line],
        requests={url for url in asked if not OWN_HOSTS.match(url)},
    )


def test_the_report_is_silent_and_whole(tmp_path):
    with fleet(
        tmp_path / "lab.db", models=MODELS[:2], problems=PROBLEMS[:1], configs=CONFIGS[::9]
    ) as store:
        page = write(build(gather(store, Query())), tmp_path / "out")
    seen = visit(page, tmp_path)
    assert seen.console == []
    assert seen.requests == set()
    assert seen.dom.count("<img") >= 5
    assert "Across GPUs" in seen.dom


def test_a_page_that_is_not_silent_would_be_noticed(tmp_path):
    page = tmp_path / "loud.html"
    page.write_text('<img src="http://elsewhere.invalid/x.png"><script>undefined_name()</script>')
    seen = visit(page, tmp_path)
    assert any("undefined_name" in line for line in seen.console)
    assert seen.requests == {"http://elsewhere.invalid/x.png"}
