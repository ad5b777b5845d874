"""A network namespace for the clients, joined to the server's by virtual Ethernet pairs.

    server's namespace                         namespace trimtab-PID (the load generator)
      tPIDs0  198.18.0.1/24  ── veth, tbf ──     tPIDc0  198.18.0.2/24, 198.18.0.3/24 …
      tPIDs1  198.18.1.1/24  ── veth, tbf ──     tPIDc1  198.18.1.2/24 …

The addresses are of 198.18.0.0/15, which is set aside for tests of network devices (RFC 2544, appendix
C.2.2); subnets that the host uses already are passed over. The rate limit is a token bucket (tc-tbf(8)) on
both ends, so that replies and requests are limited alike.

Names carry the process id of whoever makes them, and are in the journal (leftovers.py) before they are made.
"""

import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from trimtab_tuner.workloads.links import LinkProfile

from trimtab_agent.errors import HostError
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.programs import find_installed

KIND = "network namespace"
RANGE = IPv4Network("198.18.0.0/15")
COMMAND_LIMIT_S = 20.0
BUCKET_S = 0.005  # at least a tick of the slowest kernel clock in common use (250 Hz)
LEAST_BUCKET_BYTES = 1 << 17  # two of the largest packets that segmentation offload hands down
QUEUE_LIMIT = "50ms"  # what a switch would buffer; longer queues only hide the limit


@dataclass(frozen=True)
class MadeLink:
    """A link that is there: one server address for each subnet, clients' addresses in turn by subnet."""

    name: str
    server_addresses: tuple[str, ...]
    client_addresses: tuple[str, ...]

    @property
    def receiving_devices(self) -> tuple[str, ...]:
        """The server's ends of the pairs, where requests arrive."""
        pid = self.name.removeprefix("trimtab-")
        return tuple(f"t{pid}s{number}" for number in range(len(self.server_addresses)))

    @property
    def join_command(self) -> tuple[str, ...]:
        """What goes before a command that shall run among the clients."""
        return ("nsenter", f"--net=/run/netns/{self.name}", "--")


@contextmanager
def made_link(profile: LinkProfile, journal: Leftovers) -> Iterator[MadeLink]:
    """The link of a profile, taken away at the end; raises HostError when it cannot be made here."""
    name = f"trimtab-{os.getpid()}"
    try:
        try:
            remove(name)
            journal.remember(KIND, name)
            link = _make(profile, name)
        except OSError as error:
            raise HostError(_refusal(error)) from error
        yield link
    finally:
        with suppress(OSError):  # it stays in the journal; the next start tries again
            remove(name)
            journal.forget(KIND, name)


def require_links() -> None:
    """Raises HostError, with the reason, when no namespace can be made here."""
    name = f"trimtab-{os.getpid()}-probe"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except OSError as error:
        raise HostError(_refusal(error)) from error


def remove(name: str) -> None:
    """Takes namespace and interfaces of that name away; does nothing if they are gone. Raises OSError."""
    pid = name.removeprefix("trimtab-")
    for interface in _interfaces():
        if interface.startswith(f"t{pid}s"):
            _ip("link", "del", interface)
    if name in {entry["name"] for entry in json.loads(_ip("-j", "netns", "list") or "[]")}:
        _ip("netns", "del", name)


def _make(profile: LinkProfile, name: str) -> MadeLink:
    pid = name.removeprefix("trimtab-")
    subnets = _free_subnets(profile.subnets)
    _ip("netns", "add", name)
    _ip("-n", name, "link", "set", "lo", "up")
    servers: list[str] = []
    clients: list[list[str]] = []
    queues = ("numrxqueues", str(profile.receive_queues), "numtxqueues", str(profile.receive_queues))
    for number, subnet in enumerate(subnets):
        server_end, client_end = f"t{pid}s{number}", f"t{pid}c{number}"
        hosts = [str(host) for host in itertools.islice(subnet.hosts(), 1 + profile.clients_per_subnet)]
        ends = (server_end, *queues, "type", "veth", "peer", "name", client_end, *queues)
        _ip("link", "add", *ends, "netns", name)
        _ip("addr", "add", f"{hosts[0]}/24", "dev", server_end)
        for host in hosts[1:]:
            _ip("-n", name, "addr", "add", f"{host}/24", "dev", client_end)
        _ip("link", "set", server_end, "up")
        _ip("-n", name, "link", "set", client_end, "up")
        if profile.rate_mbps is not None:
            _limit((), server_end, profile.rate_mbps)
            _limit(("-n", name), client_end, profile.rate_mbps)
        servers.append(hosts[0])
        clients.append(hosts[1:])
    # The generator takes server and client addresses in turn: so ordered, both are of the same subnet.
    in_turn = [client for of_each_subnet in zip(*clients, strict=True) for client in of_each_subnet]
    return MadeLink(name, tuple(servers), tuple(in_turn))


def _limit(where: tuple[str, ...], interface: str, rate_mbps: int) -> None:
    bucket_bytes = max(LEAST_BUCKET_BYTES, int(rate_mbps * 1e6 / 8 * BUCKET_S))
    rate = ("rate", f"{rate_mbps}mbit", "burst", f"{bucket_bytes}b", "latency", QUEUE_LIMIT)
    _run("tc", *where, "qdisc", "add", "dev", interface, "root", "tbf", *rate)


def _free_subnets(count: int) -> list[IPv4Network]:
    """The first subnets of RANGE in which this host has no address."""
    used = {
        IPv4Address(address["local"])
        for interface in json.loads(_ip("-j", "-4", "addr") or "[]")
        for address in interface.get("addr_info", ())
    }
    free = (net for net in RANGE.subnets(new_prefix=24) if not any(address in net for address in used))
    subnets = list(itertools.islice(free, count))
    if len(subnets) < count:
        raise OSError(0, f"all subnets of {RANGE} are in use")
    return subnets


def _interfaces() -> list[str]:
    return [interface["ifname"] for interface in json.loads(_ip("-j", "link") or "[]")]


def _ip(*arguments: str) -> str:
    return _run("ip", *arguments)


def _run(program: str, *arguments: str) -> str:
    """The output of a command of iproute2; raises OSError with what it complains of."""
    found = find_installed(program)
    if found is None:
        raise OSError(0, f"the program {program} is not installed (package iproute2)")
    try:
        done = subprocess.run(
            (str(found), *arguments), capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(0, f"{program} {' '.join(arguments)}: no end within {COMMAND_LIMIT_S:.0f} s") from error
    if done.returncode != 0:
        complaint = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise OSError(0, f"{program} {' '.join(arguments)}: {complaint[0]}")
    return done.stdout


def _refusal(error: OSError) -> str:
    return (
        f"a link needs a network namespace, and it cannot be made: {error.strerror}; "
        "run as root, or on the loopback (link = loopback)"
    )
