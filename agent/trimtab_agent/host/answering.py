"""Whether somebody answers at the addresses that a server hands requests on to.

Names are looked up and connections opened and closed again; nothing is sent. All addresses are asked at once,
each from a thread of its own, because a look-up cannot be given a limit.
"""

import socket
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from trimtab_tuner.targets.behind import Upstream

CONNECT_LIMIT_S = 0.5
LOOK_UP_LIMIT_S = 2.0
UNRESOLVED = "its name does not resolve here"
NOWHERE = "127.77.255.254"  # where nobody listens


def troubles(upstreams: Collection[Upstream]) -> dict[str, str]:
    """What is wrong with each of the addresses that nobody answers at, by address."""
    return _asked({each.address for each in upstreams}, _trouble)


def unresolved(upstreams: Collection[Upstream]) -> set[str]:
    """Those of the addresses whose name is not known here."""
    names = {each.address for each in upstreams if not each.address.startswith("unix:")}
    return set(_asked(names, lambda address: UNRESOLVED if not _places(address) else ""))


def _asked(addresses: Collection[str], ask: Callable[[str], str]) -> dict[str, str]:
    """What `ask` says of each address, without those of which it says nothing."""
    said: dict[str, str] = dict.fromkeys(addresses, UNRESOLVED)

    def work(address: str) -> None:
        said[address] = ask(address)

    threads = [threading.Thread(target=work, args=(each,), daemon=True) for each in said]
    for thread in threads:
        thread.start()
    until = time.monotonic() + LOOK_UP_LIMIT_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return {address: why for address, why in dict(said).items() if why}


def _trouble(address: str) -> str:
    if address.startswith("unix:"):
        return _connection(socket.AF_UNIX, address.removeprefix("unix:"))
    places = _places(address)
    if not places:
        return UNRESOLVED
    answers = [_connection(family, place) for family, place in places]
    return "" if "" in answers else answers[0]


def _places(address: str) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
    """Where a `host:port` is; nothing where that is not known."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError):
        return []
    return [(family, place) for family, _, _, _, place in found]


def _connection(family: socket.AddressFamily, place: str | tuple[Any, ...]) -> str:
    """Why none comes about; empty if one does, or this user may not try."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(CONNECT_LIMIT_S)
            connection.connect(place)
    except PermissionError:
        return ""
    except FileNotFoundError:
        return "there is no such socket"
    except ConnectionRefusedError:
        return "nobody listens there"
    except TimeoutError:
        return f"nobody answers within {CONNECT_LIMIT_S:g} s"
    except (OSError, OverflowError) as error:
        return f"it cannot be reached: {getattr(error, 'strerror', None) or error}"
    return ""
