"""Connects this process to a Ray cluster, and lets go of it: no telemetry, nothing on the terminal.

The coordinator runs on a machine of the cluster. ``auto`` is the cluster that this machine belongs
to, ``local`` one that is started here and ends with the study.
"""

import contextlib
import logging
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import ray
from ray._private import services, worker

from autotune_lab.errors import NoDevice, UsageError

AUTO, LOCAL = "auto", "local"

_REACH_S = 5.0
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


@contextlib.contextmanager
def connected(address: str, files: Path) -> Iterator[None]:
    """Stay connected for the length of a block.

    Args:
        address: ``"auto"``, ``"local"`` or ``"HOST:PORT"``.
        files: a folder that is copied to every node, as the working folder of what runs there.

    Raises:
        UsageError: the address is none, or this process is connected already.
        NoDevice: no cluster answers there.
    """
    _silence()
    if ray.is_initialized():
        raise UsageError(
            "this process is connected to a Ray cluster already; call ray.shutdown() first"
        )
    if address != LOCAL:
        address = _reachable(address)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            runtime_env={"working_dir": str(files)},
            include_dashboard=False if address == LOCAL else None,
            log_to_driver=False,
            configure_logging=False,
        )
    except (RuntimeError, ConnectionError, ValueError) as error:
        line = str(error).strip().partition("\n")[0]
        raise NoDevice(f"the Ray cluster at {address} can't be used: {line}") from error
    finally:
        # Ray puts its own there, which ends the process without a word.
        with contextlib.suppress(ValueError, TypeError):
            signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        ray.shutdown()


def _silence() -> None:
    """Turn off telemetry, and everything that Ray writes to the terminal."""
    os.environ.update(_QUIET)
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # It prints what nodes say when they die to standard output, amid our JSON, and has no setting
    # for that: log_to_driver is about workers only.
    worker._worker_logs_enabled = False


def _reachable(address: str) -> str:
    """Return the cluster's HOST:PORT, after a look whether it is there: Ray tries for minutes."""
    if address == AUTO:
        try:
            address = services.canonicalize_bootstrap_address_or_die(AUTO)
        except ConnectionError as error:
            raise NoDevice(
                "no Ray cluster runs on this machine; start one with: ray start --head, "
                "or name it with --cluster HOST:PORT"
            ) from error
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise UsageError(
            f"cluster {address!r} is not auto, local or HOST:PORT; run this on a machine of the "
            "cluster, for Ray's client protocol (ray://) is not used"
        )
    try:
        socket.create_connection((host, int(port)), _REACH_S).close()
    except (OSError, OverflowError) as error:
        raise NoDevice(f"no Ray cluster answers at {address}: {error}") from error
    return address
