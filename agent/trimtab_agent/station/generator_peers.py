"""Whether trimtab-load measures what others measure: it and a peer drive the same server, in turn.

The peers are Debian's wrk, a closed loop of so many connections, and httperf, an open loop of sessions. Each
round drives both once, in alternating order, on the same CPUs; only the ratios within a round are compared,
because a machine changes from minute to minute more than two good generators differ. Latencies are not
compared: under overload wrk waits for the server, and httperf does not count from when a request was due.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from trimtab_tuner.targets.servers.core import CoreTarget
from trimtab_tuner.wording import counted

from trimtab_agent.errors import BinaryMissing, HostError
from trimtab_agent.host.cpu_layout import CpuLayout, format_cpus
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.children import Child, last_line
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.stopping import StopSignal

PEERS = ("wrk", "httperf")
"""The programs; Debian's packages have the same names."""

SESSION_REQUESTS = 50
"""Requests of a session of the open loop: few enough connections for httperf's select(2)."""

OPEN_LOOP_SHARE = 0.3
"""The open loop's rate as a share of the closed loop's throughput: well below saturation."""

TIMEOUT_S = 10
FILE_BYTES = 1024
FILE_PATH = "/1k.bin"


@dataclass(frozen=True, kw_only=True)
class PeerComparison:
    """What is compared: `connections` of the closed loop, `rate_rps` of the open one (None: measured)."""

    url: str
    program: Path
    connections: int
    rate_rps: float | None
    duration_s: int
    rounds: int
    cpus: tuple[int, ...]
    log: Path


@dataclass(frozen=True)
class Agreement:
    """Replies a second of both generators, round by round; `limit` is how far the ratio may be from one."""

    loop: str
    peer: str
    limit: float
    ours_rps: tuple[float, ...]
    peer_rps: tuple[float, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """Ours over the peer's, round by round."""
        return tuple(ours / peer for ours, peer in zip(self.ours_rps, self.peer_rps, strict=True))

    @property
    def ratio(self) -> float:
        """Their median."""
        return median(self.ratios)

    @property
    def agrees(self) -> bool:
        """Whether the median ratio lies within the limit."""
        return abs(self.ratio - 1) <= self.limit

    def document(self) -> dict[str, object]:
        """For `--json`."""
        return {**vars(self), "ratios": self.ratios, "ratio": self.ratio, "agrees": self.agrees}


def compare(comparison: PeerComparison, say: Callable[[str], None]) -> list[Agreement]:
    """Drives the server at `comparison.url` with all generators; `say` gets a line for each that begins.

    Raises BinaryMissing when a peer is not installed, HostError when a generator fails.
    """
    peers = {name: _peer(name) for name in PEERS}
    closed = _rounds(
        comparison.rounds,
        lambda: _ours_closed(comparison),
        lambda: _wrk(peers["wrk"], comparison),
        lambda round_, name: say(f"closed loop, round {round_} of {comparison.rounds}: {name}"),
        "wrk",
    )
    rate_rps = comparison.rate_rps or OPEN_LOOP_SHARE * min(closed[0])
    opened = _rounds(
        comparison.rounds,
        lambda: _ours_open(comparison, rate_rps),
        lambda: _httperf(peers["httperf"], comparison, rate_rps),
        lambda round_, name: say(
            f"open loop at {rate_rps:,.0f} requests/s, round {round_} of {comparison.rounds}: {name}"
        ),
        "httperf",
    )
    return [
        Agreement(f"closed, {counted(comparison.connections, 'connection')}", "wrk", 0.03, *closed),
        Agreement(f"open, {rate_rps:.0f} requests/s", "httperf", 0.01, *opened),
    ]


@contextmanager
def own_server(httpd: Path, layout: CpuLayout, stop: StopSignal) -> Iterator[str]:
    """Runs trimtab-httpd with a 1 KB file on the CPUs of servers; the URL of the file."""
    target = CoreTarget()
    with TemporaryDirectory(prefix="trimtab-") as folder:
        root = Path(folder) / "root"
        root.mkdir()
        (root / FILE_PATH.lstrip("/")).write_bytes(bytes(FILE_BYTES))
        order = ServerOrder(
            program=httpd,
            target=target,
            configuration=target.expert(len(layout.server)),
            root=root,
            cpus=layout.server,
            directory=Path(folder),
            name="server",
            leftovers=Leftovers(Path(folder) / "leftovers.json"),
        )
        with TargetServer(order, stop) as server:
            yield server.url + FILE_PATH


def _rounds(
    rounds: int,
    ours: Callable[[], float],
    peer: Callable[[], float],
    say: Callable[[int, str], None],
    peer_name: str,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Both generators' rates, round by round; who is first alternates."""
    rates: dict[str, list[float]] = {"trimtab-load": [], peer_name: []}
    sides = [("trimtab-load", ours), (peer_name, peer)]
    for round_ in range(1, rounds + 1):
        for name, drive in sides:
            say(round_, name)
            rate_rps = drive()
            if rate_rps <= 0:
                raise HostError(f"{name} got no reply: is the URL right, and does the server answer?")
            rates[name].append(rate_rps)
        sides.reverse()
    return tuple(rates["trimtab-load"]), tuple(rates[peer_name])


def _peer(name: str) -> Path:
    found = find_installed(name)
    if found is None:
        raise BinaryMissing(
            f"{name} is not installed here; `apt-get install --no-install-recommends {name}` installs it"
        )
    return found


def _output(command: Sequence[str], comparison: PeerComparison, cpus: tuple[int, ...]) -> str:
    """Runs a generator to its end; what it printed. Raises HostError when it fails."""
    with Child(command, cpus=cpus, log=comparison.log, capture=True) as child:
        text = child.stdout.read().decode(errors="replace")
        code = child.wait(TIMEOUT_S)
    if code != 0:
        raise HostError(f"{Path(command[0]).name} failed: {last_line(comparison.log) or text[-400:]}")
    return text


def _ours(command: Sequence[str], comparison: PeerComparison, cpus: tuple[int, ...]) -> dict[str, Any]:
    lines = _output([str(comparison.program), *command, "--close=reset"], comparison, cpus).splitlines()
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _ours_closed(comparison: PeerComparison) -> float:
    processes = min(len(comparison.cpus), comparison.connections)
    command = ["closed", f"--url={comparison.url}", f"--connections={comparison.connections}"]
    command += [f"--duration={comparison.duration_s}", f"--processes={processes}"]
    command += [f"--cpus={format_cpus(comparison.cpus)}"]
    return float(_ours(command, comparison, comparison.cpus)["reply_rate_rps"])


def _wrk(program: Path, comparison: PeerComparison) -> float:
    threads = min(len(comparison.cpus), comparison.connections)
    command = [str(program), f"-t{threads}", f"-c{comparison.connections}", f"-d{comparison.duration_s}s"]
    text = _output([*command, comparison.url], comparison, comparison.cpus)
    return _number(r"Requests/sec:\s+([\d.]+)", text, "wrk")


def _ours_open(comparison: PeerComparison, rate_rps: float) -> float:
    """One process on one CPU, as httperf is one; all replies count, as with httperf, also late ones."""
    command = ["open", f"--url={comparison.url}", f"--rate={rate_rps:g}", f"--timeout={TIMEOUT_S}"]
    command += [f"--duration={comparison.duration_s}", f"--session-requests={SESSION_REQUESTS}"]
    result = _ours(command, comparison, comparison.cpus[:1])
    return float(result["requests"]["replied"]) / comparison.duration_s


def _httperf(program: Path, comparison: PeerComparison, rate_rps: float) -> float:
    """Its replies over the time in which it offered load; its own test-duration ends with the last reply."""
    sessions_per_s = rate_rps / SESSION_REQUESTS
    sessions = max(1, round(sessions_per_s * comparison.duration_s))
    host, _, path = comparison.url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    command = [str(program), "--hog", f"--server={name}", f"--port={port or 80}", f"--uri=/{path}"]
    command += [f"--rate={sessions_per_s:.6f}", f"--num-conns={sessions}", f"--num-calls={SESSION_REQUESTS}"]
    text = _output([*command, f"--timeout={TIMEOUT_S}"], comparison, comparison.cpus[:1])
    return _number(r"replies (\d+) test-duration", text, "httperf") / comparison.duration_s


def _number(pattern: str, text: str, program: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise HostError(f"{program} printed no result that is understood: {text[-400:]!r}")
    return float(found.group(1))
