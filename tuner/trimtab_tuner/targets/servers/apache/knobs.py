"""Apache's knobs, and what they mean to other servers.

Knobs are named after Apache's directives (httpd.apache.org/docs/2.4: mod/event, mod/worker, mod/prefork,
mod/mpm_common, mod/core, mod/mod_ssl, mod/mod_http2), but for `mpm`, which decides which others there are.
`MaxRequestWorkers = all` is Trimtab's word for Apache's own default, ServerLimit × ThreadsPerChild.
"""

from trimtab_trials.configuration import Configuration

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.common_knobs import (
    accept_queue,
    idle_time,
    requests_per_connection,
    wait_for_upstream,
)
from trimtab_tuner.targets.equivalents import Equivalent, Meanings, by_role, pinning, plain, share, switch
from trimtab_tuner.targets.http2 import Http2, concurrent_streams
from trimtab_tuner.targets.servers.apache.mpm import EVENT, NAME, PREFORK, WORKER, mpm_of
from trimtab_tuner.targets.tls import KEY, session_cache, session_tickets

CHILD_KIB = 3000.0  # of a process of its own, without what modules such as PHP's add

_PROCESSES_OF_THREADS = (
    Knob(
        name="ServerLimit",
        role=Role.WORKERS,
        kind="integer",
        scale="log",
        low=1,
        high=256,
        default=16,
        unit="processes",
        resource_weight=CHILD_KIB,
        scope="total",
        help="Server processes.",
    ),
    Knob(
        name="ThreadsPerChild",
        role=Role.THREADS,
        kind="integer",
        scale="log",
        low=1,
        high=1024,
        default=25,
        unit="threads",
        resource_weight=50.0,
        scope="worker",
        help="Threads of each process that work on requests.",
    ),
    Knob(
        name="MaxRequestWorkers",
        kind="ordinal",
        choices=(16, 32, 64, 100, 150, 200, 400, 800, 1600, 3200, 6400, "all"),
        default="all",
        unit="threads",
        scope="total",
        help="Requests worked on at once, over all processes; all: ServerLimit × ThreadsPerChild.",
    ),
)
_ASYNCHRONOUS = Knob(
    name="AsyncRequestWorkerFactor",
    role=Role.CONNECTIONS_PER_WORKER,
    kind="ordinal",
    choices=(1, 2, 4, 8, 16, 32),
    default=2,
    unit="connections",
    scope="worker",
    help="Connections that a process takes beside its busy threads, for each idle thread.",
)
_CHILDREN = Knob(
    name="MaxRequestWorkers",
    role=Role.CONNECTIONS,
    kind="integer",
    scale="log",
    low=1,
    high=1024,
    default=256,
    unit="processes",
    resource_weight=CHILD_KIB,
    scope="total",
    help="Server processes, each with one connection at a time, also one that is only kept open.",
)
_OF_ALL = (
    accept_queue("ListenBacklog", 511),
    Knob(
        name="ListenCoresBucketsRatio",
        role=Role.LISTENERS,
        kind="ordinal",
        choices=(0, 1, 2, 4, 8, 16),
        default=0,
        unit="CPUs",
        help="A listening socket of its own (SO_REUSEPORT) for each so many CPUs; 0: one for all.",
    ),
    Knob(
        name="EnableSendfile",
        role=Role.SENDING_MODE,
        kind="categorical",
        choices=("off", "on"),
        default="off",
        help="Whether the kernel sends files from the page cache.",
    ),
    Knob(
        name="EnableMMAP",
        kind="categorical",
        choices=("on", "off"),
        default="on",
        help="Whether files that are not sent by the kernel are mapped into memory or read.",
    ),
    Knob(
        name="KeepAlive",
        kind="categorical",
        choices=("on", "off"),
        default="on",
        help="Whether a connection stays open for further requests.",
    ),
    requests_per_connection("MaxKeepAliveRequests", 100, "Apache"),
    idle_time("KeepAliveTimeout", 5),
)
_OWN = {
    EVENT: (*_PROCESSES_OF_THREADS, _ASYNCHRONOUS),
    WORKER: _PROCESSES_OF_THREADS,
    PREFORK: (_CHILDREN,),
}
KNOBS = {mpm: (*own, *_OF_ALL) for mpm, own in _OWN.items()}
"""What stands in a file as a directive of that name, by MPM."""
BY_NAME = {knob.name.lower(): knob.name for knobs in KNOBS.values() for knob in knobs}
"""The names in small letters."""


def mpm_knob(mpm: str) -> Knob:
    """The one that says which MPM it is, in a space of this MPM."""
    return Knob(
        name=NAME,
        role=Role.ARCHITECTURE,
        kind="categorical",
        choices=(mpm,),
        default=mpm,
        help="The module that divides the work among processes and threads; your own file's stays.",
    )


TLS_KNOBS = (KEY, session_cache("SSLSessionCache"), session_tickets("SSLSessionTickets"))

HTTP2 = Http2(
    knobs=(
        concurrent_streams("H2MaxSessionStreams", 100),
        Knob(
            name="H2MinWorkers",
            kind="ordinal",
            choices=("auto", 8, 16, 32, 64, 128, 256),
            default="auto",
            unit="threads",
            resource_weight=50.0,
            scope="worker",
            help="Threads of each process that work on streams, beside those that read connections; auto: as "
            "many as ThreadsPerChild.",
        ),
        Knob(
            name="H2StreamMaxMemSize",
            kind="ordinal",
            choices=(16_384, 32_768, 65_536, 262_144, 1_048_576),
            default=32_768,
            unit="bytes",
            resource_weight=0.1,
            help="What is kept of a stream's reply until its connection takes it; whoever works on it then "
            "waits.",
        ),
        Knob(
            name="H2TLSWarmUpSize",
            kind="ordinal",
            choices=(0, 65_536, 1_048_576),
            default=1_048_576,
            unit="bytes",
            help="How much of a connection goes out in small records of TLS before they become large.",
        ),
    ),
    not_with=(PREFORK,),
)
DISABLE_REUSE = Knob(
    name="disablereuse",
    role=Role.UPSTREAM_KEEPALIVE,
    kind="categorical",
    choices=("Off", "On"),
    default="Off",
    help="Whether a connection to the upstream is closed behind its first request.",
)
WORKER_KNOBS = (
    DISABLE_REUSE,
    Knob(
        name="max",
        kind="ordinal",
        choices=("auto", 1, 4, 16, 64, 256),
        default="auto",
        unit="connections",
        scope="worker",
        help="Connections to the upstream of one process at most; auto: one for each of its threads.",
    ),
    Knob(
        name="ttl",
        kind="ordinal",
        choices=("none", 1, 5, 60, 600),
        default="none",
        unit="s",
        help="How long an idle connection to the upstream is used again; none: however long.",
    ),
    Knob(
        name="flushpackets",
        role=Role.UPSTREAM_BUFFERING,
        kind="categorical",
        choices=("off", "on", "auto"),
        default="off",
        help="Whether each part of the upstream's reply is sent at once, or gathered; auto: gathered for a "
        "moment.",
    ),
)
"""Parameters of `ProxyPass` (mod_proxy)."""
PROXY_KNOBS = (
    *WORKER_KNOBS,
    Knob(
        name="ProxyIOBufferSize",
        role=Role.UPSTREAM_BUFFERS,
        kind="ordinal",
        choices=(8192, 16_384, 32_768, 65_536),
        default=8192,
        unit="bytes",
        help="What is read from the upstream at a time.",
    ),
    wait_for_upstream("ProxyTimeout", 60, "s", "Time without a byte from the upstream."),
)
PROXY_FREE = ("disablereuse", "max", "ProxyIOBufferSize")

FREE = {
    EVENT: ("ServerLimit", "ThreadsPerChild", "AsyncRequestWorkerFactor", "EnableSendfile"),
    WORKER: ("ServerLimit", "ThreadsPerChild", "EnableSendfile"),
    PREFORK: ("MaxRequestWorkers", "ListenBacklog", "EnableSendfile"),
}


def threads_each(configuration: Configuration) -> int:
    """The threads of each process; one with prefork, which has none."""
    return int(configuration.get("ThreadsPerChild", 1))


def request_workers(configuration: Configuration) -> int:
    """How many requests are worked on at once: a whole number of processes, one at least."""
    if mpm_of(configuration) == PREFORK:
        return int(configuration["MaxRequestWorkers"])
    threads = threads_each(configuration)
    asked = configuration["MaxRequestWorkers"]
    total = int(configuration["ServerLimit"]) * threads
    return max(threads, min(total, total if asked == "all" else int(asked) // threads * threads))


def processes(configuration: Configuration) -> int:
    """How many processes there are, all of them from the beginning."""
    return request_workers(configuration) // threads_each(configuration)


def connections_of(configuration: Configuration, threads: int) -> int:
    """How many connections there are for so many threads at most: their own, and with event asynchronous
    ones. Their factor may be a number such as 1.5.
    """
    return int(threads * (1 + float(configuration.get("AsyncRequestWorkerFactor", 0))))


def _threads(meanings: Meanings) -> int:
    """So many that all connections find a place: three for each thread with the default factor of two."""
    return share(meanings[Role.CONNECTIONS], 3 * meanings.get(Role.WORKERS, 16))


EQUIVALENTS = by_role(
    plain(Role.WORKERS, "ServerLimit"),
    Equivalent(
        Role.CONNECTIONS,
        "ThreadsPerChild",
        lambda c: connections_of(c, request_workers(c)),
        _threads,
        beside="AsyncRequestWorkerFactor",
        otherwise=Equivalent(
            Role.CONNECTIONS,
            "ThreadsPerChild",
            request_workers,
            lambda m: share(m[Role.CONNECTIONS], m.get(Role.WORKERS, 16)),
            otherwise=plain(Role.CONNECTIONS, "MaxRequestWorkers"),
        ),
    ),
    switch(Role.SENDING_MODE, "EnableSendfile", "on", "off"),
    plain(Role.ACCEPT_QUEUE, "ListenBacklog"),
    plain(Role.KEEPALIVE_TIME, "KeepAliveTimeout"),
    plain(Role.KEEPALIVE_REQUESTS, "MaxKeepAliveRequests"),
    pinning("affinity"),
    Equivalent(
        Role.LISTENERS,
        "ListenCoresBucketsRatio",
        lambda c: int(int(c["ListenCoresBucketsRatio"]) > 0),
        lambda m: m[Role.LISTENERS],
    ),
)
