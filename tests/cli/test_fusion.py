"""``autotune-lab fusion`` says what it knows, and ends by what it could do."""

from tests.cli.test_commands import strict


def test_without_a_gpu_it_tells_bytes_and_that_nothing_was_timed(tuned):
    problem = "M=4096,N=4096,K=4096,dtype=bfloat16,activation=gelu_tanh,residual=false"
    arguments = ["fusion", "matmul_bias_activation", "--device", "replay", "--problem", problem]
    done = tuned.call(*arguments, "--json")
    assert done.returncode == 3
    (found,) = strict(done.stdout)
    assert found["is_timed"] is False
    assert found["gain"] is None
    assert found["unfused"]["moved_bytes"] == (3 + 4) * 4096**2 * 2 + 4096 * 2
    assert found["fused"]["moved_bytes"] == 3 * 4096**2 * 2 + 4096 * 2
    assert found["held"] == "the default"
    assert done.stderr.splitlines()[-1].startswith("autotune-lab: nothing was timed")


def test_a_kernel_that_replaces_nothing_is_bad_use(tuned):
    done = tuned.call("fusion", "scripted", "--device", "fake")
    assert done.returncode == 2
    assert "which PyTorch operations it replaces" in done.stderr
