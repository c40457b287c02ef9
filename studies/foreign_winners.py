"""What do configs cost here that others tuned elsewhere, on eight kinds of GPU?

An inference server ships tables for its mixture of experts: the best config by GPU, number of
experts, width, and number of tokens, tuned on H100, H200, A100, L40S, MI300X and others under
several Triton versions. Those of one GPU often name another config than those of its neighbour:
H100 and H200 agree in a quarter of the cells. Whether that disagreement costs anything is
measured here: every published config of a cell is run on this GPU, beside this GPU's own search.

How to read the answer: a row is whose table was used, a column the number of tokens, a cell how
much of the best speed known here it keeps; blank where that table has no such entry or does not
run here. If all rows stay near 1, the tables disagree about nothing; a row that falls below is
hardware overfitting, with its price.

Needs the tables: ``shared/tables/sglang_fused_moe.json.gz`` beside or in the lab's folder, as
``files[NAME][TOKENS] = config``. AMD's own options (waves_per_eu and the like) are left out of
its configs.
"""

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

from autotune_lab import (
    Budget,
    Config,
    DefinitionError,
    Parameter,
    Problem,
    Query,
    Space,
    Store,
    Study,
    catalog,
    run_study,
)
from autotune_lab.store import frames
from autotune_lab.tuning.lines import PlainLines

ROOT = Path(__file__).resolve().parents[1]
TABLE = "shared/tables/sglang_fused_moe.json.gz"
FILE = re.compile(r"triton_([\d_]+)/E=(\d+),N=(\d+),device_name=([^,]+)\.json")
EXPERTS, TOP_K, HIDDEN, INTERMEDIATE = 8, 2, 4096, 3584  # a quarter of Mixtral 8x7B
TOKENS = (1, 16, 64, 256, 1024, 4096)
OWN = catalog.load("fused_moe", root=ROOT)


def published() -> Iterator[tuple[int, Config, str]]:
    """Yield (tokens, config, whose) for each entry of the tables that fits the problem."""
    folder = next((at for at in (ROOT, ROOT.parent) if (at / TABLE).is_file()), None)
    if folder is None:
        return
    files = json.loads(gzip.decompress((folder / TABLE).read_bytes()))["files"]
    for name, entries in files.items():
        found = FILE.fullmatch(name)
        if not found or (int(found[2]), int(found[3])) != (EXPERTS, INTERMEDIATE):
            continue
        whose = f"{found[4].replace('_', ' ')}, Triton {found[1].replace('_', '.')}"
        for tokens, entry in entries.items():
            if tokens.isdigit() and int(tokens) in TOKENS:
                values = {name: entry.get(name, default) for name, default in DEFAULTS.items()}
                yield int(tokens), Config(values), whose


# What an entry that names no warps or stages was launched with.
DEFAULTS = {**OWN.default, "num_warps": 4, "num_stages": 3}
PUBLISHED = list(published())
CONFIGS = {(tokens, config.id) for tokens, config, _ in PUBLISHED}


def is_published(
    tokens: int,
    BLOCK_SIZE_M: int,
    BLOCK_SIZE_N: int,
    BLOCK_SIZE_K: int,
    GROUP_SIZE_M: int,
    num_warps: int,
    num_stages: int,
) -> bool:
    """Return whether somebody's table names this config for so many tokens."""
    config = Config(
        BLOCK_SIZE_M=BLOCK_SIZE_M,
        BLOCK_SIZE_N=BLOCK_SIZE_N,
        BLOCK_SIZE_K=BLOCK_SIZE_K,
        GROUP_SIZE_M=GROUP_SIZE_M,
        num_warps=num_warps,
        num_stages=num_stages,
    )
    return (tokens, config.id) in CONFIGS


def space() -> Space:
    """Return the published configs as a space; without tables, the kernel's own."""
    if not PUBLISHED:
        return OWN.space
    values = {name: sorted({c[name] for _, c, _ in PUBLISHED}) for name in DEFAULTS}
    parameters = {name: Parameter(name, chosen) for name, chosen in values.items()}
    return Space(**parameters).where(is_published, reason="a config that somebody published")


problems = [
    Problem(
        tokens=tokens, experts=EXPERTS, top_k=TOP_K, hidden=HIDDEN, intermediate=INTERMEDIATE,
        dtype="bfloat16",
    )
    for tokens in TOKENS
]  # fmt: skip

foreign = replace(OWN, space=space(), default=None, problems=problems)

study = Study(
    name="foreign_winners",
    kernels=[f"{Path(__file__).resolve()}:foreign", "fused_moe"],
    problems={"fused_moe": problems},
    budget=Budget(trials=150),
)


def kept(trials: pd.DataFrame) -> pd.DataFrame:
    """Return how much of the best speed each table's config keeps: rows whose, columns tokens."""
    timed = frames.with_problem(trials[trials.state == "ok"])
    best_ms = timed.groupby("problem.tokens").time_ms.min()
    times = timed.groupby(["problem.tokens", "config_id"]).time_ms.min()
    cells: dict[str, dict[int, float]] = defaultdict(dict)
    for tokens, config, whose in PUBLISHED:
        if (tokens, config.id) in times.index:
            cells[whose][tokens] = best_ms[tokens] / times[tokens, config.id]
    table = pd.DataFrame.from_dict(cells, orient="index").reindex(columns=list(TOKENS))
    return table.assign(worst=table.min(axis=1)).sort_values("worst", ascending=False)


def main() -> int:
    """Run the study and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", default="sqlite:///lab.db")
    options = parser.parse_args()
    if not PUBLISHED:
        raise DefinitionError(TABLE, ["there are no such tables; the docstring says where they go"])
    asked = replace(study, devices=[options.device])
    with Store.open(options.store) as store:
        result = run_study(asked, store, root=Path.cwd(), observe=PlainLines(sys.stderr))
        ids = [pick.context.id for pick in result.picks]
        if ids:
            trials = frames.trials(store, Query(context_ids=ids, include_simulated=True))
            print(kept(trials).to_string(float_format="{:.2f}".format, na_rep=""))
    return 0 if result.picks else 1


if __name__ == "__main__":
    raise SystemExit(main())
