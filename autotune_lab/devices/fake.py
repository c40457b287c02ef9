"""A device whose times are scripted: they are what a kernel's ``launch`` returns, whatever that is.

For tests of the lab and of tuning set-ups. A launch may return NaN, text or nothing, write wrong
values, hang or abort its process. ``fake:3`` is the fourth of many; ``fake:floor_ms=0.03`` has a
launch floor; ``fake@64sm`` is a part, and a device model of its own; ``fake:gone=FILE`` falls off
its bus when there is a file of that name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autotune_lab.devices.base import Capabilities, unrolled_calls
from autotune_lab.errors import NoDevice, UsageError
from autotune_lab.records import Device, DeviceModel, Environment, Source, Telemetry

CAPABILITIES = Capabilities(compiles=False, recorded=False, isolated=True)

_SM_COUNT = 132
_OPTIONS = ("floor_ms", "fixed_ms")


@dataclass(slots=True)
class FakeDevice:
    """Scripted times on CPU tensors.

    Attributes:
        index: which of several fake devices; part of its UUID.
        part: ``""`` or ``"64sm"``.
        floor_ms: no launch seems shorter by events, whatever it returns.
        fixed_ms: what a graph replay costs beyond its calls.
        gone: a file; while it is there, the device is not.
        l2_bytes: decides how many sets of inputs are rotated.
        script: telemetry to answer, one reading after the other; the last one stays.
        calls_per_sample: how many calls each graph sample was unrolled to, in order.
    """

    index: str = "0"
    part: str = ""
    floor_ms: float = 0.0
    fixed_ms: float = 0.0
    gone: str = ""
    l2_bytes: int = 0
    script: Sequence[Telemetry] = (Telemetry(),)
    calls_per_sample: tuple[int, ...] = ()
    _readings: int = 0

    @property
    def capabilities(self) -> Capabilities:
        """It runs launches, in a process of its own because they may end it."""
        return CAPABILITIES

    @property
    def torch_device(self) -> str:
        """Inputs are CPU tensors."""
        return "cpu"

    @property
    def substitutes(self) -> Mapping[str, str]:
        """None: the CPU computes in every dtype."""
        return {}

    def probe(self) -> Device:
        """Return a model that no real device has.

        Raises:
            UsageError: the part is not a number of SMs.
        """
        model = DeviceModel(
            name="Fake GPU",
            vendor="none",
            architecture="fake",
            sm_count=_sm_count(self.part),
            memory_bytes=2**36,
            partition=self.part,
            l2_bytes=self.l2_bytes,
            max_shared_bytes=232_448,
        )
        return Device(model, uuid=f"fake-{self.index}", source=Source.FAKE)

    def environment(self) -> Environment:
        """Return an environment that never changes."""
        return Environment(driver="fake")

    def run(self, launch: Callable[[], Any]) -> None:
        """Launch once; what it returns does not matter."""
        launch()
        self._expect_presence()

    def time(
        self,
        launch: Callable[[], Any],
        count: int,
        *,
        prepare: Callable[[], None],
        cache: str,
        timer: str,
    ) -> list[Any]:
        """Return what each launch returns; numbers as the timer asked for would see them."""
        del cache
        times = []
        for _ in range(count):
            prepare()
            times.append(self._seen(launch(), timer))
        self._expect_presence()
        return times

    def count_launches(self, launch: Callable[[], Any]) -> int | None:
        """Return None: what a launch does is the CPU's."""
        del launch
        return None

    def launch_floor_ms(self) -> float | None:
        """Return the scripted floor, None if there is none."""
        return self.floor_ms or None

    def synchronize(self) -> None:
        """Return at once: nothing runs behind the host's back.

        Raises:
            RuntimeError: the device is gone.
        """
        self._expect_presence()

    def _expect_presence(self) -> None:
        if self.gone and Path(self.gone).exists():
            raise RuntimeError("the fake device has fallen off its bus")

    def load(self, duration_ms: float) -> None:
        """Return at once: there is no clock to raise."""

    def telemetry(self) -> Telemetry:
        """Return the next scripted reading."""
        reading = self.script[min(self._readings, len(self.script) - 1)]
        self._readings += 1
        return reading

    def _seen(self, value: Any, timer: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if timer == "events":
            return max(value, self.floor_ms) if self.floor_ms else value
        calls = unrolled_calls(value, self.fixed_ms)
        self.calls_per_sample += (calls,)
        return value + self.fixed_ms / calls


def missing() -> str:
    """It needs nothing."""
    return ""


def open(argument: str, part: str) -> FakeDevice:  # noqa: A001 - the plug-in contract's name
    """Open ``index`` and options, as in ``fake:3,floor_ms=0.03``.

    Raises:
        UsageError: an option is unknown, or its value is no number; or the part is no SM count.
        NoDevice: it is gone.
    """
    index, gone, options = "0", "", dict[str, float]()
    for entry in filter(None, argument.split(",")):
        name, equals, value = entry.partition("=")
        if not equals:
            index = entry
            continue
        if name == "gone":
            gone = value
            continue
        if name not in _OPTIONS:
            raise UsageError(
                f"fake device has no option {name!r}; it has {', '.join((*_OPTIONS, 'gone'))}"
            )
        try:
            options[name] = float(value)
        except ValueError as error:
            raise UsageError(f"fake device option {entry!r} is not a number") from error
    _sm_count(part)
    if gone and Path(gone).exists():
        raise NoDevice(f"no fake device: {gone} is there")
    return FakeDevice(
        index,
        part,
        floor_ms=options.get("floor_ms", 0.0),
        fixed_ms=options.get("fixed_ms", 0.0),
        gone=gone,
    )


def _sm_count(part: str) -> int:
    digits = part.removesuffix("sm")
    if not part:
        return _SM_COUNT
    if not part.endswith("sm") or not digits.isdecimal() or not 0 < int(digits) <= _SM_COUNT:
        raise UsageError(f"part {part!r} of the fake device is not 1sm to {_SM_COUNT}sm")
    return int(digits)
