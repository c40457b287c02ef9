"""Tunes a kernel where a launch finds no config and its user asked for that: ``on_miss="tune"``."""

import importlib
from collections.abc import Mapping
from typing import Any

from autotune_lab.definitions import Problem
from autotune_lab.errors import ExportError
from autotune_lab.records import DeviceModel
from autotune_lab.spaces.config import Config


def tune_now(kernel: str, problem: Mapping[str, Any], model: DeviceModel) -> Config:
    """Tune one problem on the GPU of this machine, into the store of the working folder.

    The tuner is imported here, by name: production needs none of what it needs.

    Raises:
        ExportError: the tuner is not installed, or found no config that runs.
        AutotuneLabError: what the tuner raises.
    """
    try:
        running = importlib.import_module("autotune_lab.tuning.running")
        study = importlib.import_module("autotune_lab.tuning.study")
    except ImportError as error:
        raise ExportError(
            f"{kernel}: on_miss='tune' needs the tuner, and {error.name} is not installed; "
            "install autotune-lab with all its dependencies, or use on_miss='default'"
        ) from error
    declared = study.Study(kernels=[kernel], problems={kernel: [Problem(problem)]})
    picks = running.run_study_here(declared).picks
    if not picks:
        raise ExportError(f"{kernel}: tuning {dict(problem)} on {model.slug} found no config")
    return Config(picks[0].config)
