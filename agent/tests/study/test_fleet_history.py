"""What follows from the trials on several hosts is that of all trials that there are now, also for whoever
finds them in the database.
"""

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from empty_databases import empty_sqlite
from live_support import tiny_spec
from trimtab_agent.study.fleet_history import FleetHistory
from trimtab_agent.study.specification import check
from trimtab_db import open_database, records
from trimtab_trials.host import Host
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.fleet import effects
from trimtab_tuner.judging.judgement import scores

PLAN = check(tiny_spec(strategy="random", confirmation_repeats=0))
LADDER = (1000.0, 2000.0)
NOW = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def opened(tmp_path):
    """Finds the history of a run on two hosts from the database, as often as it is called."""
    repository = open_database(empty_sqlite(tmp_path / "trimtab.db"))
    hosts = {}
    for name in ("host0", "host1"):
        host = Host(
            machine_id=name, name=name, kernel="k", cpu_model="c", cpus=2, memory_bytes=1, topology={}
        )
        hosts[name] = {"host_id": repository.register_host(host), "class": {}, "stratum": 0}
    fleet = {"hosts": hosts, "generators": [], "generators_each": 0, "held_back": []}
    new = records.NewRun(
        host_id=hosts["host0"]["host_id"],
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
        fleet=fleet,
    )
    run_id = repository.create_run(new).id
    yield lambda: FleetHistory(repository, run_id, fleet, PLAN.space)
    repository.close()


@pytest.fixture
def history(opened):
    """That of a run that has nothing but its first ladder."""
    history = opened()
    history.set_ladder(LADDER)
    return history


@pytest.fixture
def seldom_fitted(monkeypatch):
    """The model is fitted as after hundreds of trials from the first on."""
    monkeypatch.setattr(effects, "FITTED_EACH", 0)
    monkeypatch.setattr(effects, "MISSING_SHARE", 8)


def recorded(history, host_id, capacity_rps, rates=LADDER, **knobs):
    """A trial of the search on a host, of a server of that capacity, that is recorded."""
    trial = measured(history, host_id, capacity_rps, rates, **knobs)
    history.record(trial)
    return trial


def measured(history, host_id, capacity_rps, rates=LADDER, block=1, verdict=Verdict.VERIFIED, **knobs):
    """The same as it comes from the host."""
    measurements = tuple(
        Measurement(
            number=number,
            rate_rps=rate,
            reply_rate_rps=min(rate, capacity_rps),
            goodput_mbps=min(rate, capacity_rps) / 100,
            held=True,
        )
        for number, rate in enumerate(rates, 1)
    )
    return Trial(
        run_id=1,
        host_id=host_id,
        number=history.new_number(),
        purpose=TrialPurpose.SEARCH,
        block=block,
        configuration={**PLAN.space.default(), **knobs},
        verdict=verdict,
        score=scores_of(verdict, measurements, ladder=history.ladder).score,
        started_at=NOW,
        finished_at=NOW,
        measurements=measurements,
    )


def scores_of(verdict, measurements, *, ladder):
    """As a run with one objective does it."""
    return scores(verdict, measurements, ladder, "condensed-area", None, None)


def asked(history):
    """What is asked after each trial: how many were tried, and what the strategy is told."""
    standing = history.allocation(history.searched_hosts).standing()
    return len(history.tried()), [trial.score for trial in history.results()], len(standing)


def test_each_trial_is_part_of_what_is_asked_next(history):
    """On the scale of the usual host: the default of the slower one scores as much there."""
    recorded(history, 1, 2000)
    assert asked(history)[0] == 1
    recorded(history, 2, 1000)
    tried, told, standing = asked(history)
    assert (tried, standing) == (2, 0)
    assert told[0] == pytest.approx(told[1])
    recorded(history, 1, 2000, workers=2)
    assert asked(history)[0::2] == (3, 1)


def test_grown_ladder_gives_all_trials_other_scores(history):
    """Also those that were asked about before."""
    recorded(history, 1, 2000)
    best = recorded(history, 1, 2600, (*LADDER, 2500.0, 3125.0), workers=2)
    before = asked(history)[1]
    assert history.grow(best, scores_of)
    assert asked(history)[1] != before


def test_host_that_was_started_with_another_kernel_is_the_host_that_it_was(opened, history):
    """Its machine has a record of its own then; also for whoever finds its trials in the database."""
    recorded(history, 1, 2000)
    newer = replace(history._repository.host(1), kernel="newer", memory_bytes=2)
    trial = recorded(history, history._repository.register_host(newer), 2000, workers=2)
    assert trial.host_id not in (1, 2)
    assert history.host_of(trial) == "host0"
    assert asked(history)[0::2] == (2, 1)
    assert asked(opened()) == asked(history)


def test_search_that_begins_anew_has_tried_nothing(history):
    """Its trials stay recorded, as aborted."""
    recorded(history, 1, 2000)
    assert asked(history)[0] == 1
    history.begin_anew("other CPUs")
    assert (len(history.trials), *asked(history)) == (1, 0, [], 0)


def test_question_with_others_in_flight_is_another_one(history):
    """The trials are the same, and what is being measured is not measured elsewhere too."""
    for host_id in (1, 2):
        recorded(history, host_id, 2000)
    recorded(history, 1, 2600, workers=2)
    good = history.trials[-1].configuration_hash
    hosts = history.searched_hosts
    assert history.allocation(hosts).next_task("host1").configuration == good
    assert history.allocation(hosts, [("host1", good)]).next_task("host1").kind == "new"
    assert history.allocation(hosts).next_task("host1").configuration == good


def drawn_trials(history, count):
    """So many trials on two hosts at once, of which the later one ends first: the default and others, some of
    them on both hosts or again; some fail, and some are disturbed.
    """
    draw = random.Random(1)
    verdicts = (Verdict.VERIFIED, Verdict.FAILED_VERIFICATION, Verdict.DISTURBED)
    for number in range(count // 2):
        pair = []
        for host_id in (1, 2):
            alone = 100 * host_id if number % 3 == 0 else 0
            knobs = {"workers": 1 + number % 4, "backlog": alone + number % 40} if number % 10 else {}
            (verdict,) = draw.choices(verdicts, (20, 1, 1))
            capacity_rps, block = draw.uniform(1200, 1900), 1 + number // 10
            pair.append(measured(history, host_id, capacity_rps, block=block, verdict=verdict, **knobs))
        yield from reversed(pair)


def said(history):
    """All that the search asks its history about, by host and configuration."""
    hosts = history.searched_hosts
    allocation = history.allocation(hosts)
    results = history.results()
    return {
        "told": (history.fitted, results),
        "told of each": {t.configuration_hash: history.results_of(t.configuration_hash) for t in results},
        "standing": dict(allocation.standing()),
        "best": (allocation.best(), allocation.best_so_far()),
        "next": [allocation.next_task(host) for host in hosts],
        "on one host": [history.allocation([host]).standing() for host in hosts],
        "noise": history.noise(),
        "ladders": [history.ladder_at(host, len(LADDER)) for host in hosts],
        "tried": list(history.tried()),
    }


def test_resumed_history_says_what_one_says_that_has_seen_the_trials_one_by_one(
    opened, history, seldom_fitted
):
    """Between two fits too, after trials that came to their ends in another order than they began, and when
    the ladder has grown; and so does one that goes on from there.
    """
    between = 0
    for number, trial in enumerate(drawn_trials(history, 150), start=1):
        history.record(trial)
        if number == 90:
            best = recorded(history, 1, 2600, (*LADDER, 2500.0, 3125.0), block=5, workers=2)
            assert history.grow(best, scores_of)
        if number % 7 == 0:
            between += history.fitted < len(history.tried())
            resumed = opened()
            assert said(resumed) == said(history)
        if number == 105:
            history = resumed  # `drawn_trials` goes on with the numbers of the other one
    assert between > 5


def test_what_was_told_holds_until_the_revision_changes(history, seldom_fitted):
    """Only more is told meanwhile."""
    told, revision, revisions = [], history.revision, 0
    for trial in drawn_trials(history, 150):
        history.record(trial)
        if history.revision == revision:
            assert history.results()[: len(told)] == told
        else:
            revision, revisions = history.revision, revisions + 1
        told = history.results()
        assert history.results(after=len(told) - 1) == told[-1:]
    assert 20 < revisions < 75


def test_work_for_a_trial_does_not_grow_with_those_before_it(history, seldom_fitted, monkeypatch):
    """Counted are trials that are fitted, and put on the scale of the usual host, and effects worked out."""
    looked_at, worked_out = Counter(), effects.Effects.of
    fit, scaled = effects.Effects._fit, FleetHistory._on_the_usual_host
    when = 0

    def counted_fit(self):
        looked_at[when] += len(self._logs)
        fit(self)

    def counted_effect(self, configuration):
        looked_at[when] += 1
        return worked_out(self, configuration)

    def counted_scaled(self, trials):
        looked_at[when] += len(trials)
        return scaled(self, trials)

    monkeypatch.setattr(effects.Effects, "_fit", counted_fit)
    monkeypatch.setattr(effects.Effects, "of", counted_effect)
    monkeypatch.setattr(FleetHistory, "_on_the_usual_host", counted_scaled)
    for number, trial in enumerate(drawn_trials(history, 256)):
        when = number.bit_length()
        history.record(trial)
        history.allocation(history.searched_hosts).next_task("host0")
    each = [looked_at[bits] / 2 ** (bits - 1) for bits in (6, 7, 8)]  # of trials 32 to 63, to 127, to 255
    assert each[2] < 1.1 * each[0]
