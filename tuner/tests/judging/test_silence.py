"""A server that runs and answers nobody has a verdict of its own."""

import pytest
from trimtab_trials.measurement import Latency, Measurement, RequestCounts
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.silence import silent
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

JOB = TrialJob(
    target="nginx",
    configuration={"worker_processes": 1},
    workload=parameters(WORKLOADS["one-packet"], 1.0),
    ladder=(100.0, 200.0),
    rate_duration_s=1.0,
    timeout_s=1.0,
)


def measured(replied=0, unread=3000, user=0.0, accepted=0, **changes):
    """A rate with so many replies and requests that nobody read, at a server that used so much of a CPU."""
    return Measurement(
        **{
            "rate_rps": 100.0,
            "goodput_mbps": 0.0,
            "reply_rate_rps": 0.0,
            "requests": RequestCounts(offered=3000, replied=replied, timed_out_before_read=unread),
            "server_stats": {} if accepted is None else {"connections_accepted": accepted},
            "counters": {"server_processes": {"user": user, "system": 0.0}},
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("rate", "seen"),
    [
        (measured(), "it accepted no connection, and it is idle (0 % of a CPU)."),
        (measured(accepted=1200), "it accepted 1,200 connections, and it is idle (0 % of a CPU)."),
        (measured(user=99.0, accepted=1), "it accepted 1 connection, and it is busy (99 % of a CPU)."),
        (measured(accepted=None, counters={}), "no connection to it came about."),
        (
            measured(accepted=None, connect_latency=Latency(p50_us=90.0)),
            "connections to it came about, and it is idle (0 % of a CPU).",
        ),
    ],
    ids=["accepts nobody", "accepts", "busy", "nothing known", "of the kernel"],
)
def test_server_that_answers_nobody_is_told_with_what_was_seen_of_it(rate, seen):
    """Its process, whether it accepts, what it does meanwhile; also where the generator gave out over it."""
    for one in (rate, Measurement(**{**vars(rate), "generator_limited": True, "health": {"reasons": ["x"]}})):
        judgement = silent(JOB, [one])
        assert judgement.verdict is Verdict.UNRESPONSIVE
        assert judgement.reason == (
            f"At 100 requests/s the server answered none of 3,000 requests. Its process is alive, {seen}"
        )


def test_server_that_is_silent_later_is_so_only_if_it_is_idle():
    """A busy one has been asked for too much."""
    before = measured(replied=3000, unread=0)
    assert silent(JOB, [before, measured()]).verdict is Verdict.UNRESPONSIVE
    assert silent(JOB, [before, measured(user=95.0)]) is None
    assert silent(JOB, [before, measured(counters={})]) is None


@pytest.mark.parametrize(
    "rate",
    [
        measured(replied=1),
        measured(unread=9),
        measured(failures={"connect-refused": 3000}),
        measured(
            generator_limited=True, health={"cpu_share": 0.1, "dropped_for_lateness": 900, "reasons": ["x"]}
        ),
    ],
    ids=["one reply", "hardly asked", "refused", "a generator without its CPU"],
)
def test_what_is_no_silence_goes_on(rate):
    """Others judge it."""
    assert silent(JOB, [rate]) is None
