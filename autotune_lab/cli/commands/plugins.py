"""``autotune-lab plugins``: what extends the lab, and what of it is broken."""

from autotune_lab.cli.output import JsonOption, show


def command(as_json: JsonOption = False) -> None:
    """List what extends the lab.

    Devices, samplers, formats and report sections, third-party ones included.
    """
    from autotune_lab import plugins

    rows = [
        {"group": group, "name": entry.name, "origin": entry.origin, "problem": entry.error or ""}
        for group in plugins.GROUPS
        for entry in plugins.find(group).values()
    ]
    show(rows, as_json=as_json)
