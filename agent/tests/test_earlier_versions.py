"""What earlier versions have left behind still opens, is shown, and goes on.

`assets/var-0.1.0.tar.xz` is the `var` of the version before trials became jobs, as it was left: run 1 is a
whole quick run, run 2 was killed (kill -9) in its search, run 3 in its confirmation, while a plan that
somebody had applied by hand was in force. Its file sets are left out: they are made again.
"""

import json
import os
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from trimtab_agent import runtime
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_repository
from trimtab_agent.simulated.station import SimulatedStation
from trimtab_db.records import RunState
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS

ARCHIVE = Path(__file__).parent / "assets/var-0.1.0.tar.xz"
FINISHED, IN_SEARCH, IN_CONFIRMATION = 1, 2, 3
SENTENCE = "sendfile=off, max_connections=8000 is 6.7 % better than the default (95 % interval 6.3 to 7.0 %)."


@pytest.fixture
def earlier(settings):
    """A `var` of the earlier version, where the test's commands look for theirs."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(settings.var.parent, filter="data")
    return settings


def test_a_finished_run_is_shown_as_it_was(earlier, command):
    """Outcome, ranking, trials and files of the earlier version, in the terminal's words of today."""
    code, output, _ = command("show", str(FINISHED))
    assert code == 0
    assert SENTENCE in output
    assert "26 trials" in output
    code, markdown, _ = command("show", str(FINISHED), "--markdown")
    assert code == 0
    assert "## Diagnosis" in markdown


def test_recorded_knobs_say_what_they_do(earlier):
    """Rules and advice ask for roles, which the earlier version did not know."""
    with open_repository(earlier) as repository:
        space = Space.model_validate(repository.run(FINISHED).space)
    here = {knob.name: knob.role for knob in TARGETS["core"].space().knobs}
    recorded = {knob.name: knob.role for knob in space.knobs}
    assert recorded.items() <= here.items()
    assert "min_bytes_per_s" not in recorded  # a knob of later


def test_a_finished_run_is_exported_again(earlier, command):
    """The file of the measured server is made from what is recorded, and its server takes it."""
    assert command("workload", "build", "specweb99", "--directories", "10")[0] == 0  # where its root is
    code, output, errors = command("export", str(FINISHED), "--format", "trimtab-httpd", "--json")
    assert (code, errors) == (0, ""), output
    (exported,) = json.loads(output)
    assert exported["check_ok"]


def test_killed_runs_are_told_from_finished_ones(earlier):
    """Run 3 was never marked: its process died in the confirmation, and what it had found is kept."""
    with open_repository(earlier) as repository:
        states = {summary.run.id: summary.run.state for summary in repository.runs()}
        assert repository.run(IN_CONFIRMATION).outcome is not None
    assert states == {
        FINISHED: RunState.FINISHED,
        IN_SEARCH: RunState.INTERRUPTED,
        IN_CONFIRMATION: RunState.INTERRUPTED,
    }


def simulated_stations(settings, repository, host_id, layout, _counters):
    """Makes stations that measure nothing for runs that are not a demo's."""
    paths = VarPaths(settings.var)
    host = repository.host(host_id)
    return lambda _run_id, _make_load: SimulatedStation(host, layout, paths.scenario, paths.workloads)


@pytest.mark.skipif(os.cpu_count() == 1, reason="the runs had a CPU for the server and one for the generator")
@pytest.mark.parametrize("how", ["simulated", pytest.param("measured", marks=pytest.mark.live)])
@pytest.mark.parametrize("run_id", [IN_SEARCH, IN_CONFIRMATION])
def test_a_killed_run_goes_on_where_it_was(earlier, command, run_id, how, monkeypatch):
    """It reaches its end, with what it had measured and without measuring any of that again."""
    if how == "simulated":  # the station alone: a demo begins with an empty folder
        monkeypatch.setattr(runtime, "station_maker", simulated_stations)
    with open_repository(earlier) as repository:
        before = {t.number: (t.configuration_hash, t.score) for t in repository.trials(run_id)}
    code, output, errors = command("tune", "--resume", str(run_id), "--even-if-changed")
    assert code == 0, output + errors
    with open_repository(earlier) as repository:
        assert repository.run(run_id).state is RunState.FINISHED
        after = repository.trials(run_id)
    assert {t.number: (t.configuration_hash, t.score) for t in after if t.number in before} == before
    answered = Counter(t.proposal_number for t in after if t.proposal_number is not None)
    assert set(answered.values()) == {1}


def test_a_plan_applied_by_hand_is_still_known(earlier, command):
    """Whoever applied it can put it back, or is told that a boot has done so since."""
    code, output, _ = command("affinity", "restore", "--json")
    assert code == 0
    (line,) = json.loads(output)
    assert line["path"] == "/sys/class/net/lo/queues/rx-0/rps_cpus"
    assert line["state"] in ("restored", "rebooted")
