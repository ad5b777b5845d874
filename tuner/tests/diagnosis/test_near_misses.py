"""Half of a rule's evidence is not enough: for each rule of diagnosis, runs in which it stays silent."""

import pytest
from trimtab_trials.trial import Verdict
from trimtab_tuner.diagnosis import diagnose

from .faults import (
    BUSY,
    EACH,
    FIRING,
    HANDSHAKES,
    LATE,
    ON_DISK,
    POOLED,
    PROXIED,
    SERVED,
    THROTTLED,
    UNREAD,
    WAITING,
    WAITING_CPUS,
)
from .healthy import SERVER, SHOP, database, rate, run, shop_rate, size_class, trial

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
    "generator-is-the-bottleneck": (
        run(trial(rate(generator_cpu=85.0))),
        run(trial(rate(4_000.0, generator_cpu=97.0), rate())),  # it has offered more
        run(
            trial(rate(4_000.0, generator_limited=True)), trial(rate(), workers=4)
        ),  # to another configuration
    ),
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
        run(trial(rate(replies=6_000.0, failures={"closed-early": 30}, cpu0=BUSY, cpu1=BUSY))),  # a few
        run(  # closed for another reason: it did so while it kept up
            trial(
                rate(4_000.0, failures={"closed-early": 400}),
                rate(replies=6_000.0, failures={"closed-early": 900}, cpu0=BUSY, cpu1=BUSY),
            )
        ),
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
        run(  # the workers may have made it
            trial(max_connections=8192, score=450.0), trial(max_connections=4096, workers=1)
        ),
        run(  # 4096 were unlucky once
            trial(max_connections=8192, score=450.0),
            trial(max_connections=4096),
            trial(max_connections=4096, score=490.0),
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
        run(trial(rate(replies=6_000.0, **HANDSHAKES | SERVED))),  # a program behind the server computes
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
    "children-outgrow-memory": (
        run(trial(rate(**SERVED | EACH), **{"pm.max_children": 33})),  # they fit
        run(trial(rate(**SERVED), **{"pm.max_children": 64})),  # nobody knows what one takes
        run(trial(rate(**EACH))),  # nothing stands behind
        run(  # files in the group's memory give way
            trial(
                rate(
                    **SERVED | EACH,
                    memory_group__limit_bytes=700_000_000,
                    memory_group__usage_bytes=500_000_000,
                    memory_group__file_bytes=400_000_000,
                ),
                **{"pm.max_children": 64},
            )
        ),
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
