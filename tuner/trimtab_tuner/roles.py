"""What a knob does to a server, whatever that server calls it.

Presets, grids, translation between servers, diagnosis and advice ask for roles and never for names: so they
hold for every server that has a knob of the role, and name it as that server does. A server has at most one
knob of each role; a knob that only one server has needs none.
"""

from enum import StrEnum


class Role(StrEnum):
    """The roles; the words are those of the field."""

    ARCHITECTURE = "architecture"
    """How the work is divided among processes and threads."""
    WORKERS = "workers"
    """Processes, or threads with an event loop of their own, that serve side by side."""
    THREADS = "threads"
    """Threads of each worker that work on one request at a time."""
    CONNECTIONS = "connections"
    """Connections open at once, over all workers."""
    CONNECTIONS_PER_WORKER = "connections-per-worker"
    """The same for each worker."""
    ACCEPT_BATCH = "accept-batch"
    """Connections accepted in one go."""
    ACCEPT_QUEUE = "accept-queue"
    """Connections that may wait in the kernel to be accepted."""
    DESCRIPTORS = "descriptors"
    """Files and sockets that a worker may have open; a word where the server finds a number itself."""
    LISTENERS = "listeners"
    """Whether workers have listening sockets of their own."""
    EVENTS = "events"
    """How readiness is learnt from the kernel."""
    SENDING_MODE = "sending-mode"
    """Who sends a file, and whether whoever does waits for it."""
    SEND_BUFFER = "send-buffer"
    """The socket's buffer for what is sent."""
    FILE_CACHE = "file-cache"
    """Open files that are kept."""
    CONTENT_CACHE = "content-cache"
    """Contents of files that are kept in the server's own memory."""
    CACHE_LOCK = "cache-lock"
    """How a cache that workers share is locked."""
    KEEPALIVE_TIME = "keep-alive-time"
    """How long a connection may be idle between requests."""
    KEEPALIVE_REQUESTS = "keep-alive-requests"
    """Requests on one connection before it is closed."""
    TLS_KEY = "tls-key"
    """The kind of key that signs the server's side of a handshake."""
    TLS_SESSIONS = "tls-sessions"
    """Sessions of TLS that the server keeps, to be resumed."""
    TLS_TICKETS = "tls-tickets"
    """Whether clients keep their sessions of TLS, encrypted by the server."""
    TLS_BY_KERNEL = "tls-by-kernel"
    """Whether the kernel encrypts what the server sends."""
    STREAMS = "streams"
    """Requests of one HTTP/2 connection that are worked on at once."""
    UPSTREAM_KEEPALIVE = "upstream-keep-alive"
    """Connections to an upstream that are kept open for further requests."""
    UPSTREAM_BUFFERING = "upstream-buffering"
    """Whether an upstream's reply is taken in before, or while, the client takes it."""
    UPSTREAM_BUFFERS = "upstream-buffers"
    """Memory for an upstream's reply that the client has not taken yet."""
    UPSTREAM_ON_DISK = "upstream-on-disk"
    """What of an upstream's reply may go to a file when memory is full."""
    BACKEND_WORKERS = "backend-workers"
    """Processes of the program behind the server."""
    BACKEND_THREADS = "backend-threads"
    """Threads of each of them."""
    PLACEMENT = "placement"
    """The affinity plan: which CPU serves which worker and which receive queue."""


BLOCKING = "blocking"
"""The one value of a sending mode that rules ask for: whoever sends a file waits until all of it is on its
way.
"""
