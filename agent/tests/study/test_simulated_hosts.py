"""A run over several hosts from its start to its end, on simulated ones."""

import pytest
from live_support import LADDER_RPS, TINY
from simulated_hosts import SimulatedHosts
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.run_spec import RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict
from trimtab_tuner.fleet import effects
from trimtab_tuner.strategies.base import BaseStrategy

SHORT = {**TINY, "ladder": LADDER_RPS, "budget_trials": 5, "confirmation_repeats": 4}


@pytest.fixture
def hosts(simulated, runtime, monkeypatch):
    """Gives the runs so many hosts."""

    def give(count):
        made = SimulatedHosts(runtime, count)
        monkeypatch.setattr(runtime.service, "_stations", made)
        return made

    return give


def finished(runtime, names, **changes):
    """A run over these hosts, at its end."""
    run_id = runtime.service.start(RunSpec(hosts=names, settings={**SHORT, **changes}))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    return run


def on_each(runtime, run):
    """The finished trials of every host, by its name."""
    names = {host["host_id"]: name for name, host in run.fleet["hosts"].items()}
    trials = [t for t in runtime.repository.trials(run.id) if t.verdict is not Verdict.ABORTED]
    return {name: [t for t in trials if names[t.host_id] == name] for name in names.values()}


@pytest.mark.parametrize("count", [1, 2, 6])
def test_run_uses_every_host_and_says_what_they_say_together(count, hosts, runtime):
    """Each measures the default in the search, but for those that are kept for the confirmation; the search
    takes its whole budget, which is that of so many hosts.
    """
    names = hosts(count).names
    run = finished(runtime, names)
    told = Outcome.model_validate(run.outcome).over_hosts
    held_back = set(run.fleet["held_back"])
    assert len(held_back) == (2 if count == 6 else 0)
    assert set(told.confirmed_on) == (held_back or set(names))
    assert told.unseen is bool(held_back)
    trials = runtime.repository.trials(run.id)
    default = Outcome.model_validate(run.outcome).default
    searched = [trial for trial in trials if trial.purpose is TrialPurpose.SEARCH]
    by_default = [trial for trial in searched if trial.configuration == default]
    assert len(by_default) >= count - len(held_back)
    assert len(searched) == 5 * (count - len(held_back))
    assert len({trial.configuration_hash for trial in searched}) > 3


def test_strategy_is_told_everything_anew_only_when_the_model_is_fitted_anew(hosts, runtime, monkeypatch):
    """In between it is told each trial once, and what is new goes on being asked for."""
    monkeypatch.setattr(effects, "FITTED_EACH", 0)
    monkeypatch.setattr(effects, "MISSING_SHARE", 4)
    anew, revise = [], BaseStrategy.revise

    def counted(strategy, results):
        anew.append(len(results))
        revise(strategy, results)

    monkeypatch.setattr(BaseStrategy, "revise", counted)
    run = finished(runtime, hosts(2).names, budget_trials=40, confirmation_repeats=0)
    assert anew == sorted({effects.fitted_of(trials) for trials in range(81)})
    trials = runtime.repository.trials(run.id)
    searched = [trial for trial in trials if trial.purpose is TrialPurpose.SEARCH]
    assert len(searched) == 80
    assert len({trial.configuration_hash for trial in searched}) > 20


def test_host_that_is_lost_is_left_out_and_what_was_to_be_measured_there_is_measured(hosts, runtime):
    """The run ends on the others, with its whole budget, and no trial twice."""
    fleet = hosts(3)
    fleet.at("host2").happens("lost", trials=tuple(range(6, 100)))
    run = finished(runtime, fleet.names)
    own = on_each(runtime, run)
    numbers = [trial.number for trials in own.values() for trial in trials]
    assert len(set(numbers)) == len(numbers)
    assert all(trial.number < 6 for trial in own["host2"])
    assert sum(t.purpose is TrialPurpose.SEARCH for trials in own.values() for t in trials) == 15
    told = Outcome.model_validate(run.outcome).over_hosts
    assert told.confirmed_on == ("host0", "host1")


def test_host_that_is_lost_in_the_confirmation_is_named_in_the_outcome(hosts, runtime):
    """Nothing that it has measured counts; the one that is left of those that the search did not use does."""
    fleet = hosts(6)

    def run():
        run_id = runtime.service.start(RunSpec(hosts=fleet.names, settings=SHORT, seed=1))
        runtime.service.wait()
        return runtime.repository.run(run_id)

    whole = run()
    gone, left = whole.fleet["held_back"]
    fleet.at(gone).happens("lost", trials=tuple(range(1, 100)))
    over_hosts = Outcome.model_validate(run().outcome).over_hosts
    assert over_hosts.confirmed_on == (left,)
    assert over_hosts.sentence.endswith(f"{gone} was lost and is not part of the confirmation.")
    assert over_hosts.sentence in Outcome.model_validate(run().outcome).sentence
    assert "lost" not in Outcome.model_validate(whole.outcome).over_hosts.sentence


def test_run_whose_hosts_are_all_lost_ends_with_why_and_goes_on_when_they_are_back(hosts, runtime):
    """What was recorded stays, and is not measured again."""
    fleet = hosts(2)
    for name in fleet.names:
        fleet.at(name).happens("lost", trials=tuple(range(4, 100)))
    run_id = runtime.service.start(RunSpec(hosts=fleet.names, settings=SHORT))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FAILED
    assert run.error == "every host of the search is lost; resume the run when some are back"
    before = [trial.number for trials in on_each(runtime, run).values() for trial in trials]
    assert sorted(before) == [1, 2, 3]
    for name in fleet.names:
        fleet.at(name).change(incidents=[])
    runtime.service.resume(run_id)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    searched = [
        t for trials in on_each(runtime, run).values() for t in trials if t.purpose is TrialPurpose.SEARCH
    ]
    assert len(searched) == 10
