"""lighttpd's knobs, and what they mean to other servers.

Knobs are named after lighttpd's settings (redmine.lighttpd.net, Docs_ConfigurationOptions and
Docs_Performance). Connections are counted for each worker; lighttpd keeps two descriptors for each, so
`server.max-fds = auto` is Trimtab's word for as many as the connections need.
"""

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.common_knobs import (
    accept_queue,
    idle_time,
    requests_per_connection,
    wait_for_upstream,
)
from trimtab_tuner.targets.equivalents import Equivalent, by_role, pinning, plain, share, switch
from trimtab_tuner.targets.tls import KEY, session_tickets

LEAST_MAX_FDS = 4096  # lighttpd's own default (src/server.c)

KNOBS = (
    Knob(
        name="server.max-worker",
        role=Role.WORKERS,
        kind="ordinal",
        choices=(0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
        default=0,
        unit="processes",
        resource_weight=2500.0,
        scope="total",
        help="Worker processes beside a master; 0: a single process serves.",
    ),
    Knob(
        name="server.max-connections",
        role=Role.CONNECTIONS_PER_WORKER,
        kind="integer",
        scale="log",
        low=16,
        high=131_072,
        default=1365,
        unit="connections",
        resource_weight=1.0,
        scope="worker",
        help="Connections open at once in one worker; beyond, they wait in the kernel's queue.",
    ),
    Knob(
        name="server.max-fds",
        role=Role.DESCRIPTORS,
        kind="ordinal",
        choices=("auto", 1024, 4096, 16_384, 65_536, 262_144),
        default="auto",
        unit="descriptors",
        scope="worker",
        help="Descriptors of one worker; auto: two for each connection, and 4096 at least.",
    ),
    Knob(
        name="server.event-handler",
        role=Role.EVENTS,
        kind="categorical",
        choices=("linux-sysepoll", "poll"),
        default="linux-sysepoll",
        help="How readiness is learnt from the kernel.",
    ),
    Knob(
        name="server.network-backend",
        role=Role.SENDING_MODE,
        kind="categorical",
        choices=("sendfile", "writev", "write"),
        default="sendfile",
        help="How files are sent: by the kernel from the page cache, or read and written.",
    ),
    Knob(
        name="server.stat-cache-engine",
        kind="categorical",
        choices=("simple", "inotify", "disable"),
        default="simple",
        help="Whether what stat(2) says of a file is kept: for a second, until the kernel tells of a change "
        "(inotify), or not at all.",
    ),
    accept_queue("server.listen-backlog", 1024),
    requests_per_connection("server.max-keep-alive-requests", 1000, "lighttpd"),
    idle_time("server.max-keep-alive-idle", 5),
)

# OpenSSL's own name for it; lighttpd 1.4.69 has no cache of sessions and no setting for the size of records.
TICKETS = session_tickets("SessionTicket")
TLS_KNOBS = (KEY, TICKETS)

BUFFERING = Knob(
    name="server.stream-response-body",
    role=Role.UPSTREAM_BUFFERING,
    kind="ordinal",
    choices=(0, 1, 2),
    default=0,
    help="How an upstream's reply goes on: whole (0), as it comes (1), or as it comes and the client takes "
    "it (2).",
)
WAITS = (
    wait_for_upstream("connect-timeout", 8, "s", "Time to connect to the upstream."),
    wait_for_upstream("read-timeout", 60, "s", "Time without a byte from the upstream."),
)
"""Options of `proxy.server`."""
PROXY_KNOBS = (BUFFERING, *WAITS)
PROXY_FREE = (BUFFERING.name,)

FREE = ("server.max-worker", "server.max-connections", "server.network-backend")


EQUIVALENTS = by_role(
    # A single process and one worker under a master serve alike.
    Equivalent(
        Role.WORKERS,
        "server.max-worker",
        lambda c: max(1, int(c["server.max-worker"])),
        lambda m: 0 if m[Role.WORKERS] == 1 else m[Role.WORKERS],
    ),
    Equivalent(
        Role.CONNECTIONS,
        "server.max-connections",
        lambda c: int(c["server.max-connections"]) * max(1, int(c["server.max-worker"])),
        lambda m: share(m[Role.CONNECTIONS], m.get(Role.WORKERS, 1)),
    ),
    switch(Role.SENDING_MODE, "server.network-backend", "sendfile", "writev"),
    plain(Role.ACCEPT_QUEUE, "server.listen-backlog"),
    plain(Role.KEEPALIVE_TIME, "server.max-keep-alive-idle"),
    plain(Role.KEEPALIVE_REQUESTS, "server.max-keep-alive-requests"),
    pinning("affinity"),
)
