"""The addresses of a private Apache: each `Listen`, and each virtual host's, by one of the loopback's.

A virtual host of an address goes before one of a port on every address (`*:80`). So the latter gets all
private addresses of that port that no virtual host has for itself.
"""

from collections.abc import Iterator, Mapping, Sequence

from trimtab_tuner.targets.private import Change, Places
from trimtab_tuner.targets.servers.apache import variables
from trimtab_tuner.targets.servers.apache.syntax import SITE, Line

_ANY = ("*", "_default_", "")


def changes(lines: Sequence[Line], places: Places, known: Mapping[str, str]) -> Iterator[Change]:
    """A change for each word that names an address, and a `Listen` for each that has none; `known` are the
    variables in them.
    """
    listens = [line.words[0] for line in lines if line.name == "listen" and line.words]
    hosts = [word for line in lines if line.opens and line.name == SITE and line.site for word in line.words]
    meant = {word: variables.filled(word.text, known) for word in (*listens, *hosts)}
    own = [_socket(meant[word]) for word in hosts if not _on_every_address(meant[word])]
    listened = [_socket(meant[word]) for word in listens]
    for address in (*listened, *own):
        places.address(address)
    for word, address in zip(listens, listened, strict=True):
        place = places.address(address)
        yield Change(word.start, word.end, place, f"Listen {word.text} at {place}")
    addressed = list(dict.fromkeys((*listened, *own)))
    added = [address for address in addressed if address not in listened]
    for word in hosts:
        port = _port(meant[word])
        if not _on_every_address(meant[word]):
            place = places.address(_socket(meant[word]))
            yield Change(word.start, word.end, place, f"<VirtualHost {word.text}> at {place}")
        elif port not in ("*", ""):
            shared = [each for each in addressed if each.endswith(f":{port}") and each not in own]
            if not shared:
                shared = [f"0.0.0.0:{port}"]
                added += [address for address in shared if address not in added]
            place = " ".join(places.address(each) for each in shared)
            yield Change(word.start, word.end, place, f"<VirtualHost {word.text}> at {place}")
    if added:
        text = "".join(f"Listen {places.address(address)}\n" for address in added)
        yield Change(0, 0, text, "")


def _on_every_address(text: str) -> bool:
    host = text.rpartition(":")[0] if ":" in text else text
    return host in _ANY


def _port(text: str) -> str:
    return text.rpartition(":")[2] if ":" in text else ""


def _socket(text: str) -> str:
    """The address as Apache understands it: a port alone is on all addresses."""
    host, colon, port = text.rpartition(":")
    if not colon and text.isdecimal():
        host, port = "", text
    elif not colon or text.endswith("]"):
        host, port = text, "*"
    return f"{'0.0.0.0' if host in _ANY else host}:{port}"  # noqa: S104 - compared, never bound
