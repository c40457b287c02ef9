"""Plans and writes the files of a new lab."""

from pathlib import Path

from autotune_lab.catalog import bundled
from autotune_lab.errors import UsageError

PROJECT = """\
[tool.autotune-lab]
search_spaces = "search_spaces"
studies = "studies"
reports = "reports"
"""

REPORTS = """\
# Reports

Committed results for readers. Each is rebuilt by the one command named in it; scratch goes to
`out/`.
"""

IGNORED = ("out/", "*.db", "*.db-wal", "*.db-shm")


def scaffold(directory: Path, kernel: str) -> list[Path]:
    """Write a lab and return the files written.

    Raises:
        UsageError: a file is in the way (all are named), or the kernel is not bundled.
    """
    planned = _plan(directory, kernel)
    clashes = [path for path in planned if path.exists()]
    if clashes:
        names = ", ".join(str(path) for path in clashes)
        raise UsageError(f"these files exist already, nothing was written: {names}")
    for path, text in planned.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _ignore(directory / ".gitignore")
    return list(planned)


def _plan(directory: Path, kernel: str) -> dict[Path, str]:
    spaces = bundled("search_spaces")
    source = spaces / f"{kernel}.py"
    if not source.is_file() or kernel.startswith("_"):
        names = sorted(p.stem for p in spaces.glob("[!_]*.py"))
        raise UsageError(f"no bundled kernel {kernel!r}; choose one of {', '.join(names)}")
    study = bundled("templates/studies/first.py").read_text(encoding="utf-8")
    planned = {directory / "search_spaces" / source.name: source.read_text(encoding="utf-8")}
    for shared in sorted(spaces.glob("_*.py")):
        if f"from .{shared.stem} " in planned[directory / "search_spaces" / source.name]:
            planned[directory / "search_spaces" / shared.name] = shared.read_text(encoding="utf-8")
    planned[directory / "studies" / "first.py"] = study.replace("KERNEL", kernel)
    planned[directory / "reports" / "README.md"] = REPORTS
    planned[directory / "pyproject.toml"] = PROJECT
    return planned


def _ignore(path: Path) -> None:
    """Add the lab's scratch files to a .gitignore, keeping what it holds."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    missing = [line for line in IGNORED if line not in text.splitlines()]
    if missing:
        separator = "" if not text or text.endswith("\n") else "\n"
        path.write_text(text + separator + "\n".join(missing) + "\n", encoding="utf-8")
