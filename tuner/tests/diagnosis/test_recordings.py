"""Every rule that this machine can be brought to need fires on a recording of the fault itself.

The recordings are counters of the real server under real load (agent/bench/record_faults.py), in the fault
and with it mended; each says how it was made. For the rules of NOT_RECORDED there is none, for the reason
given there: those are known only from a healthy rate altered by hand (healthy.py).
"""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from trimtab_trials.measurement import Measurement, RequestCounts, SessionCounts, SizeClassCounts
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.diagnosis import RULES, diagnose
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.targets import TARGETS

PLACE = Path(__file__).parent / "recordings"
FAULTS = sorted(path.stem for path in PLACE.glob("*.json") if path.stem != "healthy")

NOT_RECORDED = {
    "quota-is-used-up": "recordings are older than this counter, and were made without a quota",
    "swapping": "the machine has no swap",
    "disk-wait": "its disk is fast: with 13 MB/s read the CPU waited for 6 % at saturation, 11 % below it",
    "threads-lose-throughput": "when it was tried, other programs made the generator the limit",
    "handshakes-take-the-cpu": "recordings are older than TLS",
    "connection-limit": "it wants idle CPUs, and other programs were on all of them",
    "too-few-workers": "it wants two CPUs for the server, and the machine has one for it",
    **dict.fromkeys(
        ("ports-run-out", "upstream-makes-requests-wait", "replies-go-to-disk", "children-outgrow-memory"),
        "recordings are of the core, which does not proxy; agent/tests/station/test_behind.py makes it so",
    ),
    "lock-contention": (
        "two threads on one CPU meet at a lock only when one is preempted inside: at 1 % of the requests"
    ),
    "context-switch-overhead": (
        "1,000 threads on one CPU made 3 to 9 switches per reply, and system time stayed at 37 % at most"
    ),
}


def recorded(name, side):
    """What was counted in a fault, or with it mended."""
    run = json.loads((PLACE / f"{name}.json").read_text())[side]
    target = TARGETS[run.get("target", "core")]
    space = target.space()
    trials = tuple(
        Trial(
            number=trial["number"],
            configuration={**space.default(), **trial["configuration"]},
            verdict=Verdict(trial["verdict"]),
            score=trial["score"],
            measurements=tuple(recorded_rate(rate) for rate in trial["rates"]),
        )
        for trial in run["trials"]
    )
    return RunEvidence(
        space=space,
        equivalents=target.equivalents,
        best=next(trial for trial in trials if trial.number == run["best"]),
        trials=trials,
        server_cpus=tuple(run["server_cpus"]),
        link_mbps=run["link_mbps"],
        protocol=target.protocol,
    )


def recorded_rate(rate):
    """One rate of a recording, as agent/bench/record_faults.py writes it."""
    names = [field.name for field in fields(SizeClassCounts)]
    generator = rate["generator_cpu"]
    return Measurement(
        **{name: rate[name] for name in ("rate_rps", "duration_s", "goodput_mbps", "reply_rate_rps")},
        generator_limited=rate["generator_limited"],
        requests=RequestCounts(
            offered=rate["asked"],
            timed_out_before_read=rate["timed_out_before_read"],
            timed_out_after_read=rate["timed_out_after_read"],
        ),
        sessions=SessionCounts(started=rate.get("sessions_started", 0)),
        failures=rate.get("failures", {}),
        health={} if generator is None else {"cpu_share": generator / 100},
        size_classes=tuple(
            SizeClassCounts(**dict(zip(names, counts, strict=True))) for counts in rate["size_classes"]
        ),
        counters=rate["counters"],
        server_stats=rate["server"],
    )


@pytest.mark.parametrize("rule", FAULTS)
def test_rule_fires_on_its_fault(rule):
    """It may not be alone: an overloaded server shows several symptoms, and so does a busy machine."""
    assert rule in [found.rule for found in diagnose(recorded(rule, "fault"))]


@pytest.mark.parametrize("rule", FAULTS)
def test_rule_is_silent_once_the_fault_is_mended(rule):
    """The same server and load, but for what the fault is."""
    assert rule not in [found.rule for found in diagnose(recorded(rule, "mended"))]


def test_nothing_is_found_in_a_healthy_server():
    """Far below what it can serve, on a machine that is busy otherwise."""
    assert diagnose(recorded("healthy", "mended")) == ()


def test_recording_says_how_it_was_made():
    """First of all, with date and CPUs."""
    for path in PLACE.glob("*.json"):
        first, *_ = json.loads(path.read_text()).items()
        assert first[0] == "recorded"
        assert "record_faults.py" in first[1]
        assert "server on CPU" in first[1]


def test_every_rule_has_a_recording_or_a_reason_why_not():
    """Rules are named after their functions."""
    rules = {rule.__name__.replace("_", "-") for rule in RULES}
    assert rules == {*FAULTS, *NOT_RECORDED}
    assert not NOT_RECORDED.keys() & set(FAULTS)
