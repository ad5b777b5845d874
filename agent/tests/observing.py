"""What the tests of observation share: real servers that write a log, requests, what is seen in the end."""

import dataclasses
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimtab_agent.live.observation import Observer
from trimtab_agent.station.processes.unprivileged import hand_over
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.live.observed import Observed, observed_together

SMALL_BYTES, LARGE_BYTES, HUGE_BYTES = 500, 5_000_000, 64_000_000
LIMIT_S = 20.0


class Telling:
    """A target whose file has further settings."""

    def __init__(self, target: Any, settings: str) -> None:
        self._target, self._settings = target, settings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def render(self, *arguments: Any) -> str:
        """The file with the settings."""
        text: str = self._target.render(*arguments)
        if self._target.name == "nginx":
            assert "access_log off;\n" in text
            return text.replace("access_log off;\n", self._settings, 1)  # that of all sites
        if self._target.name == "lighttpd":
            text += 'server.modules += ( "mod_accesslog" )\n'
        return text + self._settings


@contextmanager
def serving(order: ServerOrder, settings: str = "") -> Iterator[tuple[TargetServer, Path]]:
    """A server of a small, a large and a huge file, its log in memory; PATH in its settings is the log."""
    root = order.directory / "root"
    root.mkdir()
    for file, size in (("small", SMALL_BYTES), ("large", LARGE_BYTES), ("huge", HUGE_BYTES)):
        (root / file).touch()
        os.truncate(root / file, size)
    log = Path("/dev/shm") / f"trimtab-test-{os.getpid()}-{order.target.name}" / "log"  # noqa: S108 - a tmpfs
    log.parent.mkdir(mode=0o755)
    log.touch(mode=0o600)
    for path in (log.parent, log):
        hand_over(path)
    target: Any = Telling(order.target, settings.replace("PATH", str(log))) if settings else order.target
    try:
        with TargetServer(dataclasses.replace(order, root=root, target=target), StopSignal()) as server:
            yield server, log
    finally:
        for file in log.parent.iterdir():
            file.unlink()
        log.parent.rmdir()


def ask(port: int, path: str, *, until_the_end: bool = True) -> None:
    """Asks for a file; reads the reply, or goes away with a reset when it has begun."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(1)
        while until_the_end and connection.recv(1 << 16):
            pass
        if not until_the_end:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def observe_until(observer: Observer, is_there: Callable[[Observed], object]) -> Observed:
    """What is observed until something is there, all together."""
    periods = [observer.read()]
    deadline_s = time.monotonic() + LIMIT_S
    while not is_there(observed_together(periods)):
        assert time.monotonic() < deadline_s, observed_together(periods)
        time.sleep(0.01)
        periods.append(observer.read())
    return observed_together(periods)
