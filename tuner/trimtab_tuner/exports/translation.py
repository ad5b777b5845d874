"""The settings of one server in terms of another, through what they mean.

A *meaning* is something that several servers let one set: how many workers, how many connections in total,
the length of the accept queue. Each server's table says which of its knobs has that meaning, and how a value
is read into it and written from it, given everything else that is known (connections for each worker need the
workers).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner import affinity
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.apache import request_workers
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.placement import REPLICA_KNOBS

Meanings = dict[str, int]
"""By name: `workers`, `connections` (in total), `accept` (in one go; 0: all), `sendfile` (1: on), others."""


@dataclass(frozen=True)
class Link:
    """A knob that has a meaning.

    `read` makes the meaning from the configuration, `write` the knob's value from all meanings; `lossy` says
    what is lost for a value that the server cannot express, or nothing.
    """

    knob: str
    read: Callable[[Configuration], int]
    write: Callable[[Meanings], Value]
    lossy: Callable[[Meanings], str] = field(default=lambda _: "")


@dataclass(frozen=True)
class Translation:
    """A configuration of the other server.

    `origins` names for its knobs the knob they come from, `notes` what was lost; `without_equivalent` are the
    knobs for which there is nothing.
    """

    configuration: Configuration
    origins: Mapping[str, str]
    notes: Mapping[str, str]
    without_equivalent: tuple[str, ...]


def _plain(knob: str, meaning: str) -> tuple[str, Link]:
    """A knob whose number is the meaning."""
    return meaning, Link(knob, lambda c: int(c[knob]), lambda m: m[meaning])


def _switch(knob: str, meaning: str, on: str, off: str) -> tuple[str, Link]:
    """A knob of two words."""
    return meaning, Link(knob, lambda c: int(c[knob] == on), lambda m: on if m[meaning] else off)


def _pinning(knob: str) -> tuple[str, Link]:
    """A knob whose value is an affinity plan; only whether workers are pinned is the server's to do."""
    return "pinned", Link(
        knob, lambda c: int(affinity.pins_workers(c[knob])), lambda m: "process" if m["pinned"] else "none"
    )


def _share(total: int, parts: int) -> int:
    return -(-total // max(1, parts))


def _apache_threads(meanings: Meanings) -> int:
    """So many that all connections find a place: three for each thread with the default factor of two."""
    return _share(meanings["connections"], 3 * meanings.get("workers", 16))


def _accept_note(server: str) -> Callable[[Meanings], str]:
    def note(meanings: Meanings) -> str:
        limit = meanings["accept"]
        if limit in (0, 1):
            return ""
        return f"No equivalent in {server}: it accepts one or all, never {limit}; all is the nearest."

    return note


def _core() -> dict[str, Link]:
    return dict(
        [
            _plain("workers", "workers"),
            _plain("max_connections", "connections"),
            ("accept", Link("accept_limit", _core_accept, lambda m: m["accept"] or "inf")),
            (
                "sendfile",
                Link(
                    "sendfile",
                    lambda c: int(c["sendfile"] != "off"),
                    lambda m: "nonblocking" if m["sendfile"] else "off",
                ),
            ),
            _plain("backlog", "backlog"),
            _plain("cache_entries", "cached_files"),
            _plain("keepalive_timeout", "keepalive_timeout_s"),
            _switch("reuseport", "reuseport", "on", "off"),
            _pinning("affinity"),
        ]
    )


def _core_accept(configuration: Configuration) -> int:
    limit = configuration["accept_limit"]
    return limit if isinstance(limit, int) else 0


def _nginx() -> dict[str, Link]:
    # A listening socket takes one of the worker's connections (ngx_event_process_init in nginx's
    # src/event/ngx_event.c), and so does the channel from the master (ngx_add_channel_event).
    own = 2
    return dict(
        [
            _plain("worker_processes", "workers"),
            (
                "connections",
                Link(
                    "worker_connections",
                    lambda c: int(c["worker_connections"]) * int(c["worker_processes"]),
                    lambda m: _share(m["connections"], m.get("workers", 1)) + own,
                ),
            ),
            (
                "accept",
                Link(
                    "multi_accept",
                    lambda c: int(c["multi_accept"] == "off"),
                    lambda m: "off" if m["accept"] == 1 else "on",
                    _accept_note("nginx"),
                ),
            ),
            _switch("sendfile", "sendfile", "on", "off"),
            _plain("backlog", "backlog"),
            _plain("open_file_cache", "cached_files"),
            _plain("keepalive_timeout", "keepalive_timeout_s"),
            _plain("keepalive_requests", "keepalive_requests"),
            _switch("reuseport", "reuseport", "on", "off"),
            _pinning("worker_cpu_affinity"),
        ]
    )


def _lighttpd() -> dict[str, Link]:
    workers, connections = "server.max-worker", "server.max-connections"
    backend = "server.network-backend"
    return dict(
        [
            (
                "workers",
                Link(
                    workers,
                    lambda c: max(1, int(c[workers])),
                    lambda m: 0 if m["workers"] == 1 else m["workers"],
                ),
            ),
            (
                "connections",
                Link(
                    connections,
                    lambda c: int(c[connections]) * max(1, int(c[workers])),
                    lambda m: _share(m["connections"], m.get("workers", 1)),
                ),
            ),
            (
                "sendfile",
                Link(
                    backend,
                    lambda c: int(c[backend] == "sendfile"),
                    lambda m: "sendfile" if m["sendfile"] else "writev",
                ),
            ),
            _plain("server.listen-backlog", "backlog"),
            _plain("server.max-keep-alive-idle", "keepalive_timeout_s"),
            _plain("server.max-keep-alive-requests", "keepalive_requests"),
            _pinning("affinity"),
        ]
    )


def _apache() -> dict[str, Link]:
    factor, buckets = "AsyncRequestWorkerFactor", "ListenCoresBucketsRatio"
    return dict(
        [
            _plain("ServerLimit", "workers"),
            (
                "connections",
                Link("ThreadsPerChild", lambda c: request_workers(c) * (1 + int(c[factor])), _apache_threads),
            ),
            _switch("EnableSendfile", "sendfile", "on", "off"),
            _plain("ListenBacklog", "backlog"),
            _plain("KeepAliveTimeout", "keepalive_timeout_s"),
            _plain("MaxKeepAliveRequests", "keepalive_requests"),
            _pinning("affinity"),
            ("reuseport", Link(buckets, lambda c: int(int(c[buckets]) > 0), lambda m: m["reuseport"])),
        ]
    )


def _h2o() -> dict[str, Link]:
    return dict(
        [
            _plain("num-threads", "workers"),
            _plain("max-connections", "connections"),
            _plain("http1-request-timeout", "keepalive_timeout_s"),
            _switch("tcp-reuseport", "reuseport", "ON", "OFF"),
            _pinning("affinity"),
        ]
    )


LINKS: Mapping[str, Mapping[str, Link]] = {
    "core": _core(),
    "nginx": _nginx(),
    "lighttpd": _lighttpd(),
    "apache": _apache(),
    "h2o": _h2o(),
}


def translate(source: Target, configuration: Configuration, target: Target, cpus: int) -> Translation:
    """The configuration of `source` as one of `target`; what has no equivalent keeps the default there."""
    read, written = LINKS[source.name], LINKS[target.name]
    meanings = {meaning: link.read(configuration) for meaning, link in read.items()}
    space = target.space(cpus=cpus)
    result = space.default()
    origins: dict[str, str] = {}
    notes: dict[str, str] = {}
    for meaning, link in written.items():
        if meaning not in meanings:
            continue
        if meaning == "pinned" and target.workers_to_pin(result) is not None:
            continue  # it has no setting for it
        result[link.knob] = _nearest(space.knob(link.knob), link.write(meanings))
        origins[link.knob] = read[meaning].knob
        if lost := link.lossy(meanings):
            notes[link.knob] = lost
    for name in REPLICA_KNOBS:
        # No server's file says how many there are of it.
        if name in configuration and space.knob(name).contains(configuration[name]):
            result[name], origins[name] = configuration[name], name
    if configuration.get("sendfile") == "blocking" and "sendfile" in written:
        notes[written["sendfile"].knob] = (
            f"No equivalent in {target.name} for blocking sockets; sendfile is used without waiting."
        )
    told = set(origins.values())
    return Translation(result, origins, notes, tuple(name for name in configuration if name not in told))


def _nearest(knob: Knob, value: Value) -> Value:
    """The value, or the nearest one that the knob allows."""
    if knob.contains(value) or value == knob.default:
        return value
    if isinstance(value, int) and knob.low is not None and knob.high is not None:
        return min(max(value, knob.low), knob.high)
    numbers = [choice for choice in knob.choices if isinstance(choice, int)]
    if isinstance(value, int) and numbers:
        return min(numbers, key=lambda choice: abs(choice - value))
    return knob.default
