"""For each rule of diagnosis a run in which it fires, and what such runs are made of."""

from dataclasses import replace

from trimtab_trials.measurement import RequestCounts
from trimtab_tuner.targets.backends import BACKENDS, with_backend

from .healthy import CLASSES, SHOP, SPACE, database, rate, run, shop_rate, size_class, trial

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
SERVED = POOLED | {"backend__queued": 0}
WAITING = {"upstream__wait_ms": 31.0, "network__tcp_time_wait": 900}
ON_DISK = {"server_processes__written_bytes_per_s": 9e6, "network__tcp_time_wait": 900}

# 64 processes of PHP are allowed, of which four were needed; there are 300 MB for them.
EACH = {"backend__memory_per_child_bytes": 9_000_000, "memory__available_bytes": 264_000_000}
POOL = replace(
    run(trial(rate(**SERVED | EACH), **{"pm.max_children": 64})),
    space=with_backend(SPACE, BACKENDS["php"]),
)

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
    "children-outgrow-memory": POOL,
    "replies-go-to-disk": run(trial(rate(**PROXIED | ON_DISK))),
    "process-migration": run(
        trial(*(rate(r, server_processes__moved=2) for r in (2_000.0, 4_000.0, 8_000.0)))
    ),
}
