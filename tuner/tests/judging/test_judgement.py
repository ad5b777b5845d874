"""What has become of a trial: its verdict by the job alone, its scores by the run's objectives."""

from dataclasses import replace

import pytest
from trimtab_trials.measurement import Latency, Measurement, RequestCounts, SizeClassCounts
from trimtab_trials.trial import Verdict
from trimtab_tuner.clients import Clients
from trimtab_tuner.judging.early_stop import Leader
from trimtab_tuner.judging.job import EarlyEnd, TrialJob
from trimtab_tuner.judging.judgement import holds, judge, judge_early, scores
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, with_backend
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

LADDER = (100.0, 200.0, 300.0)
LEADER = Leader(
    score_mbps=80.0,
    highest_mbps={100.0: 40.0, 200.0: 80.0, 300.0: 100.0},
    noise=0.01,
)


def make_job(**changes):
    """A job of three rates."""
    fields = {
        "target": "core",
        "configuration": {"workers": 1},
        "workload": parameters(WORKLOADS["one-packet"], 1.0),
        "ladder": (100.0, 200.0, 300.0),
        "rate_duration_s": 1.0,
        "timeout_s": 1.0,
    }
    return TrialJob(**{**fields, **changes})


def measured(rate_rps, goodput_mbps, *, late=0, limited=False, p999_us=500.0):
    """A rate with a thousand requests, so many of which came too late."""
    counts = SizeClassCounts(
        size_bytes=100,
        asked=1000,
        replied=1000 - late,
        timed_out_before_read=0,
        timed_out_after_read=late,
        failed=0,
        abandoned=0,
    )
    return Measurement(
        rate_rps=rate_rps,
        goodput_mbps=goodput_mbps,
        reply_rate_rps=rate_rps,
        requests=RequestCounts(offered=1000, replied=1000 - late, timed_out_after_read=late),
        reply_latency=Latency(p999_us=p999_us, mean_us=100.0),
        generator_limited=limited,
        health={"reasons": ["it was late", "its CPU is full"]},
        size_classes=(counts,),
    )


GOOD = (measured(100.0, 40.0), measured(200.0, 80.0), measured(300.0, 100.0))


def test_fair_trial_is_verified():
    """Every rule holds at every rate."""
    assert judge(make_job(), GOOD).verdict is Verdict.VERIFIED


def test_generator_that_gave_out_comes_before_everything_else():
    """What it could not offer says nothing about the server."""
    judged = judge(make_job(), (GOOD[0], measured(200.0, 10.0, late=900, limited=True)))
    assert judged.verdict is Verdict.GENERATOR_LIMITED
    assert judged.reason == "At 200 requests/s: it was late; its CPU is full"


def test_unfair_trial_fails_with_the_rule():
    """The sentence names the rate."""
    judged = judge(make_job(), (GOOD[0], measured(200.0, 80.0, late=400)))
    assert judged.verdict is Verdict.FAILED_VERIFICATION
    assert judged.reason.startswith("At 200 requests/s, 40.00 %")


def test_broken_constraint_fails_a_trial_and_no_calibration():
    """The rates of a calibration are not those of the ladder."""
    slow = (measured(100.0, 40.0, p999_us=50_000.0),)
    judged = judge(make_job(constraints=("p999 <= 20ms",)), slow)
    assert judged.verdict is Verdict.FAILED_VERIFICATION
    assert "expected p999 <= 20ms" in judged.reason
    calibration = make_job(constraints=("p999 <= 20ms",), ladder=(), calibrate_from_rps=100.0)
    assert judge(calibration, slow).verdict is Verdict.VERIFIED


POOL = with_backend(TARGETS["nginx"].space(), BACKENDS["php"]).default()
COUNTED = {
    "backend": {"children": 5, "memory_per_child_bytes": 10 << 20},
    "memory": {"available_bytes": 270 << 20},
}


def pooled(children, **changes):
    """A job of nginx before so many processes of PHP, of which no more than five were ever needed."""
    return make_job(target="nginx", configuration=POOL | {"pm.max_children": children}, **changes)


@pytest.mark.parametrize("limited", [False, True])
def test_pool_that_may_outgrow_the_memory_fails_though_nothing_was_late(limited):
    """The reason has the arithmetic; a generator that gave out does not excuse it."""
    rates = [replace(each, counters=COUNTED, generator_limited=limited) for each in GOOD]
    judged = judge(pooled(33), rates)
    assert judged.verdict is Verdict.FAILED_VERIFICATION
    assert judged.reason == (
        "The processes that pm.max_children allows do not all fit the memory. Each process behind the server "
        "took 10.0 MiB, so that 33 processes take 330 MiB; there were 320 MiB for them, enough for 32."
    )
    assert judge(pooled(32), rates).verdict is not Verdict.FAILED_VERIFICATION


def test_pool_that_may_outgrow_the_memory_is_not_driven_on():
    """One rate tells what a process takes."""
    job = pooled(500, end_early=EarlyEnd(objective="peak"))
    judged = judge_early(job, (replace(GOOD[0], counters=COUNTED),))
    assert judged.verdict is Verdict.FAILED_VERIFICATION
    assert judged.reason.endswith("Stopped at 100 requests/s: nothing measured later could mend that.")


def test_trial_that_need_not_end_early_does_not():
    """Not without being told so, and not at its last rate."""
    ending = make_job(end_early=EarlyEnd(objective="peak", leader=LEADER))
    bad = (measured(100.0, 40.0, late=900),)
    assert judge_early(make_job(), bad) is None
    assert judge_early(ending, (*GOOD[:2], measured(300.0, 100.0, late=900))) is None
    assert judge_early(ending, GOOD[:1]) is None  # it may still reach the leader


def test_broken_rule_ends_a_trial_early():
    """Nothing measured later could mend it, with or without a leader."""
    for leader in (None, LEADER):
        judged = judge_early(
            make_job(end_early=EarlyEnd(objective="peak", leader=leader)), (measured(100.0, 40.0, late=900),)
        )
        assert judged.verdict is Verdict.FAILED_VERIFICATION
        assert judged.reason.endswith("Stopped at 100 requests/s: nothing measured later could mend that.")


def test_hopeless_trial_ends_early_and_is_worth_an_estimate():
    """It is taken to keep what it had at the last rate, which is below what the leader has."""
    leader = LEADER.model_copy(update={"highest_mbps": {**LEADER.highest_mbps, 250.0: 90.0}})
    ladder = (100.0, 200.0, 250.0, 300.0)
    job = make_job(ladder=ladder, end_early=EarlyEnd(objective="sustained", leader=leader))
    collapsed = (measured(100.0, 60.0), measured(200.0, 30.0), measured(250.0, 20.0))
    judged = judge_early(job, collapsed)
    assert judged.verdict is Verdict.STOPPED_EARLY
    assert f"{LEADER.score_mbps:.1f} Mbps" in judged.reason
    found = scores(Verdict.STOPPED_EARLY, collapsed, ladder, "sustained", None, None)
    assert (found.score, found.estimated_score) == (None, 20.0)


def test_scores_are_of_the_runs_objectives():
    """Another objective, another score of the same measurements."""
    found = scores(Verdict.VERIFIED, GOOD, LADDER, "peak", "p999", None)
    assert (found.score, found.second_score, found.estimated_score) == (100.0, 0.5, None)
    assert scores(Verdict.VERIFIED, GOOD, LADDER, "condensed-area", None, None).score == pytest.approx(75.0)


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.VERIFIED])
def test_what_was_not_verified_has_no_score(verdict):
    """Nor has a calibration, which has no ladder."""
    assert scores(verdict, GOOD, LADDER, "peak", None, None).score is None
    assert scores(Verdict.VERIFIED, GOOD, (), "peak", None, None).score is None


def test_generator_that_gave_out_leaves_a_lower_bound():
    """What the server followed until then it can do at least."""
    limited = (*GOOD[:2], measured(300.0, 10.0, limited=True))
    found = scores(Verdict.GENERATOR_LIMITED, limited, LADDER, "peak", None, None)
    assert (found.score, found.estimated_score) == (None, 80.0)


def test_generator_that_gives_out_where_the_server_had_given_way_says_nothing_new():
    """The trial is judged by what the generator could offer."""
    given_way = replace(GOOD[1], reply_rate_rps=120.0)
    judged = judge(make_job(), (GOOD[0], given_way, measured(300.0, 10.0, limited=True)))
    assert judged.verdict is Verdict.VERIFIED


def test_what_breaks_beyond_the_ladder_or_between_its_rungs_does_not_fail_a_trial():
    """It only says where the capacity ends."""
    job = make_job(rise=1.25, refinements=1)
    beyond = replace(measured(375.0, 90.0, late=400), held=False)
    between = replace(measured(335.0, 90.0, late=400), held=False)
    assert not holds(job, beyond)
    assert holds(job, GOOD[2])
    assert judge(job, (*GOOD, beyond, between)).verdict is Verdict.VERIFIED


def test_rate_that_the_generator_could_not_offer_at_all_breaks_no_rule():
    """It has not even asked for anything, so that there is nothing to verify."""
    nothing = replace(measured(300.0, 0.0, limited=True), size_classes=())
    assert holds(make_job(), nothing)
    assert judge(make_job(), (*GOOD[:2], nothing)).verdict is Verdict.GENERATOR_LIMITED


def test_measurement_without_size_classes_is_not_taken_for_a_fair_one():
    """Read from a list of curves it has none; then nothing can be said of it."""
    with pytest.raises(ValueError, match="expected what became of each file size"):
        judge(make_job(), (replace(GOOD[0], size_classes=()),))


def test_in_a_closed_loop_a_generator_that_gave_out_is_never_excused_by_replies_that_do_not_follow():
    """Replies per second are no share of connections: 50 of 100 connections a second are not too few."""
    clients = Clients(loop="closed", connections=(100, 200, 300))
    definition = WORKLOADS["one-packet"].model_copy(update={"clients": clients})
    job = make_job(workload=parameters(definition, 1.0))
    slow = [replace(GOOD[0], reply_rate_rps=50.0), replace(GOOD[1], reply_rate_rps=60.0)]
    judged = judge(job, (*slow, measured(300.0, 10.0, limited=True)))
    assert judged.verdict is Verdict.GENERATOR_LIMITED
    assert judge(make_job(), (*slow, measured(300.0, 10.0, limited=True))).verdict is Verdict.VERIFIED


def test_rung_that_was_driven_is_not_still_to_come_while_lower_rates_are():
    """The top broke a rule; what is driven below it only finds the capacity."""
    job = make_job(refinements=1, end_early=EarlyEnd(objective="peak", leader=LEADER))
    top = replace(measured(300.0, 90.0, late=900), held=False)
    assert judge_early(job, (*GOOD[:2], top, measured(245.0, 90.0))) is None
