"""``autotune-lab ceilings`` shows units for people and strict JSON for machines."""

from autotune_lab.records import Device, Environment, Hello, Source
from tests.cli.test_commands import invoke, strict
from tests.tuning.labs import MODEL


def test_those_of_a_recording_are_shown_with_units_and_their_origin(tuned, monkeypatch):
    told = invoke(tuned, monkeypatch, "ceilings", "--device", "replay").stdout
    assert "GB/s" in told
    assert "TFLOP/s" in told
    assert "nothing was measured on this machine" in told
    (found,) = strict(invoke(tuned, monkeypatch, "ceilings", "--device", "replay", "--json").stdout)
    assert found["source"] == "replay"
    assert found["device_model"] == "nvidia-h200"
    assert found["copy_gbs"] > 1000
    assert found["measured_at"] is None


def test_what_the_store_holds_is_shown_without_a_device(tuned, monkeypatch):
    assert "no ceilings yet" in invoke(tuned, monkeypatch, "ceilings", "--stored").stdout
    device = Device(MODEL, "GPU-1", Source.GPU)
    with tuned.store() as store:
        store.add_ceilings(Hello(device, Environment(driver="9"), copy_gbs=123.5))
    (found,) = strict(invoke(tuned, monkeypatch, "ceilings", "--stored", "--json").stdout)
    assert (found["device_model"], found["driver"], found["copy_gbs"]) == ("test-gpu", "9", 123.5)
    assert found["measured_at"]
    told = invoke(tuned, monkeypatch, "ceilings", "--stored").stdout
    assert "not measured" in told
    assert "123.5" in told


def test_the_interpreter_is_refused_in_one_line(tuned):
    done = tuned.call("ceilings", "--device", "interpreter")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "has no ceilings" in line
