"""nginx's knobs, and what they mean to other servers.

Knobs are named after nginx's directives (nginx.org/en/docs: ngx_core_module, ngx_http_core_module); `backlog`
and `reuseport` are options of `listen`, `thread_pool_threads` is the option `threads` of `thread_pool`,
`keepalive` belongs to an upstream (ngx_http_upstream_module), `KTLS` is one of the options of OpenSSL that
`ssl_conf_command` sets.
`worker_cpu_affinity` is a plan, `none` or `process`, from which rendering makes the masks.
"""

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
from trimtab_tuner.targets.placement import AFFINITY
from trimtab_tuner.targets.tls import KEY, session_cache, session_tickets

ON_OFF = ("off", "on")

KNOBS = (
    Knob(
        name="worker_processes",
        role=Role.WORKERS,
        kind="integer",
        scale="log",
        low=1,
        high=512,
        default=1,
        unit="processes",
        resource_weight=3000.0,
        scope="total",
        help="Worker processes, each with an event loop of its own.",
    ),
    Knob(
        name="worker_connections",
        role=Role.CONNECTIONS_PER_WORKER,
        kind="integer",
        scale="log",
        low=16,
        high=131_072,
        default=512,
        unit="connections",
        resource_weight=0.5,
        scope="worker",
        help="Connections open at once in one worker; its listening sockets count too.",
    ),
    AFFINITY.model_copy(update={"name": "worker_cpu_affinity"}),
    Knob(
        name="multi_accept",
        role=Role.ACCEPT_BATCH,
        kind="categorical",
        choices=ON_OFF,
        default="off",
        scope="worker",
        help="Whether a worker accepts all waiting connections at once, or one at a time.",
    ),
    Knob(
        name="accept_mutex",
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether workers take turns in accepting; without effect where reuseport is on.",
    ),
    Knob(
        name="reuseport",
        role=Role.LISTENERS,
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether each worker has a listening socket of its own, and the kernel spreads connections.",
    ),
    accept_queue("backlog", 511),
    Knob(
        name="sendfile",
        role=Role.SENDING_MODE,
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether the kernel sends files from the page cache, or nginx reads and writes them.",
    ),
    Knob(
        name="sendfile_max_chunk",
        kind="ordinal",
        choices=(0, 131_072, 524_288, 2_097_152, 8_388_608),
        default=2_097_152,
        unit="bytes",
        help="What one sendfile call sends at most, so that no fast client holds a worker; 0: no limit.",
    ),
    Knob(
        name="tcp_nopush",
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether header and beginning of a file leave in one packet; only with sendfile.",
    ),
    Knob(
        name="aio",
        kind="categorical",
        choices=("off", "threads"),
        default="off",
        help="Whether a pool of threads reads files, so that a slow disk does not hold a worker.",
    ),
    Knob(
        name="thread_pool_threads",
        kind="integer",
        scale="log",
        low=1,
        high=512,
        default=32,
        unit="threads",
        resource_weight=100.0,
        scope="worker",
        help="Threads of the pool that reads files; only with aio = threads.",
    ),
    Knob(
        name="open_file_cache",
        role=Role.FILE_CACHE,
        kind="ordinal",
        choices=(0, 1000, 3000, 10_000, 30_000, 100_000),
        default=0,
        unit="files",
        resource_weight=0.25,
        scope="worker",
        help="Open files that a worker keeps; 0 keeps none.",
    ),
    requests_per_connection("keepalive_requests", 1000, "nginx"),
    idle_time("keepalive_timeout", 75),
)

KTLS = Knob(
    name="KTLS",
    role=Role.TLS_BY_KERNEL,
    kind="categorical",
    choices=ON_OFF,
    default="off",
    help="Whether the kernel encrypts what is sent; only then sendfile does anything over TLS.",
)
TLS_KNOBS = (
    KEY,
    session_cache("ssl_session_cache"),
    session_tickets("ssl_session_tickets"),
    Knob(
        name="ssl_buffer_size",
        kind="ordinal",
        choices=(4096, 8192, 16_384),
        default=16_384,
        unit="bytes",
        help="What a record of TLS carries at most: a small one is whole sooner, large ones cost less.",
    ),
    KTLS,
)

# Without TLS an address of nginx up to 1.25 speaks either HTTP/2 or HTTP/1.
HTTP2 = Http2(
    knobs=(
        concurrent_streams("http2_max_concurrent_streams", 128),
        Knob(
            name="http2_chunk_size",
            kind="ordinal",
            choices=(2048, 4096, 8192, 16_384),
            default=8192,
            unit="bytes",
            help="What a frame carries of a reply at most: small ones let replies take turns, large ones "
            "cost less.",
        ),
    ),
    plain=False,
)
KEEPALIVE = Knob(
    name="keepalive",
    role=Role.UPSTREAM_KEEPALIVE,
    kind="ordinal",
    choices=(0, 4, 8, 16, 32, 64, 128, 256, 512),
    default=0,
    unit="connections",
    resource_weight=16.0,
    scope="worker",
    help="Idle connections to the upstream that a worker keeps open; 0: a new one for each request.",
)
PROXY_KNOBS = (
    KEEPALIVE,
    Knob(
        name="proxy_buffering",
        role=Role.UPSTREAM_BUFFERING,
        kind="categorical",
        choices=ON_OFF,
        default="on",
        help="Whether nginx takes a reply from the upstream at once, or as the client takes it.",
    ),
    Knob(
        name="proxy_buffers",
        role=Role.UPSTREAM_BUFFERS,
        kind="ordinal",
        choices=(4, 8, 16, 32, 64, 128),
        default=8,
        unit="buffers",
        resource_weight=4.0,
        scope="worker",
        help="Buffers for one reply of the upstream, each of proxy_buffer_size.",
    ),
    Knob(
        name="proxy_buffer_size",
        kind="ordinal",
        choices=(4096, 8192, 16_384, 32_768, 65_536),
        default=4096,
        unit="bytes",
        help="Size of each buffer for a reply; the first must hold its header.",
    ),
    Knob(
        name="proxy_max_temp_file_size",
        role=Role.UPSTREAM_ON_DISK,
        kind="ordinal",
        choices=(0, 1_048_576, 16_777_216, 1_073_741_824),
        default=1_073_741_824,
        unit="bytes",
        help="What of one reply may go to a file where its buffers are full; 0: nothing, the upstream waits.",
    ),
    wait_for_upstream("proxy_connect_timeout", 60, "s", "Time to connect to the upstream."),
    wait_for_upstream("proxy_read_timeout", 60, "s", "Time without a byte from the upstream."),
)
PROXY_FREE = ("keepalive", "proxy_buffering", "proxy_buffers", "proxy_buffer_size")

FREE = ("worker_processes", "worker_connections", "multi_accept", "sendfile")

BLOCK = {
    "worker_processes": "",
    "worker_cpu_affinity": "",
    "worker_connections": "events",
    "multi_accept": "events",
    "accept_mutex": "events",
    "sendfile": "http",
    "sendfile_max_chunk": "http",
    "tcp_nopush": "http",
    "aio": "http",
    "open_file_cache": "http",
    "keepalive_requests": "http",
    "keepalive_timeout": "http",
    "ssl_session_cache": "http",
    "ssl_session_tickets": "http",
    "ssl_buffer_size": "http",
    "http2_max_concurrent_streams": "http",
    "http2_chunk_size": "http",
    **{knob.name: "http" for knob in PROXY_KNOBS if knob is not KEEPALIVE},
}
"""Where the directive of a knob stands: the block it belongs to, "" for the top of the file.

`keepalive` stands in the block of each upstream, `KTLS` where `kernel_tls.py` says.
"""


# A listening socket takes one of the worker's connections (ngx_event_process_init in nginx's
# src/event/ngx_event.c), and so does the channel from the master (ngx_add_channel_event).
_OWN_CONNECTIONS = 2


def _accepts_no_such_number(meanings: Meanings) -> str:
    limit = meanings[Role.ACCEPT_BATCH]
    if limit in (0, 1):
        return ""
    return f"No equivalent in nginx: it accepts one or all, never {limit}; all is the nearest."


EQUIVALENTS = by_role(
    plain(Role.WORKERS, "worker_processes"),
    Equivalent(
        Role.CONNECTIONS,
        "worker_connections",
        lambda c: int(c["worker_connections"]) * int(c["worker_processes"]),
        lambda m: share(m[Role.CONNECTIONS], m.get(Role.WORKERS, 1)) + _OWN_CONNECTIONS,
    ),
    Equivalent(
        Role.ACCEPT_BATCH,
        "multi_accept",
        lambda c: int(c["multi_accept"] == "off"),
        lambda m: "off" if m[Role.ACCEPT_BATCH] == 1 else "on",
        _accepts_no_such_number,
    ),
    switch(Role.SENDING_MODE, "sendfile", "on", "off"),
    plain(Role.ACCEPT_QUEUE, "backlog"),
    plain(Role.FILE_CACHE, "open_file_cache"),
    plain(Role.KEEPALIVE_TIME, "keepalive_timeout"),
    plain(Role.KEEPALIVE_REQUESTS, "keepalive_requests"),
    switch(Role.LISTENERS, "reuseport", "on", "off"),
    pinning("worker_cpu_affinity"),
)
