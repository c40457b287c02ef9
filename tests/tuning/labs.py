"""Small labs for tests: a kernel file, a synthetic recording of it, studies run on them."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autotune_lab import catalog, fingerprint, recording
from autotune_lab.codec import from_plain
from autotune_lab.records import (
    Context,
    DeviceModel,
    Environment,
    Measurement,
    Outcome,
    Phase,
    Protocol,
    Source,
    SpaceSnapshot,
    Trial,
    TrialState,
    Work,
)
from autotune_lab.spaces.config import Config
from autotune_lab.store.query import Query
from autotune_lab.store.store import Store
from autotune_lab.tuning.events import Event
from autotune_lab.tuning.running import StudyResult, run_study
from autotune_lab.tuning.study import Budget, Study
from tests import warm

MODEL = DeviceModel(
    name="Test GPU", vendor="nvidia", architecture="sm_90", sm_count=8, memory_bytes=2**34
)

KERNEL = '''"""A scripted kernel."""
import torch
from autotune_lab import KernelDefinition, Problem, Space

{helpers}

def inputs(problem, device, generator):
    x = torch.rand(64, device=device, generator=generator)
    return {{"x": x, "out": torch.empty(64, device=device)}}


def launch(args, config):
    {launch}


def reference(args):
    return {{"out": args["x"] + 1}}


scripted = KernelDefinition(
    name="scripted", space={space}, inputs=inputs, launch=launch, outputs=["out"],
    reference=reference, problems=[{problems}], default={default},
)
'''


@dataclass
class Lab:
    """A lab folder with one scripted kernel."""

    root: Path
    events: list[Event] = field(default_factory=list)

    def write(
        self,
        *,
        space: str,
        launch: str = "args['out'].copy_(args['x'] + 1); return 1.0",
        problems: str = 'Problem(n=64, dtype="float32")',
        default: str = "None",
        helpers: str = "",
    ) -> Path:
        """Write the kernel's file; the fake device believes what the body ``launch`` returns."""
        folder = self.root / "search_spaces"
        folder.mkdir(exist_ok=True)
        path = folder / "scripted.py"
        for name in [n for n in sys.modules if n.startswith("autotune_lab_catalog_")]:
            del sys.modules[name]
        body = launch.strip().replace("\n", "\n    ")
        path.write_text(
            KERNEL.format(
                space=space, launch=body, problems=problems, default=default, helpers=helpers
            )
        )
        return path

    @property
    def reference(self) -> str:
        return str(self.root / "search_spaces" / "scripted.py")

    def record(
        self,
        time_ms: Callable[[Config], float | Outcome],
        *,
        model: DeviceModel = MODEL,
        name: str = "test.jsonl.gz",
        spread: Sequence[float] = (1.0, 1.001, 0.999, 1.002, 0.998),
    ) -> str:
        """Record the whole space as ``time_ms`` has it; return the replay device's spec."""
        definition = catalog.load(self.reference)
        contexts = []
        for problem in definition.problems:
            space = definition.space.bind(problem, model)
            context = Context(
                fingerprint.identify(definition, self.reference),
                problem,
                model,
                Environment(driver="test"),
                Protocol(),
                Source.GPU,
            )
            trials = [
                _trial(context.id, number, config, time_ms(config), spread)
                for number, config in enumerate(space, start=1)
            ]
            contexts.append(
                recording.RecordedContext(
                    context=context,
                    space=from_plain(SpaceSnapshot, space.snapshot()),
                    work=Work(bytes=512.0, flops=64.0),
                    trials=tuple(trials),
                )
            )
        recording.write(self.root / name, contexts)
        return f"replay:{self.root / name}@{model.slug}"

    def run(self, device: str, *, trials: int | None = None, **changes: object) -> StudyResult:
        """Run a study of the kernel on a device, with the events kept in ``events``."""
        settings: dict[str, object] = {
            "name": "test",
            "kernels": [self.reference],
            "devices": [device],
            "samplers": ["random"],
            "budget": Budget(trials=trials),
            "protocol": Protocol(playoff_rounds=3, max_samples=5),
        }
        study = Study(**{**settings, **changes})  # type: ignore[arg-type]
        with self.store() as store:
            return run_study(study, store, root=self.root, observe=self.events.append)

    def command(self, *arguments: str) -> list[str]:
        """The command line as a user would call it in the lab's folder."""
        return [sys.executable, "-m", "autotune_lab", *arguments]

    def start(self, *arguments: str, env: dict[str, str] | None = None) -> warm.Command:
        """Start the command line in the lab's folder."""
        return warm.Command(arguments, self.root, env)

    def call(
        self, *arguments: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line in the lab's folder and wait for it."""
        if "PYTHONPATH" not in (env or {}):
            return warm.call(arguments, self.root, env)
        return subprocess.run(
            self.command(*arguments), cwd=self.root, env={**os.environ, **(env or {})},
            capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip

    def by(self, name: str) -> dict[object, Trial]:
        """All trials by the value of one parameter."""
        return {trial.config[name]: trial for trial in self.trials()}

    def store(self) -> Store:
        return Store.open(f"sqlite:///{self.root}/lab.db")

    def trials(self) -> list[Trial]:
        """All trials of all contexts."""
        with self.store() as store:
            contexts = store.contexts(Query(include_simulated=True))
            return [trial for context in contexts for trial in store.trials(context.id)]


def _trial(
    context_id: str,
    number: int,
    config: Config,
    answer: float | Outcome,
    spread: Sequence[float],
) -> Trial:
    if isinstance(answer, Outcome):
        return Trial(context_id, config, answer.state, number=number, reason=answer.reason)
    samples = tuple(answer * factor for factor in spread)
    measurement = Measurement(Phase.SCREEN, samples, answer, min(samples), max(samples))
    return Trial(context_id, config, TrialState.OK, number=number, measurements=(measurement,))
