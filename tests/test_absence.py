"""Without Triton kernel files are read all the same, and only a launch says what is missing."""

import json
import subprocess
import sys

from autotune_lab import catalog
from autotune_lab.fingerprint import identify
from tests.making import KERNEL_FILE, write_kernel

HIDE = "import sys; sys.modules['triton'] = None\n"

READ_ALL = """
import json
from autotune_lab import catalog
from autotune_lab.fingerprint import identify
found = {}
for entry in catalog.listing():
    kernel = catalog.load(entry.name)
    identity = identify(kernel, entry.name)
    sizes = [len(kernel.space.bind(problem)) for problem in kernel.problems]
    found[entry.name] = [identity.code_hash, identity.reference_hash, sizes]
print(json.dumps(found))
"""

DECORATED = (
    KERNEL_FILE.replace(
        "@triton.jit\ndef scale_kernel",
        "@triton.heuristics({'EVEN': lambda args: True})\n"
        "@triton.jit(debug=True)\ndef scale_kernel",
    )
    + "\nfrom triton.tools.tensor_descriptor import TensorDescriptor\nWIDTH = triton.cdiv(5, 2)\n"
)


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", HIDE + script, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_every_bundled_kernel_is_what_it_is_with_triton():
    expected = {}
    for entry in catalog.listing():
        kernel = catalog.load(entry.name)
        identity = identify(kernel, entry.name)
        sizes = [len(kernel.space.bind(problem)) for problem in kernel.problems]
        expected[entry.name] = [identity.code_hash, identity.reference_hash, sizes]
    assert json.loads(run(READ_ALL)) == expected


def test_decorators_and_submodules_are_stood_in_for(tmp_path):
    path = write_kernel(tmp_path, text=DECORATED)
    script = (
        "from autotune_lab import catalog; from autotune_lab.fingerprint import identify\n"
        "kernel = catalog.load(sys.argv[1]); print(identify(kernel, 'x').code_hash)\n"
        "print([name for name in sys.modules if name.startswith('triton')])"
    )
    code, left = run(script, str(path)).splitlines()
    assert code == identify(catalog.load(str(path)), "x").code_hash
    assert left == "['triton']"


def test_a_launch_says_in_one_line_what_is_missing(tmp_path):
    script = (
        "import torch; from autotune_lab import AutotuneLabError, catalog\n"
        "kernel = catalog.load('vector_add'); n = torch.zeros(4)\n"
        "try: kernel.launch({'x': n, 'y': n, 'out': n}, {'BLOCK_SIZE': 4})\n"
        "except AutotuneLabError as error: print(error)"
    )
    said = run(script)
    assert "triton" in said
    assert "\n" not in said


def test_a_parameter_that_no_kernel_takes_is_still_found(tmp_path):
    text = KERNEL_FILE.replace("BLOCK=[64, 128]", "BLOCK=[64, 128], BLOK=[1]")
    script = (
        "from autotune_lab import DefinitionError, catalog\n"
        "try: catalog.load(sys.argv[1])\n"
        "except DefinitionError as error: print(error)"
    )
    assert "'BLOK' is taken by no kernel" in run(script, str(write_kernel(tmp_path, text=text)))


def test_an_autotuned_kernel_says_that_it_needs_triton():
    script = (
        "from autotune_lab import catalog\n"
        "try: catalog.load('tests/autotuned.py:scaled')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    said = run(script)
    assert said.startswith("DefinitionError")
    assert "'scaled_kernel': triton is not installed" in said
