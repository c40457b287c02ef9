"""Recordings are small, give back what they were given, and refuse anything else."""

import contextlib
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune_lab import recording
from autotune_lab.errors import ImportFailed
from autotune_lab.recording import RecordedContext, Recording, read, write
from autotune_lab.records import Phase, TrialState
from tests.store import making
from tests.store.making import A4000, SPACE, WORK, context, measurement, pick, trial


def entry(**changes):
    trials = (
        trial(0, 2.0, measurements=(measurement(2.0), measurement(2.1, phase=Phase.PLAYOFF))),
        trial(1, state=TrialState.OUT_OF_RESOURCES, measurements=(), reason="needs 262144 B"),
        trial(2, 3.5),
    )
    made = RecordedContext(
        context(), SPACE, WORK, 0.0021, 4012.5, {"bfloat16": 751.0}, trials, (pick(),)
    )
    return replace(made, **changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "recording.jsonl.gz"


def test_what_is_written_is_read(path):
    other = entry(context=context(model=A4000), trials=(), picks=(), copy_gbs=None)
    write(path, [entry(), other])
    assert read(path) == Recording((entry(), other))
    (first, _) = read(path).contexts
    assert str(first.context.problem) == "M=4096,N=4096,K=4096,dtype=bfloat16"
    assert first.space.parameters["layout"] == ("row", ("a", 1))


def test_no_contexts_are_a_recording_too(path):
    write(path, [])
    assert read(path) == Recording(())


def test_equal_contents_give_equal_bytes_under_any_name(path, tmp_path):
    write(path, [entry()])
    other = tmp_path / "another.gz"
    write(other, [entry()])
    assert other.read_bytes() == path.read_bytes()
    write(other, read(path).contexts)
    assert other.read_bytes() == path.read_bytes()


def test_writing_replaces_a_file_and_leaves_nothing_beside_it(path):
    path.write_bytes(b"an older recording")
    write(path, [entry()])
    assert list(path.parent.iterdir()) == [path]
    assert len(read(path).contexts) == 1


def test_a_trial_of_fifty_samples_takes_less_than_600_bytes(path):
    generator = np.random.default_rng(0)
    ticks = generator.normal(1.0, 0.01, size=(1500, 50)) * generator.uniform(3e3, 3e5, (1500, 1))
    times = (np.round(ticks) * np.float32(3.2e-5)).astype(np.float32).tolist()
    trials = tuple(
        trial(n, measurements=(measurement(row[0], samples_ms=tuple(row), seed=n * 7919),))
        for n, row in enumerate(times)
    )
    write(path, [entry(trials=trials)])
    assert path.stat().st_size < 600 * 1500
    assert read(path).contexts[0].trials == trials


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("recordings") / "recording.jsonl.gz"
    write(path, [entry()])
    return path


def text_of(path):
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def rewrite(path, lines):
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def edited(number, **changes):
    """Return an edit of a recording's lines that changes one of them."""

    def edit(lines):
        line = json.dumps(json.loads(lines[number - 1]) | changes)
        return [*lines[: number - 1], line, *lines[number:]]

    return edit


def replaced(number, line):
    return lambda lines: [*lines[: number - 1], line, *lines[number:]]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda lines: [], "ends after line 0"),
        (lambda lines: lines[:-1], "ends after line 4"),
        (lambda lines: lines[:1], "ends after line 1"),
        (lambda lines: [*lines, lines[-1]], ":5: runs on"),
        (edited(1, version=2), "version 2.*upgrade autotune-lab"),
        (edited(1, format="x"), "is 'x' version 1"),
        (replaced(1, '{"format":"x"}'), ":1: _Header: missing keys"),
        (replaced(1, "[]"), ":1: _Header: expected an object"),
        (replaced(2, "{"), ":2: .*not strict JSON"),
        (edited(2, samples="!"), ":2: "),
        (edited(2, samples="AAAA"), ":2: samples of"),
        (edited(2, picks=[{}]), ":2: Pick: missing"),
        (replaced(3, "null"), ":3: no trial"),
        (edited(3, state="good"), ":3: .*'good'"),
        (edited(3, measurements=[{}]), ":3: no trial"),
        (edited(3, measurements=[]), ":5: 9 samples"),
        (lambda lines: [*lines, "x"], "runs on"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(path, edit, message):
    write(path, [entry()])
    rewrite(path, edit(text_of(path)))
    with pytest.raises(ImportFailed, match=f"{path}.*{message}"):
        read(path)


@pytest.mark.parametrize("count", [-1, 10**9, 2.5, "3", None])
def test_a_wrong_count_of_samples_is_refused(path, count):
    write(path, [entry()])
    lines = text_of(path)
    first = json.loads(lines[2])
    first["measurements"][0]["samples_ms"] = count
    rewrite(path, [*lines[:2], json.dumps(first), *lines[3:]])
    with pytest.raises(ImportFailed, match=":3: "):
        read(path)


def test_an_absent_file_is_named(path):
    with pytest.raises(ImportFailed, match=f"{path}: no recording there"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"plain text\n", b"\x1f\x8b\x08", b"SQLite format 3\x00"])
def test_what_is_no_gzip_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ImportFailed, match=str(path)):
        read(path)


def test_a_file_that_unfolds_without_end_is_refused(path, monkeypatch):
    monkeypatch.setattr(recording, "_MOST_BYTES", 1000)
    path.write_bytes(gzip.compress(b"x" * 1001))
    with pytest.raises(ImportFailed, match="unfolds to over 1000 bytes"):
        read(path)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_damage_gives_an_error_or_a_recording_and_never_a_crash(written, data):
    content = bytearray(gzip.decompress(written.read_bytes()))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = written.with_name("damaged.gz")
    damaged.write_bytes(gzip.compress(bytes(content), compresslevel=1))
    with contextlib.suppress(ImportFailed):
        assert isinstance(read(damaged), Recording)


def test_a_recording_cut_anywhere_is_refused(path):
    write(path, [entry()])
    content = path.read_bytes()
    for length in range(0, len(content) - 1, 97):
        path.write_bytes(content[:length])
        with pytest.raises(ImportFailed):
            read(path)


def test_the_first_line_says_what_the_file_is(path):
    write(path, [entry()])
    header = {"contexts": 1, "format": "autotune_lab recording", "version": 1}
    assert json.loads(text_of(path)[0]) == header
    assert making.UUID in "".join(text_of(path))
