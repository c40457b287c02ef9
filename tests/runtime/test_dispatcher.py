"""Decisions are made once, counted, kept, and talked about once."""

import logging
import threading
from collections import Counter

import pytest

from autotune_lab import KernelDefinition, Problem, Space, tuned
from autotune_lab.errors import EnvironmentMismatch, ExportError, UsageError
from autotune_lab.runtime import Policy, Step, Table
from autotune_lab.runtime.dispatcher import Dispatcher
from autotune_lab.spaces.config import Config
from tests.exporting.samples import H200
from tests.runtime.tables import DEFAULT, problem, table, winner

CPU = -1


def dispatcher(picks=(), **options):
    kernel = table([winner(1), winner(16), *picks], reach=4.0).kernel("matmul")
    policy = Policy(**{name: options.pop(name) for name in ("on_miss", "on_stale")
                       if name in options})  # fmt: skip
    return Dispatcher(kernel, "test.json", policy, DEFAULT, model=H200, **options)


def test_decisions_are_counted_once_a_problem_and_kept():
    one = dispatcher()
    for _ in range(3):
        for m in (1, 16, 12, 100_000):
            one.decide(problem(m), CPU)
    assert one.decided == Counter({Step.EXACT: 2, Step.NEAREST: 1, Step.DEFAULT: 1})
    assert [decision.problem["M"] for decision in one.decisions] == [1, 16, 12, 100_000]


def test_first_default_and_first_stale_winner_are_logged_once(caplog):
    one = dispatcher()
    with caplog.at_level(logging.WARNING):
        for m in (1, 16, 50, 100_000):
            one.decide(problem(m), CPU)
    defaults = [record for record in caplog.messages if "default:" in record]
    stale = [record for record in caplog.messages if "stale:" in record]
    assert len(defaults) == len(stale) == 1
    assert "test.json" in defaults[0]
    assert "outside the tuned range" in defaults[0]
    assert one.stale == 2  # tuned with Triton 3.6.0, which is not the one of these tests


def test_stale_winner_is_an_error_each_time_if_asked():
    one = dispatcher(on_stale="error")
    for _ in range(2):
        with pytest.raises(EnvironmentMismatch, match="triton"):
            one.decide(problem(16), CPU)


def test_miss_is_tuned_once_if_asked():
    asked = []

    def tune(missing, model):
        asked.append((dict(missing), model))
        return Config(BLOCK=7)

    one = dispatcher(on_miss="tune", tune=tune)
    found = [one.decide(problem(100_000), CPU) for _ in range(2)]
    assert [(d.step, d.config) for d in found] == [(Step.TUNED_NOW, Config(BLOCK=7))] * 2
    assert asked == [(dict(problem(100_000)), H200)]


def test_threads_that_ask_at_once_get_one_decision():
    one = dispatcher()
    found = []
    barrier = threading.Barrier(8)

    def ask():
        barrier.wait()
        found.extend(one.decide(problem(m), CPU) for m in range(1, 17))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(decision) for decision in found}) == 16
    assert sum(one.decided.values()) == 16


@pytest.mark.parametrize(
    "options", [{"on_miss": "panic"}, {"on_stale": "hope"}, {"nearest_octaves": float("nan")}]
)
def test_unknown_policies_are_refused(options):
    with pytest.raises(UsageError, match=next(iter(options))):
        Policy(**options)


def launched():
    seen = []

    def launch(args, config):
        seen.append((args["x"], config["BLOCK"]))

    definition = KernelDefinition(
        name="matmul",
        space=Space(BLOCK=[1, 16, 64], num_warps=[4, 8]).where("BLOCK <= 4 * M"),
        inputs=lambda problem, device, generator: {},
        launch=launch,
        outputs=["out"],
        reference=lambda args: {},
        problems=[problem(16)],
        buckets={"M": lambda m: max(1, m // 16 * 16)},
        default=DEFAULT,
    )
    return definition, seen


def test_definition_is_launched_with_the_winner_of_its_bucket():
    definition, seen = launched()
    launch = tuned.from_definition(
        definition, table=lambda: table([winner(1), winner(16)], reach=9.0), device_model=H200
    )
    for m in (1, 16, 17, 31, 64):
        launch(problem(m), {"x": m})
    assert seen == [(1, 1), (16, 16), (17, 16), (31, 16), (64, 64)]
    decision = launch.explain(problem(16))
    assert decision.step is Step.EXACT
    assert any(fault.startswith("source c0de -> ") for fault in decision.stale)


def test_constraints_of_a_definition_guard_its_launches():
    definition, _ = launched()
    wide = winner(16, config=Config(BLOCK=64, num_warps=8))
    fits, clashes = (
        tuned.from_definition(definition, table=table(picks), device_model=H200)
        for picks in ([wide], [winner(1, config=Config(BLOCK=64, num_warps=8))])
    )
    assert fits.explain(problem(16)).step is Step.EXACT
    refused = clashes.explain(problem(1))
    assert refused.step is Step.DEFAULT
    assert "BLOCK <= 4 * M" in refused.refused[0]


def test_definition_without_a_default_is_refused():
    definition, _ = launched()
    bare = KernelDefinition(
        **{name: getattr(definition, name) for name in ("name", "space", "inputs", "launch",
           "outputs", "reference", "problems")})  # fmt: skip
    with pytest.raises(UsageError, match="declares no default"):
        tuned.from_definition(bare, table=Table.empty("none"))


def test_miss_is_an_error_if_asked():
    with pytest.raises(ExportError, match="no config for"):
        dispatcher(on_miss="error").decide(Problem(n=1), CPU)
