"""Every kernel of the catalog is compiled for four GPU targets, on a machine that has none."""

import pytest

from autotune_lab import catalog
from autotune_lab.compiling.pool import CompilePool
from autotune_lab.compiling.targets import TARGETS
from autotune_lab.processes import wait
from autotune_lab.records import CompileJob, Limits, TrialState
from autotune_lab.spaces.config import Config
from tests.search_spaces.test_catalog import FOLDER, NAMES

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "gfx942")
# Smaller than the defaults, so that each compiles in about a second.
TILE = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 4, "num_stages": 2}
SMALLER = {
    "matmul": TILE,
    "matmul_bias_activation": {**TILE, "TMA": True, "EPILOGUE_SPLIT": True},
    "matmul_fp8": TILE,
    "matmul_persistent": TILE,
    "flash_attention": {"BLOCK_M": 64, "BLOCK_N": 32, "num_warps": 4, "num_stages": 2},
}


def config_of(name):
    definition = catalog.load(name, root=FOLDER.parent)
    return Config({**definition.default, **SMALLER.get(name, {})})


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Compile everything side by side, into an empty cache."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(folder / "cache"))
        pool = CompilePool(2, Limits(compile_s=100), log_dir=folder)
        found = {}
        try:
            for name in NAMES:
                problem = catalog.load(name, root=FOLDER.parent).problems[0]
                for architecture in ARCHITECTURES:
                    model = TARGETS[architecture].model()
                    job = CompileJob(name, problem, config_of(name), model)
                    pool.submit(f"{name} {architecture}", job)
            while pool.pending:
                wait(pool.children, 10.0)
                found |= dict(pool.collect())
        finally:
            pool.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", NAMES)
def test_kernel_compiles(outcomes, name, architecture):
    outcome = outcomes[f"{name} {architecture}"]
    if (name, architecture) == ("matmul_fp8", "sm_80"):
        # There is no e4m3 before sm_89; the compiler says so, and the file's docstring too.
        assert outcome.state is TrialState.COMPILE_ERROR
        assert "fp8e4nv not supported" in outcome.reason
        return
    assert (outcome.state, outcome.reason) == (TrialState.OK, "")
    if architecture == "sm_90":
        assert outcome.resources.spill_bytes == 0
