"""What follows from the trials on several hosts is that of all trials that there are now."""

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
from trimtab_tuner.judging.judgement import scores

PLAN = check(tiny_spec(strategy="random", confirmation_repeats=0))
LADDER = (1000.0, 2000.0)
NOW = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def history(tmp_path):
    """That of a run on two hosts that has nothing but its first ladder."""
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
    history = FleetHistory(repository, repository.create_run(new).id, fleet, PLAN.space)
    history.set_ladder(LADDER)
    yield history
    repository.close()


def recorded(history, host_id, capacity_rps, rates=LADDER, **knobs):
    """A trial of the search on a host, of a server of that capacity."""
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
    trial = Trial(
        run_id=1,
        host_id=host_id,
        number=history.new_number(),
        purpose=TrialPurpose.SEARCH,
        block=1,
        configuration={**PLAN.space.default(), **knobs},
        verdict=Verdict.VERIFIED,
        score=scores_of(Verdict.VERIFIED, measurements, ladder=history.ladder).score,
        started_at=NOW,
        finished_at=NOW,
        measurements=measurements,
    )
    history.record(trial)
    return trial


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
