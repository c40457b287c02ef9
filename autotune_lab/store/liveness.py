"""Whether the process that owns a run is still there: a dead run is told from a slow one."""

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

SILENCE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, as another process on the same or another host can find it again.

    Attributes:
        host: host name and process namespace; process ids mean something only inside it.
        process_start: tells a process from a later one that was given the same id.
    """

    host: str
    pid: int
    process_start: str


def this_process() -> Owner:
    """Return the owner that this process is."""
    return Owner(_host(), os.getpid(), process_start(os.getpid()))


def is_alive(owner: Owner, heartbeat_at: str, now: datetime) -> bool:
    """The owner runs on this host, or was heard of within ten minutes from another one."""
    if owner.host == _host():
        return process_start(owner.pid) == owner.process_start != ""
    try:
        heard = datetime.fromisoformat(heartbeat_at)
    except ValueError:
        return False
    return now - heard < SILENCE


def moment(now: datetime) -> str:
    """Write a time of day as the store keeps it: UTC, ISO 8601, microseconds."""
    return now.astimezone(UTC).isoformat(timespec="microseconds")


def process_start(pid: int) -> str:
    """Return what identifies a process besides its id; ``""`` if there is none of that id."""
    if platform.system() != "Linux":
        listing = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],  # noqa: S607 (wherever the system keeps it)
            capture_output=True,
            text=True,
            check=False,
        )
        return listing.stdout.strip()
    try:
        # The command name is in brackets and may hold spaces; state is field 3, start time field 22
        # (proc_pid_stat(5)). A zombie holds its id but does nothing any more.
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    return "" if after_name[0] in "ZX" else f"{boot}/{after_name[19]}"


def _host() -> str:
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        namespace = ""
    return f"{platform.node()}/{namespace}"
