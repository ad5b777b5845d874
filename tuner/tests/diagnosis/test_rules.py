"""Every rule of diagnosis fires on what it is for, names its evidence, and stays silent on a healthy
server. What a rule must not take for its own is in test_near_misses.py.
"""

import copy
import re
from dataclasses import replace

import pytest
from trimtab_trials.measurement import Measurement
from trimtab_tuner.clients import Clients
from trimtab_tuner.diagnosis import RULES, diagnose
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, with_backend
from trimtab_tuner.targets.tls import with_tls

from .faults import FIRING, POOLED, THROTTLED
from .healthy import BASE, CLASSES, SPACE, database, rate, run, shop_rate, size_class, trial

WORDS = {"workers", "affinity", "architecture"}  # knobs of core, and English


@pytest.mark.parametrize("name", FIRING)
def test_rule_fires_alone_on_what_it_is_for(name):
    """The finding has a sentence, facts, a source and a remedy; no other rule takes it for its own."""
    (found,) = diagnose(FIRING[name])
    assert found.rule == name
    assert found.facts
    assert all(text.endswith(".") for text in (found.sentence, found.source, found.suggestion))
    knobs = {knob.name for knob in FIRING[name].space.knobs}
    assert found.knob is None or found.knob in knobs | {"cache_lock"}
    assert found.trial in {t.number for t in FIRING[name].trials}


def on(name, evidence):
    """The same evidence of another server: its own knobs in place of those with the same roles."""
    space = TARGETS[name].space()
    kept = {role: space.of_role(role) for role in Role}
    # One step of the scale for each step that the core's values make.
    kept[Role.CONNECTIONS] = space.of_role(Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER)

    def moved(trial):
        configuration = space.default()
        for knob in SPACE.knobs:
            other = kept.get(knob.role)
            value = trial.configuration[knob.name]
            if other is None or value == BASE[knob.name] or knob.role is Role.SENDING_MODE:
                continue
            configuration[other.name] = other.grid(8)[-1]
        return replace(trial, configuration=configuration)

    best = moved(evidence.best)
    return replace(
        evidence,
        space=space,
        equivalents=TARGETS[name].equivalents,
        best=best,
        trials=tuple(map(moved, evidence.trials)),
    )


@pytest.mark.parametrize(
    "server", [name for name in TARGETS if name != "core" and TARGETS[name].protocol == "http"]
)
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, evidence in FIRING.items()
        if name not in ("too-few-workers-for-blocking-sendfile", "too-few-workers", "children-outgrow-memory")
        and evidence.protocol == "http"
    ],
)
def test_rule_fires_on_every_server_and_names_its_own_knobs(server, name):
    """Only blocking sendfile is trimtab-httpd's alone: the others' sockets never wait. Fewer workers than
    CPUs are no value of the scale (test_first_changes.py). Children are those of the program behind it.
    """
    (found,) = diagnose(on(server, FIRING[name]))
    own = {knob.name for knob in TARGETS[server].space().knobs}
    assert found.rule == name
    assert found.knob is None or found.knob in own
    servers = [each for each in TARGETS.values() if each.protocol == "http"]
    foreign = {knob.name for each in servers for knob in each.space().knobs} - own
    said = found.suggestion.replace("net.core.somaxconn", "")
    assert not [
        knob for knob in foreign - WORDS if re.search(rf"(?<![\w.-]){re.escape(knob)}(?![\w-])", said)
    ]


def test_connections_are_counted_over_all_workers():
    """Fewer workers with more connections each are not more; the best must have the most in all."""
    space, best = TARGETS["nginx"].space(), FIRING["connection-ceiling"].best
    evidence = on("nginx", FIRING["connection-ceiling"])

    def tried(number, workers, each, score):
        knobs = {"worker_processes": workers, "worker_connections": each}
        return replace(best, number=number, score=score, configuration={**space.default(), **knobs})

    one = (tried(1, 1, 16_384, 450.0), tried(2, 1, 8192, 400.0))
    assert not diagnose(replace(evidence, best=one[0], trials=(*one, tried(3, 8, 4096, 400.0))))
    eight = (tried(1, 8, 4096, 450.0), tried(2, 8, 2048, 400.0), tried(3, 1, 16_384, 300.0))
    (found,) = diagnose(replace(evidence, best=eight[0], trials=eight))
    assert "the most connections that were tried (32,768)" in found.sentence
    assert "With 16,384, and nothing else changed" in found.sentence
    assert {fact.value for fact in found.facts} == {450.0, 400.0}  # not what one worker scored
    assert "worker_connections or worker_processes" in found.suggestion


def test_quota_that_is_used_up_is_blamed_and_not_what_it_looks_like():
    """Generator, hypervisor and context switches would be named of the same rate without it."""
    (found,) = diagnose(FIRING["quota-is-used-up"])
    assert (
        "the quota of 0.5 CPUs was used up in 44 % of its periods, and the group throttled" in found.sentence
    )
    top = copy.deepcopy(FIRING["quota-is-used-up"].best.measurements[0])
    del top.counters["cpu_quota"]
    assert {each.rule for each in diagnose(run(trial(top)))} >= {
        "generator-is-the-bottleneck",
        "stolen-time",
        "context-switch-overhead",
    }


def test_throttling_is_told_as_the_share_of_periods_that_the_kernel_counts():
    """`nr_throttled` of `nr_periods`, of the rate where it was greatest."""
    calm = rate(4_000.0, **THROTTLED | {"cpu_quota__throttled_percent": 12.0})
    hard = rate(8_000.0, **THROTTLED | {"cpu_quota__throttled_percent": 80.0})
    (found,) = [each for each in diagnose(run(trial(calm, hard))) if each.rule == "quota-is-used-up"]
    told = {fact.name: (fact.value, fact.unit) for fact in found.facts}
    assert told["throttled periods (nr_throttled of nr_periods)"] == (80.0, "%")
    assert "80 % of its periods" in found.sentence


@pytest.mark.parametrize("name", FIRING)
def test_the_chart_shows_where_the_rule_fired(name):
    """At the rate of the finding a curve is beyond the threshold that the chart marks."""
    (found,) = diagnose(FIRING[name])
    chart = found.chart
    assert chart.y_name
    assert all(series.points for series in chart.series)
    points = [point for series in chart.series for point in series.points]
    if chart.x_name == "rate":
        points = [point for point in points if point.x == found.rate_rps]
    beyond = [p.y >= chart.threshold if chart.fires == "above" else p.y <= chart.threshold for p in points]
    assert any(beyond)


def test_a_healthy_rate_stays_on_the_other_side_of_the_threshold():
    """The curves show the difference between the rates: the lower one met no full accept queue."""
    (found,) = diagnose(run(trial(rate(4_000.0), rate(network__listen_overflows_per_s=310.0))))
    (curve,) = found.chart.series
    assert [point.y >= found.chart.threshold for point in curve.points] == [False, True]


def test_the_cache_of_a_memory_group_counts_and_not_the_host_s():
    """The host has gigabytes of file cache, and does not feel it when a small group loses its files."""
    before, after = rate(), rate()
    before.counters["memory_group"] = {"file_bytes": 65_478_656, "file_refaults_per_s": 290.0}
    after.counters["memory_group"] = {"file_bytes": 27_688_960, "file_refaults_per_s": 2_700.0}
    (found,) = diagnose(run(trial(before), trial(after, number=2, score=390.0, workers=100)))
    assert found.rule == "footprint-evicts-file-cache"
    assert "shrinks by 36 MiB" in found.sentence


def test_generator_that_was_late_with_time_to_spare_is_not_called_busy():
    """It used 8 % of a CPU: what it says of itself is told, and the chart shows by how much it was late."""
    late = "203 of 4000 arrivals were more than 10000 us late; the limit is one in a hundred."
    health = {"cpu_share": 0.08, "reasons": [late], "lateness_p99_us": 31_000.0}
    (found,) = diagnose(run(trial(rate(generator_limited=True, health=health))))
    assert found.rule == "generator-is-the-bottleneck"
    assert "at its limit" not in found.sentence
    assert late in found.sentence
    assert "Give the generator more CPUs" not in found.suggestion
    assert "lateness" in found.chart.y_name
    assert max(point.y for point in found.chart.series[0].points) > found.chart.threshold


def test_generator_that_says_nothing_of_its_cpu_gets_no_number():
    """Not 0 % of a CPU."""
    (found,) = diagnose(run(trial(rate(generator_limited=True, health={"reasons": []}))))
    assert "%" not in found.sentence
    assert "generator CPU" not in {fact.name for fact in found.facts}


def test_connections_are_the_unit_of_an_axis_of_connections():
    """And rates that of all others, in a run whose clients come at a rate."""
    (ceiling,), (overflow,) = (diagnose(FIRING[n]) for n in ("connection-ceiling", "accept-queue-overflow"))
    assert (ceiling.chart.x_name, ceiling.chart.x_unit) == ("connections", "connections")
    assert (overflow.chart.x_name, overflow.chart.x_unit) == ("rate", "requests/s")


def test_sentences_cite_nobody():
    """Papers and their sections stand with the details."""
    for name in FIRING:
        (found,) = diagnose(FIRING[name])
        assert not re.search(r"section|[12][09]\d\d[,:;)]|RFC|Harji", f"{found.sentence} {found.suggestion}")


def test_processes_behind_are_named_where_requests_wait_for_one():
    """The knob is that of the program; an idle CPU shows that more of them can do more."""
    target = TARGETS["nginx"]
    space = with_backend(target.space(), BACKENDS["php"])
    evidence = run(trial(rate(replies=6_000.0, **POOLED)))
    best = replace(evidence.best, configuration=space.default())
    (found,) = diagnose(replace(evidence, best=best, space=space, equivalents=target.equivalents))
    assert (found.rule, found.knob) == ("upstream-makes-requests-wait", "pm.max_children")
    assert "9 requests wait for one of the 4 processes" in found.sentence


@pytest.mark.parametrize(("key", "turned"), [("rsa", "tls_key"), ("ecdsa", "ssl_session_cache")])
def test_handshakes_with_the_cheaper_key_leave_the_cache_of_sessions_to_turn(key, turned):
    """The suggestion names all knobs of the server; the first is the kind of key while it is RSA."""
    target = TARGETS["nginx"]
    space = with_tls(target.space(), target.tls_knobs)
    evidence = on("nginx", FIRING["handshakes-take-the-cpu"])
    best = replace(evidence.best, configuration={**space.default(), "tls_key": key})
    (found,) = diagnose(replace(evidence, space=space, best=best, trials=(best,)))
    assert found.knob == turned
    assert "(ssl_session_cache)" in found.suggestion
    assert "(tls_key)" in found.suggestion
    assert "900 TLS handshakes a second, 3 % of them resumed" in found.sentence
    assert "up to 64 % of its CPU time: 1.28 ms each" in found.sentence


def test_there_is_a_firing_example_for_every_rule():
    """A rule without one would not be known to work."""
    assert len(FIRING) == len(RULES)


def test_a_healthy_server_has_no_findings():
    """Nothing is said about a server that keeps up with its load."""
    assert diagnose(run(trial())) == ()


def test_of_a_database_nobody_says_that_it_serves_files():
    """Customers who wait longest are not those with the largest replies, and it has no cache of files."""
    late = (*CLASSES[:3], size_class(500_000, 1000, late=90))
    assert diagnose(database(shop_rate(classes=late))) == ()


def test_missing_counters_silence_the_rules():
    """A source that could not be read is no evidence of anything."""
    bare = Measurement(rate_rps=8_000.0, duration_s=8.0, goodput_mbps=400.0, reply_rate_rps=6_000.0)
    assert diagnose(run(trial(bare), link_mbps=None)) == ()


CONNECTIONS = Clients(loop="closed", connections=(32, 64, 128))


@pytest.mark.parametrize(
    ("replies", "fires"), [((4_000.0, 6_000.0, 6_100.0), True), ((4_000.0, 6_000.0, 8_000.0), False)]
)
def test_a_closed_loop_is_saturated_where_more_connections_bring_no_more_replies(replies, fires):
    """The server never falls behind a load that waits for it; locks that are waited for show all the same."""
    waiting = {"requests": 64_000.0, "lock_waits": 21_000.0}
    rates = [
        rate(float(connections), replies=each, server=waiting)
        for connections, each in zip(CONNECTIONS.connections, replies, strict=True)
    ]
    found = diagnose(run(trial(*rates), clients=CONNECTIONS))
    assert [each.rule for each in found] == ["lock-contention"] * fires
    for each in found:
        assert (each.chart.x_name, each.chart.x_unit) == ("connections", "connections")
        assert [point.x for point in each.chart.series[0].points] == [32, 64, 128]


def test_the_lowest_rung_of_a_closed_loop_is_not_called_saturated():
    """Nothing below it says whether fewer connections would have brought as many replies."""
    alone = run(trial(rate(64.0, replies=6_000.0)), clients=CONNECTIONS)
    assert not alone.saturated(alone.top)


def test_a_finding_of_a_closed_loop_speaks_of_connections():
    """The generator's limit is at a number of connections, not at a rate."""
    best = trial(rate(64.0, replies=6_000.0, generator_cpu=97.0))
    (found,) = diagnose(run(best, clients=CONNECTIONS))
    assert found.sentence.startswith("At 64 connections the load generator")
    assert found.facts[-1].unit == "connections"
