import json as stdlib_json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune_lab.errors import ExportError
from autotune_lab.exporting import json
from autotune_lab.exporting.base import Options, ordered
from autotune_lab.records import Source
from autotune_lab.spaces.config import Config

from .samples import A4000, H200, context, pick, picks


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} in strict JSON")

    return stdlib_json.loads(text, parse_constant=refuse)


@settings(max_examples=30)
@given(st.lists(picks, min_size=1, max_size=4))
def test_what_was_written_is_read_back(made):
    text = json.write(made, options=Options())
    strict(text)
    assert json.read(text).picks == tuple(ordered(made))
    assert json.write(json.read(text).picks, options=Options()) == text


def test_the_file_says_what_it_is_and_what_it_rests_on():
    options = Options(
        device_uuids={H200.id: ["GPU-2", "GPU-1"]}, verdicts={context().id: "PORTABLE"}
    )
    document = strict(json.write([pick()], options=options))
    assert document["schema_version"] == 1
    assert document["units"]["time"] == "ms"
    assert "exactly" in document["lookup_rule"]
    (device,) = document["devices"].values()
    assert device["name"] == "NVIDIA H200"
    assert device["uuids"] == ["GPU-1", "GPU-2"]
    assert (device["architecture"], device["sm_count"]) == ("sm_90", 132)
    assert device["memory_bytes"] == 150_754_820_096
    (entry,) = document["entries"]
    evidence = entry["evidence"]
    assert (evidence["median_ms"], evidence["default_ms"]) == (0.2013, 0.2544)
    assert (evidence["rounds"], evidence["picked_at"]) == (9, "2025-01-02T03:04:05Z")
    assert evidence["tied"] == [pick().config.id]
    assert entry["verdict"] == "PORTABLE"
    assert next(iter(document["kernels"].values()))["code_hash"] == "c0de"
    assert next(iter(document["environments"].values()))["triton"] == "3.6.0"
    assert next(iter(document["protocols"].values()))["cache"] == "cold"


def test_ints_stay_ints_and_keys_are_sorted():
    text = json.write([pick(Config(Z=128, A=True, F=1.0, T=(1, 2)))], options=Options())
    config = strict(text)["entries"][0]["config"]
    assert list(config) == ["A", "F", "T", "Z"]
    assert type(config["Z"]) is int
    assert config["A"] is True
    assert json.read(text).picks[0].config["T"] == (1, 2)


def test_replayed_winners_are_marked():
    text = json.write([pick(of=context(source=Source.REPLAY))], options=Options())
    document = strict(text)
    assert document["entries"][0]["source"] == "replay"
    assert any("replayed" in notice for notice in document["notices"])


def test_two_contexts_share_what_they_have_in_common():
    made = [pick(), pick(of=context(problem=context().problem.__class__(M=1, dtype="float16")))]
    document = strict(json.write(made, options=Options()))
    assert [len(document[k]) for k in ("devices", "environments", "protocols", "kernels")] == [
        1,
        1,
        1,
        1,
    ]
    assert len(document["entries"]) == 2


@pytest.mark.parametrize("cut", [0, 1, 100, 0.5, -3])
def test_half_a_file_is_one_clear_error(cut):
    text = json.write([pick()], options=Options())
    end = int(len(text) * cut) if isinstance(cut, float) else cut
    with pytest.raises(ExportError, match="cut short"):
        json.read(text[:end])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema_version=2), "newer than 1; upgrade"),
        (lambda d: d.update(schema="kernel_tuner"), "not a table of winners"),
        (lambda d: d.pop("devices"), "damaged.*devices"),
        (lambda d: d["entries"][0].pop("config"), "damaged.*config"),
        (lambda d: d["entries"][0].update(device_id="other"), "damaged.*other"),
        (lambda d: next(iter(d["devices"].values())).update(sm_count=64), "identity"),
        (lambda d: next(iter(d["kernels"].values())).update(code_hash="other"), "identity"),
    ],
)
def test_foreign_newer_and_tampered_files_are_refused(change, message):
    document = strict(json.write([pick()], options=Options()))
    change(document)
    with pytest.raises(ExportError, match=message):
        json.read(stdlib_json.dumps(document))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_other_json_is_refused_in_one_line(data):
    with pytest.raises(ExportError) as caught:
        json.read(stdlib_json.dumps(data))
    assert "\n" not in str(caught.value)


def test_numbers_that_are_none_are_refused_not_written():
    with pytest.raises(ExportError, match="not finite"):
        json.write([replace(pick(), median_ms=float("nan"))], options=Options())


def test_devices_are_told_apart_by_identity_not_name():
    twin = replace(A4000, name=H200.name)
    document = strict(json.write([pick(), pick(of=context(model=twin))], options=Options()))
    assert len({entry["device_id"] for entry in document["entries"]}) == 2
