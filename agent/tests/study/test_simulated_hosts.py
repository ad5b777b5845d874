"""A run over several hosts from its start to its end, on simulated ones."""

import pytest
from live_support import LADDER_RPS, TINY
from simulated_hosts import SimulatedHosts
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.specification import RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose


@pytest.fixture
def hosts(simulated, runtime, monkeypatch):
    """Gives the runs so many hosts."""

    def give(count):
        made = SimulatedHosts(runtime, count)
        monkeypatch.setattr(runtime.service, "_stations", made)
        return made

    return give


@pytest.mark.parametrize("count", [1, 2, 6])
def test_run_uses_every_host_and_says_what_they_say_together(count, hosts, runtime):
    """Each measures the default in the search, but for those that are kept for the confirmation; the search
    takes its whole budget, which is that of so many hosts.
    """
    names = hosts(count).names
    settings = {**TINY, "ladder": LADDER_RPS, "budget_trials": 5, "confirmation_repeats": 4}
    run_id = runtime.service.start(RunSpec(hosts=names, settings=settings))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    told = Outcome.model_validate(run.outcome).over_hosts
    held_back = set(run.fleet["held_back"])
    assert len(held_back) == (2 if count == 6 else 0)
    assert set(told.confirmed_on) == (held_back or set(names))
    assert told.unseen is bool(held_back)
    trials = runtime.repository.trials(run_id)
    default = Outcome.model_validate(run.outcome).default
    searched = [trial for trial in trials if trial.purpose is TrialPurpose.SEARCH]
    by_default = [trial for trial in searched if trial.configuration == default]
    assert len(by_default) >= count - len(held_back)
    assert len(searched) == 5 * (count - len(held_back))
    assert len({trial.configuration_hash for trial in searched}) > 3
