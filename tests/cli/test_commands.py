"""Every command answers for help; every reading command has strict JSON; errors are one line."""

import json
import pkgutil
import resource
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from autotune_lab.cli import commands
from autotune_lab.cli.app import build

pytestmark = pytest.mark.slow

NAMES = sorted(
    module.name.rstrip("_").replace("_", "-") for module in pkgutil.iter_modules(commands.__path__)
)
READING = [
    ["best"],
    ["trials"],
    ["studies"],
    ["overfit"],
    ["kernels"],
    ["plugins"],
    ["store", "check"],
    ["trials", "--state", "ok", "--limit", "3"],
]


def invoke(lab, monkeypatch, *arguments):
    """Call a command in this process, in the lab's folder."""
    monkeypatch.chdir(lab.root)
    return CliRunner().invoke(build(), [*arguments], catch_exceptions=False)


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_answers_for_help(name, flag):
    result = CliRunner().invoke(build(), [name, flag])
    assert result.exit_code == 0
    assert f"{name} [OPTIONS]" in result.stdout


def test_help_costs_less_than_a_third_of_a_second():
    def cpu():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    costs = []
    for _ in range(3):
        before = cpu()
        command = [sys.executable, "-m", "autotune_lab", "--help"]
        subprocess.run(command, capture_output=True, check=True)
        costs.append(cpu() - before)
    assert min(costs) < 0.3


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_reading_commands_print_a_table_and_strict_json(tuned, monkeypatch, arguments):
    told = invoke(tuned, monkeypatch, *arguments)
    assert told.exit_code == 0
    assert told.stdout.strip()
    found = invoke(tuned, monkeypatch, *arguments, "--json")
    assert found.exit_code == 0
    assert isinstance(strict(found.stdout), list | dict)


def test_best_has_the_winner_with_its_evidence(tuned, monkeypatch):
    (pick,) = strict(invoke(tuned, monkeypatch, "best", "--json").stdout)
    assert pick["config"] == "BLOCK_M=64 a=0"
    assert (pick["source"], pick["trials"], pick["space_size"]) == ("replay", 8, 8)
    assert pick["low_ms"] <= pick["median_ms"] <= pick["high_ms"]
    assert "BLOCK_M=64" in invoke(tuned, monkeypatch, "best").stdout
    assert "64.0" not in invoke(tuned, monkeypatch, "trials").stdout


def test_a_filter_that_matches_nothing_is_a_result_found_wanting(tuned, monkeypatch):
    result = invoke(tuned, monkeypatch, "best", "--kernel", "another")
    assert result.exit_code == 1
    assert "no winner yet" in result.stdout
    assert strict(invoke(tuned, monkeypatch, "best", "--kernel", "another", "--json").stdout) == []


def test_kernels_shows_one_in_full(tuned, monkeypatch):
    one = strict(invoke(tuned, monkeypatch, "kernels", "scripted", "--json").stdout)
    assert one["default"] == {"a": 0, "BLOCK_M": 64}
    assert one["space"]["size"] == 8
    assert "valid configs" in invoke(tuned, monkeypatch, "kernels", "scripted").stdout


def test_a_dry_run_says_what_would_be_done_and_starts_nothing(tuned, monkeypatch):
    before = (tuned.root / "lab.db").read_bytes()
    result = invoke(
        tuned, monkeypatch, "tune", "scripted", "--device", "fake", "--dry-run", "--json"
    )
    (task,) = strict(result.stdout)
    assert (task["kernel"], task["space"], task["trials"]) == ("scripted", 8, 8)
    assert task["code"]
    assert "lab.db" in task["store"]
    assert (tuned.root / "lab.db").read_bytes() == before


def test_a_study_file_is_run_and_named_after_itself(tuned, monkeypatch):
    device = f"replay:{tuned.root}/test.jsonl.gz"
    (tuned.root / "first.py").write_text(
        "from autotune_lab import Budget, Study\n"
        f"study = Study(kernels=['scripted'], devices=['{device}'], budget=Budget(trials=4))\n"
    )
    result = invoke(tuned, monkeypatch, "--store", "other.db", "run", "first.py", "--json")
    assert result.exit_code == 0
    assert len(strict(result.stdout)["picks"]) == 1
    listed = invoke(tuned, monkeypatch, "--store", "other.db", "studies", "--json")
    assert [study["name"] for study in strict(listed.stdout)] == ["first"]


def test_report_and_export_write_what_they_name(tuned, monkeypatch):
    page = strict(invoke(tuned, monkeypatch, "report", "--out", "page", "--json").stdout)["report"]
    assert (tuned.root / page).is_file()
    written = strict(invoke(tuned, monkeypatch, "export", "--out", "files", "--json").stdout)
    assert written["files"]
    for name in written["files"]:
        assert "BLOCK_M" in (tuned.root / name).read_text()
    pasted = invoke(tuned, monkeypatch, "export", "--format", "triton", "--out", "files")
    assert pasted.stdout.startswith("wrote ")


def test_record_import_merge_and_backup_carry_all_trials_over(tuned, monkeypatch):
    made = strict(invoke(tuned, monkeypatch, "record", "all.jsonl.gz", "--json").stdout)
    assert (made["contexts"], made["trials"]) == (1, 8)
    for _ in range(2):
        invoke(tuned, monkeypatch, "--store", "copy.db", "import", "all.jsonl.gz")
        invoke(tuned, monkeypatch, "--store", "merged.db", "merge", "lab.db")
    for name in ("copy.db", "merged.db"):
        trials = invoke(tuned, monkeypatch, "--store", name, "trials", "--json")
        assert len(strict(trials.stdout)) == 8
    assert invoke(tuned, monkeypatch, "store", "backup", "backup.db").exit_code == 0
    assert invoke(tuned, monkeypatch, "--store", "backup.db", "store", "check").exit_code == 0
    assert invoke(tuned, monkeypatch, "store", "vacuum", "--json").exit_code == 0
    assert invoke(tuned, monkeypatch, "store", "upgrade").exit_code == 0


ONE_LINE = [
    (2, ["tune", "matmull"], "did you mean matmul"),
    (2, ["tune", "scripted", "--sampler", "tpee"], "did you mean tpe"),
    (2, ["tune", "scripted", "--problem", "m=64,dtype=float32"], "has no field 'm'"),
    (2, ["tune", "scripted", "--device", "nonsense"], "nonsense"),
    (2, ["run", "nowhere.py"], "no such study file"),
    (2, ["export", "--format", "yaml"], "yaml"),
    (2, ["feasibility", "scripted", "--targets", "sm_1"], "no limits known for sm_1"),
    (3, ["--store", "absent.db", "best"], "absent.db"),
    (1, ["import", "nowhere.json"], "nowhere.json"),
    (2, ["record", "name.txt"], ".jsonl.gz"),
]


@pytest.mark.parametrize(("code", "arguments", "said"), ONE_LINE, ids=lambda v: str(v)[:40])
def test_an_error_is_one_line_and_an_exit_code(tuned, code, arguments, said):
    done = tuned.call(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("autotune-lab: ")
    assert said in line


def test_an_unknown_option_is_bad_use(tuned):
    done = tuned.call("best", "--colour")
    assert done.returncode == 2
    assert "No such option" in done.stderr


def test_a_damaged_store_and_a_damaged_recording_are_named_and_left_as_they_are(tuned):
    whole = (tuned.root / "lab.db").read_bytes()
    cut = tuned.root / "cut.db"
    cut.write_bytes(whole[: len(whole) // 2])
    before = cut.read_bytes()
    done = tuned.call("--store", "cut.db", "store", "check")
    assert done.returncode in (1, 3)
    assert "cut.db" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert cut.read_bytes() == before
    recorded = (tuned.root / "test.jsonl.gz").read_bytes()
    (tuned.root / "cut.jsonl.gz").write_bytes(recorded[: len(recorded) // 2])
    done = tuned.call("--store", "new.db", "import", "cut.jsonl.gz")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "cut.jsonl.gz" in line


def test_doctor_says_what_works(tuned):
    done = tuned.call("doctor", "--json")
    findings = {row["part"]: row for row in strict(done.stdout)}
    assert done.returncode == 0, findings
    assert {"torch", "triton", "compiler", "interpreter", "gpu", "store"} <= set(findings)
    assert findings["compiler"]["works"] == "yes"
