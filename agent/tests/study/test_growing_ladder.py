"""The ladder follows the best: what a trial has followed beyond it belongs to it, and scores with it."""

from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest
from empty_databases import empty_sqlite
from live_support import LADDER_RPS, start_calibrated, tiny_spec
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.history import History
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.study.search import Search
from trimtab_agent.study.specification import check
from trimtab_db import open_database, records
from trimtab_db.records import RunState
from trimtab_trials.host import Host
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.judging.judgement import scores
from trimtab_tuner.strategies.base import Proposal

PLAN = check(tiny_spec(strategy="random", confirmation_repeats=0))
LADDER = (1000.0, 2000.0)
BEYOND = (*LADDER, 2500.0, 3125.0)
NOW = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def history(tmp_path):
    """The history of a run that has nothing but its first ladder."""
    repository = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    host = Host(machine_id="1", name="h", kernel="k", cpu_model="c", cpus=2, memory_bytes=1, topology={})
    new = records.NewRun(
        host_id=repository.register_host(host),
        target_id=repository.register_target("core", "1"),
        workload_id=repository.register_workload("w", {}, files=1, total_bytes=1),
        preset="quick",
        strategy="random",
        objective="condensed-area",
        seed=1,
        budget_trials=PLAN.settings.budget_trials,
        settings=PLAN.settings.model_dump(mode="json"),
        space=PLAN.space.model_dump(mode="json"),
        layout={},
    )
    run_id = repository.create_run(new).id
    history = History(repository, run_id)
    history.set_ladder(LADDER)
    yield history
    repository.close()


def recorded(history, workers, capacity_rps, rates=LADDER, broken=(), proposal=None):
    """A trial of the search of a server of that capacity, recorded; that of a `proposal` if there is one."""
    measurements = tuple(
        Measurement(
            number=number,
            rate_rps=rate,
            reply_rate_rps=min(rate, capacity_rps),
            goodput_mbps=min(rate, capacity_rps) / 100,
            held=rate not in broken,
        )
        for number, rate in enumerate(rates, 1)
    )
    trial = Trial(
        run_id=1,
        host_id=1,
        number=history.new_number(),
        purpose=TrialPurpose.SEARCH,
        configuration={**PLAN.space.default(), "workers": workers},
        proposal_number=proposal,
        verdict=Verdict.VERIFIED,
        score=score_of(Verdict.VERIFIED, measurements, ladder=history.ladder).score,
        started_at=NOW,
        finished_at=NOW,
        measurements=measurements,
    )
    history.record(trial)
    return trial


def score_of(verdict, measurements, *, ladder):
    """As a run with one objective does it."""
    return scores(verdict, measurements, ladder, "condensed-area", None, None)


class OneTrialAtATime:
    """Stands for stations: a proposal's trial follows 2,600 requests/s; after so many it starts no more."""

    limit = None

    def __init__(self, history, trials):
        self._history, self._left = history, trials
        self.in_flight = 0
        self.rungs = []

    @property
    def free(self):
        """Whether it takes another order."""
        return self._left > 0 and not self.in_flight

    @property
    def orders(self):
        """Makes them too."""
        return self

    def trial(self, _purpose, configuration, rungs, *, proposal_number=None, **_further):
        """What is asked for."""
        self.rungs.append(tuple(rungs))
        return configuration, proposal_number

    def start(self, order):
        """Begins with it."""
        self._ordered = order
        self._left, self.in_flight = self._left - 1, 1

    def wait(self):
        """Its trial, recorded."""
        self.in_flight = 0
        configuration, proposal = self._ordered
        return recorded(self._history, configuration["workers"], 2600, BEYOND, proposal=proposal)

    scores_of = staticmethod(lambda *told, ladder: score_of(*told, ladder=ladder))


def searched(history, trials):
    """A search of that history that goes on by so many trials."""
    search = Search(history._repository, history._repository.run(1), PLAN.settings, PLAN.space, history)
    search.carry_out(OneTrialAtATime(history, trials), Mock(), Mock())
    return search


def test_search_knows_the_trial_that_made_the_ladder_grow_by_its_score_on_it_alone(history):
    """And not, besides, by the one that it had on the shorter ladder."""
    best = searched(history, 1).best()
    (trial,) = history.trials
    assert history.ladder == BEYOND
    assert best.score == trial.score


@pytest.mark.parametrize(
    ("objective", "rungs"), [("peak", (LADDER[0], BEYOND[-1])), ("mat: p999 <= 4ms", BEYOND)]
)
def test_search_drives_the_whole_of_a_grown_ladder_under_mat_alone(history, objective, rungs):
    """Its limit may be broken first at any rung; otherwise as many are driven as there were at first."""
    run = replace(history._repository.run(1), objective=objective)
    stations = OneTrialAtATime(history, 2)
    Search(history._repository, run, PLAN.settings, PLAN.space, history).carry_out(stations, Mock(), Mock())
    assert stations.rungs == [LADDER, rungs]


@pytest.mark.parametrize(("capacity_rps", "rungs"), [(1500, LADDER), (2600, (LADDER[0], BEYOND[-1]))])
def test_default_is_measured_again_at_rungs_at_which_it_gives_way(history, capacity_rps, rungs):
    """Where it follows all that the ladder began with, its noise would be that of another ladder."""
    settings = PLAN.settings.model_copy(update={"budget_trials": 12})
    driven = BEYOND if capacity_rps > LADDER[-1] else LADDER
    history.propose(Proposal(configuration=PLAN.space.default(), level=0, reason=""))
    default = recorded(history, PLAN.space.default()["workers"], capacity_rps, driven, proposal=1)
    history.grow(default, score_of)
    stations = OneTrialAtATime(history, 1)
    search = Search(history._repository, history._repository.run(1), settings, PLAN.space, history)
    search.carry_out(stations, Mock(), Mock())
    assert stations.rungs == [rungs]


def test_run_that_was_killed_before_its_ladder_had_grown_goes_on_with_the_longer_one(history):
    """The trial is recorded; what it followed belongs to the ladder as soon as the run goes on."""
    history.propose(Proposal(configuration=PLAN.space.default(), level=0, reason=""))
    recorded(history, 1, 2600, BEYOND, proposal=1)
    again = History(history._repository, 1)
    assert again.ladder == LADDER
    best = searched(again, 0).best()
    assert again.ladder == BEYOND
    assert best.score == again.trials[0].score


def test_rungs_that_a_verified_trial_passed_are_added_and_all_scores_are_new(history):
    """In the database too, so that a run that is resumed goes on with them."""
    slow = recorded(history, 1, 1500)
    fast = recorded(history, 2, 2600, BEYOND)
    assert history.grow(fast, score_of)
    assert history.ladder == (1000.0, 2000.0, 2500.0, 3125.0)
    again = History(history._repository, 1)
    assert again.ladder == history.ladder
    assert again.trials == history.trials
    one, other = again.trials
    assert slow.score == pytest.approx((10 + 15) / 2)
    assert one.score == pytest.approx((1000 * 12.5 + 1125 * 15) / 2125), (
        "it keeps what it had where it gave way"
    )
    assert other.score == pytest.approx((1000 * 15 + 500 * 22.5 + 625 * 25.5) / 2125)


def test_trial_that_does_not_follow_the_top_leaves_the_ladder_as_it_is(history):
    """Nothing is written then."""
    assert not history.grow(recorded(history, 1, 1500), score_of)
    assert history.ladder == LADDER


def test_rule_that_broke_at_a_rung_counts_when_the_rung_belongs_to_the_ladder(history):
    """Another configuration passes where this one does not: then this one fails."""
    broken = recorded(history, 1, 2600, (*LADDER, 2500.0), broken=(2500.0,))
    assert not history.grow(broken, score_of)
    assert history.trials[0].verdict is Verdict.VERIFIED
    history.grow(recorded(history, 2, 2600, BEYOND), score_of)
    one = History(history._repository, 1).trials[0]
    assert (one.verdict, one.score) == (Verdict.FAILED_VERIFICATION, None)
    assert one.reason == "At 2,500 requests/s, to which the ladder has grown, it broke a rule."


def test_cost_stays_what_it_was_when_the_ladder_grows_after_a_resume(history):
    """Memory is not among what curves show, which is all that a resumed run has of its trials."""

    def with_memory(verdict, measurements, *, ladder):
        return scores(verdict, measurements, ladder, "condensed-area", "rss", None)

    history.record(replace(recorded(history, 1, 1500), number=history.new_number(), second_score=3.5))
    again = History(history._repository, 1)
    assert again.grow(recorded(again, 2, 2600, BEYOND), with_memory)
    kept = History(history._repository, 1).trials[1]
    assert (kept.second_score, kept.score) == (3.5, pytest.approx((1000 * 12.5 + 1125 * 15) / 2125))


@pytest.fixture
def cramped(tmp_path):
    """A file of the core with room for very few connections."""
    path = tmp_path / "cramped.ini"
    path.write_text("[server]\nmax_connections = 3\n")
    return path


@pytest.mark.usefixtures("simulated")
def test_run_from_a_cramped_default_says_how_much_more_load_its_best_takes(runtime, cramped):
    """The ladder is made from what three connections can do, and follows what more of them can."""
    spec = tiny_spec(
        {"max_connections": KnobSpec(low=3, high=200)},
        strategy="grid",
        coarse_grid={"workers": 1, "max_connections": 3},
    )
    run_id = runtime.service.start(spec.model_copy(update={"base": str(cramped)}))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    assert len(run.ladder) > 2
    assert any("goes up to" in event.message for event in runtime.repository.events(run_id))
    outcome = Outcome.model_validate(run.outcome)
    best = next(one for one in outcome.ranking if one.configuration == outcome.best)
    assert best.performance.capacity_gain.gain > 0.5
    assert f": {best.performance.capacity_gain}." in outcome.sentence


@pytest.mark.usefixtures("simulated")
def test_ladder_that_was_asked_for_stays_as_it_is(runtime):
    """So that runs of different days compare on it: every trial is driven at its rates and at no others."""
    run_id = start_calibrated(runtime)
    runtime.service.wait()
    assert runtime.repository.run(run_id).ladder == LADDER_RPS
    trials = runtime.repository.whole_trials(run_id)
    assert {tuple(m.rate_rps for m in trial.measurements) for trial in trials} == {LADDER_RPS}


def test_default_is_confirmed_at_the_rungs_that_were_made_for_it(simulated, runtime):
    """What is measured beyond is the best; the time that this saves is that of a further block."""
    knobs = {"workers": KnobSpec(fixed=2), "max_connections": KnobSpec(low=64, high=16_384)}
    run_id = runtime.service.start(RunSpec(knobs=knobs, preset="quick", settings={"elimination_trials": 0}))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED
    first, grown = run.ladder[:4], run.ladder[4:]
    assert grown
    outcome = Outcome.model_validate(run.outcome)
    blocks = [trial for trial in runtime.repository.whole_trials(run_id) if trial.in_block]
    for trial in blocks:
        driven = {m.rate_rps for m in trial.measurements}
        is_default = trial.configuration == outcome.default
        assert driven.issuperset(first if is_default else run.ladder)
        assert driven.isdisjoint(grown) is is_default
    assert len(blocks) == 2 * run.settings["confirmation_repeats"]
    assert outcome.capacity_gain.significant
