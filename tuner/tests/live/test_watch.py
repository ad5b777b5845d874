"""The minute after a promotion: what is plain harm, what is not, and when it is over."""

import pytest
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Observed, Replies, Served
from trimtab_tuner.live.watch import HANG_S, LEAST_REQUESTS, WATCH_S, Watch

PERIOD_S = 0.5


def seen(requests=100, errors=0, cpu_s=0.01, waiting=0, seconds=PERIOD_S):
    """A server in one period; by default 200 requests/s at 0.1 ms of CPU time each."""
    served = (Served(requests), *[Served()] * (CLASSES - 1))
    arm = ArmPeriod(served=served, errors=errors, cpu_s=cpu_s, waiting=waiting)
    return Observed(seconds=seconds, arm=arm, replies=Replies(served=served))


BEFORE = seen(requests=10_000, cpu_s=1.0, seconds=50.0)


def told_until_the_end(watch, period):
    """The first sentence about harm, and after how many seconds; empty where the watch ended before."""
    watched_s = 0.0
    while not watch.is_over:
        watched_s += period.seconds
        if harm := watch.tell(period):
            return harm, watched_s
    return "", watched_s


@pytest.mark.parametrize(
    "period", [seen(), seen(cpu_s=0.0124), seen(requests=0, cpu_s=0.0), seen(requests=1, cpu_s=0.5)]
)
def test_production_that_goes_on_as_before_is_watched_for_a_minute_without_harm(period):
    """Nearly a quarter dearer is not yet plain, and neither is anything of traffic that has become idle."""
    assert told_until_the_end(Watch(BEFORE), period) == ("", WATCH_S)


def test_errors_that_were_not_there_are_harm_as_soon_as_enough_was_seen():
    """With both counts in the sentence."""
    harm, watched_s = told_until_the_end(Watch(BEFORE), seen(errors=2))
    assert (harm, watched_s) == ("4 of 200 requests failed; before 0", PERIOD_S * LEAST_REQUESTS / 100)


def test_requests_that_are_all_aborted_are_harm_though_none_was_answered():
    """Aborted requests are no replies."""
    harm, _ = told_until_the_end(Watch(BEFORE), seen(requests=0, errors=100))
    assert harm == "200 of 200 requests failed; before 0"


@pytest.mark.parametrize(("errors", "is_harm"), [(3, False), (4, True)])
def test_few_errors_are_not_harm(errors, is_harm):
    """Of as many requests as there must be at least."""
    assert bool(Watch(BEFORE).tell(seen(requests=LEAST_REQUESTS, errors=errors))) is is_harm


@pytest.mark.parametrize(("errors", "harm_is_seen"), [(10, False), (30, True)])
def test_errors_that_were_there_before_are_harm_only_when_they_more_than_double(errors, harm_is_seen):
    """A tenth of the requests failed before."""
    before = seen(requests=10_000, errors=1_000, cpu_s=1.0, seconds=50.0)
    harm, _ = told_until_the_end(Watch(before), seen(errors=errors))
    assert bool(harm) is harm_is_seen


def test_requests_that_cost_a_quarter_more_are_harm_after_a_quarter_of_the_time():
    """The first seconds after a reload are dearer for any server."""
    harm, watched_s = told_until_the_end(Watch(BEFORE), seen(cpu_s=0.0151))
    assert harm == "CPU time per request is 51 % higher than before"
    assert watched_s == WATCH_S / 4 + PERIOD_S


@pytest.mark.parametrize("before", [seen(requests=LEAST_REQUESTS - 1), seen(requests=10_000, cpu_s=0.0)])
def test_cost_is_not_compared_with_what_was_not_known_before(before):
    """Too few requests, or no CPU time that the clock could tell."""
    assert told_until_the_end(Watch(before), seen(cpu_s=10.0)) == ("", WATCH_S)


def test_server_that_answers_nobody_is_harm_after_three_seconds():
    """However many waited; a single answer begins the count anew."""
    watch, hangs = Watch(BEFORE), seen(requests=0, waiting=1, cpu_s=0.0)
    for _ in range(5):
        assert watch.tell(hangs) == ""
    assert watch.tell(seen(requests=1)) == ""
    harm, watched_s = told_until_the_end(watch, hangs)
    assert (harm, watched_s) == ("connections waited and none was answered for 3 s", HANG_S)


def test_server_that_answered_nobody_before_either_is_not_harmed():
    """It is not the promotion's."""
    before = seen(requests=0, waiting=7, cpu_s=0.0)
    assert told_until_the_end(Watch(before), seen(requests=0, waiting=7, cpu_s=0.0)) == ("", WATCH_S)
