"""A device that is lost in the middle of a study costs what was in flight, which runs again."""

import json
from collections import Counter

from autotune_lab.records import TrialState

HELPERS = "from pathlib import Path\n"
# The device falls off its bus while config 3 runs, the first time that it does.
FALLING = """\
args['out'].copy_(args['x'] + 1)
marker = Path(__file__).parent / 'fell'
if config['i'] == 3 and not marker.exists():
    marker.touch()
    (Path(__file__).parent / 'gone').touch()
return 1.0 + config['i'] / 10
"""


def states(lab):
    return Counter(trial.state.value for trial in lab.trials())


def test_a_gpu_lost_in_the_middle_ends_its_work_and_nothing_else(lab):
    lab.write(space="Space(i=range(6))", launch=FALLING, helpers=HELPERS)
    gone = lab.root / "search_spaces/gone"
    device = f"fake:gone={gone}"
    devices = ["--device", device, "--device", "fake:1"]
    done = lab.call("tune", lab.reference, *devices, "--sampler", "exhaustive", "--json")
    assert done.returncode == 3
    (line,) = [line for line in done.stderr.splitlines() if "lost" in line]
    assert line.startswith(f"{device}: the device is lost (no fake device: ")
    assert line.endswith("the same command goes on once the device is back")
    assert len(json.loads(done.stdout)["picks"]) == 1, "the other device went on"
    assert states(lab) == {"ok": 6, "interrupted": 1}
    again = [trial for trial in lab.trials() if trial.config["i"] == 3]
    assert [trial.state for trial in again] == [TrialState.INTERRUPTED, TrialState.OK]
    with lab.store() as store:
        assert store.studies()[0].state == "failed"
