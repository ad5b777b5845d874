"""What stands behind a server: the addresses in a user's file that requests are handed on to.

Each server's language has its own reader of these (`Target.upstreams`); how an address is written is alike.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

PROXIED = "/dynamic/"
"""The paths that are handed on to an upstream."""

_PORTS = {
    "http": "80", "ws": "80", "h2c": "80", "grpc": "80", "https": "443", "wss": "443", "h2": "443",
    "grpcs": "443", "ajp": "8009", "fcgi": "8000", "scgi": "4000", "uwsgi": "3031",
}  # fmt: skip
_SCHEME = r"(?:(?P<scheme>[a-z][\w+.-]*)://)?"
_HOST = r"(?P<host>\[(?!unix:)[^\]\s]*\]|[^\s:/\[\]|\"',;]+)(?::(?P<port>\d+))?(?![\w.:$-])"
_ADDRESS = re.compile(rf"{_SCHEME}(?:\[?unix:(?P<path>[^:|\]\s\"']+)|{_HOST})", re.IGNORECASE)


class Upstream(NamedTuple):
    """`setting` hands requests on to `address`, a `host:port` or `unix:PATH`, whose host, or path, stands in
    the text from `start` to `end`. It is not `used` where the file takes it out on purpose; `others` are the
    addresses that get its requests if it does not answer. With `resolved_later` its name is looked up while
    the server runs, not when it starts; without `over_http` another protocol is spoken to it, as FastCGI.
    """

    setting: str
    address: str
    start: int
    end: int
    used: bool = True
    others: tuple[str, ...] = ()
    resolved_later: bool = False
    over_http: bool = True


class UpstreamLog(NamedTuple):
    """Where a user's server has written down how long an upstream takes: the log's path, and what reads a
    line of it. Its group `time` has one or several times in seconds or `-`, `size` the reply's bytes; lines
    need not have `size`. The first word of the group `by` is in `answering` if this upstream was asked; where
    that is empty, the lines do not say which one was.
    """

    path: str
    pattern: re.Pattern[bytes]
    answering: frozenset[bytes] = frozenset()


def proxied_at(number: int) -> str:
    """The paths that are handed on to that upstream of several, counted from 0: below those of the first."""
    return PROXIED if number == 0 else f"{PROXIED}{number + 1}/"


def with_others(found: Iterable[tuple[Hashable, Upstream]]) -> Sequence[Upstream]:
    """The upstreams, each with the others that share its group; those of the group None are alone."""
    told = list(found)
    members: dict[Hashable, dict[str, None]] = {}
    for group, each in told:
        if group is not None and each.used:
            members.setdefault(group, {})[each.address] = None
    return [
        each._replace(others=tuple(other for other in members.get(group, ()) if other != each.address))
        for group, each in told
    ]


def no_upstreams(_text: str) -> Sequence[Upstream]:
    """For servers that hand nothing on."""
    return ()


def upstream_at(setting: str, word: str, place: int, port: str | None = None) -> Upstream | None:
    """The address that a word begins with, which stands at that place of the text; `port` is what it is
    without being said. None where it says no address, or one made of variables.
    """
    found = _ADDRESS.match(word)
    if found is None:
        return None
    if found["path"] is not None:
        said, kind = f"unix:{found['path']}", "path"
    else:
        at = found["port"] or _PORTS.get((found["scheme"] or "").lower()) or port
        if at is None:
            return None
        said, kind = f"{found['host']}:{at}", "host"
    if "$" in said or "%" in said:
        return None
    return Upstream(setting, said, place + found.start(kind), place + found.end(kind))
