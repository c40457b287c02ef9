import json

from autotune_lab.exporting import t4
from autotune_lab.exporting.base import Options, write_files

from .samples import context, pick


def test_results_carry_config_time_and_validity(tmp_path):
    (path,) = write_files([pick()], t4, tmp_path)
    document = json.loads(path.read_text())
    assert document["schema_version"] == "1.0.0"
    assert document["metadata"]["device"] == "NVIDIA H200"
    (result,) = document["results"]
    assert result["configuration"] == dict(pick().config)
    assert result["measurements"][0] == {"name": "time", "value": 0.2013, "unit": "ms"}
    assert (result["correctness"], result["invalidity"], result["objectives"]) == (
        1,
        "correct",
        ["time"],
    )


def test_each_problem_has_its_own_file(tmp_path):
    made = [pick(of=context(problem=context().problem.__class__(M=m))) for m in (1, 2)]
    assert len(write_files(made, t4, tmp_path)) == 2


def test_finite_json_only():
    json.loads(t4.write([pick(resources=None)], options=Options()), parse_constant=int)
