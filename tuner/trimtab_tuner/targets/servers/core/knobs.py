"""trimtab-httpd's knobs, which architecture has which of them, and what they mean to other servers.

Names, ranges and defaults are those of the server's own table (`trimtab-httpd -t` prints them). Two knobs are
coarser here: `accept_limit` and `sndbuf` are offered in steps, and `affinity` is an affinity plan.
"""

from trimtab_trials.configuration import Configuration

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, OnlyWith
from trimtab_tuner.targets.common_knobs import accept_queue, idle_time
from trimtab_tuner.targets.equivalents import Equivalent, by_role, pinning, plain, switch
from trimtab_tuner.targets.placement import AFFINITY

KNOBS = (
    Knob(
        name="architecture",
        role=Role.ARCHITECTURE,
        kind="categorical",
        choices=(
            "sped",
            "symped",
            "shared-symped",
            "n-copy",
            "amped",
            "co-amped",
            "smped",
            "mp",
            "mt",
            "pipeline",
            "knot",
            "nm",
            "uring",
        ),
        default="symped",
        help="How the work is divided among processes and threads.",
    ),
    Knob(
        name="sendfile",
        role=Role.SENDING_MODE,
        kind="categorical",
        choices=("nonblocking", "blocking", "off"),
        default="nonblocking",
        needs_restart=False,
        help="Whether sendfile returns when the socket is full, holds on to the last byte, or is not used.",
    ),
    Knob(
        name="events",
        role=Role.EVENTS,
        kind="categorical",
        choices=("select", "poll", "epoll", "epoll-et", "io_uring"),
        default="epoll-et",
        help="How readiness is learnt from the kernel.",
    ),
    Knob(
        name="workers",
        role=Role.WORKERS,
        kind="integer",
        scale="log",
        low=1,
        high=1024,
        default=1,
        unit="processes",
        # 25 processes cost 25 to 30 MB of file cache (the seeds' thesis, section 3.10.2).
        resource_weight=1100.0,
        scope="total",
        help="Serving processes, kernel threads or writers, whichever the architecture multiplies.",
    ),
    Knob(
        name="max_connections",
        role=Role.CONNECTIONS,
        kind="integer",
        scale="log",
        low=1,
        high=1_000_000,
        default=1024,
        unit="connections",
        resource_weight=8.0,  # a socket, its buffers at rest, and the server's own record
        needs_restart=False,
        scope="total",
        help="Connections open at once over all workers, divided among them as evenly as possible.",
    ),
    Knob(
        name="accept_limit",
        role=Role.ACCEPT_BATCH,
        kind="ordinal",
        choices=(1, 2, 4, 8, 16, 32, 64, 128, 256, "inf", "auto"),
        default="inf",
        unit="connections",
        needs_restart=False,
        scope="worker",
        help="Connections accepted in one accept phase; auto balances accepting and working.",
    ),
    accept_queue("backlog", 1024),
    Knob(
        name="sndbuf",
        role=Role.SEND_BUFFER,
        kind="ordinal",
        choices=(0, 16_384, 65_536, 262_144, 1_048_576, 4_194_304),
        default=0,
        unit="bytes",
        help="Socket send buffer (SO_SNDBUF); 0 leaves it to the kernel.",
    ),
    AFFINITY,
    Knob(
        name="cache_entries",
        role=Role.FILE_CACHE,
        kind="integer",
        scale="log",
        low=1,
        high=1_000_000,
        default=30_000,
        unit="files",
        resource_weight=0.25,  # 6 MB for 25,000 entries (the seeds' thesis, section 3.8)
        scope="worker",
        help="Open files with their headers kept by each worker.",
    ),
    Knob(
        name="cache_mb",
        role=Role.CONTENT_CACHE,
        kind="integer",
        scale="log",
        low=1,
        high=1_048_576,
        default=64,
        unit="MiB",
        resource_weight=1024.0,
        scope="worker",
        help="Contents of small files that each cache keeps, and as much of others that each process keeps "
        "if sendfile is off.",
    ),
    Knob(
        name="cache_lock",
        role=Role.CACHE_LOCK,
        kind="categorical",
        choices=("mutex", "rw"),
        default="rw",
        help="How a shared cache is locked: one mutex, or a readers-writer lock for the table.",
    ),
    Knob(
        name="reuseport",
        role=Role.LISTENERS,
        kind="categorical",
        choices=("off", "on"),
        default="off",
        help="Whether each worker or copy has listening sockets of its own (SO_REUSEPORT).",
    ),
    Knob(
        name="copies",
        kind="integer",
        low=1,
        high=1024,
        default=1,
        unit="copies",
        resource_weight=1100.0,
        scope="total",
        help="Copies of the whole server, usually one for each CPU.",
    ),
    Knob(
        name="copy_of",
        kind="categorical",
        choices=("sped", "symped", "shared-symped", "mp", "mt", "pipeline", "uring", "knot", "nm"),
        default="symped",
        help="The architecture that n-copy has copies of.",
    ),
    Knob(
        name="helpers",
        kind="integer",
        scale="log",
        low=1,
        high=1024,
        default=4,
        unit="processes",
        resource_weight=500.0,
        scope="worker",
        help="Helper processes for what may block, for each event loop.",
    ),
    Knob(
        name="forward_bias",
        kind="ordinal",
        choices=(1, 4, 16, 64, 256, "inf"),
        default="inf",
        unit="connections",
        help="Connections that the owner of a URL may have more than the process that forwards to it.",
    ),
    Knob(
        name="readers",
        kind="integer",
        low=1,
        high=64,
        default=1,
        unit="threads",
        help="Threads of the pipeline's Read stage, for each of the server's CPUs.",
    ),
    Knob(
        name="poll_delay_us",
        kind="integer",
        low=0,
        high=1_000_000,
        default=0,
        unit="us",
        help="How long a polling stage waits before it polls, so that it finds more.",
    ),
    Knob(
        name="stage_threads",
        kind="categorical",
        choices=("fixed", "adaptive"),
        default="fixed",
        needs_restart=False,
        help="Whether all threads of the pipeline's stages work, or as many as their queues ask for.",
    ),
    Knob(
        name="stage_batch",
        kind="categorical",
        choices=("fixed", "adaptive"),
        default="fixed",
        needs_restart=False,
        help="Whether the pipeline's threads take as much at a time as they can, or as little as costs no "
        "throughput.",
    ),
    Knob(
        name="admission_p90_ms",
        kind="ordinal",
        choices=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, "off"),
        default="off",
        unit="ms",
        needs_restart=False,
        help="How long nine of ten items may wait for a stage of the pipeline; what would take longer is "
        "refused with 503.",
    ),
    Knob(
        name="large_transfer",
        kind="categorical",
        choices=("thread", "continuation"),
        default="continuation",
        help="Who sends what did not fit the socket at first: the thread, woken each time, or the scheduler.",
    ),
    Knob(
        name="thread_pool",
        kind="categorical",
        choices=("fixed", "on-demand"),
        default="fixed",
        help="Whether threads are there from the beginning, or are started when none is free.",
    ),
    idle_time("keepalive_timeout", 15, needs_restart=False),
    Knob(
        name="request_timeout",
        kind="integer",
        scale="log",
        low=1,
        high=86_400,
        default=10,
        unit="s",
        needs_restart=False,
        help="Time until a request head must be complete, and over which a body or a reply must keep up with "
        "min_bytes_per_s.",
    ),
    Knob(
        name="min_bytes_per_s",
        kind="integer",
        scale="log",
        low=1,
        high=1 << 30,
        default=240,
        unit="bytes/s",
        needs_restart=False,
        help="What a client must at least send of a body or take of a reply, a mean over request_timeout.",
    ),
)

FREE = {
    "symped": ("sendfile", "workers", "max_connections"),
    "sped": ("sendfile", "max_connections"),
    "pipeline": ("sendfile", "workers", "max_connections"),
    "shared-symped": ("sendfile", "workers", "max_connections", "cache_lock"),
    "n-copy": ("sendfile", "copies", "workers", "max_connections"),
    "amped": ("helpers", "max_connections"),
    "co-amped": ("workers", "helpers", "forward_bias", "max_connections"),
    "smped": ("sendfile", "workers", "max_connections"),
    "knot": ("sendfile", "workers", "max_connections"),
    "nm": ("sendfile", "workers", "max_connections", "large_transfer"),
    "uring": ("workers", "max_connections", "accept_limit"),
    "mp": ("sendfile", "workers"),  # a worker is a connection
    "mt": ("sendfile", "workers", "thread_pool"),
}

OWN_DEFAULTS: dict[str, Configuration] = {
    "n-copy": {"reuseport": "on"},  # copies want listeners of their own
    "mp": {"workers": 32},
    "mt": {"workers": 64},
}
"""Where an architecture begins at other values than all others."""


LIMITED = tuple(name for name in FREE if name not in ("mp", "mt"))
BALANCED = ("sped", "symped", "shared-symped", "n-copy", "amped", "co-amped", "uring")
CACHED = tuple(name for name in FREE if name not in ("amped", "co-amped", "uring"))
BLOCKED = tuple(name for name in FREE if name != "uring")
# Values that the server refuses to some architectures.
TAKEN = (
    OnlyWith(knob="accept_limit", otherwise="inf", other="architecture", among=LIMITED),
    OnlyWith(knob="accept_limit", values=("auto",), otherwise="inf", other="architecture", among=BALANCED),
    OnlyWith(  # of n-copy what is copied decides; with all others `copy_of` stays at its default
        knob="accept_limit",
        values=("auto",),
        otherwise="inf",
        other="copy_of",
        among=("sped", "symped", "shared-symped", "uring"),
    ),
    OnlyWith(knob="sendfile", values=("off",), otherwise="nonblocking", other="architecture", among=CACHED),
    OnlyWith(
        knob="sendfile", values=("blocking",), otherwise="nonblocking", other="architecture", among=BLOCKED
    ),
    OnlyWith(
        knob="events",
        values=("select", "poll", "io_uring"),
        otherwise="epoll-et",
        other="architecture",
        among=tuple(name for name in FREE if name != "shared-symped"),
    ),
)
# Knobs that only some architectures know; n-copy knows those of the architecture that it copies.
KNOWN = {
    "events": ("sped", "symped", "shared-symped", "n-copy", "amped", "co-amped", "smped"),
    "workers": tuple(name for name in FREE if name not in ("sped", "amped")),
    "cache_lock": ("shared-symped", "n-copy", "mt", "pipeline", "nm"),
    "reuseport": ("symped", "shared-symped", "n-copy", "co-amped", "mp", "uring"),
    "copies": ("shared-symped", "n-copy"),
    "copy_of": ("n-copy",),
    "helpers": ("amped", "co-amped"),
    "forward_bias": ("co-amped",),
    "readers": ("pipeline", "n-copy"),
    "poll_delay_us": ("pipeline", "n-copy"),
    "stage_threads": ("pipeline", "n-copy"),
    "stage_batch": ("pipeline", "n-copy"),
    "admission_p90_ms": ("pipeline", "n-copy"),
    "large_transfer": ("nm", "n-copy"),
    "thread_pool": ("mt", "n-copy"),
}
UNKNOWN = tuple(
    OnlyWith(knob=knob.name, otherwise=knob.default, other="architecture", among=KNOWN[knob.name])
    for knob in KNOBS
    if knob.name in KNOWN
)


def _accepted_at_once(configuration: Configuration) -> int:
    limit = configuration["accept_limit"]
    return limit if isinstance(limit, int) else 0


EQUIVALENTS = by_role(
    plain(Role.WORKERS, "workers"),
    plain(Role.CONNECTIONS, "max_connections"),
    Equivalent(Role.ACCEPT_BATCH, "accept_limit", _accepted_at_once, lambda m: m[Role.ACCEPT_BATCH] or "inf"),
    Equivalent(
        Role.SENDING_MODE,
        "sendfile",
        lambda c: int(c["sendfile"] != "off"),
        lambda m: "nonblocking" if m[Role.SENDING_MODE] else "off",
    ),
    plain(Role.ACCEPT_QUEUE, "backlog"),
    plain(Role.FILE_CACHE, "cache_entries"),
    plain(Role.KEEPALIVE_TIME, "keepalive_timeout"),
    switch(Role.LISTENERS, "reuseport", "on", "off"),
    pinning("affinity"),
)
