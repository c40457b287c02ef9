"""Winners as vLLM and SGLang keep tuned fused-MoE configs: one file per shape, keys by M.

The file name carries the shape and the device name, as those projects look it up:
``E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8.json``; 16-bit dtypes are not named.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from autotune_lab.errors import AutotuneLabError, ExportError
from autotune_lab.exporting.base import LONGEST_NAME_BYTES, Format, Options, ordered
from autotune_lab.records import Context, Pick
from autotune_lab.spaces.config import Config

_UNNAMED_DTYPES = ("float16", "bfloat16")
_LAST_FIELDS = ("dtype", "block_shape", "per_channel_quant")


def stem(pick: Pick) -> str:
    """Name the file: E, N, the problem's other fields but M, the device, the dtype."""
    problem: dict[str, Any] = dict(pick.context.problem)
    tail = {name: problem.pop(name) for name in _LAST_FIELDS if name in problem}
    problem.pop("M", None)
    fields: dict[str, Any] = {k: problem.pop(k) for k in ("E", "N") if k in problem}
    fields |= {name: problem[name] for name in sorted(problem)}
    fields["device_name"] = re.sub(r"\s+", "_", pick.context.model.name)
    if pick.context.model.partition:
        fields["partition"] = pick.context.model.partition
    fields |= {k: v for k, v in tail.items() if not (k == "dtype" and v in _UNNAMED_DTYPES)}
    name = ",".join(f"{key}={_word(value)}" for key, value in fields.items())
    return name[: LONGEST_NAME_BYTES - 10]


def _word(value: Any) -> str:
    text = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)


FORMAT = Format(
    name="vllm",
    suffix=".json",
    description="fused-MoE tables as vLLM and SGLang name them: one file per shape, keys by M",
    stem=stem,
)


def write(picks: Sequence[Pick], *, options: Options) -> str:  # noqa: ARG001
    """Write ``{M: config}`` for one shape on one device.

    Raises:
        ExportError: a problem has no M, the picks differ in more than M, or two speak of one M.
    """
    table: dict[int, Pick] = {}
    for pick in ordered(picks):
        context = pick.context
        m = context.problem.get("M")
        if type(m) is not int:
            raise ExportError(
                f"vllm: {context.label}: the problem has no field M to key the table by"
            )
        first = next(iter(table.values()), pick).context
        if _shared(first) != _shared(context):
            raise ExportError(
                f"vllm: {first.label} and {context.label} would share one file, because its "
                "name holds no more than shape, dtype and device name; export them one at a time"
            )
        if m in table and table[m].config != pick.config:
            raise ExportError(
                f"vllm: {context.label}: two winners for M={m}, of two environments or protocols; "
                "export one of them"
            )
        table[m] = pick
    plain = {str(m): dict(table[m].config) for m in sorted(table)}
    return json.dumps(plain, indent=4, allow_nan=False) + "\n"


def _shared(context: Context) -> tuple[Any, ...]:
    fields = {name: value for name, value in context.problem.items() if name != "M"}
    return context.kernel.name, context.model.id, fields


def read(text: str | bytes) -> dict[int, Config]:
    """Read such a table, ours or theirs: M -> config. What is not keyed by a number is skipped.

    Raises:
        ExportError: it is not JSON, or not a table of configs.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExportError(f"vllm: not JSON: {error}") from error
    if not isinstance(data, Mapping):
        raise ExportError("vllm: not a table: expected an object of configs by M")
    try:
        return {
            int(key): Config.from_plain(item)
            for key, item in data.items()
            if re.fullmatch(r"[0-9]{1,18}", key)
        }
    except AutotuneLabError as error:
        raise ExportError(f"vllm: not a table of configs: {error}") from error
