"""Code identity changes with what a kernel does, and with nothing else."""

import subprocess
import sys
import textwrap

import pytest

from autotune_lab import DefinitionError, Tolerance, catalog
from autotune_lab.fingerprint import identify
from tests.making import KERNEL_FILE, definition, edited, write_kernel

COUNTER = iter(range(10_000))


@pytest.fixture
def hashes(tmp_path):
    """Return a function from a kernel file's text to its code hash and reference hash."""

    def hashes(text, name="scale"):
        path = write_kernel(tmp_path / f"v{next(COUNTER)}", name, text)
        identity = identify(catalog.load(str(path)), str(path))
        return identity.code_hash, identity.reference_hash

    return hashes


@pytest.fixture
def original(hashes):
    return hashes(KERNEL_FILE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shifted(x) * 2, mask", "shifted(x) * 3, mask"),  # kernel body
        ("x + by - 1 + OFFSET", "x - by + 1 + OFFSET"),  # JIT helper
        ("by=1):", "by=2):"),  # JIT helper's default
        ('args["x"].numel()', 'args["out"].numel()'),  # plain helper
        ("FACTOR = 2", "FACTOR = 4"),  # global number read by launch
        ("FACTOR = 2", "FACTOR = 2.0"),
        ("tl.constexpr(0)", "tl.constexpr(1)"),  # global constexpr read by a JIT helper
        ("config, factor=1):", "config, factor=2):"),  # launch's default
        ("torch.randn(problem.n", "torch.rand(problem.n"),  # inputs
        ("@triton.jit\ndef scale_kernel", "@triton.jit(do_not_specialize=['n'])\ndef scale_kernel"),
        ("BLOCK: tl.constexpr):", "BLOCK: tl.constexpr, /):"),
    ],
)
def test_an_edit_of_the_code_is_other_code_under_the_same_judge(hashes, original, old, new):
    code, judge = hashes(edited(old, new))
    assert code != original[0]
    assert judge == original[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"out": doubled(args["x"])}', '{"out": doubled(args["x"]) + 0}'),
        ("return x * 2", "return x + x"),  # a helper of the reference
        ('outputs=["out"]', 'outputs=["out", "x"]'),
        ('outputs=["out"],', 'outputs=["out"], mutates=["x"],'),
        ('outputs=["out"],', 'outputs=["out"], deterministic=False,'),
        (
            'outputs=["out"],',
            'outputs=["out"], tolerances={"float32": __import__("autotune_lab").Tolerance(1e-3)},',
        ),
    ],
)
def test_an_edit_of_the_judge_leaves_the_code_what_it_was(hashes, original, old, new):
    code, judge = hashes(edited(old, new))
    assert code == original[0]
    assert judge != original[1]


@pytest.mark.parametrize(
    "text",
    [
        "# A comment.\n\n\n" + KERNEL_FILE,
        edited('"""Shift."""', '"""Another docstring."""'),
        edited('    """Shift."""\n', ""),
        edited('    """Launch."""\n', '    # Launch.\n\n    """Launch it."""\n'),
        edited("offsets < n\n", "offsets < n  # inside\n\n"),
        edited("offsets < n", "(offsets < n)"),
        edited('"""Scale a vector."""', '"""Scale."""'),
        edited("BLOCK=[64, 128]", "BLOCK=[64, 128, 256]"),
        edited("n=1024", "n=2048"),
        KERNEL_FILE + "\n\ndef unrelated():\n    return 1\n",
        edited("def size_of", "UNREAD = 3\n\n\ndef size_of"),
    ],
)
def test_what_changes_no_result_changes_nothing(hashes, original, text):
    assert hashes(text) == original


def test_it_is_the_same_in_every_process_and_folder(tmp_path):
    script = textwrap.dedent("""
        import sys
        from autotune_lab import catalog
        from autotune_lab.fingerprint import identify
        kernel = catalog.load(sys.argv[1])
        identity = identify(kernel, "x")
        print(identity.code_hash, identity.reference_hash)
    """)
    seen = set()
    for seed, interpret in ((1, ""), (2, ""), (3, "1")):
        path = write_kernel(tmp_path / f"folder {seed}", text="\n" * seed + KERNEL_FILE)
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)],
            env={"PYTHONHASHSEED": str(seed), "TRITON_INTERPRET": interpret, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1


def test_it_is_the_same_whatever_else_is_loaded(hashes, original):
    for entry in catalog.listing()[:3]:
        identify(catalog.load(entry.name), entry.name)
    assert hashes(KERNEL_FILE) == original


def test_helpers_in_a_file_beside_count(tmp_path):
    text = KERNEL_FILE.replace(
        'def size_of(args):\n    return args["x"].numel()\n', "from ._sizes import size_of\n"
    )
    found = []
    for number, body in enumerate(['args["x"].numel()', 'args["out"].numel()']):
        folder = tmp_path / str(number)
        path = write_kernel(folder, text=text)
        (folder / "_sizes.py").write_text(f"def size_of(args):\n    return {body}\n", "utf-8")
        found.append(identify(catalog.load(str(path)), "scale").code_hash)
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[1, 2]", "[1, 3]"),
        ("(1, 'a')", "(1, 'b')"),
        ("{'k': 1}", "{'k': 2}"),
        ("{1, 2}", "{1, 3}"),
        ("None", "0"),
        ("True", "1"),
        ("torch.float16", "torch.float32"),
        ("tl.float16", "tl.float32"),
        ("tl.constexpr(3)", "tl.constexpr(4)"),
        ("'x'", "'y'"),
        ("lambda x: x + 1", "lambda x: x + 2"),
        ("functools.partial(max, 1)", "functools.partial(max, 2)"),
        ("types.SimpleNamespace", "types.ModuleType"),
        ("Mode.A", "Mode.B"),
        ("Pair(1)", "Pair(2)"),
    ],
)
def test_a_global_of_any_kind_is_read_by_value(hashes, first, second):
    head = (
        "import dataclasses\nimport enum\nimport functools\nimport types\n"
        "class Mode(enum.Enum):\n    A = 1\n    B = 2\n"
        "@dataclasses.dataclass\nclass Pair:\n    left: int\n"
    )
    text = edited("n = size_of(args)", "n = size_of(args) * bool(SETTING)")
    found = {
        hashes(text.replace("FACTOR = 2\n", f"{head}SETTING = {value}\nFACTOR = 2\n"))
        for value in (first, second)
    }
    assert len(found) == 2


@pytest.mark.parametrize(
    "source",
    [
        "class Grid:\n    def size(self):\n        return {}\n",
        "def make(by):\n    return lambda: by\nGrid = make({})\n",
        "Grid = triton.heuristics(dict(EVEN=lambda args: {}))(scale_kernel)\n",
        "def Grid():\n    return [step * {} for step in range(3)]\n",
    ],
    ids=["class", "closure", "heuristics", "comprehension"],
)
def test_code_counts_wherever_it_stands(hashes, source):
    text = edited("n = size_of(args)", "n = size_of(args) * bool(Grid)")
    found = {
        hashes(text.replace("def launch", f"{source.format(number)}\n\ndef launch"))
        for number in (5, 6)
    }
    assert len(found) == 2


def test_recursion_ends(hashes):
    text = edited("return x * 2", "return doubled(x / 2) * 2 if x is None else x * 2")
    assert hashes(text) != hashes(KERNEL_FILE)


def test_lambdas_on_one_line_are_told_apart(hashes):
    text = KERNEL_FILE.replace("inputs=inputs,", "inputs=lambda p, d, g: {'x': 1}, launch={},")
    text = text.replace("    launch=launch,\n", "")
    first = hashes(text.replace("launch={}", "launch=lambda p, d: {'x': 2}"))
    second = hashes(text.replace("launch={}", "launch=lambda p, d: {'x': 3}"))
    assert first[0] != second[0]
    assert first[1] == second[1]


def test_every_bundled_kernel_has_its_own_code():
    identities = [identify(catalog.load(e.name), e.name) for e in catalog.listing()]
    assert len({identity.code_hash for identity in identities}) == len(identities)
    assert [identity.reference for identity in identities] == [e.name for e in catalog.listing()]


def test_a_kernel_made_by_a_closure_works(tmp_path):
    text = KERNEL_FILE.replace(
        "def launch(args, config, factor=1):", "def make(factor):\n  def launch(args, config):"
    )
    body = text.split("def make")[1].split("def doubled")[0]
    text = text.replace(
        body, body.rstrip().replace("\n    ", "\n        ") + "\n\n  return launch\n\n\n"
    )
    text = text.replace("launch=launch", "launch=make(2)")
    path = write_kernel(tmp_path, text=text)
    assert identify(catalog.load(str(path)), "x").code_hash


def test_a_kernel_in_a_script_works_and_one_without_a_file_fails_in_one_line(tmp_path):
    script = KERNEL_FILE + textwrap.dedent("""
        from autotune_lab.fingerprint import identify
        print(identify(scale, "x").code_hash)
    """)
    path = tmp_path / "script.py"
    path.write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    direct = identify(catalog.load(str(write_kernel(tmp_path))), "x").code_hash
    assert done.stdout.strip() == direct

    namespace = {}
    exec("def launch(args, config):\n    pass\n", namespace)
    with pytest.raises(DefinitionError, match="move it to a file") as caught:
        identify(definition(launch=namespace["launch"]), "x")
    assert "'launch'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tolerances_are_part_of_the_judge():
    strict = definition(tolerances={"float16": Tolerance(1e-3)})
    loose = definition(tolerances={"float16": Tolerance(1e-2)})
    assert identify(strict, "x").reference_hash != identify(loose, "x").reference_hash
    assert identify(strict, "x").code_hash == identify(loose, "x").code_hash
