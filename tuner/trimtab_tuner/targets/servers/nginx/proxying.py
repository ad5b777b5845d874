"""What of proxying in a user's own nginx.conf is not one directive in the block http.

Kept connections to an upstream are a directive of each `upstream`, and take two more where requests go
on: HTTP/1.1, and no `Connection: close`. Headers are inherited only by blocks that set none of their own.
"""

from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.targets.editing import Edit
from trimtab_tuner.targets.servers.nginx import syntax
from trimtab_tuner.targets.servers.nginx.knobs import KEEPALIVE
from trimtab_tuner.targets.servers.nginx.syntax import Directive

BUFFERS = ("proxy_buffers", "proxy_buffer_size")
_SAME_CONNECTION = 'proxy_set_header Connection "";'
_ELSEWHERE = ("proxy_bind", "proxy_cache", "proxy_ssl", "proxy_store", "proxy_temp_path")
_PASSES = ("proxy_pass", "proxy_method", "proxy_set_body")


def edits(
    text: str, tree: list[Directive], configuration: Configuration, knobs: Collection[str]
) -> Iterator[Edit]:
    """What is to be changed beside the directives in the block http."""
    if {*BUFFERS} & {*knobs}:
        # What it was is a size for the buffers that there were; nginx's own is right for any.
        for directive, _ in syntax.walk(tree):
            if directive.name == "proxy_busy_buffers_size":
                yield directive.start, directive.end, ""
    if KEEPALIVE.name in knobs:
        kept = int(configuration[KEEPALIVE.name])
        for upstream in syntax.find(tree, "http", "upstream"):
            yield from _kept_connections(text, upstream, kept)
        if kept:
            yield from _reuse(tree)


def refused(text: str) -> dict[str, tuple[Value, ...]]:
    """Connections can be kept only to an upstream with a block of its own."""
    if syntax.find(syntax.parse(text), "http", "upstream"):
        return {}
    return {KEEPALIVE.name: tuple(choice for choice in KEEPALIVE.choices if choice != 0)}


def how_handed_on(location: Directive, text: str, exceptions: Collection[Directive]) -> str:
    """How a location hands requests on, but for its exceptions from knobs."""
    inside = location.block or []
    kept = (text[each.start : each.end] for each in inside if _is_how(each.name) and each not in exceptions)
    return "".join(line + "\n" for line in kept)


def _is_how(name: str) -> bool:
    """Whether a directive says how requests are handed on; not which, nor from where else answers come, nor
    what each nginx has for itself.
    """
    return name.startswith("proxy_") and name not in _PASSES and not name.startswith(_ELSEWHERE)


def _kept_connections(text: str, upstream: Directive, kept: int) -> Iterator[Edit]:
    """The directive where it stands; else at the end, because it must follow the way of balancing."""
    line = f"keepalive {kept};" if kept else ""
    there = syntax.find(upstream.block or [], KEEPALIVE.name)
    if there:
        yield from ((each.start, each.end, line) for each in there)
    elif kept:
        inside = upstream.block or []
        if not inside:
            return
        place, first = inside[-1].end, inside[0].start
        indent = text[text.rfind("\n", 0, first) + 1 : first]
        yield place, place, f"\n{indent if indent.isspace() else '    '}{line}"


def _reuse(tree: list[Directive]) -> Iterator[Edit]:
    """HTTP/1.1 and no header Connection, wherever requests are handed on."""
    http = syntax.find(tree, "http")[0]
    added = []
    if not syntax.find(http.block or [], "proxy_http_version"):
        added.append("proxy_http_version 1.1;")
    for directive, _ in syntax.walk([http]):
        headers = syntax.find(directive.block or [], "proxy_set_header")
        if headers and not _names_connection(headers):
            yield headers[-1].end, headers[-1].end, f" {_SAME_CONNECTION}"
    if not syntax.find(http.block or [], "proxy_set_header"):
        added.append(_SAME_CONNECTION)
    if added:
        yield http.body_start, http.body_start, "".join(f"\n    {line}" for line in added)


def _names_connection(headers: Sequence[Directive]) -> bool:
    return any(header.arguments[:1] and header.arguments[0].lower() == "connection" for header in headers)
