"""``autotune-lab sweep``: a table, a sentence, a figure, and JSON."""

from tests.cli.test_commands import invoke, strict


def test_a_recorded_sweep_is_told_and_drawn(tuned, monkeypatch):
    device = f"replay:{tuned.root}/test.jsonl.gz"
    arguments = ["--store", "sweep.db", "sweep", "scripted", "--parameter", "a", "--device", device]
    told = invoke(tuned, monkeypatch, *arguments).stdout
    assert "a=0 is the fastest" in told
    assert "held: BLOCK_M=64 a=0 (the default)" in told
    assert "nothing was measured on this machine" in told
    assert (tuned.root / "out/sweep/sweep_a.svg").is_file()
    found = strict(invoke(tuned, monkeypatch, *arguments, "--json", "--out", "figures").stdout)
    assert found["figure"] == "figures/sweep_a.svg"
    assert [row["value"] for row in found["values"]] == [0, 1, 2, 3]
    assert found["values"][0]["config"] == {"BLOCK_M": 64, "a": 0}
    assert found["values"][0]["is_best"] is True


def test_an_unknown_parameter_is_one_line(tuned):
    done = tuned.call("sweep", "scripted", "--parameter", "b", "--device", "replay")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "has no parameter 'b'" in line
