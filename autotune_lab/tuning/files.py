"""Finds the ``Study`` that a study file declares."""

import dataclasses
import importlib.util
from pathlib import Path

from autotune_lab.errors import DefinitionError
from autotune_lab.tuning.study import Study


def load_study(path: Path) -> Study:
    """Load a file and return its ``study``, named after the file unless it names itself.

    Raises:
        DefinitionError: the file can't be read, does not run, or declares no ``Study``.
    """
    if not path.is_file():
        raise DefinitionError(str(path), ["there is no such study file"])
    spec = importlib.util.spec_from_file_location(f"autotune_lab_study_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DefinitionError(str(path), ["it is not a Python file"])
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's file may raise anything
        raise DefinitionError(str(path), [f"{type(error).__name__}: {error}"]) from error
    study = getattr(module, "study", None)
    if not isinstance(study, Study):
        raise DefinitionError(str(path), ["it declares no module-level study = Study(...)"])
    return dataclasses.replace(study, name=path.stem) if study.name == "study" else study
