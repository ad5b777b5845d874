"""The knobs of MariaDB, named after its system variables (mariadb.com/kb, Server System Variables and Thread
Pool in MariaDB). What MariaDB counts in bytes and nobody sets to the byte is in MiB here.

`innodb_thread_concurrency` is none of them: MariaDB 10.6 has removed it. A pool bounds what runs at once.
"""

from trimtab_trials.configuration import Configuration

from trimtab_tuner import affinity
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, OnlyWith
from trimtab_tuner.targets.common_knobs import idle_time

HANDLING = "thread_handling"
POOL = "pool-of-threads"
AUTO = "auto"
PLACEMENT = "affinity"

FREE = (HANDLING, "thread_pool_size", "max_connections")

# Both depend on max_connections where nobody sets them (mysqld.cc, adjust_related_options; sys_vars.cc).
MOST_AUTO_QUEUE = 900
LEAST_AUTO_QUEUE = 50
CONNECTIONS_PER_QUEUED = 5


def knobs(cpus: int) -> tuple[Knob, ...]:
    """All of them, for a server on so many CPUs."""
    return (
        Knob(
            name=HANDLING,
            kind="categorical",
            choices=("one-thread-per-connection", POOL),
            default="one-thread-per-connection",
            help="Whether each connection has a thread of its own, or all share the groups of a pool.",
        ),
        Knob(
            name="thread_pool_size",
            role=Role.WORKERS,
            kind="integer",
            scale="log",
            low=1,
            high=max(128, cpus),
            default=cpus,
            unit="groups",
            resource_weight=1000.0,
            scope="total",
            help="Groups of the pool; in each one thread runs at a time, as long as it does not wait.",
        ),
        Knob(
            name="thread_pool_oversubscribe",
            kind="integer",
            scale="log",
            low=1,
            high=1000,
            default=3,
            unit="threads",
            scope="worker",
            help="Threads of a group that may go on at the same time after they have waited.",
        ),
        Knob(
            name="thread_pool_stall_limit",
            kind="integer",
            scale="log",
            low=10,
            high=60_000,
            default=500,
            unit="ms",
            help="After how long a statement that still runs is counted as stalled, and its group gets "
            "another thread.",
        ),
        Knob(
            name="thread_pool_max_threads",
            kind="integer",
            scale="log",
            low=1,
            high=65_536,
            default=65_536,
            unit="threads",
            resource_weight=1.0,
            scope="total",
            help="Threads of the pool, over all groups.",
        ),
        Knob(
            name="max_connections",
            role=Role.CONNECTIONS,
            kind="integer",
            scale="log",
            low=10,
            high=100_000,
            default=151,
            unit="connections",
            resource_weight=100.0,
            scope="total",
            help="Clients connected at once; the next one is refused with error 1040.",
        ),
        Knob(
            name="back_log",
            role=Role.ACCEPT_QUEUE,
            kind="ordinal",
            choices=(AUTO, 50, 100, 200, 500, 900, 2000, 4096, 16_384, 65_535),
            default=AUTO,
            unit="connections",
            help="Length of the kernel's accept queue (capped by net.core.somaxconn); auto: 50 and a fifth "
            "of max_connections, 900 at most.",
        ),
        Knob(
            name="thread_cache_size",
            kind="ordinal",
            choices=(AUTO, 0, 16, 64, 256, 1024, 4096, 16_384),
            default=AUTO,
            unit="threads",
            resource_weight=100.0,
            scope="total",
            help="Threads of closed connections that are kept for the next ones; auto: 256, and no more than "
            "max_connections. A pool has no use for it.",
        ),
        Knob(
            name="table_open_cache",
            role=Role.FILE_CACHE,
            kind="integer",
            scale="log",
            low=10,
            high=100_000,
            default=2000,
            unit="tables",
            resource_weight=2.0,
            scope="total",
            help="Open tables that are kept, one for each table and connection that uses it.",
        ),
        Knob(
            name="innodb_buffer_pool_size",
            role=Role.CONTENT_CACHE,
            kind="integer",
            scale="log",
            low=8,
            high=1_048_576,
            default=128,
            unit="MiB",
            resource_weight=1024.0,
            scope="total",
            help="Memory for tables and indexes; what does not fit is read from disk again.",
        ),
        Knob(
            name="innodb_log_file_size",
            kind="integer",
            scale="log",
            low=8,
            high=524_288,
            default=96,
            unit="MiB",
            scope="total",
            help="Length of the redo log; when it is full, changed pages must be written before anything "
            "goes on.",
        ),
        Knob(
            name="innodb_flush_log_at_trx_commit",
            kind="ordinal",
            choices=(0, 1, 2),
            default=1,
            help="When a transaction reaches the disk: 1 as it is committed, 2 and 0 within a second, so "
            "that a crash of the machine (0: of the server) loses the last one. Not only a matter of speed.",
        ),
        Knob(
            name="innodb_io_capacity",
            kind="integer",
            scale="log",
            low=100,
            high=1_000_000,
            default=200,
            unit="writes/s",
            help="Changed pages that are written each second in the background.",
        ),
        Knob(
            name="innodb_adaptive_hash_index",
            kind="categorical",
            choices=("OFF", "ON"),
            default="OFF",
            help="Whether InnoDB keeps a hash table of the rows that are looked up often; its latch may "
            "cost more than it saves.",
        ),
        idle_time("wait_timeout", 28_800),
        Knob(
            name=PLACEMENT,
            role=Role.PLACEMENT,
            kind="categorical",
            choices=tuple(plan for plan in affinity.PLANS if not affinity.pins_workers(plan)),
            default="none",
            help="Which CPU serves which receive queue: interrupt gives each one of its own. Threads are "
            "left to the scheduler, as there are as many as connections or statements.",
        ),
    )


IN_MIB = ("innodb_buffer_pool_size", "innodb_log_file_size")


def constraints(cpus: int) -> tuple[OnlyWith, ...]:
    """What is of the pool keeps its default where there is none."""
    of_the_pool = [knob for knob in knobs(cpus) if knob.name.startswith("thread_pool_")]
    return tuple(
        OnlyWith(knob=knob.name, otherwise=knob.default, other=HANDLING, among=(POOL,))
        for knob in of_the_pool
    )


def accept_queue(configuration: Configuration) -> int:
    """The length of the accept queue that a configuration comes to."""
    asked = configuration["back_log"]
    if isinstance(asked, int):
        return asked
    return min(
        MOST_AUTO_QUEUE, LEAST_AUTO_QUEUE + int(configuration["max_connections"]) // CONNECTIONS_PER_QUEUED
    )
