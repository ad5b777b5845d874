"""Whether somebody answers at the addresses that a server hands requests on to.

Names are looked up and connections opened and closed again; nothing is sent. A few threads share the
addresses, and nobody waits for one that hangs, because a look-up cannot be given a limit. Addresses without a
name come first, so that a name server that is silent delays none of them.
"""

import ipaddress
import math
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from typing import Any

from trimtab_tuner.checking.machine import UNRESOLVED
from trimtab_tuner.targets.behind import Upstream

CONNECT_LIMIT_S = 0.5
LOOK_UP_LIMIT_S = 2.0
AT_ONCE = 128
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
    waiting = deque(sorted(said, key=lambda address: not _without_name(address)))

    def work() -> None:
        while waiting:
            try:
                address = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            said[address] = ask(address)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(AT_ONCE, len(said)))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + LOOK_UP_LIMIT_S * math.ceil(len(said) / AT_ONCE)
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    waiting.clear()
    return {address: why for address, why in dict(said).items() if why}


def _without_name(address: str) -> bool:
    """Whether nothing has to be looked up."""
    if address.startswith("unix:"):
        return True
    try:
        ipaddress.ip_address(address.rpartition(":")[0].strip("[]"))
    except ValueError:
        return False
    return True


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
