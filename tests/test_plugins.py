"""Plug-ins are found by file or entry point, loaded when asked for, and harmless when broken."""

import subprocess
import sys

import pytest

from autotune_lab import UsageError, plugins


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a distribution with one module and entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(distribution, module, source, **points):
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{distribution}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {distribution}\nVersion: 1.2\n", encoding="utf-8")
        lines = [f"[autotune_lab.{group}]\n{point}\n" for group, point in points.items()]
        (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

    yield install
    for name in [n for n in sys.modules if n.startswith("plugin_of_test")]:
        del sys.modules[name]


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_own_plugins_define_their_hook(group):
    found = plugins.find(group)
    assert found
    assert list(found) == sorted(found)
    for name, plugin in found.items():
        assert plugin.origin == "autotune_lab"
        assert plugin.error == ""
        assert name not in ("base", "opening")


def test_own_samplers_load():
    assert callable(plugins.load("samplers", "random").create)


def test_finding_imports_nothing():
    script = (
        "from autotune_lab import plugins; import sys;"
        "[plugins.find(group) for group in plugins.GROUPS];"
        "print(*[n for n in sys.modules if n.startswith(('torch', 'optuna', 'pandas'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_a_third_party_plugin_is_found_and_loaded(install):
    source = "def create(seed):\n    return seed\n"
    install("lab-extra", "plugin_of_test_a", source, samplers="magic = plugin_of_test_a")
    plugin = plugins.find("samplers")["magic"]
    assert plugin.origin == "lab-extra 1.2"
    assert "plugin_of_test_a" not in sys.modules
    assert plugins.load("samplers", "magic").create(3) == 3
    assert plugin.error == ""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_anywhere\n", "no_such_module_anywhere"),
        ("raise RuntimeError('at import')\n", "RuntimeError: at import"),
        ("def make(seed): ...\n", "has no function create"),
    ],
)
def test_a_broken_one_is_an_entry_with_its_error_and_harms_no_other(install, source, said):
    install("lab-broken", "plugin_of_test_b", source, samplers="bad = plugin_of_test_b")
    found = plugins.find("samplers")
    assert said in found["bad"].error
    assert "lab-broken 1.2" in found["bad"].error
    with pytest.raises(UsageError, match=said):
        plugins.load("samplers", "bad")
    assert callable(plugins.load("samplers", "random").create)


def test_two_of_one_name_are_an_error_that_names_both(install):
    source = "def create(seed): ...\n"
    install("lab-clash", "plugin_of_test_c", source, samplers="random = plugin_of_test_c")
    plugin = plugins.find("samplers")["random"]
    assert "autotune_lab" in plugin.error
    assert "lab-clash 1.2" in plugin.error
    with pytest.raises(UsageError, match="same name"):
        plugins.load("samplers", "random")
    assert callable(plugins.load("samplers", "exhaustive").create)


def test_a_plugin_may_be_a_package_and_a_helper_is_none():
    assert plugins.find("devices")["cuda"].target == "autotune_lab.devices.cuda"
    with pytest.raises(UsageError, match="no device named 'opening'"):
        plugins.load("devices", "opening")


def test_unknown_names_and_groups_get_a_hint():
    with pytest.raises(UsageError, match=r"no sampler named 'rendom'; did you mean random\?"):
        plugins.load("samplers", "rendom")
    with pytest.raises(UsageError, match=r"did you mean samplers\?"):
        plugins.find("sampler")
