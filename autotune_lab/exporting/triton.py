"""Winners as a Python file of ``triton.Config`` lists, ready to paste into ``@triton.autotune``.

Text from the store reaches the file only as ASCII literals, so that it can't become code.
"""

from collections.abc import Iterator, Sequence

from autotune_lab.exporting.base import Format, Options, ordered
from autotune_lab.records import Pick
from autotune_lab.spaces.config import Config

FORMAT = Format(
    name="triton",
    suffix=".py",
    description="a Python file of triton.Config lists per kernel and problem",
)
# What triton.Config takes beside the dictionary; any other option travels inside it.
CONFIG_ARGUMENTS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")


def write(picks: Sequence[Pick], *, options: Options) -> str:
    """Write a module with ``CONFIGS[kernel][problem] -> [triton.Config]``, the winner first."""
    return "\n".join(_lines(ordered(picks), options)) + "\n"


def _lines(picks: Sequence[Pick], options: Options) -> Iterator[str]:
    models = {pick.context.model.id: pick.context.model for pick in picks}
    yield '"""Winners of autotune_lab: CONFIGS[kernel][problem] is a list of triton.Config."""'
    yield ""
    for key, model in sorted(models.items()):
        yield f"# device  {model.name!a}, {model.architecture!a}, {model.sm_count} SMs"
        if model.partition:
            yield f"#         part {model.partition!a} of the card"
        yield f"#         {model.memory_bytes} bytes of memory, identity {key}"
        for uuid in sorted(options.device_uuids.get(key, ())):
            yield f"#         measured on {uuid!a}"
    for notice in sorted({pick.context.source.notice for pick in picks} - {""}):
        yield f"# note    {notice}"
    yield ""
    yield "import triton"
    yield ""
    yield "CONFIGS = {"
    for kernel in sorted({pick.context.kernel.name for pick in picks}):
        mine = [pick for pick in picks if pick.context.kernel.name == kernel]
        yield f"    {kernel!a}: {{"
        for problem in dict.fromkeys(str(pick.context.problem) for pick in mine):
            yield f"        {problem!a}: ["
            for pick in mine:
                if str(pick.context.problem) == problem:
                    yield from _entry(pick)
            yield "        ],"
        yield "    },"
    yield "}"


def _entry(pick: Pick) -> Iterator[str]:
    interval = ""
    if pick.low_ms is not None and pick.high_ms is not None:
        interval = f" ({pick.low_ms:.4g} to {pick.high_ms:.4g})"
    evidence = f"{pick.rounds} fresh rounds" if pick.rounds else "not re-measured"
    default = "" if pick.default_ms is None else f"; default {pick.default_ms:.4g} ms"
    software = f"Triton {pick.context.environment.triton or 'unknown'!a}"
    yield f"            # {pick.median_ms:.4g} ms{interval}, {evidence}{default}; {software}"
    yield f"            {config_call(pick.config)},"


def config_call(config: Config) -> str:
    """Write a config as a call of ``triton.Config``."""
    inner = {name: value for name, value in config.items() if name not in CONFIG_ARGUMENTS}
    outer = [f"{name}={config[name]!a}" for name in CONFIG_ARGUMENTS if name in config]
    return f"triton.Config({', '.join([ascii(inner), *outer])})"
