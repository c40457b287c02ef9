"""The devices of a cluster as groups that each share a study; the coordinator's half.

One host for each device. A host that is lost, with its node or its device, is replaced where Ray
finds another place for it. Devices of another model or other software never join a group.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from autotune_lab import __version__
from autotune_lab.codec import from_plain, to_json
from autotune_lab.errors import AutotuneLabError, DeviceError, DeviceLost, NoDevice
from autotune_lab.execution.base import Unit
from autotune_lab.execution.cluster.connecting import connected
from autotune_lab.execution.cluster.hosts import DeviceHost
from autotune_lab.execution.cluster.offers import PREFIX, Offer, compute_nodes, offers
from autotune_lab.execution.cluster.pool import Placement, RemotePool
from autotune_lab.execution.cluster.remote import Binaries, RemoteExecutor, told, unpacked
from autotune_lab.records import Hello, Limits

START_S = 120.0
REPLACEMENT_S = 120.0

_MOST_TRIES = 6
_FIRST_PAUSE_S = 0.5
_POLL_S = 0.1


@dataclass(slots=True)
class Group:
    """Devices of one model under the same software, which share a study.

    Attributes:
        hello: what the first of them said.
        units: those that are there now; the list changes as they go and come.
        pool: compiles for them; None where nothing is compiled.
        empty_since: when the last of them was lost, if none is there.
    """

    name: str
    hello: Hello
    pool: RemotePool | None
    units: list[Unit] = field(default_factory=list)
    empty_since: float | None = None


@dataclass(slots=True)
class _Post:
    """One place for a host, whoever fills it at the moment."""

    offer: Offer
    actor: Any = None
    greeting: Any = None
    executor: RemoteExecutor | None = None
    group: Group | None = None
    tries: int = 0
    not_before: float = 0.0
    given_up: bool = False


class Fleet:
    """All devices of a cluster. Open with ``open_fleet``; ``tend`` and ``wait`` again and again."""

    def __init__(
        self,
        limits: Limits,
        *,
        tell: Callable[[str], None],
        most_compilers: int | None = None,
        replacement_s: float = REPLACEMENT_S,
    ) -> None:
        self.groups: list[Group] = []
        self._limits = limits
        self._tell = tell
        self._replacement_s = replacement_s
        self._binaries = Binaries()
        self._placement = Placement(most_compilers)
        self._is_open = False
        self._host = ray.remote(max_restarts=0, max_task_retries=0)(DeviceHost)
        self._posts = [_Post(offer) for offer in offers()]

    def open(self, address: str, *, start_s: float = START_S) -> None:
        """Start a host for each device and form the groups; those that come late still join.

        Raises:
            NoDevice: the cluster offers none, or none could be started.
        """
        if not self._posts:
            raise NoDevice(
                f"the Ray cluster {address} has no GPU, and no node offers a device as a custom "
                f"resource; for example: ray start --resources '{{\"{PREFIX}replay\": 1}}'"
            )
        deadline = time.monotonic() + start_s
        while True:
            self.tend()
            waiting = [post for post in self._posts if not (post.executor or post.given_up)]
            if not waiting or time.monotonic() > deadline:
                break
            self.wait(_POLL_S)
        if not self.groups:
            raise NoDevice(f"no device of the Ray cluster {address} could be started")
        for post in waiting:
            self._tell(f"{post.offer.name}: not started within {start_s:.0f} s, goes on without it")
        self._is_open = True
        counted = ", ".join(f"{len(group.units)} x {group.name}" for group in self.groups)
        cores = sum(node.cpus for node in compute_nodes())
        self._tell(f"cluster {address}: {counted}; {cores} cores to compile on")

    def tend(self) -> None:
        """Take note of what has happened: greet who is new, replace who is lost."""
        now = time.monotonic()
        for post in self._posts:
            if post.given_up:
                continue
            if post.executor is not None and post.executor.is_lost:
                self._bury(post)
            if post.actor is None:
                if now >= post.not_before:
                    self._start(post)
            elif post.executor is None:
                self._greet(post)
        for group in self.groups:
            if group.units:
                group.empty_since = None
            elif group.empty_since is None:
                group.empty_since = now

    def lost(self, group: Group) -> DeviceLost | None:
        """Return why a group can't go on: it has had no device for two minutes; else None."""
        if group.empty_since is None:
            return None
        may_come = any(p.group in (group, None) and not p.given_up for p in self._posts)
        if may_come and time.monotonic() - group.empty_since < self._replacement_s:
            return None
        return DeviceLost(
            f"no {group.name} is left in the cluster, and none came in its place; what was stored "
            "is safe, and the same command goes on once one is back"
        )

    def wait(self, timeout_s: float) -> None:
        """Wait until a host or a compiler has something to say."""
        waiting: list[Any] = []
        for post in self._posts:
            if post.executor is not None:
                waiting += post.executor.waiting
            elif post.greeting is not None:
                waiting.append(post.greeting)
        for group in self.groups:
            waiting += group.pool.waiting if group.pool is not None else []
        if waiting:
            ray.wait(waiting, num_returns=1, timeout=timeout_s)
        else:
            time.sleep(min(timeout_s, _POLL_S))

    def close(self) -> None:
        """End all hosts; the nodes have their devices back."""
        for post in self._posts:
            if post.actor is not None:
                ray.kill(post.actor)

    def _start(self, post: _Post) -> None:
        post.actor = self._host.options(**post.offer.options).remote(
            post.offer.spec, to_json(self._limits)
        )
        post.greeting = post.actor.start.remote()

    def _greet(self, post: _Post) -> None:
        ready, _ = ray.wait([post.greeting], timeout=0)
        if not ready:
            return
        try:
            answer = unpacked(ray.get(post.greeting))
            hello = from_plain(Hello, answer["hello"])
            _check_version(answer)
        except AutotuneLabError as error:
            self._retry(post, str(error))
            return
        except RayError as error:
            self._retry(post, told(error))
            return
        group = self._group_of(post, hello, compiles=answer["compiles"])
        if group is None:
            return
        name = f"{hello.device.uuid} on {answer['node']}"
        post.executor = RemoteExecutor(post.actor, hello, name, self._limits, self._binaries)
        post.group, post.greeting, post.tries = group, None, 0
        group.units.append(Unit(post.executor, hello.device.uuid))
        if self._is_open:
            self._tell(f"{name} joins {group.name}")

    def _group_of(self, post: _Post, hello: Hello, *, compiles: bool) -> Group | None:
        """Return the group that a device belongs to; a new one only before the work begins."""
        mine = _identity(hello)
        for group in self.groups:
            if _identity(group.hello) == mine:
                return group
        if self._is_open:
            self._tell(
                f"{hello.device.uuid} is a {hello.device.model.slug} under other software or of "
                "another model than this run began with; it is left out, run the command again"
            )
            self._give_up(post)
            return None
        name = hello.device.model.slug
        if any(group.name == name for group in self.groups):
            name = f"{name} ({hello.device.model.id[:6]}, {hello.environment.id[:6]})"
        pool = RemotePool(self._limits, self._placement, self._binaries) if compiles else None
        self.groups.append(Group(name, hello, pool))
        return self.groups[-1]

    def _bury(self, post: _Post) -> None:
        """Take a lost device out of its group; its place is filled again."""
        assert post.executor is not None
        assert post.group is not None
        executor, group = post.executor, post.group
        group.units[:] = [unit for unit in group.units if unit.executor is not executor]
        left = f"{len(group.units)} of {group.name} left"
        self._tell(f"{executor.name} was lost ({executor.fault}); {left}, looking for another")
        with contextlib.suppress(RayError, ValueError):
            executor.close()
        post.actor = post.greeting = post.executor = None
        post.tries, post.not_before = 0, time.monotonic() + _FIRST_PAUSE_S

    def _retry(self, post: _Post, fault: str) -> None:
        """Start a host again a little later: a node that died may still count as alive."""
        with contextlib.suppress(RayError, ValueError):
            ray.kill(post.actor)
        post.actor = post.greeting = None
        post.tries += 1
        if post.tries >= _MOST_TRIES:
            self._tell(f"{post.offer.name}: can't be started: {fault}")
            self._give_up(post)
        post.not_before = time.monotonic() + _FIRST_PAUSE_S * 2**post.tries

    def _give_up(self, post: _Post) -> None:
        if post.actor is not None:
            ray.kill(post.actor)
        post.actor, post.given_up = None, True


@contextlib.contextmanager
def open_fleet(
    address: str,
    limits: Limits,
    *,
    files: Path,
    tell: Callable[[str], None],
    most_compilers: int | None = None,
) -> Iterator[Fleet]:
    """Connect to a cluster, take all its devices, and give them back.

    Args:
        address: ``"auto"``, ``"local"`` or ``"HOST:PORT"``.
        limits: of a compilation and of a run.
        files: the kernels' files, see ``staging``.
        tell: told in a line what happens to devices.
        most_compilers: how many configs compile at once; by default as there are cores.

    Raises:
        UsageError: the address is none.
        NoDevice: no cluster answers, or it has no device.
    """
    with connected(address, files):
        fleet = Fleet(limits, tell=tell, most_compilers=most_compilers)
        try:
            fleet.open(address)
            yield fleet
        finally:
            fleet.close()


def _identity(hello: Hello) -> tuple[str, str, str]:
    """Return what two devices must share to share contexts."""
    return hello.device.model.id, hello.environment.id, hello.device.source.value


def _check_version(answer: dict[str, Any]) -> None:
    if answer["lab"] != __version__:
        raise DeviceError(
            f"node {answer['node']} runs autotune-lab {answer['lab']}, this is {__version__}; "
            "install the same version everywhere"
        )
