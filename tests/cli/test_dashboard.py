"""Optuna's own dashboard over a store: its studies, its numbers, and nothing written back."""

import importlib.util
import json
import socket
import subprocess
import sys
import urllib.request
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from autotune_lab.definitions import Problem
from autotune_lab.records import Source, TrialState
from autotune_lab.store.store import Store
from tests.store.making import SPACE, WORK, config, context, failed, hello, measure, ok

COMMAND = [sys.executable, "-m", "autotune_lab", "--store", "lab.db", "dashboard"]
needs_dashboard = pytest.mark.skipif(
    importlib.util.find_spec("optuna_dashboard") is None, reason="optuna-dashboard is not installed"
)


@pytest.fixture
def folder(tmp_path):
    """A store with a GPU's context, a failure in it, and a simulated context."""
    with Store.open(str(tmp_path / "lab.db")) as store:
        run_id = store.begin_run("a study", {})
        for made in (
            context(),
            replace(context(), problem=Problem(M=7, note="<script>alert(1)</script>")),
            context(source=Source.INTERPRETER),
        ):
            space = replace(
                SPACE, parameters={"BLOCK_M": (16, 32, 48, 64), "num_warps": (4,)}, size=4
            )
            store.add_context(made, space=space, work=WORK, hello=hello())
            measure(store, run_id, made.id, 0, ok(2.0))
            measure(store, run_id, made.id, 1, ok(1.5))
            measure(store, run_id, made.id, 2, failed(TrialState.WRONG_RESULT, "far off"))
            store.claim(run_id, made.id, config(3), 3)
        store.end_run(run_id, "done")
    return tmp_path


@contextmanager
def served(folder, *options):
    """The address of a dashboard that runs as users run it."""
    command = [*COMMAND, "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder, stdout=-1, stderr=-1, text=True) as process:
        try:
            said = process.stdout.readline()
            assert said.startswith("dashboard: http://127.0.0.1:"), process.stderr.read()
            yield said.split()[1]
        finally:
            process.send_signal(2)
            try:
                code = process.wait(20)
            finally:
                process.kill()
        assert (code, process.stderr.read()) == (0, "")


def ask(address, path):
    with urllib.request.urlopen(f"{address}{path}", timeout=20) as answer:
        return json.load(answer)


@needs_dashboard
def test_contexts_are_studies_with_their_times_and_failures(folder):
    before = (folder / "lab.db").read_bytes()
    with served(folder) as address:
        studies = ask(address, "/api/studies")["study_summaries"]
        assert [study["study_name"].split(" on ")[1] for study in studies] == [
            "nvidia-h200 (gpu)",
            "nvidia-h200 (gpu)",
        ]
        trials = ask(address, f"/api/studies/{studies[0]['study_id']}")["trials"]
        assert [trial["state"] for trial in trials] == ["Complete", "Complete", "Fail"]
        assert [trial["values"] for trial in trials[:2]] == [[2.0], [1.5]]
        attributes = {entry["key"]: entry["value"] for entry in trials[2]["user_attrs"]}
        assert "far off" in attributes["reason"]
        with urllib.request.urlopen(f"{address}/dashboard", timeout=20) as page:
            assert b"<html" in page.read().lower()
    assert (folder / "lab.db").read_bytes() == before


@needs_dashboard
def test_simulated_contexts_are_shown_only_if_asked_for(folder):
    with served(folder, "--include-simulated") as address:
        names = [study["study_name"] for study in ask(address, "/api/studies")["study_summaries"]]
    assert len(names) == 3
    assert names[2].endswith("(interpreter)")


@needs_dashboard
def test_a_port_in_use_is_one_line(folder):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, "--port", port], cwd=folder, capture_output=True, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"autotune-lab: port {port} of 127.0.0.1 can't be had")
    assert done.stderr.count("\n") == 1


def test_without_the_extra_its_install_command_is_named(folder):
    code = (
        "import sys; sys.modules['optuna_dashboard'] = None;"
        "from autotune_lab.cli.app import main; main()"
    )
    command = [sys.executable, "-c", code, *COMMAND[3:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "autotune-lab: the dashboard is not installed; pip install 'autotune-lab[dashboard]'\n"
    )
