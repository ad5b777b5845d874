"""Kinds of traffic, and when one changes to another."""

import numpy as np
import pytest
from trimtab_tuner.live.contexts import ChangeWatch, Context, nearest

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
