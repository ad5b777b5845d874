"""The elimination of a run over several simulated hosts, each with a speed of its own."""

from concurrent.futures import Executor, Future
from itertools import groupby

import pytest
from simulated_hosts import SimulatedHosts
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.simulated.station import SimulatedStation
from trimtab_agent.study import dispatcher
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict
from trimtab_tuner.presets import PRESETS

SPEEDS = {"host0": 1.0, "host1": 0.9, "host2": 1.1, "host3": 0.95, "host4": 1.05, "host5": 0.85}
USEFUL = {"max_connections", "sndbuf"}
KNOBS = {
    "architecture": KnobSpec(fixed="symped"),
    "sendfile": KnobSpec(fixed="nonblocking"),
    "workers": KnobSpec(low=1, high=16),
    "max_connections": KnobSpec(low=64, high=16_384),
    "sndbuf": KnobSpec(choices=(0, 16_384, 65_536, 262_144)),
    "backlog": KnobSpec(low=1, high=65_535),
}


class Host(SimulatedStation):
    """A station that is as fast as its name says."""

    def _at_rate(self, number, job, count):
        scenario = super()._at_rate(number, job, count)
        return scenario.model_copy(update={"capacity_rps": scenario.capacity_rps * SPEEDS[self.name]})


class AtOnce(Executor):
    """In place of a station's thread: what is submitted is done before anything else is.

    So the trials of several hosts end in the order in which they began, and the same is found each time.
    """

    def __init__(self, *_arguments, **_options):
        """Takes what a pool of threads takes."""

    def submit(self, work, /, *arguments, **options):
        """Does the work."""
        done = Future()
        try:
            done.set_result(work(*arguments, **options))
        except Exception as error:
            done.set_exception(error)
        return done


@pytest.fixture
def start(simulated, runtime, monkeypatch):
    """Starts a quick run over so many of these hosts; its number."""
    simulated.change(effects={"sndbuf": 0.3})
    monkeypatch.setattr(dispatcher, "ThreadPoolExecutor", AtOnce)

    def started(count):
        hosts = SimulatedHosts(runtime, count, Host)
        monkeypatch.setattr(runtime.service, "_stations", hosts)
        settings = {"budget_trials": 6, "confirmation_repeats": 2}
        spec = RunSpec(hosts=hosts.names, knobs=KNOBS, preset="quick", settings=settings, seed=1)
        return runtime.service.start(spec)

    return started


def outcome_of(runtime, run_id):
    """The outcome of a run that has to come to its end."""
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    return Outcome.model_validate(run.outcome)


def eliminated_by_block(runtime, run_id):
    """The trials of the elimination that came to an end, by block, in their order."""
    trials = [
        trial
        for trial in runtime.repository.trials(run_id)
        if trial.purpose is TrialPurpose.ELIMINATION and trial.verdict is not Verdict.ABORTED
    ]
    blocks = groupby(sorted(trials, key=lambda trial: trial.block), lambda trial: trial.block)
    return {block: sorted(own, key=lambda trial: trial.number) for block, own in blocks}


def changed_in_confirmation(runtime, run_id, default):
    """The knobs that what is confirmed beside the default has changed."""
    confirmed = [t for t in runtime.repository.trials(run_id) if t.in_block and t.configuration != default]
    assert len({trial.configuration_hash for trial in confirmed}) == 1
    return {name for name, value in confirmed[0].configuration.items() if value != default[name]}


@pytest.mark.parametrize("count", [3, 6])
def test_what_is_worth_nothing_is_left_out_by_blocks_on_one_host_each(count, start, runtime):
    """Though hosts differ by more than that; those that are kept for the confirmation stay unseen."""
    run_id = start(count)
    outcome = outcome_of(runtime, run_id)
    changed = changed_in_confirmation(runtime, run_id, outcome.default)
    assert "max_connections" in changed
    assert changed <= USEFUL
    blocks = eliminated_by_block(runtime, run_id)
    assert sum(map(len, blocks.values())) <= PRESETS["quick"].settings.elimination_trials
    fleet = runtime.repository.run(run_id).fleet
    searched = {host["host_id"] for name, host in fleet["hosts"].items() if name not in fleet["held_back"]}
    on = [{trial.host_id for trial in own} for own in blocks.values()]
    assert all(len(hosts) == 1 for hosts in on)
    assert len(set.union(*on)) == min(len(blocks), len(searched)) > 1
    assert set.union(*on) <= searched


def test_effects_of_what_is_recommended_are_told(start, runtime):
    """Each of its settings is kept, and what was left out is told as well."""
    outcome = outcome_of(runtime, start(3))
    changed = {name for name, value in outcome.best.items() if value != outcome.default[name]}
    assert changed
    assert {effect.knob for effect in outcome.effects if effect.kept} == changed
    assert any(not effect.kept for effect in outcome.effects)


@pytest.mark.parametrize("count", [3, 6])
def test_no_host_is_driven_at_what_only_a_faster_one_can_do(count, start, runtime):
    """There any configuration of a slower one is overloaded, and breaks a rule for that alone."""
    run_id = start(count)
    outcome = outcome_of(runtime, run_id)
    run = runtime.repository.run(run_id)
    names = {host["host_id"]: name for name, host in run.fleet["hosts"].items()}
    held_back = set(run.fleet["held_back"])
    trials = [runtime.repository.trial(run_id, trial.number) for trial in runtime.repository.trials(run_id)]
    by_rungs = [t for t in trials if t.in_block or (t.purpose is TrialPurpose.SEARCH and t.score is not None)]
    assert {trial.verdict for trial in trials} == {Verdict.VERIFIED}
    highest = {}
    for trial in by_rungs:
        top_rps = max(measurement.rate_rps for measurement in trial.measurements)
        highest.setdefault(names[trial.host_id], []).append(top_rps)
    can_do = {name: max(rates) for name, rates in highest.items()}
    searched = sorted(set(can_do) - held_back, key=lambda name: SPEEDS[name])
    assert can_do[searched[0]] < can_do[searched[-1]] == run.ladder[-1]
    best = [t for t in by_rungs if t.in_block and t.configuration == outcome.best]
    assert {names[trial.host_id] for trial in best} == (held_back or set(SPEEDS) & set(can_do))
    # Its capacity is found all the same: the last rung is one that it does not follow.
    assert all(any(not measurement.followed for measurement in trial.measurements) for trial in best)


def test_block_of_a_host_that_is_lost_is_measured_anew_on_another(start, simulated, runtime):
    """What the lost one has measured of it is compared with nothing; the hosts that are left go on."""
    before = start(3)
    outcome_of(runtime, before)
    simulated.happens("lost", trials=[eliminated_by_block(runtime, before)[1][1].number])
    run_id = start(3)
    outcome = outcome_of(runtime, run_id)
    assert changed_in_confirmation(runtime, run_id, outcome.default) <= USEFUL
    blocks = eliminated_by_block(runtime, run_id)
    lost, *rest = [
        list(own) for _, own in groupby(sorted(blocks[1], key=lambda t: t.number), lambda t: t.host_id)
    ]
    assert len(rest) == 1
    assert {trial.configuration_hash for trial in lost} <= {trial.configuration_hash for trial in rest[0]}
    later = {trial.host_id for block, own in blocks.items() if block > 1 for trial in own}
    assert lost[0].host_id not in later


def test_without_a_host_left_the_run_fails_and_can_go_on(start, simulated, runtime):
    """The elimination goes on where it was when hosts are back."""
    before = start(2)
    expected = outcome_of(runtime, before)
    first = eliminated_by_block(runtime, before)[1][0].number
    simulated.happens("lost", trials=list(range(first + 1, first + 20)))
    run_id = start(2)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FAILED
    assert "every host of the search is lost" in run.error
    simulated.change(incidents=[])
    runtime.service.resume(run_id)
    outcome = outcome_of(runtime, run_id)
    assert changed_in_confirmation(runtime, run_id, outcome.default) == changed_in_confirmation(
        runtime, before, expected.default
    )
