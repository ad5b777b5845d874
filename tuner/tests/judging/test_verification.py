"""The verification rules, each at and beyond its limit."""

import numpy as np
import pytest
from trimtab_trials.measurement import Measurement, SizeClassCounts
from trimtab_tuner.clients import Clients
from trimtab_tuner.judging.verification import Thresholds, verify

PLAIN = Thresholds(confidence=None)


def size_class(size, read, timeouts=0, *, failed=0, before=0, abandoned=0):
    """Counts of a size class with `read` requests that the server read."""
    return SizeClassCounts(
        size_bytes=size,
        asked=read + before + abandoned,
        replied=read - timeouts - failed,
        timed_out_before_read=before,
        timed_out_after_read=timeouts,
        failed=failed,
        abandoned=abandoned,
    )


def measured(*classes, rate=1000.0):
    """A measurement with these size classes."""
    return Measurement(rate_rps=rate, goodput_mbps=1, reply_rate_rps=rate, size_classes=classes)


def rules(measurement, thresholds=PLAIN):
    """Names of the rules broken."""
    return {violation.rule for violation in verify([measurement], thresholds).violations}


def test_no_timeouts_verify():
    """The ordinary case."""
    verification = verify([measured(size_class(102, 1000), size_class(921_600, 10))], PLAIN)
    assert verification.verified
    assert verification.sentence(Clients()) == "All verification rules hold at every rate."


def test_timeouts_over_all_files_beyond_a_tenth_fail():
    """Rule 1: at most 10 %."""
    loose = Thresholds(size_limit=1, size_over_mean_limit=1, confidence=None)
    assert set() == rules(measured(size_class(102, 1000, 100)), loose)
    assert {"all-files"} == rules(measured(size_class(102, 1000, 101)), loose)


def test_timeouts_of_one_size_must_stay_below_two_percent():
    """Rule 2: below 2 %, so that 2 % itself fails."""
    loose = Thresholds(size_over_mean_limit=1, confidence=None)
    others = size_class(102, 100_000)
    assert set() == rules(measured(others, size_class(921_600, 1000, 19)), loose)
    assert {"file-size"} == rules(measured(others, size_class(921_600, 1000, 20)), loose)


def test_timeouts_of_one_size_may_exceed_the_mean_by_two_points():
    """Rule 3: at most the mean over all files + 2 points."""
    loose = Thresholds(size_limit=1, confidence=None)
    others = size_class(102, 9000, 90)  # 1 %
    assert set() == rules(measured(others, size_class(921_600, 1000, 32)), loose)  # mean 1.22 %
    assert {"size-over-mean"} == rules(measured(others, size_class(921_600, 1000, 40)), loose)  # 4 > 3.3 %


def test_timeouts_before_read_and_abandoned_requests_do_not_count():
    """A server that admits few but serves them all is fair."""
    assert set() == rules(measured(size_class(102, 100, before=5000, abandoned=20_000)))


def test_failed_requests_have_a_rule_of_their_own():
    """Resets and wrong lengths are not timeouts."""
    assert set() == rules(measured(size_class(102, 10_000, failed=10)))
    assert {"failures"} == rules(measured(size_class(102, 10_000, failed=11)))


def test_server_that_reads_nothing_fails():
    """No request read although some were asked: not fair but dead."""
    verification = verify([measured(size_class(102, 0, before=50))], PLAIN)
    assert verification.sentence(Clients()) == "At 1,000 requests/s, the server read none of 50 requests."


def test_in_a_closed_loop_the_sentence_is_of_connections():
    """There is no rate there: the rungs of the ladder are numbers of connections."""
    clients = Clients(loop="closed", connections=(1, 64))
    dead = [measured(size_class(102, 0, before=9), rate=1), measured(size_class(102, 0, before=1), rate=64)]
    first, second = verify(dead, PLAIN).violations
    assert first.sentence(clients) == "At 1 connection, the server read none of 9 requests."
    assert second.sentence(clients) == "At 64 connections, the server read none of 1 request."
    slow = verify([measured(size_class(102, 100, 90), rate=64)], PLAIN)
    assert slow.sentence(clients).startswith("At 64 connections, 90.00 % of the requests")


def test_every_rate_must_pass():
    """One bad rate fails the trial, and the sentence names rate, size, share and limit."""
    good = measured(size_class(102, 1000), rate=1000)
    bad = measured(size_class(102, 10_000), size_class(921_600, 1000, 52), rate=8000)
    verification = verify([good, bad], PLAIN)
    assert not verification.verified
    assert {8000.0} == {violation.rate_rps for violation in verification.violations}
    assert verification.sentence(Clients()) == (
        "At 8,000 requests/s, 5.20 % of the requests for files of 921,600 B (52 of 1,000) timed out after "
        "the server had read them; the rule file-size allows 2.00 %. (1 more violation.)"
    )


def test_single_timeout_among_twenty_fails_only_the_plain_rule():
    """One of 20 is 5 %, which a server with a true share of 2 % has in a third of all runs."""
    measurement = measured(size_class(102, 10_000), size_class(921_600, 20, 1))
    assert {"file-size", "size-over-mean"} == rules(measurement)
    assert set() == rules(measurement, Thresholds())


@pytest.mark.parametrize(("timeouts", "broken"), [(2, set()), (3, {"file-size", "size-over-mean"})])
def test_limit_fails_once_chance_is_below_one_in_twenty(timeouts, broken):
    """Of 20 requests at a true 2 %, two timeouts have a chance of 6 %, three of 0.7 %."""
    measurement = measured(size_class(102, 100_000), size_class(921_600, 20, timeouts))
    assert broken == rules(measurement, Thresholds())


def test_server_at_the_limit_seldom_fails_however_many_sizes_there_are():
    """Each of 36 sizes may come out too high by chance, and all of them together in one of 20 rates."""
    chance = np.random.default_rng(4)
    failed = 0
    for _ in range(200):
        sizes = [size_class(1000 + n, 68, int(chance.binomial(68, 0.02))) for n in range(36)]
        failed += "file-size" in rules(measured(*sizes), Thresholds())
    assert failed / 200 <= 0.05


def test_one_starved_size_among_many_still_fails():
    """Of 68 requests for the largest files a third timed out."""
    sizes = [size_class(1000 + n, 68) for n in range(35)]
    assert "file-size" in rules(measured(*sizes, size_class(921_600, 68, 22)), Thresholds())


def test_large_counts_make_both_forms_agree():
    """With thousands of requests a share well above the limit fails either way."""
    measurement = measured(size_class(102, 100_000), size_class(921_600, 5000, 150))
    assert rules(measurement) == rules(measurement, Thresholds()) == {"file-size"} | rules(measurement)


def test_measurement_without_size_classes_verifies():
    """Nothing was asked, so nothing was treated unfairly."""
    assert set() == rules(measured())
