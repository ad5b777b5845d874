"""A calibration points to the change to try first, in the words of every server."""

from dataclasses import replace

import pytest
from trimtab_trials.measurement import Measurement, RequestCounts
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.first_changes import first_changes
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.equivalents import equivalents_of

SERVERS = [name for name, target in TARGETS.items() if target.protocol == "http"]
CONNECTIONS = {
    "core": "max_connections",
    "nginx": "worker_connections",
    "apache": "ThreadsPerChild",
    "lighttpd": "server.max-connections",
    "h2o": "max-connections",
}


def rate(rate_rps, share=1.0, *, idle=(60.0, 60.0), unread=0.0, shut=0.0, counters=None):
    """A rate at which that share of the requests was answered; `idle` is that of the server's two CPUs,
    `shut` the share of the requests whose connection was closed.
    """
    cpus = [{"cpu": number, "idle": idle, "iowait": 0.0} for number, idle in enumerate(idle)]
    offered = round(10 * rate_rps)
    return Measurement(
        rate_rps=rate_rps,
        due_rate_rps=rate_rps,
        reply_rate_rps=share * rate_rps,
        duration_s=10.0,
        goodput_mbps=1.0,
        requests=RequestCounts(offered=offered, timed_out_before_read=round(unread * offered)),
        counters={"cpu": {"cpus": cpus, "total": {}}, **(counters or {})},
        failures={"closed-early": round(shut * offered)},
    )


def climb(server, *rates, space=None, **configuration):
    """The climb of a server's default, with some of it set."""
    space = space or TARGETS[server].space(cpus=2)
    space = space.with_defaults({**space.default(), **configuration})
    trial = Trial(configuration=space.default(), verdict=Verdict.VERIFIED, measurements=rates)
    return RunEvidence(
        space=space,
        equivalents=TARGETS[server].equivalents,
        best=trial,
        trials=(trial,),
        server_cpus=(0, 1),
    ).of_climb()


LIMITED = (rate(8_000.0), rate(12_000.0, 0.7, unread=0.2), rate(20_000.0, 0.4, idle=(0.0, 0.0)))


@pytest.mark.parametrize("server", SERVERS)
def test_connection_limit_that_gives_way_is_raised_alone_on_every_server(server):
    """To more than what the CPUs have room for, in as much as the knob can be."""
    evidence = climb(server, *LIMITED)
    (first,) = first_changes(evidence)
    assert first.finding.rule == "connection-limit"
    assert list(first.changed) == [CONNECTIONS[server]]
    connections = TARGETS[server].equivalents["connections"]
    before, after = (connections.read(each) for each in (evidence.space.default(), first.configuration))
    assert after > 1.5 * before
    assert evidence.space.allows(first.configuration)


def test_more_connections_are_as_many_as_the_idle_cpus_have_room_for():
    """A server that is busy for a fifth of its time gets more than one that is busy for half of it."""
    changes = [
        first_changes(
            climb("core", rate(8_000.0), rate(12_000.0, 0.7, idle=(idle, idle), unread=0.2), workers=2)
        )
        for idle in (50.0, 80.0)
    ]
    values = [one.changed["max_connections"] for (one,) in changes]
    assert values == [8200, 20_000]  # in two digits


@pytest.mark.parametrize("server", SERVERS)
def test_server_that_closes_connections_to_make_room_gets_more_though_its_cpus_are_busy(server):
    """nginx does so at its limit, and overflows the kernel's queue meanwhile: with more connections it did
    twice as much on the same CPU.
    """
    overflows = {"network": {"listen_overflows_per_s": 111.0, "passive_opens_per_s": 1_896.0}}
    gives_way = rate(14_741.0, 0.7, idle=(1.0, 1.0), shut=0.04, counters=overflows)
    evidence = climb(server, rate(8_000.0), rate(13_107.0), gives_way)
    first = first_changes(evidence)[0]
    assert first.finding.rule == "connection-limit"
    assert "closed the connection under 4.0 % of the requests" in first.finding.sentence
    connections = TARGETS[server].equivalents["connections"]
    before, after = (connections.read(each) for each in (evidence.space.default(), first.configuration))
    assert after > 1.5 * before


def test_connections_of_prefork_are_its_processes():
    """It has more of those, and no other architecture is proposed to who has the choice of one."""
    apache = TARGETS["apache"]
    space = apache.space("prefork", cpus=2)
    meanings = equivalents_of(apache.equivalents, space.default())
    evidence = replace(climb("apache", *LIMITED, space=space), equivalents=meanings)
    (first,) = first_changes(evidence)
    assert list(first.changed) == ["MaxRequestWorkers"]
    assert first.changed["MaxRequestWorkers"] > 256
    assert evidence.architecture is None
    assert climb("core", *LIMITED).architecture == "architecture"


def test_connections_closed_to_make_room_tell_although_most_requests_are_answered():
    """nginx at 512 connections: 1.1 % of the requests failed at the first rate that broke a rule, and it
    answered the others in time.
    """
    breaks = replace(rate(11_654.0, 0.98, idle=(9.0, 9.0), shut=0.011), held=False)
    (first, *_) = first_changes(climb("nginx", rate(8_192.0), rate(10_362.0), breaks))
    assert first.finding.rule == "connection-limit"
    assert list(first.changed) == ["worker_connections"]


def test_what_shows_far_above_the_knee_points_nowhere():
    """Only the first rate that was not followed says what the server lacks."""
    rates = (rate(8_000.0), rate(12_000.0, 0.9, idle=(0.0, 0.0)), rate(20_000.0, 0.4, unread=0.5))
    assert first_changes(climb("core", *rates)) == ()


def test_worker_for_each_cpu_where_one_is_busy_and_the_other_idles():
    """A single event loop cannot use two CPUs."""
    rates = (rate(8_000.0), rate(12_000.0, 0.7, idle=(0.0, 99.0)))
    (first,) = first_changes(climb("nginx", *rates, worker_processes=1))
    assert (first.finding.rule, first.changed) == ("too-few-workers", {"worker_processes": 2})


def test_accept_queue_is_emptied_at_once_or_lengthened():
    """By whichever of the two the server does not do already."""
    overflows = {"network": {"listen_overflows_per_s": 900.0, "passive_opens_per_s": 1_000.0}}
    rates = (rate(8_000.0), rate(12_000.0, 0.7, idle=(0.0, 0.0), counters=overflows))
    space = TARGETS["core"].space(cpus=2).restrict("accept_limit", choices=(1, 2, "inf"))
    (one_by_one,) = first_changes(climb("core", *rates, space=space, accept_limit=1, workers=2))
    assert one_by_one.changed == {"accept_limit": "inf"}
    space = TARGETS["nginx"].space(cpus=2).restrict("backlog", low=1, high=65_535)
    (longer,) = first_changes(climb("nginx", *rates, space=space, worker_processes=2, multi_accept="on"))
    assert longer.changed == {"backlog": 4100}


def test_descriptors_rise_with_the_connections_that_need_them():
    """Of lighttpd's own two limits the lower one counts."""
    space = TARGETS["lighttpd"].space(cpus=2).restrict("server.max-fds", choices=(1024, 4096, 16_384, 65_536))
    few = {"server.max-fds": 1024, "server.max-connections": 1024}
    (first,) = first_changes(climb("lighttpd", *LIMITED, space=space, **few))
    assert first.changed["server.max-fds"] >= 2 * first.changed["server.max-connections"]


def test_remedy_whose_knob_is_fixed_is_not_proposed():
    """What the user has decided stays."""
    space = TARGETS["core"].space(cpus=2).fix("max_connections", 1024)
    assert first_changes(climb("core", *LIMITED, space=space)) == ()


def test_climb_that_measured_nothing_points_nowhere():
    """Nor one that followed everything."""
    assert first_changes(climb("core")) == ()
    assert first_changes(climb("core", rate(8_000.0), rate(12_000.0))) == ()
