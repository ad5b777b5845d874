"""A run of MariaDB from its start to its files, on a shop of its own."""

import pytest
from live_support import LADDER_RPS, TINY
from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import Verdict
from trimtab_tuner.targets import TARGETS


@pytest.fixture(params=["simulated", pytest.param("measured", marks=pytest.mark.live)])
def either(request):
    """Both ways; to be asked for before the runtime."""
    if request.param == "simulated":
        request.getfixturevalue("simulated")


def test_run_of_a_database_hands_back_a_fragment_that_was_driven(either, runtime):
    """Both ways of handling connections are tried, one is confirmed, and its file is measured once more."""
    if find_installed("mariadbd") is None:
        pytest.skip("mariadbd is not installed")
    settings = {**TINY, "timeout_s": 2.0, "ladder": LADDER_RPS, "budget_trials": 2, "confirmation_repeats": 1}
    knobs = {
        "thread_pool_size": KnobSpec(fixed=1),
        "max_connections": KnobSpec(fixed=1000),
    }
    run_id = runtime.service.start(RunSpec(target="mariadb", settings=settings, knobs=knobs))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert (run.state, run.error) == (RunState.FINISHED, "")
    assert run.workload == "shop"
    outcome = Outcome.model_validate(run.outcome)
    assert outcome.remeasured.trial is not None
    trials = runtime.repository.whole_trials(run_id)
    assert {trial.verdict for trial in trials} <= {Verdict.VERIFIED, Verdict.DISTURBED}
    assert len({trial.configuration["thread_handling"] for trial in trials}) == 2
    exports = {export.format: export for export in runtime.repository.exports(run_id)}
    own = exports["mariadbd"]
    assert (own.file_name, own.check_ok) == ("my.cnf", True), own.check_output
    assert "--help --verbose" in own.check_command
    assert "cp my.cnf /etc/mysql/mariadb.conf.d/90-trimtab.cnf" in own.text
    assert TARGETS["mariadb"].parse(own.text)["max_connections"] >= 1000
    assert "nginx" not in exports
    assert exports["systemd"].check_ok
    assert "mariadb.service.d" in exports["systemd"].text
    assert analyse_run(runtime.repository, run_id) is not None
