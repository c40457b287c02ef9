"""Supervised child processes: one JSON message to a child, one reply or a ``Lost`` back.

A child may crash, hang, print or start processes of its own; it costs its caller one ``Lost``. It
is started lazily, replaced after a loss, and dies with its parent. Knows no device and no trial.
"""

from autotune_lab.processes.child import Child, error_of, wait
from autotune_lab.processes.frames import Message
from autotune_lab.processes.lost import Lost
from autotune_lab.processes.serving import Handler, serve

__all__ = ["Child", "Handler", "Lost", "Message", "error_of", "serve", "wait"]
