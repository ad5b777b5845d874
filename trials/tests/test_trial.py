"""What holds for trials and measurements whoever makes them."""

from dataclasses import replace

from trimtab_trials.configuration import configuration_hash
from trimtab_trials.measurement import Latency, Measurement, RequestCounts
from trimtab_trials.trial import Trial, TrialPurpose, Verdict


def test_hash_does_not_depend_on_the_order_of_the_knobs():
    """The same values are the same configuration."""
    assert configuration_hash({"workers": 2, "sendfile": "off"}) == configuration_hash(
        {"sendfile": "off", "workers": 2}
    )
    assert configuration_hash({"workers": 2}) != configuration_hash({"workers": 3})


def test_a_trial_with_another_configuration_has_another_hash():
    """A changed copy does not keep what was worked out for the first."""
    made = Trial(configuration={"workers": 2}, verdict=Verdict.VERIFIED)
    assert made.configuration_hash == configuration_hash({"workers": 2})
    changed = replace(made, configuration={"workers": 3})
    assert changed.configuration_hash == configuration_hash({"workers": 3})


def test_known_score_is_the_estimate_only_where_there_is_no_score():
    """A trial that was stopped early has an estimate; one that was not has none to be taken for it."""
    assert Trial(configuration={}, verdict=Verdict.STOPPED_EARLY, estimated_score=7.0).known_score == 7.0
    assert Trial(configuration={}, verdict=Verdict.VERIFIED, score=9.0).known_score == 9.0
    assert Trial(configuration={}, verdict=Verdict.CRASHED).known_score is None


def test_score_that_is_only_bounded_from_below_is_not_known():
    """The load generator gave out: it is the least that it can be."""
    limited = Trial(configuration={}, verdict=Verdict.GENERATOR_LIMITED, estimated_score=7.0)
    assert (limited.known_score, limited.least_score) == (None, 7.0)


def test_no_verdict_blames_both_the_configuration_and_something_else():
    """What failed counts against a configuration, what was spoilt does not; some verdicts are neither."""
    failed = {verdict for verdict in Verdict if verdict.failed}
    spoilt = {verdict for verdict in Verdict if verdict.spoilt}
    ended = {Verdict.CRASHED, Verdict.UNRESPONSIVE}
    assert failed == {Verdict.FAILED_VERIFICATION, Verdict.REJECTED, *ended}
    assert spoilt == {Verdict.DISTURBED}
    assert not failed & spoilt


def test_repeat_outside_the_blocks_is_no_part_of_the_confirmation():
    """Block 0 is for what somebody asked for besides."""
    repeat = Trial(configuration={}, verdict=Verdict.VERIFIED, purpose=TrialPurpose.CONFIRMATION)
    assert not repeat.in_block
    assert Trial(
        configuration={}, verdict=Verdict.VERIFIED, purpose=TrialPurpose.CONFIRMATION, block=1
    ).in_block


def test_counter_that_was_not_counted_is_none_and_not_zero():
    """Whatever is missing on the way to it."""
    counted = Measurement(
        rate_rps=1.0, goodput_mbps=1.0, reply_rate_rps=1.0, counters={"cpu": {"total": {"idle": 7}}}
    )
    assert counted.counter("cpu", "total", "idle") == 7.0
    assert counted.counter("cpu", "total", "steal") is None
    assert counted.counter("cpu", "total", "idle", "more") is None
    assert counted.memory_bytes is None
    assert counted.cpu_s_per_1000_requests is None


def test_cost_of_requests_is_that_of_the_replies_in_the_window():
    """Two CPU seconds for 500 replies a second over eight seconds; replies of the drain do not count."""
    counted = Measurement(
        rate_rps=600.0,
        goodput_mbps=1.0,
        reply_rate_rps=500.0,
        duration_s=10.0,
        warmup_s=2.0,
        requests=RequestCounts(offered=6000, replied=5900),
        counters={"server_processes": {"cpu_s": 2.0, "peak_memory_bytes": 5e6}},
    )
    assert counted.cpu_s_per_1000_requests == 0.5
    assert counted.memory_bytes == 5e6
    assert replace(counted, reply_rate_rps=0.0).cpu_s_per_1000_requests is None


def test_replies_that_stay_behind_by_chance_still_follow():
    """Fewer sessions than usual came: nothing was lost, and nothing waited."""
    short = Measurement(
        rate_rps=400.0,
        reply_rate_rps=320.0,
        goodput_mbps=1.0,
        duration_s=0.4,
        requests=RequestCounts(offered=140, replied=140),
        reply_latency=Latency(p99_us=4_000.0),
    )
    assert short.followed
    assert not replace(short, reply_latency=Latency(p99_us=50_000.0)).followed, "replies waited for others"
    assert not replace(
        short, requests=RequestCounts(offered=141, replied=140, timed_out_after_read=1)
    ).followed
    assert not replace(short, reply_latency=Latency()).followed, "without latencies nobody knows"


def test_replies_follow_what_was_due_where_that_is_known():
    """Long sessions had begun, or few: the rate that was asked for is another than that of the window."""
    measured = Measurement(rate_rps=1000.0, reply_rate_rps=930.0, goodput_mbps=1.0, due_rate_rps=960.0)
    assert measured.followed
    assert not replace(measured, due_rate_rps=1000.0).followed
    late = RequestCounts(offered=1000, replied=1000)
    quick = Latency(p99_us=1.0)
    assert not replace(
        measured, due_rate_rps=1000.0, requests=late, reply_latency=quick, duration_s=1.0
    ).followed, "sessions that were kept waiting ask later, and nothing of that is seen in what was asked"
