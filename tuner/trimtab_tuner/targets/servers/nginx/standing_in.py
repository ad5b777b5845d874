"""Trimtab's upstreams in the place of some that a user's nginx.conf names, and what logs say of those.

An upstream keeps all that its block says beside addresses: how connections are kept, shared and limited. How
long it takes is learnt from the access log of the location that hands requests on to it, where the format of
that log has `$upstream_response_time` (ngx_http_upstream_module): seconds, `-` where nobody was asked, and
several with commas or colons between them where several servers were asked for one request. Which upstream
that was, a format says with `$proxy_host` (ngx_http_proxy_module), or with `$upstream_addr` if the servers of
the upstream are addresses.
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.behind import UpstreamLog, upstream_at
from trimtab_tuner.targets.private import Change
from trimtab_tuner.targets.servers.nginx import levels, syntax, upstreams
from trimtab_tuner.targets.servers.nginx.levels import Path
from trimtab_tuner.targets.servers.nginx.syntax import Directive

TIME, HOST, ADDRESS = "upstream_response_time", "proxy_host", "upstream_addr"
_SIZES = ("upstream_response_length", "body_bytes_sent")
_URL = re.compile(r"(https?)://([^/\s$]+)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def upstream_log(text: str, name: str) -> UpstreamLog:
    """The log in which the times of the upstream stand. Raises RenderError."""
    tree = syntax.parse(text)
    path = path_to(tree, name)
    formats = {
        each.arguments[0]: "".join(part for part in each.arguments[1:] if not part.startswith("escape="))
        for each in syntax.find(tree, "http", "log_format")
        if each.arguments
    }
    told = next(filter(None, (syntax.find(block.block or [], "access_log") for block in reversed(path))), [])
    for log in told:
        named = log.arguments[1] if len(log.arguments) > 1 else "combined"
        template = formats.get(named, "")
        if TIME not in _variables(template):
            continue
        file = log.arguments[0]
        if not file.startswith("/") or "$" in file:
            raise RenderError(f"access_log {file}: expected the whole path of a file, without variables")
        by, answering = _answering(text, name, _variables(template))
        return UpstreamLog(file, _pattern(template, by), answering)
    where = f"access_log in line {told[0].line}" if told else "no access_log"
    raise RenderError(
        f"upstream {name}: its times stand in no log ({where}); expected an access_log whose log_format has "
        f"${TIME}, where requests go on to it"
    )


def path_to(tree: list[Directive], name: str) -> Path:
    """The location that hands requests on to the upstream, and the blocks round it. Raises RenderError."""
    handing = [(path, _asked(path[-1])) for path in levels.handing_on(tree)]
    for path, asked in handing:
        if asked is not None and asked[1] == name:
            if asked[0] == "https":
                raise RenderError(f"upstream {name}: it is asked over TLS; expected http://{name}")
            return path
    names = dict.fromkeys(asked[1] for _, asked in handing if asked is not None)
    raise RenderError(
        f"upstream {name}: no location hands requests on to it; expected one of {', '.join(names)}"
        if names
        else f"upstream {name}: the file hands no requests on to an upstream that it names"
    )


def has_block(tree: list[Directive], name: str) -> bool:
    """Whether the upstream has a block of its own, and is not just an address."""
    return bool(_block(tree, name))


def changes(tree: list[Directive], text: str, context: RenderContext) -> Iterator[Change]:
    """Our addresses in the place of each of the upstreams'."""
    for name, ours in context.stand_ins.items():
        yield from _changes(tree, text, name, ours)


def _changes(tree: list[Directive], text: str, name: str, ours: str) -> Iterator[Change]:
    for server in (each for block in _block(tree, name) for each in syntax.find(block.block or [], "server")):
        if server.arguments:
            yield Change(
                *server.spans[1],
                ours,
                f"server {server.arguments[0]} of upstream {name} at {ours}, Trimtab's own",
            )
    if has_block(tree, name):
        return
    for directive, _ in syntax.walk(tree):
        asked = _asked_by(directive)
        if asked is not None and asked[1] == name:
            start, end = directive.spans[1]
            found = _URL.search(text, start, end)
            assert found is not None  # noqa: S101 - it was found in the word
            yield Change(*found.span(2), ours, f"proxy_pass to {name} at {ours}, Trimtab's own upstream")


def _block(tree: list[Directive], name: str) -> list[Directive]:
    return [each for each in syntax.find(tree, "http", "upstream") if each.arguments[:1] == [name]]


def _asked(location: Directive) -> tuple[str, str] | None:
    """How the location asks whom."""
    return next(filter(None, map(_asked_by, location.block or [])), None)


def _asked_by(directive: Directive) -> tuple[str, str] | None:
    found = (
        _URL.match(directive.arguments[0]) if directive.name == "proxy_pass" and directive.arguments else None
    )
    return None if found is None else (found[1], found[2])


def _answering(text: str, name: str, named: Sequence[str]) -> tuple[str, frozenset[bytes]]:
    """The variable of a format that says which upstream was asked, and what it says where it was this one."""
    if HOST in named:
        return HOST, frozenset({name.encode()})
    of_block = [each.address for each in upstreams.upstreams(text) if each.setting == f"upstream {name}"]
    alone = upstream_at("proxy_pass", f"http://{name}", 0)
    addresses = of_block or ([] if alone is None else [alone.address])
    if ADDRESS not in named or not addresses or not all(map(_is_address, addresses)):
        return "", frozenset()
    return ADDRESS, frozenset(each.encode() for each in addresses)


def _is_address(address: str) -> bool:
    """Whether nginx logs it as it stands, and not as what a name resolves to."""
    try:
        ip_address(address.rpartition(":")[0].strip("[]"))
    except ValueError:
        return address.startswith("unix:")
    return True


def _variables(template: str) -> Sequence[str]:
    return [plain or braced for plain, braced in _VARIABLE.findall(template)]


def _pattern(template: str, by: str) -> re.Pattern[bytes]:
    """What reads a line of that format, with the groups `time`, `by` for that variable if it is one, and
    `size` where the format has one.

    A variable ends where the text behind it begins; its quotes and backslashes are escaped.
    """
    named = _variables(template)
    size = next((name for name in _SIZES if name in named), None)
    groups = {TIME: "time"} | ({size: "size"} if size is not None else {})
    pattern, end = "", 0
    for found in _VARIABLE.finditer(template):
        pattern += re.escape(template[end : found.start()])
        end = found.end()
        stop = re.escape(template[end : end + 1])
        value = rf"(?:[^{stop}\\]|\\.)*" if stop else ".*"
        variable = found[1] or found[2]
        group = groups.pop(variable, None)
        if variable.startswith("upstream_"):  # a list has spaces between its members
            value = rf"[^ ,{stop}]*(?:(?:,| :) [^ ,{stop}]*)*"
        if variable == by:
            by = ""
            value = f"(?P<by>{value})"
        if group:  # where the format escapes as JSON does, nothing stands for nobody
            value = r"(?:-|[\d.]*)(?:(?:,| :) (?:-|[\d.]+))*"
        pattern += f"(?P<{group}>{value})" if group else value
    return re.compile((pattern + re.escape(template[end:])).encode())
