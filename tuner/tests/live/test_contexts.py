"""Kinds of traffic, and when one changes to another."""

import numpy as np
import pytest
from trimtab_tuner.live.contexts import LEARNING, ChangeWatch, Context, context_of, nearest, traffic_of
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Observed, Replies, Served

USUAL = Context(rate_rps=1000, reply_bytes=14_000, requests_per_connection=7)


def drawn(rng, context=USUAL, periods=1):
    """What half a second of such traffic looks like: counts vary by chance, sizes have heavy tails."""
    for _ in range(periods):
        requests = max(int(rng.poisson(context.rate_rps / 2)), 1)
        yield context.model_copy(
            update={
                "rate_rps": requests * 2,
                "reply_bytes": float(
                    context.reply_bytes * rng.lognormal(0, 1, requests).mean() / np.exp(0.5)
                ),
                "requests_per_connection": context.requests_per_connection * rng.lognormal(0, 0.05),
                "dynamic_share": rng.binomial(requests, context.dynamic_share) / requests,
            }
        )


@pytest.mark.parametrize(
    "change",
    [
        {"reply_bytes": 8 * 14_000},
        {"requests_per_connection": 1},
        {"rate_rps": 2000},
        {"dynamic_share": 0.3},
    ],
)
def test_change_of_the_traffic_is_found_within_thirty_seconds(change):
    """After minutes of steady traffic without an alarm."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        watch = ChangeWatch()
        assert not any(watch.tell(context) for context in drawn(rng, periods=400))
        after = drawn(rng, USUAL.model_copy(update=change), periods=60)
        assert any(watch.tell(context) for context in after)


def test_steady_traffic_raises_at_most_one_alarm_in_an_hour():
    """7,200 periods of half a second."""
    alarms = []
    for seed in range(5):
        rng, watch = np.random.default_rng(seed), ChangeWatch()
        alarms.append(sum(watch.tell(context) for context in drawn(rng, periods=7200)))
    assert max(alarms) <= 1


def test_wobble_of_a_busy_machine_is_no_other_kind_of_traffic():
    """A tenth up and down for a minute at a time, and two seconds without a request."""
    rng, watch = np.random.default_rng(1), ChangeWatch()
    periods = list(drawn(rng, periods=7200))
    for number in range(200, 7200):
        factor = 1.1 if number // 120 % 2 else 0.9
        factor = 0.0 if number % 600 < 4 else factor
        periods[number] = periods[number].model_copy(update={"rate_rps": factor * periods[number].rate_rps})
    assert not any(watch.tell(context) for context in periods)


def test_new_traffic_is_learnt_after_a_change():
    """It is the usual one from then on."""
    rng, watch = np.random.default_rng(1), ChangeWatch()
    louder = USUAL.model_copy(update={"rate_rps": 4000})
    found = [watch.tell(context) for context in (*drawn(rng, periods=200), *drawn(rng, louder, periods=400))]
    assert sum(found) == 1


def test_nearest_known_context_is_of_the_same_kind_or_none():
    """Traffic of another kind teaches nothing."""
    large = Context(rate_rps=1000, reply_bytes=120_000, requests_per_connection=7)
    like_usual = USUAL.model_copy(update={"rate_rps": 1200})
    assert nearest(like_usual, [large, USUAL]) == USUAL
    assert nearest(like_usual, [large]) is None
    assert nearest(like_usual, []) is None


def period(requests, **told):
    """Half a second of a server."""
    served = (Served(requests), *[Served()] * (CLASSES - 1))
    return Observed(seconds=0.5, arm=ArmPeriod(served), replies=Replies(served=served, **told))


def test_context_is_that_of_all_periods():
    """Rates and means, of everything that was told."""
    told = {"bytes_sent": 300_000, "connections_accepted": 10, "dynamic": 20}
    assert context_of([period(50, **told), period(150, **told)]) == Context(
        rate_rps=200, reply_bytes=3000, requests_per_connection=10, dynamic_share=0.2
    )


def test_traffic_of_servers_that_share_it_is_that_of_all_and_what_some_do_not_tell_is_as_with_the_others():
    """The arms tell no connections, or production has hardly any requests left."""
    production = period(10, bytes_sent=10_000, connections_accepted=2, dynamic=4)
    arm = period(90, bytes_sent=190_000, dynamic=16)
    assert traffic_of([production, arm]) == Context(
        rate_rps=200, reply_bytes=2000, requests_per_connection=5, dynamic_share=0.2
    )
    assert traffic_of([period(0), arm]).dynamic_share == pytest.approx(16 / 90)
    assert traffic_of([period(0)]) == context_of([period(0)])


@pytest.mark.parametrize(
    "told",
    [{}, {"bytes_sent": 500_000, "dynamic": 0}, {"connections_accepted": 10}],
    ids=["-", "log", "page"],
)
def test_what_production_alone_did_not_tell_is_no_change_when_its_arms_tell_it(told):
    """Debian's nginx has a log and no status page: episodes ended after six seconds as another traffic."""
    watch = ChangeWatch()
    alone = period(100, **told)
    for _ in range(LEARNING):
        watch.tell(traffic_of([alone]))
    arm = period(10, bytes_sent=50_000, connections_accepted=1, dynamic=0)
    beside = period(80, **{name: 8 * value // 10 for name, value in told.items()})
    assert not any(watch.tell(traffic_of([beside, arm, arm], alone)) for _ in range(100))
    none_left = period(0, **dict.fromkeys(told, 0))
    half = period(50, bytes_sent=250_000, connections_accepted=5, dynamic=0)
    assert not any(watch.tell(traffic_of([none_left, half, half], alone)) for _ in range(100))


def test_context_of_a_server_that_tells_little_has_one_request_on_a_connection():
    """And nothing dynamic; without requests too."""
    assert context_of([period(100)]) == Context(rate_rps=200, reply_bytes=0, requests_per_connection=1)
    assert context_of([period(0)]) == Context(rate_rps=0, reply_bytes=0, requests_per_connection=1)
