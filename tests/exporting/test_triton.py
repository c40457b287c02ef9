import ast
import runpy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune_lab.exporting import triton as format_
from autotune_lab.exporting.base import Options, ordered
from autotune_lab.spaces.config import Config

from .samples import H200, context, pick, picks


def test_the_file_runs_and_holds_the_winners(tmp_path):
    pytest.importorskip("triton")
    path = tmp_path / "winners.py"
    made = pick(Config(BLOCK_M=128, USE_TMA=True, num_warps=8, num_stages=4, maxnreg=128))
    path.write_text(format_.write([made], options=Options(device_uuids={H200.id: ["GPU-1"]})))
    configs = runpy.run_path(str(path))["CONFIGS"]
    (config,) = configs["matmul"][str(context().problem)]
    assert config.kwargs == {"BLOCK_M": 128, "USE_TMA": True}
    assert (config.num_warps, config.num_stages, config.maxnreg) == (8, 4, 128)


def test_comments_carry_the_evidence():
    text = format_.write([pick()], options=Options(device_uuids={H200.id: ["GPU-1"]}))
    assert "# device  'NVIDIA H200', 'sm_90', 132 SMs" in text
    assert "0.2013 ms (0.2003 to 0.2021), 9 fresh rounds; default 0.2544 ms; Triton '3.6.0'" in text
    assert "GPU-1" in text


@settings(max_examples=30)
@given(st.lists(picks, min_size=1, max_size=3), st.text())
def test_no_text_of_a_store_becomes_code(made, uuid):
    options = Options(device_uuids={p.context.model.id: [uuid] for p in made})
    tree = ast.parse(format_.write(made, options=options))
    docstring, imported, assigned = tree.body
    assert isinstance(docstring, ast.Expr)
    assert isinstance(imported, ast.Import)
    calls = [node for node in ast.walk(assigned) if isinstance(node, ast.Call)]
    assert [ast.unparse(call.func) for call in calls] == ["triton.Config"] * len(made)
    literal = ast.literal_eval(calls[0].args[0])
    options = {word.arg: ast.literal_eval(word.value) for word in calls[0].keywords}
    assert Config(literal | options) in [p.config for p in ordered(made)]
