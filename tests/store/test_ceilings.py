"""Ceilings are kept by device and software, the last of them counts, and they merge."""

import contextlib
import sqlite3
from dataclasses import replace

from autotune_lab.records import Environment, Source
from autotune_lab.store.store import Store
from tests.store.making import A4000, H200, TODAY, UUID, hello, query


def measured(copy_gbs=4000.0, **changes):
    """Return what a worker says that has measured its device."""
    return replace(
        hello(), copy_gbs=copy_gbs, launch_floor_ms=0.003, matmul_tflops={"bfloat16": 700.0},
        environment=TODAY, **changes,
    )  # fmt: skip


def test_what_was_measured_comes_back_with_its_moment(store):
    store.add_ceilings(measured())
    (found,) = store.ceilings()
    assert found.measured_at
    assert replace(found, measured_at="", pid=0) == replace(measured(), pid=0)


def test_the_last_measurement_counts_and_the_others_stay(store, path):
    for copy_gbs in (1.0, 3.0, 2.0):
        store.add_ceilings(measured(copy_gbs))
    assert [found.copy_gbs for found in store.ceilings()] == [2.0]
    known = store.known_ceilings(hello().device, TODAY)
    assert known.copy_gbs == 2.0
    assert len(query(path, "SELECT * FROM ceilings")) == 3


def test_another_card_part_or_driver_has_ceilings_of_its_own(store):
    store.add_ceilings(measured())
    device = hello().device
    assert store.known_ceilings(device, TODAY) is not None
    assert store.known_ceilings(replace(device, uuid="GPU-other"), TODAY) is None
    part = replace(H200, sm_count=64, partition="64sm")
    assert store.known_ceilings(replace(device, model=part), TODAY) is None
    assert store.known_ceilings(device, Environment(driver="another")) is None


def test_what_was_not_measured_stays_unknown(store):
    store.add_ceilings(replace(hello(), environment=TODAY, copy_gbs=None, matmul_tflops={}))
    (found,) = store.ceilings()
    assert found.copy_gbs is None
    assert found.matmul_tflops == {}


def test_merging_carries_them_over_once(store, tmp_path):
    with Store.open(str(tmp_path / "other.db")) as other:
        other.add_ceilings(measured())
        other.add_ceilings(measured(device=replace(hello(A4000).device, uuid="GPU-2")))
        for _ in range(2):
            store.merge_from(other)
        assert store.ceilings() == other.ceilings()


def test_a_damaged_row_is_named(store, path):
    store.add_ceilings(measured(device=replace(hello().device, source=Source.GPU)))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE ceilings SET matmul_tflops = '{'")
    (fault,) = store.check()
    assert f"ceilings of device {UUID}" in fault
