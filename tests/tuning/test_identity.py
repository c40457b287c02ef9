"""What makes results of the same kernel different results, and what does not."""

import linecache
import os
import subprocess
import sys

import pytest

from autotune_lab import Problem, catalog, fingerprint
from autotune_lab.records import Phase
from autotune_lab.store import frames
from autotune_lab.store.query import Query
from autotune_lab.tuning.events import ContextOpened, Notice, TrialFinished
from autotune_lab.tuning.running import plan
from autotune_lab.tuning.study import Study

HELPERS = """\
SCALE = 1

def helper(x, *, add=1):
    return x + add * SCALE
"""
LAUNCH = "args['out'].copy_(helper(args['x'])); return 1.0"
EDITS = {
    "kernel body": ("args['out'].copy_", "args['out'][:].copy_", "kernel code changed"),
    "called helper": ("return x + add * SCALE", "return x + SCALE * add", "kernel code changed"),
    "global constant": ("SCALE = 1", "SCALE = 1.0", "kernel code changed"),
    "default argument": ("add=1", "add=1.0", "kernel code changed"),
    "reference": (
        '{"out": args["x"] + 1}', '{"out": 1 + args["x"]}',
        "reference changed, so results need re-checking",
    ),
}  # fmt: skip
HARMLESS = {
    "comment": ("SCALE = 1", "SCALE = 1  # as ever"),
    "blank line": ("SCALE = 1", "\n\nSCALE = 1"),
}


def edit(lab, old, new):
    """Change the kernel's file, as another process would find it."""
    path = lab.root / "search_spaces/scripted.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    linecache.clearcache()
    for name in [n for n in sys.modules if n.startswith("autotune_lab_catalog_")]:
        del sys.modules[name]


def tuned(lab):
    lab.write(space="Space(a=range(4))", launch=LAUNCH, helpers=HELPERS)
    device = lab.record(lambda config: 1.0 + config["a"] / 10)
    lab.run(device, samplers=["exhaustive"])
    lab.events.clear()
    return device


def measured(lab):
    return [event.trial.config["a"] for event in lab.events if isinstance(event, TrialFinished)]


def notices(lab):
    return [event.text for event in lab.events if isinstance(event, Notice)]


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_of_what_the_times_depend_on_makes_a_new_context(lab, what):
    old, new, reason = EDITS[what]
    device = tuned(lab)
    before = {trial.id: trial for trial in lab.trials()}
    edit(lab, old, new)
    lab.run(device, samplers=["exhaustive"])
    assert sorted(measured(lab)) == [0, 1, 2, 3]
    assert any(reason in notice and "kept but not reused" in notice for notice in notices(lab))
    after = {trial.id: trial for trial in lab.trials()}
    assert {i: after[i] for i in before} == before
    with lab.store() as store:
        everything = frames.contexts(store, Query())
        newest = frames.contexts(store, Query(all_code=False))
    assert len(everything) == 2
    if what != "reference":
        assert len(newest) == 1
        assert everything["code_hash"].nunique() == 2
        assert any("changed since test.jsonl.gz was recorded" in n for n in notices(lab))


@pytest.mark.parametrize("what", HARMLESS)
def test_comments_and_blank_lines_change_nothing(lab, what):
    device = tuned(lab)
    edit(lab, *HARMLESS[what])
    lab.run(device, samplers=["exhaustive"])
    assert measured(lab) == []
    assert notices(lab) == []


def test_the_hash_is_the_same_in_another_process_and_folder(lab, tmp_path_factory):
    lab.write(space="Space(a=range(4))", launch=LAUNCH, helpers=HELPERS)
    here = fingerprint.identify(catalog.load(lab.reference), lab.reference)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "scripted.py"
    elsewhere.write_text((lab.root / "search_spaces/scripted.py").read_text())
    script = (
        "import sys; from autotune_lab import catalog, fingerprint\n"
        "found = fingerprint.identify(catalog.load(sys.argv[1]), sys.argv[1])\n"
        "print(found.code_hash, found.reference_hash)"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(elsewhere)], capture_output=True, text=True,
            check=True, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.stdout.split() == [here.code_hash, here.reference_hash]


def test_problems_that_differ_in_a_value_have_winners_of_their_own(lab):
    problems = (
        'Problem(n=4096, dtype="float16"), Problem(n=4097, dtype="float16"), '
        'Problem(n=4096, dtype="float32")'
    )
    lab.write(space="Space(a=range(2))", problems=problems)
    device = lab.record(lambda config: 1.0 + config["a"])
    assert len(lab.run(device).picks) == 3
    for text in ("n=4096,dtype=float16", "dtype=float16,n=4096"):
        lab.events.clear()
        done = lab.call(
            "tune", lab.reference, "--device", device, "--problem", text, "--dry-run", "--json"
        )
        assert done.returncode == 0
    with lab.store() as store:
        one = [context.id for context in store.contexts(Query(problem="n=4096,dtype=float16"))]
        other = [context.id for context in store.contexts(Query(problem="dtype=float16,n=4096"))]
    assert one == other
    assert len(one) == 1


def test_a_thousand_lengths_of_one_bucket_are_tuned_once(lab):
    problems = 'Problem(n=n, dtype="float32") for n in range(1025, 2025)'
    lab.write(space="Space(a=[1])", problems=f"*({problems})")
    path = lab.root / "search_spaces/scripted.py"
    path.write_text(
        path.read_text()
        .replace("problems=[", "buckets={'n': next_power_of_two}, problems=[")
        .replace("import KernelDefinition,", "import next_power_of_two, KernelDefinition,")
    )
    definition = catalog.load(lab.reference)
    assert {definition.bucketed(problem)["n"] for problem in definition.problems} == {2048}
    study = Study(kernels=[lab.reference], devices=["fake"], samplers=["random"])
    (task,) = plan(study, root=lab.root)
    assert task.problem == Problem(n=2048, dtype="float32")
    assert len(task.asked) == 1000
    lab.run("fake", trials=1)
    (note,) = notices(lab)
    assert "n=2048,dtype=float32 is tuned for n=1025,dtype=float32 and 999 more problems" in note


def test_launch_fields_differ_and_equal_configs_are_one(lab):
    lab.write(space="Space(num_warps=[4, 8], num_stages=[2, 3])")
    device = lab.record(lambda config: float(config["num_warps"]))
    lab.run(device, samplers=["exhaustive"])
    assert len({trial.config.id for trial in lab.trials()}) == 4


def test_a_pinned_run_measures_nothing(lab):
    """With nothing new to try, the stored winner stands and the device is asked nothing."""
    device = tuned(lab)
    with lab.store() as store:
        before = store.picks(latest=False)
    result = lab.run(device, samplers=["exhaustive"])
    assert measured(lab) == []
    assert next(e for e in lab.events if isinstance(e, ContextOpened)).known == 4
    with lab.store() as store:
        assert store.picks(latest=False) == before
    assert list(result.picks) == before


def test_winners_of_other_contexts_are_measured_here(lab):
    """Each of two problems has a winner; the transfer phase runs either on the other."""
    lab.write(
        space="Space(a=range(6))",
        problems='Problem(n=64, dtype="float32"), Problem(n=128, dtype="float32")',
    )
    device = lab.record(lambda config: 1.0 + config["a"] / 20)
    lab.run(device, trials=2, seeds=[1])
    with lab.store() as store:
        picks = store.picks()
    lab.events.clear()
    lab.run(device, phases=[Phase.TRANSFER, Phase.PLAYOFF])
    known = {pick.config["a"] for pick in picks}
    assert set(measured(lab)) <= known
    with lab.store() as store:
        for context in store.contexts():
            tried = {trial.config["a"] for trial in store.trials(context.id)}
            assert known <= tried
