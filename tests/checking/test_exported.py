"""An export is measured again: right where it was tuned, wrong where its winner became slow."""

import json

import pytest

from autotune_lab.records import Outcome, TrialState
from tests.tuning.labs import Lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab whose winner a=0 was exported; the default is a=2."""
    root = tmp_path_factory.mktemp("lab")
    (root / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    made = Lab(root)
    made.write(space="Space(a=range(4))", default='{"a": 2}')
    device = made.record(lambda config: 1.0 + config["a"])
    made.run(device, samplers=["exhaustive"])
    done = made.call("export", "--format", "json", "--out", "exported")
    assert done.returncode == 0, done.stderr
    return made


def verify(lab, time_ms, name):
    device = lab.record(time_ms, name=f"{name}.jsonl.gz")
    (file,) = (lab.root / "exported").glob("*.json")
    done = lab.call("verify-export", str(file), "--device", device, "--json")
    return done, json.loads(done.stdout)


def test_export_is_right_where_nothing_changed(lab):
    done, (row,) = verify(lab, lambda config: 1.0 + config["a"], "same")
    assert done.returncode == 0, done.stderr
    assert row["now_ms"] == pytest.approx(1, rel=0.01)
    assert row["default_ms"] == pytest.approx(3, rel=0.01)
    assert row["wrong"] == ""


def test_winner_that_became_slower_than_the_default_is_wrong(lab):
    done, (row,) = verify(lab, lambda config: 4.0 - config["a"], "slow")
    assert done.returncode == 1
    assert "100% longer than the default" in row["wrong"]
    assert "300% longer than was exported" in row["wrong"]


def test_winner_that_does_not_run_is_wrong(lab):
    broken = Outcome(TrialState.WRONG_RESULT, "out differs")
    done, (row,) = verify(lab, lambda config: 2.0 if config["a"] else broken, "broken")
    assert done.returncode == 1
    assert "does not run here: wrong_result: out differs" in row["wrong"]


def test_file_that_is_no_export_is_one_line(lab):
    (lab.root / "bad.json").write_text("{")
    for name, said in (("bad.json", "cut short"), ("none.json", "can't read none.json")):
        done = lab.call("verify-export", name)
        assert done.returncode == 1
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
