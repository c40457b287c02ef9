"""The whole way from a store to a folder, for the stores that reports tend to break on."""

import json
import logging
import re
from dataclasses import replace
from itertools import product

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from autotune_lab import plugins
from autotune_lab.definitions import Problem
from autotune_lab.records import KernelIdentity, Source, SpaceSnapshot, TrialState, Work
from autotune_lab.reporting.builder import build
from autotune_lab.reporting.data import gather
from autotune_lab.reporting.figures.canvas import render
from autotune_lab.reporting.writing import write
from autotune_lab.spaces.config import Config
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store

from .pages import Page
from .samples import (
    A4000,
    CONFIGS,
    DEFAULT,
    H200,
    MODELS,
    PROBLEMS,
    VALUES,
    context,
    fleet,
    hello,
    trial_of,
    tune,
)

pytestmark = pytest.mark.slow

FEW = tuple(dict.fromkeys((*CONFIGS[::9], DEFAULT)))
HOSTILE = '<script>alert("1")</script>&|`[x](http://evil)'


def report_of(store, folder, **query):
    """Make the report and return its page, Markdown and folder; no section may have failed."""
    made = build(gather(store, Query(**query)), title="A report", made_at="2025-01-02T03:04:05Z")
    for chapter in made.chapters:
        for entry in chapter.entries:
            assert "could not be made" not in entry.section.finding, entry.section.finding
    source = write(made, folder).read_text("utf-8")
    page = Page(source)
    assert page.is_balanced
    return page, (folder / "report.md").read_text("utf-8"), source


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with fleet(tmp_path_factory.mktemp("fleet") / "lab.db", configs=FEW) as store:
        yield store


@pytest.fixture(scope="module")
def made(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return *report_of(lab, folder), folder


@pytest.fixture
def store(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'lab.db'}") as opened:
        yield opened


def test_the_page_is_one_file_without_script_or_network(made):
    page, _, source, _ = made
    assert not page.all("script")
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in page.all("img"))
    assert [link["href"] for link in page.all("link")] == ["data:,"]
    assert "@import" not in source
    assert not re.search(r"url\(\s*['\"]?http", source)
    assert all(a["href"].startswith("#") for a in page.all("a"))
    policies = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_every_image_has_alt_text_and_every_link_a_target(made):
    page, _, _, _ = made
    assert len(page.all("img")) >= 6
    assert all(len(image["alt"]) > 40 for image in page.all("img"))
    assert all(link["href"][1:] in page.ids for link in page.all("a"))
    assert len(set(page.ids)) == len(page.ids)


def test_sections_lead_with_findings_in_numbers(made):
    page, text, _, _ = made
    for words in (
        "Winners",
        "Across GPUs",
        "Across problems",
        "Selection noise",
        "Trials by state",
    ):
        assert words in page.text
        assert f"### {words}" in text
    assert re.search(r"loses \d+% on nvidia", page.text)
    assert "How far can it be trusted?" in page.text


def test_each_figure_has_a_file_and_its_data(made):
    _, text, _, folder = made
    pictures = sorted(path.stem for path in (folder / "figures").iterdir())
    assert pictures
    assert sorted(re.findall(r"\(figures/(.+?)\.png\)", text)) == pictures
    for stem in pictures:
        assert (folder / "data" / f"{stem}.csv").exists()
        json.loads(
            (folder / "data" / f"{stem}.json").read_text(), parse_constant=lambda word: 1 / 0
        )


def test_the_same_store_gives_the_same_bytes(store, tmp_path):
    for model in (H200, A4000):
        tune(store, context(model=model), configs=FEW[:6])
    files = []
    for name in ("first", "second"):
        folder = tmp_path / name
        report_of(store, folder)
        files.append({p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.*")})
    assert len(files[0]) > 20
    assert files[0] == files[1]


def test_whole_numbers_are_printed_whole(made):
    page, text, _, _ = made
    assert "BLOCK_M=128" in page.text
    assert "128.0" not in page.text
    assert "128.0" not in text


def test_an_empty_store_gets_a_page_that_says_so(store, tmp_path):
    page, text, _ = report_of(store, tmp_path / "out")
    assert "No data" in page.text
    assert "No data" in text


def test_a_context_without_trials_gets_a_page(store, tmp_path):
    tune(store, context(), configs=(), playoff=False)
    page, _, _ = report_of(store, tmp_path / "out")
    assert "nothing was tried yet" in page.text


def test_one_trial_is_no_competition_but_a_page(store, tmp_path):
    tune(store, context(), configs=[DEFAULT])
    page, _, _ = report_of(store, tmp_path / "out")
    assert "no competition" in page.text
    assert "All 1 trial ran correctly" in page.text


def test_all_failed_names_the_reasons_and_no_winner(store, tmp_path):
    too_large = [c for c in CONFIGS if c["BLOCK_N"] == 256 and c["num_stages"] == 4]
    tune(store, context(model=replace(A4000, max_shared_bytes=1)), configs=too_large, playoff=False)
    page, text, _ = report_of(store, tmp_path / "out")
    assert "no config ran correctly" in page.text
    assert "out of resources" in page.text
    assert "the device has 1 B" in page.text
    assert "None of" in text


def test_one_device_says_what_is_not_known(store, tmp_path):
    for problem in PROBLEMS[:2]:
        tune(store, context(problem), configs=FEW)
    page, _, _ = report_of(store, tmp_path / "out")
    assert "tuned on one device model only, so hardware overfitting is unknown" in page.text
    assert "The winner is" in page.text


def test_without_a_playoff_winners_are_marked(store, tmp_path):
    tune(store, context(), configs=FEW, playoff=False)
    page, _, _ = report_of(store, tmp_path / "out")
    assert "not re-measured" in page.text
    assert "its lead may be luck" in page.text


def test_a_parameter_that_some_rows_lack_still_counts(store, tmp_path):
    mixed = [*FEW, *(Config({**config, "maxnreg": 128}) for config in FEW[:3])]
    tune(store, context(), configs=mixed, playoff=False)
    page, _, _ = report_of(store, tmp_path / "out")
    assert f"of {len(mixed)} trials ran correctly" in page.text
    assert "128.0" not in page.text


def test_not_measured_and_does_not_run_differ(store, tmp_path):
    large = Config(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=4)
    mine = Config(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=2)
    tune(store, context(model=H200), configs=[large], default=None)
    tune(store, context(model=A4000), configs=[large, mine], default=None)
    page, text, _ = report_of(store, tmp_path / "out")
    assert "does not run" in page.text
    assert "not measured" in page.text
    classes = {name for cell in page.all("td") for name in (cell.get("class") or "").split()}
    assert {"fails", "missing"} <= classes
    assert "✕ does not run" in text
    assert "○ not measured" in text
    cells = json.loads(next((tmp_path / "out" / "data").glob("*devices-matrix.json")).read_text())
    states = {(cell["tuned_on"], cell["run_on"]): cell["state"] for cell in cells}
    assert states["nvidia-h200", "nvidia-rtx-a4000"] == "does not run"
    assert states["nvidia-rtx-a4000", "nvidia-h200"] == "not measured"
    assert all(cell["efficiency"] is None for cell in cells if cell["state"] == "not measured")


def test_repeated_trials_are_no_fault(store, tmp_path):
    made = context()
    tune(store, made, configs=FEW)
    run = store.begin_run("again", {})
    fresh = next(config for config in CONFIGS if config not in FEW)
    store.claim(run, made.id, fresh, 999)
    store.end_run(run, "interrupted")
    tune(store, made, configs=[fresh], playoff=False)
    page, _, _ = report_of(store, tmp_path / "out")
    assert TrialState.INTERRUPTED.value in page.text


def test_text_of_the_store_is_never_markup(store, tmp_path):
    kernel = KernelIdentity(HOSTILE, "c0de")
    model = replace(H200, name=HOSTILE)
    problem = Problem(M=64, N=64, K=64, dtype=HOSTILE)
    made = replace(context(problem), kernel=kernel, model=model)
    tune(store, replace(made, model=H200), configs=FEW, playoff=False)
    page, text, _ = report_of(store, tmp_path / "out")
    assert not page.all("script")
    assert HOSTILE in page.text
    assert "<script" not in text
    assert "[x](http" not in text
    names = [path.name for path in (tmp_path / "out").rglob("*")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", name) for name in names)


def test_environments_stand_apart(store, tmp_path):
    for triton in ("3.6.0", "3.9.0"):
        tune(store, context(triton=triton), configs=FEW)
    page, _, _ = report_of(store, tmp_path / "out")
    assert "Across software" in page.text
    assert "Triton 3.6.0" in page.text
    assert "never averaged" in page.text


@pytest.mark.parametrize("source", [Source.REPLAY, Source.IMPORTED])
def test_what_was_not_measured_here_says_so_on_every_surface(source, store, tmp_path):
    tune(store, context(source=source), configs=FEW)
    page, text, _ = report_of(store, tmp_path / "out")
    assert page.text.count(source.notice) >= 2
    assert source.notice in text


def test_simulated_times_are_left_out_and_marked_when_asked_for(store, tmp_path):
    tune(store, context(source=Source.INTERPRETER), configs=FEW, playoff=False)
    page, _, _ = report_of(store, tmp_path / "without")
    assert "No data" in page.text
    assert "matmul" not in page.text
    page, text, _ = report_of(store, tmp_path / "with", include_simulated=True)
    assert "times say nothing about any GPU" in page.text
    assert "times say nothing about any GPU" in text


def test_two_kernels_have_two_chapters(store, tmp_path):
    for name in ("matmul", "matmul_splitk"):
        tune(store, replace(context(), kernel=KernelIdentity(name, "c0de")), configs=FEW[:4])
    page, text, _ = report_of(store, tmp_path / "out")
    assert [len(page.all("nav")), len(page.all("article"))] == [1, 2]
    assert "## matmul\\_splitk" in text


def test_drawing_leaves_matplotlib_as_it_was(lab):
    made = build(gather(lab, Query()), sections=["winners"])
    (figure,) = made.chapters[0].entries[0].section.figures
    before, open_before = dict(mpl.rcParams), plt.get_fignums()
    render(figure.draw, figure.frame, figure.title)
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == open_before


def test_a_section_that_fails_leaves_a_hole_that_says_so(lab, monkeypatch, caplog):
    def fail(data):
        raise RuntimeError("no luck")

    monkeypatch.setattr(plugins.load("sections", "states"), "build", fail)
    with caplog.at_level(logging.CRITICAL):
        made = build(gather(lab, Query()))
    findings = [entry.section.finding for entry in made.chapters[0].entries]
    assert "This section could not be made (RuntimeError: no luck)." in findings
    assert any("is overfit" in finding or "are overfit" in finding for finding in findings)


def test_every_fleet_context_has_a_label_of_its_own(lab):
    labels = gather(lab, Query()).of("matmul").labels
    assert len(labels) == len(set(labels.values())) == len(MODELS) * len(PROBLEMS)
    expected = {f"{m.slug} · M={p.M} N={p.N} K={p.K}" for m, p in product(MODELS, PROBLEMS)}
    assert set(labels.values()) == expected


def test_runs_that_disagree_are_told_apart_from_ties(store, tmp_path):
    made = context()
    first = tune(store, made, configs=FEW)
    other = next(config for config in FEW if config != first.config)
    store.add_pick(replace(first, config=other, tied=(other.id,), picked_at="2025-01-03T00:00:00Z"))
    page, _, _ = report_of(store, tmp_path / "real")
    assert "1 changed it for real" in page.text
    again = replace(first, tied=(first.config.id, other.id), picked_at="2025-01-04T00:00:00Z")
    store.add_pick(again)
    page, _, _ = report_of(store, tmp_path / "again")
    assert "agreement 2 of 3" in page.text


def test_times_that_are_no_measurements_head_the_chapter(store, tmp_path):
    made = context(PROBLEMS[0])
    space = SpaceSnapshot(dict(VALUES), tuple(VALUES), (), len(CONFIGS))
    store.add_context(made, space=space, work=Work(bytes=1e12), hello=hello(H200))
    random = np.random.default_rng(0)
    trials = [trial_of(made, config, number, random) for number, config in enumerate(FEW)]
    store.record_all(made.id, trials)
    page, text, _ = report_of(store, tmp_path / "out")
    assert "1 context of 1 can’t be taken at face value" in page.text
    assert text.index("Doubtful data") < text.index("### Winners")
