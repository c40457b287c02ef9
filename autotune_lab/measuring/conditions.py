"""What telemetry says against a measurement: the device was slowed down, or shared."""

from dataclasses import replace

from autotune_lab.records import FLAG_CONTENDED, FLAG_THROTTLED, Telemetry

# Heat and failing power only. The power cap is part of the device model, and running at it is the
# normal state of a large matmul; clocks that an administrator set are the machine's own as well.
THROTTLING_REASONS = frozenset(
    {"hw_slowdown", "hw_power_brake", "hw_thermal_slowdown", "sw_thermal_slowdown"}
)


def flags_of(telemetry: Telemetry) -> tuple[str, ...]:
    """Return the flags that keep a measurement out of the choice of a winner."""
    flags: tuple[str, ...] = ()
    if THROTTLING_REASONS & set(telemetry.throttle_reasons):
        flags += (FLAG_THROTTLED,)
    if telemetry.other_processes:
        flags += (FLAG_CONTENDED,)
    return flags


def over_both(before: Telemetry, after: Telemetry) -> Telemetry:
    """Return the later reading, with the throttle reasons and processes of both."""
    return replace(
        after,
        throttle_reasons=tuple(dict.fromkeys(before.throttle_reasons + after.throttle_reasons)),
        other_processes=max(before.other_processes, after.other_processes),
    )
