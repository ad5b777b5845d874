"""What a station says it is: its machine, network cards, installed servers, versions; and how it is now."""

import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import psutil
from trimtab_trials.host import Host
from trimtab_tuner.targets import TARGETS

from trimtab_agent.errors import BinaryMissing
from trimtab_agent.fleet.engine import versions
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.station.requirements import version_of_target

NETWORK = Path("/sys/class/net")
BUSY_WINDOW_S = 3600.0


def facts_of(role: str, host: Host, httpd: Path, layout: CpuLayout) -> dict[str, Any]:
    """What does not change while the station is in the fleet; plain values."""
    return {
        "versions": dict(versions()),
        "role": role,
        "machine_id": host.machine_id,
        "host": {**vars(host)},
        "layout": {
            "server": list(layout.server),
            "generator": list(layout.generator),
            "all": sorted({*layout.server, *layout.generator}),
        },
        "network_cards": network_cards(),
        "servers": installed_servers(httpd) if role == "server" else {},
        "pid": os.getpid(),
    }


def installed_servers(httpd: Path) -> dict[str, str]:
    """The targets that can be measured here, with the versions of their servers."""
    found = {}
    for name, target in TARGETS.items():
        try:
            found[name] = version_of_target(target, httpd)
        except BinaryMissing:
            continue
    return found


def network_cards(directory: Path = NETWORK) -> list[dict[str, Any]]:
    """The network cards, without the loopback: name, driver and speed where the kernel says them."""
    cards = []
    for card in sorted(directory.iterdir()) if directory.is_dir() else ():
        if card.name == "lo":
            continue
        driver = card / "device/driver"
        cards.append(
            {
                "name": card.name,
                "driver": driver.resolve().name if driver.exists() else None,
                "speed_mbps": _speed_mbps(card / "speed"),
            }
        )
    return cards


class Busy:
    """How much of the last hour something was being done; for any thread."""

    def __init__(self) -> None:
        self._since_s = time.monotonic()
        self._spans: deque[tuple[float, float]] = deque()
        self._begun_s: float | None = None

    def begin(self) -> None:
        """Something begins."""
        self._begun_s = time.monotonic()

    def end(self) -> None:
        """It has come to its end."""
        if self._begun_s is not None:
            self._spans.append((self._begun_s, time.monotonic()))
            self._begun_s = None

    @property
    def share(self) -> float:
        """The share, from 0 to 1."""
        now_s = time.monotonic()
        window_s = min(BUSY_WINDOW_S, max(now_s - self._since_s, 1.0))
        while self._spans and self._spans[0][1] < now_s - window_s:
            self._spans.popleft()
        begun_s = self._begun_s
        spans = [*self._spans, *([(begun_s, now_s)] if begun_s is not None else [])]
        busy_s = sum(end - max(begin, now_s - window_s) for begin, end in spans)
        return round(min(1.0, busy_s / window_s), 3)


def condition() -> dict[str, Any]:
    """How the machine is at this moment."""
    memory = psutil.virtual_memory()
    return {
        "free_memory_bytes": memory.available,
        "load": round(os.getloadavg()[0], 2),
        "cpu_percent": psutil.cpu_percent(),
    }


def _speed_mbps(file: Path) -> int | None:
    """What the kernel says of a card that is up; -1 stands for unknown."""
    try:
        speed = int(file.read_text())
    except (OSError, ValueError):
        return None
    return speed if speed > 0 else None
