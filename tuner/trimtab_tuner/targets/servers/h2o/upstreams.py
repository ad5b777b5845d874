"""What a user's h2o.conf hands requests on to: over HTTP, and to programs by FastCGI."""

import re
from collections.abc import Iterator, Sequence

from ruamel import yaml

from trimtab_tuner.targets.behind import Upstream, upstream_at
from trimtab_tuner.targets.servers.h2o import syntax

_URL = re.compile(r"https?://", re.IGNORECASE)


def upstreams(text: str) -> Sequence[Upstream]:
    """The addresses, in the order of the file."""
    return list(_upstreams(text))


def _upstreams(text: str) -> Iterator[Upstream]:
    for command in syntax.commands(text):
        start, end = command.place
        if command.name == "proxy.reverse.url":
            for url in _URL.finditer(text, start, end):
                found = upstream_at(command.name, text[url.start() : end], url.start())
                if found is not None:
                    yield found
        elif command.name == "fastcgi.connect":
            for each in _fastcgi(command.name, command.value):
                yield each._replace(over_http=False)


def _fastcgi(setting: str, value: yaml.Node) -> Iterator[Upstream]:
    """A port of this machine, or a mapping with host, port and type."""
    if isinstance(value, yaml.ScalarNode):
        yield Upstream(setting, f"127.0.0.1:{value.value}", value.start_mark.index, value.start_mark.index)
        return
    entries = value.value if isinstance(value, yaml.MappingNode) else []
    has = {key.value: each for key, each in entries if isinstance(each, yaml.ScalarNode)}
    if "port" not in has:
        return
    kind, host, port = has.get("type"), has.get("host"), has["port"]
    if kind is not None and kind.value == "unix":
        yield Upstream(setting, f"unix:{port.value}", port.start_mark.index, port.end_mark.index)
    elif host is None:
        place = port.start_mark.index
        yield Upstream(setting, f"127.0.0.1:{port.value}", place, place)
    else:
        yield Upstream(setting, f"{host.value}:{port.value}", host.start_mark.index, host.end_mark.index)
