from dataclasses import replace

import pytest

from autotune_lab import plugins
from autotune_lab.errors import ExportError, UsageError
from autotune_lab.exporting import json
from autotune_lab.exporting.base import Options
from autotune_lab.exporting.writing import export
from autotune_lab.store import devices
from autotune_lab.store.store import Store
from tests.reporting.samples import A4000, CONFIGS, DEFAULT, H200, context, tune

from .samples import pick


def test_every_format_is_found_by_the_name_it_declares():
    found = plugins.find("exporting")
    assert {"csv", "json", "t4", "triton", "vllm"} <= set(found)
    for name, plugin in found.items():
        assert plugin.load().FORMAT.name == name


@pytest.mark.parametrize("name", ["csv", "json", "t4", "triton", "vllm"])
def test_each_format_writes_a_file(name, tmp_path):
    (path,) = export([pick()], name, tmp_path)
    assert path.suffix == plugins.load("exporting", name).FORMAT.suffix
    assert path.stat().st_size > 50


def test_an_unknown_format_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="jsn"):
        export([pick()], "jsn", tmp_path)


def test_strict_is_passed_on(tmp_path):
    with pytest.raises(ExportError, match="--strict"):
        export([replace(pick(), rounds=0)], "json", tmp_path, strict=True)


def test_winners_of_a_store_carry_the_devices_they_ran_on(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'lab.db'}") as store:
        picks = [
            tune(store, context(model=m), configs=[DEFAULT, *CONFIGS[:3]]) for m in (H200, A4000)
        ]
        options = Options(device_uuids=devices.uuids(store))
    paths = export(picks, "json", tmp_path / "out", options=options)
    assert len(paths) == 2
    tables = [json.read(path.read_text()) for path in paths]
    assert sorted((p for t in tables for p in t.picks), key=str) == sorted(picks, key=str)
    named = {model: uuids for table in tables for model, uuids in table.device_uuids.items()}
    assert named == {m.id: (f"GPU-{m.slug}",) for m in (H200, A4000)}
