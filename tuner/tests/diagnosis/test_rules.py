"""Every rule of diagnosis fires on what it is for, names its evidence, and stays silent on a healthy
server.
"""

import copy
import re
from dataclasses import replace

import pytest
from trimtab_trials.measurement import Measurement, RequestCounts, SessionCounts, SizeClassCounts
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.clients import Clients
from trimtab_tuner.diagnosis import RULES, diagnose
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, with_backend
from trimtab_tuner.targets.tls import with_tls

SPACE = TARGETS["core"].space()
BASE = {**SPACE.default(), "workers": 2, "max_connections": 4096}

# Averages over one rate as the agent counted them on a quiet machine with four CPUs: two for the server (0
# and 1), two for the generator.
COUNTERS = {
    "cpu": {
        "total": {
            "user": 9.1,
            "nice": 0.0,
            "system": 38.2,
            "idle": 41.5,
            "iowait": 0.1,
            "irq": 0.0,
            "softirq": 11.0,
            "steal": 0.1,
        },
        "cpus": [
            {
                "cpu": n,
                "user": 8.0,
                "nice": 0.0,
                "system": 33.0,
                "idle": 45.0,
                "iowait": 0.1,
                "irq": 0.0,
                "softirq": 13.8,
                "steal": 0.1,
            }
            for n in range(4)
        ],
        "context_switches_per_s": 9158.6,
    },
    "paging": {"read_kib_per_s": 12.0, "swapped_in_pages_per_s": 0.0, "file_refaults_per_s": 0.0},
    "memory": {"page_cache_bytes": 3_203_162_112},
    "network": {"listen_overflows_per_s": 0.0, "passive_opens_per_s": 1_846.4},
    "server_processes": {"processes": 2, "busy": 2, "resident_bytes": 17_772_544, "moved": 0},
}
SERVER = {"requests": 64_000.0, "lock_waits": 12.0}


def size_class(size, asked, late=0):
    """Requests of one file size, `late` of which timed out after they had been read."""
    return SizeClassCounts(
        size_bytes=size,
        asked=asked,
        replied=asked - late,
        timed_out_before_read=0,
        timed_out_after_read=late,
        failed=0,
        abandoned=0,
    )


CLASSES = tuple(size_class(size, 1000) for size in (500, 5_000, 50_000, 500_000))


def rate(
    rate_rps=8_000.0,
    *,
    goodput=400.0,
    replies=None,
    server=None,
    classes=CLASSES,
    generator_cpu=35.0,
    foreign=0.0,
    **changed,
):
    """A rate of the healthy server.

    Others have the share `foreign` of its CPUs (0 and 1). `changed` replaces counters by `group__name`, or a
    whole CPU by `cpuN`.
    """
    counters = copy.deepcopy(COUNTERS)
    fields = {
        "health": {"cpu_share": generator_cpu / 100},
        "requests": RequestCounts(offered=64_000),
    }
    for name, value in changed.items():
        if name.startswith("cpu") and name[3:].isdigit():
            counters["cpu"]["cpus"][int(name[3:])].update(value)
        elif "__" in name:
            group, key = name.split("__")
            counters.setdefault(group, {})[key] = value
        else:
            fields[name] = value
    for state in ("user", "system"):
        used = sum(counters["cpu"]["cpus"][cpu][state] for cpu in (0, 1))
        counters["server_processes"][state] = (1.0 - foreign) * used
    return Measurement(
        rate_rps=rate_rps,
        duration_s=8.0,
        goodput_mbps=goodput,
        reply_rate_rps=rate_rps if replies is None else replies,
        size_classes=classes,
        counters=counters,
        server_stats=SERVER if server is None else server,
        **fields,
    )


def trial(*rates, number=1, score=400.0, verdict=Verdict.VERIFIED, **configuration):
    """A trial of a configuration that differs from the base in some values."""
    verified = verdict is Verdict.VERIFIED
    return Trial(
        number=number,
        configuration={**BASE, **configuration},
        verdict=verdict,
        score=score if verified else None,
        measurements=rates or (rate(4_000.0, goodput=200.0), rate()),
    )


MARIADB = TARGETS["mariadb"]


def database(*rates, connections=500, **configuration):
    """A run of MariaDB: a thread for each connection unless told otherwise."""
    best = Trial(
        number=1,
        configuration={**MARIADB.space().default(), "max_connections": connections, **configuration},
        verdict=Verdict.VERIFIED,
        score=4.0,
        measurements=rates,
    )
    return RunEvidence(
        space=MARIADB.space(),
        equivalents=MARIADB.equivalents,
        best=best,
        trials=(best,),
        server_cpus=(0, 1),
        link_mbps=10_000.0,
        protocol="mariadb",
    )


SHOP = {
    "connections_accepted": 1_000.0,
    "threads_created": 40.0,
    "page_reads": 900_000.0,
    "page_reads_from_disk": 20.0,
}


def shop_rate(rate_rps=900.0, goodput=4.0, server=None, **fields):
    """A rate of a healthy shop."""
    sessions = SessionCounts(started=1_000, completed=1_000)
    return rate(rate_rps, goodput=goodput, server=server or SHOP, **{"sessions": sessions, **fields})


def run(best, *others, **fields):
    """A run with these trials."""
    return RunEvidence(
        space=SPACE,
        equivalents=TARGETS["core"].equivalents,
        best=best,
        trials=(best, *others),
        **{"server_cpus": (0, 1), "link_mbps": 10_000.0, **fields},
    )


WORDS = {"workers", "affinity", "architecture"}  # knobs of core, and English

BUSY = {"system": 80.0, "idle": 2.0}

HANDSHAKES = {
    "tls__handshakes_per_s": 900.0,
    "tls__resumed_percent": 3.0,
    "cpu0": {"user": 60.0, "system": 30.0},
    "cpu1": {"user": 60.0, "system": 30.0},
}

# Behind an nginx that kept no connections, and with four processes of PHP.
PROXIED = {
    "upstream__requests_per_s": 2_000.0,
    "upstream__connections_per_s": 1_990.0,
    "upstream__wait_ms": 0.2,
    "upstream__service_ms": 5.0,
    "network__local_ports": 28_232,
    "network__tcp_time_wait": 21_400,
}
POOLED = {"backend__children": 4, "backend__queued": 9}
WAITING = {"upstream__wait_ms": 31.0, "network__tcp_time_wait": 900}
ON_DISK = {"server_processes__written_bytes_per_s": 9e6, "network__tcp_time_wait": 900}

# Half a CPU on two: 163 of 370 periods.
THROTTLED = {"cpu_quota__cpus": 0.5, "cpu_quota__throttled_percent": 44.1, "cpu_quota__throttled_cpu": 61.0}
WAITING_CPUS = {"cpu0": {"iowait": 31.0}, "cpu1": {"iowait": 28.0}}
# Clients who gave up after their requests had been read.
LATE = {"requests": RequestCounts(offered=64_000, timed_out_after_read=9_000)}
# Clients whose requests nobody had read when they gave up.
UNREAD = {"requests": RequestCounts(offered=64_000, timed_out_before_read=9_000)}

FIRING = {
    "quota-is-used-up": run(
        trial(
            rate(
                replies=6_000.0,
                generator_cpu=97.0,
                cpu__context_switches_per_s=90_000.0,
                cpu0=BUSY | {"steal": 12.0},
                cpu1=BUSY | {"steal": 9.0},
                **THROTTLED,
            )
        )
    ),
    "clients-refused": database(shop_rate(failures={"error-1040": 120})),
    "threads-lose-throughput": database(shop_rate(), shop_rate(1_800.0, goodput=2.5)),
    "threads-made-anew": database(shop_rate(server={**SHOP, "threads_created": 990.0})),
    "buffer-pool-misses": database(shop_rate(server={**SHOP, "page_reads_from_disk": 30_000.0})),
    "generator-is-the-bottleneck": run(trial(rate(generator_cpu=97.0))),
    "link-is-the-bottleneck": run(trial(rate(goodput=862.0)), link_mbps=1_000.0),
    "stolen-time": run(trial(rate(cpu0={"steal": 12.0}, cpu1={"steal": 9.0}))),
    "other-processes": run(trial(rate(foreign=0.5), rate(foreign=0.9))),
    "connection-limit": run(trial(rate(replies=6_000.0, **UNREAD))),
    "too-few-workers": run(trial(rate(replies=6_000.0, cpu0={"idle": 1.0}, cpu1={"idle": 88.0}), workers=1)),
    "connection-ceiling": run(
        trial(max_connections=8192, score=450.0), trial(number=2, max_connections=4096, score=400.0)
    ),
    "accept-queue-overflow": run(trial(rate(network__listen_overflows_per_s=310.0))),
    "large-file-starvation": run(trial(rate(classes=(*CLASSES[:3], size_class(500_000, 1000, late=90))))),
    "too-few-workers-for-blocking-sendfile": run(
        trial(rate(4_000.0, goodput=500.0), rate(goodput=350.0), sendfile="blocking")
    ),
    "disk-wait": run(trial(rate(replies=6_000.0, paging__read_kib_per_s=4_000.0, **WAITING_CPUS))),
    "footprint-evicts-file-cache": run(
        trial(rate(memory__page_cache_bytes=900 * 2**20, paging__read_kib_per_s=4_000.0)),
        trial(
            rate(memory__page_cache_bytes=850 * 2**20, paging__read_kib_per_s=9_000.0),
            number=2,
            score=390.0,
            workers=50,
        ),
    ),
    "swapping": run(trial(rate(paging__swapped_in_pages_per_s=400.0))),
    "interrupts-on-one-cpu": run(
        trial(rate(cpu0={"softirq": 88.0, "idle": 1.0}, **{f"cpu{n}": {"softirq": 2.0} for n in (1, 2, 3)}))
    ),
    "lock-contention": run(
        trial(rate(replies=6_000.0, server={"requests": 64_000.0, "lock_waits": 21_000.0}))
    ),
    "context-switch-overhead": run(
        trial(rate(replies=6_000.0, cpu__context_switches_per_s=90_000.0, cpu0=BUSY, cpu1=BUSY))
    ),
    "handshakes-take-the-cpu": run(trial(rate(replies=6_000.0, **HANDSHAKES))),
    "ports-run-out": run(trial(rate(**PROXIED))),
    "upstream-makes-requests-wait": run(trial(rate(replies=6_000.0, **PROXIED | WAITING))),
    "replies-go-to-disk": run(trial(rate(**PROXIED | ON_DISK))),
    "process-migration": run(
        trial(*(rate(r, server_processes__moved=2) for r in (2_000.0, 4_000.0, 8_000.0)))
    ),
}


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
        if name not in ("too-few-workers-for-blocking-sendfile", "too-few-workers")
        and evidence.protocol == "http"
    ],
)
def test_rule_fires_on_every_server_and_names_its_own_knobs(server, name):
    """Only blocking sendfile is trimtab-httpd's alone: the others' sockets never wait. Fewer workers than
    CPUs are no value of the scale (test_first_changes.py).
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
    few = {**space.default(), "worker_processes": 1, "worker_connections": 16_384}
    many = {**space.default(), "worker_processes": 8, "worker_connections": 4096}
    evidence = on("nginx", FIRING["connection-ceiling"])
    other = replace(best, number=2, score=400.0, configuration=many)
    assert not diagnose(replace(evidence, best=replace(best, configuration=few), trials=(best, other)))
    tried = (replace(best, configuration=many), replace(other, configuration=few))
    (found,) = diagnose(replace(evidence, best=tried[0], trials=tried))
    assert "the most connections that were tried (32768)" in found.sentence
    assert "worker_connections or worker_processes" in found.suggestion


def test_quota_that_is_used_up_is_blamed_and_not_what_it_looks_like():
    """Generator, hypervisor and context switches would be named of the same rate without it."""
    (found,) = diagnose(FIRING["quota-is-used-up"])
    assert "the quota of 0.5 CPUs was used up in 44 % of its periods" in found.sentence
    top = copy.deepcopy(FIRING["quota-is-used-up"].best.measurements[0])
    del top.counters["cpu_quota"]
    assert {each.rule for each in diagnose(run(trial(top)))} >= {
        "generator-is-the-bottleneck",
        "stolen-time",
        "context-switch-overhead",
    }


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


SILENT = {
    "quota-is-used-up": (
        run(trial(rate(**THROTTLED | {"cpu_quota__throttled_percent": 3.0}))),  # now and then
        run(trial(rate(cpu_quota__cpus=0.5))),  # it is not known
    ),
    "clients-refused": (database(shop_rate(failures={"error-1040": 5})),),  # one in two hundred
    "threads-lose-throughput": (
        database(shop_rate(), shop_rate(1_800.0, goodput=3.5)),
        database(shop_rate(), shop_rate(1_800.0, goodput=2.5), thread_handling="pool-of-threads"),
    ),
    "threads-made-anew": (
        database(shop_rate(server={**SHOP, "threads_created": 300.0})),
        database(  # a few for few connections
            shop_rate(server={**SHOP, "threads_created": 20.0, "connections_accepted": 20.0})
        ),
    ),
    "buffer-pool-misses": (database(shop_rate(server={**SHOP, "page_reads_from_disk": 4_000.0})),),
    "generator-is-the-bottleneck": (run(trial(rate(generator_cpu=85.0))),),
    "link-is-the-bottleneck": (
        run(trial(rate(goodput=770.0)), link_mbps=1_000.0),
        run(trial(rate(goodput=9_000.0)), link_mbps=None),  # the loopback has no rate
    ),
    "stolen-time": (run(trial(rate(cpu0={"steal": 4.0}, cpu1={"steal": 4.0}, cpu3={"steal": 50.0}))),),
    "other-processes": (
        run(trial(rate(cpu2={"user": 60.0}, cpu3={"user": 60.0}))),  # on the generator's CPUs
        run(trial(rate(), rate(), rate(foreign=0.9))),  # for a moment
    ),
    "connection-limit": (
        run(trial(rate(replies=6_000.0))),  # clients wait, but have been read
        run(trial(rate(**UNREAD))),  # it keeps up
        run(trial(rate(replies=6_000.0, cpu0=BUSY, cpu1=BUSY, **UNREAD))),  # it has no time
        run(trial(rate(replies=6_000.0, server__connections_open=2_000, **LATE))),  # half of the places
    ),
    "too-few-workers": (
        run(trial(rate(replies=6_000.0, cpu0={"idle": 1.0}, cpu1={"idle": 88.0}))),  # a worker has no work
        run(trial(rate(cpu0={"idle": 1.0}, cpu1={"idle": 88.0}), workers=1)),  # it keeps up
        run(trial(rate(replies=6_000.0, cpu0={"idle": 1.0}, cpu1={"idle": 8.0}), workers=1)),
    ),
    "connection-ceiling": (
        run(trial(max_connections=8192, score=401.0), trial(max_connections=4096)),
        run(trial(max_connections=8192, score=425.0), trial(max_connections=4096)),  # luck, at 3 % noise
        run(  # more were tried, and failed
            trial(max_connections=8192, score=450.0),
            trial(max_connections=4096),
            trial(max_connections=16_384, verdict=Verdict.FAILED_VERIFICATION),
        ),
    ),
    "accept-queue-overflow": (
        run(trial(rate(network__listen_overflows_per_s=10.0))),
        run(  # it was another server's queue
            trial(rate(network__listen_overflows_per_s=310.0, server={**SERVER, "connections_accepted": 100}))
        ),
    ),
    "large-file-starvation": (  # all sizes time out alike
        run(trial(rate(classes=tuple(size_class(s, 1000, 60) for s in (1, 2, 3, 4))))),
    ),
    "too-few-workers-for-blocking-sendfile": (
        run(trial(rate(4_000.0, goodput=400.0), rate(goodput=360.0), sendfile="blocking")),
        run(trial(rate(4_000.0, goodput=500.0), rate(goodput=350.0), sendfile="nonblocking")),
    ),
    "disk-wait": (  # the generator's CPUs wait, the server's do not
        run(
            trial(
                rate(
                    replies=6_000.0,
                    paging__read_kib_per_s=4_000.0,
                    cpu2={"iowait": 60.0},
                    cpu3={"iowait": 60.0},
                )
            )
        ),
        run(trial(rate(replies=6_000.0, paging__read_kib_per_s=0.0, **WAITING_CPUS))),  # for a ring
    ),
    "footprint-evicts-file-cache": (  # more reads, but a better score
        run(
            trial(rate(memory__page_cache_bytes=900 * 2**20)),
            trial(
                rate(memory__page_cache_bytes=800 * 2**20, paging__read_kib_per_s=9e3),
                workers=50,
                score=420.0,
            ),
        ),
    ),
    "swapping": (run(trial(rate(paging__swapped_in_pages_per_s=5.0))),),
    "interrupts-on-one-cpu": (
        run(trial(rate(**{f"cpu{n}": {"softirq": 60.0, "idle": 5.0} for n in range(4)}))),
    ),
    "lock-contention": (  # locks are waited for, but no CPU idles
        run(trial(rate(replies=6_000.0, server={"requests": 1.0, "lock_waits": 9.0}, cpu0=BUSY, cpu1=BUSY))),
    ),
    "context-switch-overhead": (
        run(trial(rate(replies=6_000.0, cpu__context_switches_per_s=90_000.0))),  # time is left for them
        run(trial(rate(cpu__context_switches_per_s=90_000.0, cpu0=BUSY, cpu1=BUSY))),  # it keeps up
    ),
    "handshakes-take-the-cpu": (
        run(trial(rate(**HANDSHAKES))),  # it keeps up
        run(trial(rate(replies=6_000.0, **HANDSHAKES | {"tls__handshakes_per_s": 0.0}))),  # nobody makes any
        run(trial(rate(replies=6_000.0, **HANDSHAKES | {"cpu0": BUSY, "cpu1": BUSY}))),  # the kernel works
        run(trial(rate(replies=6_000.0, goodput=7_000.0, **HANDSHAKES))),  # it encrypts that much
    ),
    "ports-run-out": (
        run(trial(rate(**PROXIED | {"network__tcp_time_wait": 19_000}))),  # ports are left
        run(trial(rate(**PROXIED | {"upstream__connections_per_s": 900.0}))),  # most are kept
    ),
    "upstream-makes-requests-wait": (
        run(trial(rate(replies=6_000.0, **PROXIED | WAITING | {"upstream__wait_ms": 2.4}))),
        run(trial(rate(replies=6_000.0, **POOLED | {"backend__queued": 3}))),  # less than one for each
        run(trial(rate(replies=6_000.0, cpu0=BUSY, cpu1=BUSY, **POOLED))),  # more could not do more
    ),
    "replies-go-to-disk": (
        run(trial(rate(**PROXIED | ON_DISK | {"server_processes__written_bytes_per_s": 4e6}))),  # a log
        run(trial(rate(server_processes__written_bytes_per_s=9e6))),  # nothing stands behind
    ),
    "process-migration": (  # more processes than CPUs
        run(
            trial(*(rate(r, server_processes__busy=8, server_processes__moved=8) for r in (1_000.0, 8_000.0)))
        ),
    ),
}


def test_there_is_a_near_miss_for_every_rule():
    """A rule without one might fire on anything."""
    assert SILENT.keys() == FIRING.keys()


@pytest.mark.parametrize("name", SILENT)
def test_near_misses_are_no_findings(name):
    """Half of a rule's evidence is not enough."""
    for near_miss in SILENT[name]:
        assert diagnose(near_miss) == (), name
