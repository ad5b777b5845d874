"""What is seen of a server that runs, and has not begun to answer."""

import socket
import time
from collections.abc import Collection

import psutil
from trimtab_tuner.judging.silence import cpu_told

from trimtab_agent.station.server.refusals import ServerFailed

LOOK_S = 0.5
CONNECT_S = 1.0


class ServerSilent(ServerFailed):
    """The server runs, and answers nobody."""


def seen_of(pids: Collection[int], address: str, port: int) -> str:
    """Whether connections to it come about, and what its processes do, in a sentence; it takes half a second.

    The kernel lets a connection come about for a server that listens, whether that accepts it or not.
    """
    try:
        socket.create_connection((address, port), CONNECT_S).close()
        accepts = "connections to it come about"
    except OSError:
        accepts = "no connection to it comes about"
    before = _cpu_s(pids)
    time.sleep(LOOK_S)
    return f"Its process is alive, {accepts}, {cpu_told(100 * (_cpu_s(pids) - before) / LOOK_S)}."


def _cpu_s(pids: Collection[int]) -> float:
    """What they have used so far; one that has ended meanwhile counts for nothing."""
    used = 0.0
    for pid in pids:
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.Error:
            continue
        used += times.user + times.system
    return used
