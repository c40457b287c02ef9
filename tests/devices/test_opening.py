import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune_lab import plugins
from autotune_lab.devices import opening
from autotune_lab.devices.cuda import presence
from autotune_lab.devices.opening import (
    DeviceSpec,
    capabilities_of,
    environment_variables,
    open_device,
    resolve,
)
from autotune_lab.errors import NoDevice, UsageError

WORDS = st.from_regex(r"[a-z0-9_.,=/-]{1,12}", fullmatch=True)


@given(WORDS, WORDS | st.just(""), WORDS | st.just(""))
def test_a_spec_is_read_as_it_is_written(name, argument, part):
    spec = DeviceSpec(name, argument, part)
    assert DeviceSpec.parse(str(spec)) == spec


@pytest.mark.parametrize("text", ["", " ", "@64sm", "cuda@", "cuda:", ":0", "cuda:@64sm"])
def test_half_a_spec_is_refused(text):
    with pytest.raises(UsageError, match="name\\[:argument\\]"):
        DeviceSpec.parse(text)


def test_every_plug_in_says_what_it_can_do_and_whether_it_is_there():
    names = list(plugins.find("devices"))
    assert names == ["cuda", "fake", "interpreter", "replay"]
    for name in names:
        module = plugins.load("devices", name)
        assert capabilities_of(name) is module.CAPABILITIES
        assert isinstance(module.missing(), str)


def test_capabilities_and_variables_need_no_torch_and_no_driver():
    code = (
        "import sys; from autotune_lab.devices.opening import *;"
        "specs = ['cuda:0@64sm', 'fake', 'interpreter', 'replay'];"
        "print([capabilities_of(s).isolated for s in specs]);"
        "print([sorted(environment_variables(s)) for s in specs]);"
        "loaded = {'torch', 'triton', 'pynvml', 'pandas', 'sqlalchemy'} & set(sys.modules);"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[True, True, True, False]"


def test_the_interpreters_variable_is_set_before_its_process_starts():
    assert environment_variables("interpreter")["TRITON_INTERPRET"] == "1"
    assert environment_variables("fake") == {}


def test_auto_takes_the_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(presence, "_NODES", ("/dev/null",))
    assert resolve("auto") == "cuda:0"
    assert resolve("auto@64sm") == "cuda:0@64sm"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert not resolve_or_fault("auto").startswith("cuda")


def test_auto_falls_back_to_a_recording(monkeypatch, tmp_path):
    (tmp_path / "2026-01-01-a.jsonl.gz").touch()
    monkeypatch.setattr(presence, "_NODES", ())
    monkeypatch.setattr(plugins.load("devices", "replay"), "_BUNDLED", tmp_path)
    assert resolve("auto") == "replay"
    assert resolve("auto@64sm") == "replay@64sm"


def test_auto_with_nothing_names_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(presence, "_NODES", ())
    monkeypatch.setattr(plugins.load("devices", "replay"), "_BUNDLED", tmp_path)
    with pytest.raises(NoDevice, match=r"driver.*no recording.*--device fake"):
        resolve("auto")


def test_a_missing_driver_is_one_line_that_names_it_and_the_ways_out(monkeypatch):
    monkeypatch.setattr(presence, "_NODES", ())
    with pytest.raises(NoDevice) as caught:
        open_device("cuda:0")
    text = str(caught.value)
    assert "\n" not in text
    for words in ("NVIDIA or AMD driver", "--device replay", "--device interpreter", "fake"):
        assert words in text
    assert caught.value.exit_code == 3


def test_a_hidden_gpu_is_told_from_a_missing_driver(monkeypatch):
    monkeypatch.setattr(presence, "_NODES", ("/dev/null",))
    for mask in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
        assert "CUDA_VISIBLE_DEVICES hides" in presence.missing()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1")
    assert presence.missing() == ""


def test_a_name_that_is_almost_right_is_suggested():
    with pytest.raises(UsageError, match="interpreter"):
        open_device("interpretr")


def test_the_interpreter_refuses_a_process_without_its_variable(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(NoDevice, match="TRITON_INTERPRET=1"):
        open_device("interpreter")
    with pytest.raises(UsageError, match="no argument or part"):
        open_device("interpreter:1")


def resolve_or_fault(spec):
    try:
        return opening.resolve(spec)
    except NoDevice as error:
        return str(error)
