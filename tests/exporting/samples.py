"""Hand-made picks, and hypothesis strategies for picks of any kind."""

from dataclasses import replace

from hypothesis import strategies as st

from autotune_lab.definitions import Problem
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    KernelIdentity,
    Pick,
    Protocol,
    Resources,
    Source,
)
from autotune_lab.spaces.config import Config

H200 = DeviceModel("NVIDIA H200", "nvidia", "sm_90", 132, 150_754_820_096, power_limit_w=700)
A4000 = DeviceModel("NVIDIA RTX A4000", "nvidia", "sm_86", 48, 16_879_583_232)
TODAY = Environment(driver="575.57", runtime="12.8", torch="2.11.0", triton="3.6.0")
MATMUL = KernelIdentity("matmul", "c0de", "4ef", "matmul")
SQUARE = Problem(M=4096, N=4096, K=4096, dtype="bfloat16")


def context(problem=SQUARE, model=H200, kernel=MATMUL, environment=TODAY, source=Source.GPU):
    return Context(kernel, problem, model, environment, Protocol(), source)


def pick(config=None, *, of=None, **changes):
    config = config or Config(BLOCK_M=128, BLOCK_N=256, num_warps=8, num_stages=4)
    made = Pick(
        context=of or context(),
        config=config,
        median_ms=0.2013,
        low_ms=0.2003,
        high_ms=0.2021,
        chosen_ms=0.1921,
        default_ms=0.2544,
        default_config=Config(BLOCK_M=64, BLOCK_N=64, num_warps=4, num_stages=2),
        tied=(config.id,),
        best_probability=0.97,
        rounds=9,
        candidates=12,
        trials=384,
        space_size=384,
        resources=Resources(shared_bytes=98304, registers=168, spill_bytes=0, threads=256),
        picked_at="2025-01-02T03:04:05Z",
    )
    return replace(made, **changes)


words = st.text(max_size=60)
names = st.from_regex(r"[A-Za-z][A-Za-z_]{0,9}", fullmatch=True)
scalars = (
    st.integers(-(2**53), 2**53)
    | st.booleans()
    | words
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.dictionaries(
    names, scalars | st.lists(scalars, max_size=3).map(tuple), min_size=1, max_size=5
)
times_ms = st.floats(1e-4, 1e5)
models = st.builds(
    DeviceModel,
    name=words,
    vendor=st.sampled_from(["nvidia", "amd", "none"]),
    architecture=st.sampled_from(["sm_90", "sm_86", "gfx942"]),
    sm_count=st.integers(1, 300),
    memory_bytes=st.integers(2**30, 2**38),
    partition=st.sampled_from(["", "64sm", "1g.18gb"]) | words,
)
contexts = st.builds(
    Context,
    kernel=st.builds(
        KernelIdentity, name=words, code_hash=words, reference_hash=words, reference=words
    ),
    problem=values.map(Problem),
    model=models,
    environment=st.builds(Environment, driver=words, triton=words),
    protocol=st.builds(Protocol, cache=st.sampled_from(["cold", "hot"])),
    source=st.sampled_from([Source.GPU, Source.REPLAY, Source.IMPORTED]),
)
picks = st.builds(
    Pick,
    context=contexts,
    config=values.map(Config),
    median_ms=times_ms,
    low_ms=st.none() | times_ms,
    high_ms=st.none() | times_ms,
    chosen_ms=st.none() | times_ms,
    default_ms=st.none() | times_ms,
    default_config=st.none() | values.map(Config),
    tied=st.lists(words, max_size=3).map(tuple),
    best_probability=st.none() | st.floats(0, 1),
    rounds=st.integers(0, 99),
    flags=st.lists(st.sampled_from(["noisy", "throttled", "partial"]), unique=True).map(tuple),
    resources=st.none() | st.builds(Resources, shared_bytes=st.none() | st.integers(0, 2**20)),
    picked_at=words,
)
