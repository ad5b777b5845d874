"""Lines of access logs with named fields: JSON, as nginx, Apache, Caddy and Traefik are made to write it, and
LTSV (ltsv.org).

    {"time_iso8601": "2026-01-02T03:04:05+01:00", "remote_addr": "192.0.2.7", "request": "GET / HTTP/1.1", …}
    time:[02/Jan/2026:03:04:05 +0100]<tab>host:192.0.2.7<tab>req:GET / HTTP/1.1<tab>status:200<tab>size:7

Everybody calls the fields as they like, so each has several names here, the surest first.
"""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

_TIMES = ("msec", "ts", "time_iso8601", "time_local", "@timestamp", "timestamp", "time", "startutc", "date")
_CLIENTS = (
    "client_ip", "remote_ip", "remote_addr", "clienthost", "remote_host", "clientip", "client", "host", "ip",
    "h",
)  # fmt: skip
_AGENTS = ("http_user_agent", "user_agent", "useragent", "user-agent", "agent", "ua")
_REQUESTS = ("request", "req", "request_line", "r")
_METHODS = ("request_method", "method", "requestmethod", "verb", "m")
_TARGETS = ("request_uri", "uri", "requestpath", "url", "path", "u")
_STATUSES = ("status", "downstreamstatus", "response", "status_code", "code", "s")
_SIZES = ("body_bytes_sent", "size", "downstreamcontentsize", "bytes_sent", "bytes", "response_size", "b")
_LOG_TIME = "%d/%b/%Y:%H:%M:%S %z"
_NESTED = ("request", "http", "headers")


class Fields(NamedTuple):
    """What a line says of a request; `size` is None where it says nothing."""

    client: str
    time_s: float
    method: str
    target: str
    status: int
    size: int | None


def fields_of(line: bytes) -> Fields | None:
    """Those of a line in JSON or LTSV; None for any other."""
    if line.lstrip()[:1] == b"{":
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return _fields(_flat(told)) if isinstance(told, dict) else None
    if b"\t" in line and b":" in line:
        pairs = (
            field.partition(":") for field in line.decode(errors="surrogateescape").strip("\r\n").split("\t")
        )
        return _fields({name.strip().lower(): value for name, colon, value in pairs if colon})
    return None


def _flat(told: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by small names, with those of what is nested in them; what stands outside goes first."""
    flat = {str(name).lower(): value for name, value in told.items()}
    for name in _NESTED:
        if isinstance(inner := flat.get(name), dict):
            flat = {**_flat(inner), **{key: value for key, value in flat.items() if key != name}}
    return {name: value[0] if isinstance(value, list) and value else value for name, value in flat.items()}


def _fields(told: Mapping[str, Any]) -> Fields | None:
    time_s, status = _time_s(_first(told, _TIMES)), _whole(_first(told, _STATUSES))
    method, target = _first(told, _METHODS), _first(told, _TARGETS)
    if (request := _first(told, _REQUESTS)) and method is None:
        method, _, rest = str(request).partition(" ")
        target = rest.partition(" ")[0]
    if time_s is None or status is None or method is None or target is None:
        return None
    client, agent = _first(told, _CLIENTS), _first(told, _AGENTS)
    return Fields(
        client=f"{client or '-'} {agent or ''}".rstrip(),
        time_s=time_s,
        method=str(method).upper(),
        target=str(target),
        status=status,
        size=_whole(_first(told, _SIZES)),
    )


def _first(told: Mapping[str, Any], names: tuple[str, ...]) -> str | int | float | None:
    for name in names:
        value = told.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value not in ("", "-"):
            return value
    return None


def _whole(value: str | float | None) -> int | None:
    """A whole number of zero or more."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _time_s(value: str | float | None) -> float | None:
    """Seconds since the epoch, of a number (thousands or millions of them are told apart) or a date."""
    if value is None:
        return None
    text = str(value).strip("[]")
    try:
        number = float(text)
    except ValueError:
        return _date_s(text)
    if not math.isfinite(number) or number <= 0:
        return None
    for unit in (1.0, 1e3, 1e6, 1e9):
        if number / unit < 1e11:
            return number / unit
    return None


def _date_s(text: str) -> float | None:
    try:
        when = datetime.strptime(text, _LOG_TIME)
    except ValueError:
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
