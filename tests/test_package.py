"""The package's own face: what it exports, what importing it costs, and where its errors stand."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import autotune_lab
from autotune_lab import errors

HEAVY = ("torch", "triton", "optuna", "pandas", "matplotlib", "numpy", "sqlalchemy", "scipy")


def test_all_is_sorted_and_without_repetition():
    assert autotune_lab.__all__ == sorted(set(autotune_lab.__all__))


def test_every_exported_name_exists_and_is_listed():
    for name in autotune_lab.__all__:
        assert getattr(autotune_lab, name) is not None
    assert set(autotune_lab.__all__) <= set(dir(autotune_lab))


def test_editors_see_exactly_what_is_exported():
    tree = ast.parse(Path(autotune_lab.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name for node in block.body for alias in node.names}
    assert seen == set(autotune_lab.__all__)


def test_every_error_is_exported_but_none_besides():
    classes = {name for name, item in vars(errors).items() if inspect.isclass(item)}
    raised = {name for name in classes if issubclass(vars(errors)[name], errors.AutotuneLabError)}
    assert raised <= set(autotune_lab.__all__)
    assert raised <= set(errors.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Spaces"):
        _ = autotune_lab.Spaces


def test_importing_the_package_loads_nothing_heavy():
    script = "import autotune_lab, sys; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not set(HEAVY) & set(done.stdout.split())


def test_declaring_a_space_loads_no_gpu_stack():
    script = (
        "from autotune_lab import Space, Problem, Config; import sys;"
        "Space(A=[1, 2]).where('A > 1').bind(Problem(M=1)); print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not {"torch", "triton", "optuna", "pandas"} & set(done.stdout.split())


def test_the_tree_of_errors_is_drawn_as_it_is():
    depths = [
        (len(line) - len(line.lstrip()), line.split()[0])
        for line in errors.__doc__.splitlines()
        if line.startswith("    ") and line.strip()
    ]
    parents = {}
    path = []
    for depth, name in depths:
        path = [(d, n) for d, n in path if d < depth]
        parents[name] = path[-1][1] if path else "Exception"
        path.append((depth, name))
    for name, parent in parents.items():
        assert parent in [base.__name__ for base in getattr(errors, name).__bases__]
    ours = {n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, Exception)}
    assert set(parents) == ours


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("BLOK", ["BLOCK", "num_warps"], "; did you mean BLOCK?"),
        ("block", ["BLOCK"], "; did you mean BLOCK?"),
        ("zzz", ["B", "A"], "; known are A, B"),
        ("zzz", [], ""),
    ],
)
def test_a_misspelt_name_gets_a_hint(name, known, expected):
    assert errors.did_you_mean(name, known) == expected
