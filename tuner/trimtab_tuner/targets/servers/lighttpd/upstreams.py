"""What a user's lighttpd.conf hands requests on to, but for programs that it starts itself."""

import re
from collections.abc import Iterator, Sequence

from trimtab_tuner.targets.behind import Upstream
from trimtab_tuner.targets.servers.lighttpd import syntax

_SETTINGS = {"fastcgi.server", "proxy.server", "scgi.server"}
_ONE = re.compile(r"\(([^()]*)\)")
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
        for one in _ONE.finditer(statement.text):
            host, socket = _HOST.search(one[1]), _SOCKET.search(one[1])
            found, said = socket, "" if socket is None else f"unix:{socket[1]}"
            if found is None and host is not None:
                port = _PORT.search(one[1])
                found, said = host, f"{host[1]}:{'80' if port is None else port[1]}"
            if found is not None and '"bin-path"' not in one[1]:
                start, end = found.span(1)
                place = statement.start + one.start(1)
                over_http = statement.name == "proxy.server"
                yield Upstream(statement.name, said, place + start, place + end, over_http=over_http)
