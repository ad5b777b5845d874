"""Rules about what stands behind a server: who is not there, what closes connections at each request."""

from collections.abc import Iterable, Iterator

from trimtab_tuner.checking.contradiction import Contradiction, Severity, contradiction
from trimtab_tuner.checking.machine import UNRESOLVED, Machine
from trimtab_tuner.checking.statements import ServerFile, Statement

_SOURCE = "nginx, ngx_http_upstream_module: keepalive (until 1.29.7)"


def kept_connections(file: ServerFile, _machine: Machine) -> Iterator[Contradiction]:
    """`keepalive` in an upstream, and requests handed on to it so that each connection is closed."""
    if file.target.name != "nginx":
        return
    keeping = {
        upstream.first: kept
        for kept in file.named("keepalive")
        for upstream in kept.around[-1:]
        if upstream.name == "upstream" and kept.number != 0
    }
    upstreams: dict[str, Statement] = {}
    for each in file.named("upstream"):
        upstreams.setdefault(each.first, each)
    with_port = {
        block
        for each in file.named("server")
        for block in each.around[-1:]
        if block.name == "upstream" and not each.first.startswith("unix:")
    }
    told = set()
    for passed in file.named("proxy_pass"):
        name = passed.first.partition("://")[2].partition("/")[0]
        if name in keeping:
            lacking = [
                *(
                    []
                    if _in_force(file, passed, "proxy_http_version", "1.1", "2")
                    else ["proxy_http_version 1.1"]
                ),
                *([] if _empties_connection(file, passed) else ['proxy_set_header Connection ""']),
            ]
            if lacking:
                yield contradiction(
                    "upstream-keepalive-without-effect",
                    "warning",
                    passed,
                    f"upstream {name} is to keep connections ({keeping[name].said}), and {passed.said} goes "
                    f"on without {' and '.join(lacking)}: each of them is closed behind its first request.",
                    _SOURCE,
                    suggestion=f"Add {'; '.join(lacking)}; beside {passed.said}.",
                )
        elif name in upstreams and name not in told:
            told.add(name)
            by_port = upstreams[name] in with_port
            yield contradiction(
                "upstream-without-keepalive",
                "note",
                upstreams[name],
                f"upstream {name} keeps no connections: each request that is handed on makes one"
                f"{', and leaves a port in TIME_WAIT' if by_port else ''}.",
                _SOURCE,
                suggestion='keepalive 32; in it, proxy_http_version 1.1 and proxy_set_header Connection "".',
            )
    yield from _too_many(file, keeping.values())


def unanswered(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """Upstreams that nobody answers for, by name."""
    for at, each in file.upstreams:
        why = machine.unanswered.get(each.address)
        if why is None:
            continue
        others = any(other not in machine.unanswered for other in each.others)
        severity: Severity = "warning" if others else "error"
        so = "requests go to the others" if others else "requests that are handed on to it end in an error"
        if why == UNRESOLVED and file.target.name == "nginx" and not each.resolved_later:
            # It looks up every name before it starts, of servers that are down too.
            may_be_later = " unless `resolve` stands beside it" if at.name.startswith("upstream ") else ""
            severity, so = "error", f"nginx does not start{may_be_later}"
        elif not each.used:
            continue
        yield contradiction(
            "upstream-does-not-answer",
            severity,
            at,
            f"{at.said}: {why}, so {so}.",
            f"{each.address}: {why}",
            suggestion="Make the name known here, or correct it."
            if why == UNRESOLVED
            else "Start what is to answer there, or correct the address.",
        )


def _too_many(file: ServerFile, keeping: Iterable[Statement]) -> Iterator[Contradiction]:
    """Idle connections to upstreams count among those of the worker."""
    connections = file.number("worker_connections", 512)
    for kept in keeping:
        if kept.number is not None and kept.number >= connections:
            yield contradiction(
                "upstream-keepalive-takes-all-connections",
                "error",
                kept,
                f"{kept.said}: so many idle connections to upstreams are as many as a worker may have in all "
                f"(worker_connections {connections}), and clients find none.",
                f"worker_connections {connections}",
                suggestion="Fewer kept connections, or more worker_connections.",
            )


def _in_force(file: ServerFile, at: Statement, name: str, *values: str) -> bool:
    """Whether the nearest such directive around has one of these values."""
    return any(each.first in values for each in file.nearest(at, name)[-1:])


def _empties_connection(file: ServerFile, at: Statement) -> bool:
    """Whether the nearest block with headers sets Connection to nothing, or to a variable that may be so."""
    return any(
        each.first.lower() == "connection" and (each.arguments[1:] in ((), ("",)) or "$" in each.said)
        for each in file.nearest(at, "proxy_set_header")
    )
