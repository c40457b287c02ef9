import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from autotune_lab.definitions import Problem
from autotune_lab.errors import ExportError
from autotune_lab.exporting import vllm
from autotune_lab.exporting.base import write_files
from autotune_lab.records import DeviceModel
from autotune_lab.spaces.config import Config

from .samples import H200, context, pick

MOE = {"E": 8, "N": 7168, "dtype": "fp8_w8a8"}
PUBLISHED = Path("/work/shared/tables/sglang_fused_moe.json.gz")


def moe(m, config, **changes):
    fields = MOE | {"M": m} | changes.pop("fields", {})
    return pick(config, of=context(problem=Problem(fields), **changes))


def test_one_file_per_shape_keyed_by_m_in_number_order(tmp_path):
    configs = {m: Config(BLOCK_SIZE_M=16 * (1 + m % 3), num_warps=4) for m in (16, 1, 4096)}
    (path,) = write_files([moe(m, config) for m, config in configs.items()], vllm, tmp_path)
    assert path.name == "E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8.json"
    assert list(json.loads(path.read_text())) == ["1", "16", "4096"]
    assert vllm.read(path.read_text()) == configs


def test_sixteen_bit_dtypes_are_not_named_and_block_shapes_are(tmp_path):
    fields = {"dtype": "bfloat16", "block_shape": (128, 128)}
    (path,) = write_files([moe(1, Config(BLOCK_SIZE_M=16), fields=fields)], vllm, tmp_path)
    assert path.name == "E=8,N=7168,device_name=NVIDIA_H200,block_shape=128x128.json"


def test_a_part_of_a_card_is_never_found_as_the_card(tmp_path):
    part = replace(H200, partition="64sm", sm_count=64)
    (path,) = write_files([moe(1, Config(BLOCK_SIZE_M=16), model=part)], vllm, tmp_path)
    assert "device_name=NVIDIA_H200,partition=64sm" in path.name


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (
            {"model": DeviceModel("NVIDIA H200", "nvidia", "sm_90", 16, 18 * 2**30)},
            "would share one file",
        ),
        ({"kernel": replace(context().kernel, name="grouped_gemm")}, "would share one file"),
        ({"environment": replace(context().environment, triton="3.9.0")}, "two winners for M=1"),
    ],
)
def test_what_the_name_cant_tell_apart_is_refused(others, message, tmp_path):
    made = [moe(1, Config(BLOCK_SIZE_M=16)), moe(1, Config(BLOCK_SIZE_M=32), **others)]
    with pytest.raises(ExportError, match=message):
        write_files(made, vllm, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_problem_without_m_is_refused(tmp_path):
    with pytest.raises(ExportError, match="no field M"):
        write_files([pick(of=context(problem=Problem(n=1024)))], vllm, tmp_path)


@pytest.mark.parametrize("text", ["", "[1]", '{"1": 3}', '{"1": {"a": {"b": 1}}}', "{" * 9])
def test_what_is_no_table_is_one_clear_line(text):
    with pytest.raises(ExportError, match="vllm: not"):
        vllm.read(text)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published tables are not on this machine")
def test_published_tables_are_read():
    files = json.loads(gzip.decompress(PUBLISHED.read_bytes()))["files"]
    moe_files = {name: data for name, data in files.items() if "device_name" in name}
    assert len(moe_files) == 390
    for data in moe_files.values():
        configs = vllm.read(json.dumps(data))
        assert {str(m): dict(c) for m, c in configs.items()} == {
            k: v for k, v in data.items() if k.isdigit()
        }
