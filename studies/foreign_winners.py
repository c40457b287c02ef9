"""What do configs cost here that others tuned elsewhere, on ten kinds of GPU?

An inference server ships tables for its mixture of experts: the best config by GPU, number of
experts, width and number of tokens, tuned on H100, H200, A100, B200, H20, MI300X and others under
several Triton versions. Tables of neighbours often name other configs: those of H100 and H200 agree
in a quarter of their cells. Whether that disagreement costs anything is measured here: every
published config of a cell is run on this GPU, beside this GPU's own search, and the leaders of both
are played off in the same interleaved rounds.

How to read the answer: a row is whose table was used, with the number of cells that it has, how
often it names this GPU's own winner, how much of the best speed known here its configs keep (the
median over its cells, and the worst), and how many do not run here at all. If all rows stay near
100%, the tables disagree about nothing; a row that falls below is hardware overfitting, with its
price.

Needs a table, ``files[NAME][TOKENS] = config`` as JSON, perhaps gzipped, with names such as
``triton_3_1_0/E=8,N=3584,device_name=NVIDIA_H200.json``:

    python studies/foreign_winners.py --table sglang_fused_moe.json.gz --out reports/foreign_winners

AMD's own options (waves_per_eu and the like) are left out of its configs, and so are tables for
quantized weights.
"""

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from autotune_lab import (
    Budget,
    Config,
    DefinitionError,
    Problem,
    Protocol,
    Query,
    Store,
    Study,
    catalog,
    run_study,
)
from autotune_lab.analysis.matrix import DOES_NOT_RUN, MEASURED, TimeMatrix, build
from autotune_lab.records import Pick
from autotune_lab.store import frames
from autotune_lab.tuning.lines import PlainLines

ROOT = Path(__file__).resolve().parents[1]
FILE = re.compile(r"(?:.*/)?triton_([\d_]+)/E=(\d+),N=(\d+),device_name=([^,]+)\.json")


@dataclass(frozen=True)
class Model:
    """A layer of experts as one GPU of a tensor-parallel group holds it."""

    experts: int
    intermediate: int
    hidden: int
    top_k: int


MODELS = {
    "Mixtral 8x7B, a quarter": Model(8, 3584, 4096, 2),
    "Qwen2 57B, half": Model(64, 1280, 3584, 8),
    "Qwen3 30B": Model(128, 768, 2048, 8),
    "Qwen3-Next 80B, a quarter": Model(512, 128, 2048, 10),
}
TOKENS = (1, 16, 256, 2048)
# What an entry that names no warps or stages was launched with.
DEFAULTS = {**catalog.load("fused_moe", root=ROOT).default, "num_warps": 4, "num_stages": 3}


def problem(model: Model, tokens: int) -> Problem:
    """Return the kernel's problem for so many tokens."""
    return Problem(
        tokens=tokens, experts=model.experts, top_k=model.top_k, hidden=model.hidden,
        intermediate=model.intermediate, dtype="bfloat16",
    )  # fmt: skip


study = Study(
    name="foreign_winners",
    kernels=["fused_moe"],
    problems={"fused_moe": [problem(model, n) for model in MODELS.values() for n in TOKENS]},
    budget=Budget(trials=80),
    # Two dozen contexts: shorter rounds for fewer leaders, and slow configs are an answer too.
    protocol=Protocol(budget_ms=150, max_samples=40, playoff_size=8, playoff_rounds=7),
)


@dataclass(frozen=True)
class Entry:
    """One cell of a published table."""

    model: str
    tokens: int
    gpu: str
    triton: str
    config: Config


def published(path: Path) -> Iterator[Entry]:
    """Yield the entries of a table that are of a model and number of tokens of this study.

    Raises:
        DefinitionError: the file is no such table.
    """
    try:
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        files = json.loads(text)["files"].items()
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"it is no table of configs, files[NAME][TOKENS] = config: {error!r}"
        raise DefinitionError(str(path), [what]) from error
    names = {(model.experts, model.intermediate): name for name, model in MODELS.items()}
    for file, entries in files:
        found = FILE.fullmatch(file)
        model = names.get((int(found[2]), int(found[3]))) if found else None
        if found is None or model is None:
            continue
        for tokens, entry in entries.items():
            if tokens.isdigit() and int(tokens) in TOKENS:
                values = {name: entry.get(name, usual) for name, usual in DEFAULTS.items()}
                gpu, triton = found[4].replace("_", " "), found[1].replace("_", ".")
                yield Entry(model, int(tokens), gpu, triton, Config(values))


def besides(entries: list[Entry]) -> dict[Problem, list[Config]]:
    """Return each problem's published configs, each once."""
    chosen: dict[Problem, dict[str, Config]] = defaultdict(dict)
    for entry in entries:
        chosen[problem(MODELS[entry.model], entry.tokens)][entry.config.id] = entry.config
    return {where: list(configs.values()) for where, configs in chosen.items()}


def cells(entries: list[Entry], matrix: TimeMatrix, picks: list[Pick]) -> pd.DataFrame:
    """Return one row for each entry: what its config keeps here, and whether it is our winner."""
    won = {pick.context.problem: pick for pick in picks}
    columns = {column.context_id: place for place, column in enumerate(matrix.columns)}
    places = {config.id: place for place, config in enumerate(matrix.configs)}
    rows = []
    for entry in entries:
        pick = won.get(problem(MODELS[entry.model], entry.tokens))
        if pick is None or entry.config.id not in places:
            continue
        at = places[entry.config.id], columns[pick.context.id]
        state = int(matrix.states[at])
        if state not in (MEASURED, DOES_NOT_RUN):
            continue
        rows.append(
            {
                "table": f"{entry.gpu}, Triton {entry.triton}",
                "gpu": entry.gpu,
                "model": entry.model,
                "tokens": entry.tokens,
                "config": str(entry.config),
                "runs": state == MEASURED,
                "kept": float(matrix.efficiency[at]),
                "is_own_winner": entry.config == pick.config or entry.config.id in pick.tied,
                "own_winner": str(pick.config),
            }
        )
    return pd.DataFrame(rows)


def by_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each table, the one that keeps most at worst first."""
    grouped = frame.groupby("table")
    found = pd.DataFrame(
        {
            "cells": grouped.size(),
            "same winner": grouped["is_own_winner"].mean(),
            "kept, median": grouped["kept"].median(),
            "kept, worst": grouped["kept"].min(),
            "do not run": grouped["runs"].agg(lambda runs: int((~runs).sum())),
        }
    )
    return found.sort_values(["kept, worst", "kept, median"], ascending=False)


def disagreements(frame: pd.DataFrame, gpu: str) -> str:
    """Say how often another GPU's table names another config than this GPU's own, and the price."""
    key = ["model", "tokens"]
    own = frame[(frame["gpu"] == gpu) & frame["runs"]].drop_duplicates(key)
    other = frame[frame["gpu"] != gpu].merge(own[[*key, "config", "kept"]], on=key)
    if other.empty:
        return f"No table of {gpu} has a cell in common with another's."
    differs = other[other["config_x"] != other["config_y"]]
    agree = 1 - len(differs) / len(other)
    whose = f"Tables of other GPUs name the config of {gpu}'s own table"
    told = f"{whose} in {agree:.0%} of {len(other)} cells"
    if differs.empty:
        return f"{told}."
    loss = 1 - differs["kept_x"] / differs["kept_y"]
    return (
        f"{told}; where they differ, theirs loses {loss.median():.1%} of the speed here (median), "
        f"{loss.max():.0%} at worst, and is the faster one in {(loss < 0).mean():.0%} of the cells."
    )


def page(frame: pd.DataFrame, picks: list[Pick], command: str) -> str:
    """Return the answer as Markdown."""
    context = picks[0].context
    percents = ("same winner", "kept, median", "kept, worst")
    table = by_table(frame)
    how = (
        f"Measured on {context.model.name}, driver {context.environment.driver}, "
        f"Triton {context.environment.triton}: {frame['config'].nunique()} published configs in "
        f"{len(picks)} cells ({len(MODELS)} models), beside {study.budget.trials} configs of this "
        "GPU's own search each. "
    )
    rows = [
        " | ".join(
            [str(name), *(f"{row[c]:.0%}" if c in percents else f"{row[c]:.0f}" for c in table)]
        )
        for name, row in table.iterrows()
    ]
    lines = [
        f"# Foreign winners\n\n{__doc__.splitlines()[0]}\n\n{how}{context.source.notice}\n",
        f"{disagreements(frame, context.model.name)}\n",
        f"| table of | {' | '.join(table)} |",
        f"| --- | {' | '.join('---:' for _ in table)} |",
        *(f"| {row} |" for row in rows),
        f"\nEvery cell is in [cells.csv](data/cells.csv). Made by:\n\n```bash\n{command}\n```\n",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run the study, print the table, write the report if a folder is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    parser.add_argument("--out", type=Path, help="a folder under reports/")
    options = parser.parse_args()
    entries = list(published(options.table))
    if not entries:
        raise DefinitionError(str(options.table), ["it has no entry for a model of this study"])
    asked = replace(study, devices=[options.device], also={"fused_moe": besides(entries)})
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
        if not result.picks:
            return 1
        picks = list(result.picks)
        query = Query(context_ids=[pick.context.id for pick in picks], include_simulated=True)
        won = {pick.context.id: pick.config.id for pick in picks}
        matrix = build(frames.trials(store, query), frames.measurements(store, query), won)
    frame = cells(entries, matrix, picks)
    print(by_table(frame).to_string(float_format="{:.2f}".format))
    print(disagreements(frame, picks[0].context.model.name))
    if options.out:
        (options.out / "data").mkdir(parents=True, exist_ok=True)
        frame.to_csv(options.out / "data" / "cells.csv", index=False)
        command = "python studies/foreign_winners.py --table TABLE --out " + str(options.out)
        (options.out / "README.md").write_text(page(frame, picks, command), encoding="utf-8")
        print(f"report: {options.out / 'README.md'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
