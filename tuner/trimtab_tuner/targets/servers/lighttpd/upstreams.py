"""What a user's lighttpd.conf hands requests on to, but for programs that it starts itself.

Each host is a list in lists, and may have lists of its own.
"""

import re
from collections.abc import Iterator, Sequence

from trimtab_tuner.targets.behind import Upstream
from trimtab_tuner.targets.servers.lighttpd import syntax

_SETTINGS = {
    "ajp13.server", "fastcgi.server", "proxy.server", "scgi.server", "sockproxy.server", "wstunnel.server"
}  # fmt: skip
_PIECE = re.compile(rf"{syntax.STRING}|#[^\n]*|[()]")
_HOST = re.compile(r'"host"\s*=>\s*"([^"]+)"')
_PORT = re.compile(r'"port"\s*=>\s*"?(\d+)')
_SOCKET = re.compile(r'"socket"\s*=>\s*"([^"]+)"')


def upstreams(text: str) -> Sequence[Upstream]:
    """The addresses, in the order of the file."""
    return list(_upstreams(text))


def _upstreams(text: str) -> Iterator[Upstream]:
    for statement in syntax.walk(text):
        if statement.name not in _SETTINGS:
            continue
        for begin, one in _lists(statement.text):
            host, socket = _HOST.search(one), _SOCKET.search(one)
            found, said = socket, "" if socket is None else f"unix:{socket[1]}"
            if found is None and host is not None:
                port = _PORT.search(one)
                found, said = host, f"{host[1]}:{'80' if port is None else port[1]}"
            if found is not None and '"bin-path"' not in one:
                start, end = found.span(1)
                place = statement.start + begin
                over_http = statement.name == "proxy.server"
                yield Upstream(statement.name, said, place + start, place + end, over_http=over_http)


def _lists(text: str) -> Iterator[tuple[int, str]]:
    """The inside of each list with where it begins, the innermost first; blanks stand for lists in it and for
    comments.
    """
    said = text
    opened: list[int] = []
    for piece in _PIECE.finditer(text):
        start, end = piece.span()
        if piece[0] == "(":
            opened.append(start)
            continue
        if piece[0] == ")" and opened:
            start = opened.pop()
            yield start + 1, said[start + 1 : end - 1]
        elif not piece[0].startswith("#"):
            continue
        said = said[:start] + " " * (end - start) + said[end:]
