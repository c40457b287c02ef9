"""Winners as a Python function without dependencies: problem fields in, config out.

One file for each kernel and device model. The function is a decision rule over a few configs; its
docstring says what it loses on problems that it was not made from.
"""

from collections.abc import Iterator, Sequence

from autotune_lab.errors import ExportError
from autotune_lab.exporting.base import Format, Options, ordered, safe_stem
from autotune_lab.records import Branch, DecisionRule, Pick


def stem(pick: Pick) -> str:
    """Name the file: kernel and device model."""
    model = pick.context.model
    return safe_stem(f"{pick.context.kernel.name}-{model.slug}", identity=model.id)


FORMAT = Format(
    name="python",
    suffix=".py",
    description="a decision function over problem fields for each kernel and device, no imports",
    stem=stem,
)


def write(picks: Sequence[Pick], *, options: Options) -> str:
    """Write the decision function of one kernel on one device model.

    Raises:
        ExportError: no rule was made for it, or the picks are of more than one kernel's code.
    """
    first = ordered(picks)[0].context
    if any(pick.context.kernel.id != first.kernel.id for pick in picks):
        raise ExportError(
            f"python: {first.kernel.name} was tuned with more than one version of its code; "
            "export one of them"
        )
    rule = options.rules.get((first.kernel.id, first.model.id))
    if rule is None:
        raise ExportError(
            f"python: there is no decision rule for {first.kernel.name} on {first.model.slug}; "
            "export from a store that holds the trials"
        )
    return "\n".join(_lines(picks, rule)) + "\n"


def _lines(picks: Sequence[Pick], rule: DecisionRule) -> Iterator[str]:
    context = ordered(picks)[0].context
    model = context.model
    fields = sorted({name for pick in picks for name in pick.context.problem})
    yield f'"""Configs of {context.kernel.name} on {model.slug}, written by autotune_lab."""'
    yield ""
    yield f"# device  {model.name!a}, {model.architecture!a}, {model.sm_count} SMs, {model.id}"
    yield f"# code    {context.kernel.code_hash!a}"
    yield f"# Triton  {context.environment.triton!a}, driver {context.environment.driver!a}"
    for notice in sorted({pick.context.source.notice for pick in picks} - {""}):
        yield f"# note    {notice}"
    yield ""
    yield "CONFIGS = ("
    yield from (f"    {dict(config)!a}," for config in rule.configs)
    yield ")"
    yield ""
    yield ""
    yield f"def config(*, {', '.join(fields)}):"
    yield '    """Return the config for a problem.'
    yield ""
    yield f"    A rule of kind {rule.kind!r}, made from {rule.problems} problems."
    yield f"    Loss on these: at most {rule.worst_loss:.1%} (asked for: {rule.bound:.1%})."
    for way, (worst, mean) in sorted(rule.held_out.items()):
        yield f"    Held out, {way}: at most {worst:.1%}, {mean:.1%} on average."
    yield '    """'
    yield from _branch(rule.root, "    ")


def _branch(node: Branch | int, indent: str) -> Iterator[str]:
    if not isinstance(node, Branch):
        yield f"{indent}return CONFIGS[{node}]"
        return
    sign = "<=" if type(node.limit) in (int, float) else "=="
    yield f"{indent}if {node.field} {sign} {node.limit!a}:"
    yield from _branch(node.yes, indent + "    ")
    yield from _branch(node.no, indent)
