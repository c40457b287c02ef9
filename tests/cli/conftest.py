"""A lab that was tuned on a recording, for the commands that read."""

import pytest

from tests.tuning.labs import Lab


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """Two recorded device models, tuned; the store is made once for all tests of a file."""
    root = tmp_path_factory.mktemp("lab")
    (root / "pyproject.toml").write_text("[tool.autotune-lab]\n")
    lab = Lab(root)
    lab.write(space="Space(a=range(4), BLOCK_M=[64, 128])", default='{"a": 0, "BLOCK_M": 64}')
    device = lab.record(lambda config: 1.0 + config["a"] / 10 + (config["BLOCK_M"] == 128) / 20)
    lab.run(device, samplers=["exhaustive"])
    return lab
