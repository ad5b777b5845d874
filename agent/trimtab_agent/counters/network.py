"""/proc/net: full accept queues, lost SYNs, retransmissions, packets dropped before TCP saw them.

`netstat` and `snmp` hold pairs of lines, names then numbers (kernel: networking/snmp_counter.rst);
`sockstat` holds counts of sockets; `softnet_stat` one line of hexadecimal columns per CPU: packets
processed, dropped for a full backlog, times the budget ran out, and in column 13 the number of the
CPU (net/core/net-procfs.c). A connection that is opened takes a port of ip_local_port_range.
"""

from dataclasses import dataclass
from pathlib import Path

from trimtab_agent.counters.source import Values, per_second

# TCPReqQFullDrop and TCPReqQFullDoCookies count SYNs that met a full SYN queue.
COUNTERS = {
    "TcpExt.ListenOverflows": "listen_overflows_per_s",
    "TcpExt.ListenDrops": "listen_drops_per_s",
    "TcpExt.TCPReqQFullDrop": "syn_queue_drops_per_s",
    "TcpExt.TCPReqQFullDoCookies": "syn_cookies_for_full_queue_per_s",
    "TcpExt.SyncookiesSent": "syn_cookies_sent_per_s",
    "TcpExt.TCPSynRetrans": "syn_retransmits_per_s",
    "TcpExt.TCPAbortOnTimeout": "aborts_on_timeout_per_s",
    "Tcp.RetransSegs": "retransmits_per_s",
    "Tcp.ActiveOpens": "active_opens_per_s",
    "Tcp.PassiveOpens": "passive_opens_per_s",
    "Tcp.InSegs": "segments_in_per_s",
    "Tcp.OutSegs": "segments_out_per_s",
}


PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

# Of a dozen groups; the others are not even taken apart.
GROUPS = {name.partition(".")[0] for name in COUNTERS}


@dataclass(frozen=True)
class NetworkReading:
    """Counters by `Group.Name`, gauges by name, and (processed, dropped, squeezed) per CPU."""

    counters: dict[str, float]
    gauges: dict[str, int]
    softnet: dict[int, tuple[int, int, int]]


def parse_groups(text: str) -> dict[str, float]:
    """Pairs of lines `Tcp: Name…` and `Tcp: 1 …` as {"Tcp.Name": 1.0}, of `GROUPS`."""
    counters: dict[str, float] = {}
    lines = text.splitlines()
    for names, numbers in zip(lines[::2], lines[1::2], strict=True):
        group, _, rest = names.partition(":")
        if group not in GROUPS:
            continue
        columns = numbers.partition(":")[2].split()
        counters.update({f"{group}.{n}": float(v) for n, v in zip(rest.split(), columns, strict=True)})
    return counters


def parse_sockstat(text: str) -> dict[str, int]:
    """The TCP line of /proc/net/sockstat: sockets in use, and in TIME-WAIT."""
    for line in text.splitlines():
        if line.startswith("TCP:"):
            words = line.split()[1:]
            counts = dict(zip(words[::2], map(int, words[1::2]), strict=True))
            return {"tcp_in_use": counts["inuse"], "tcp_time_wait": counts["tw"]}
    return {}


def parse_softnet(text: str) -> dict[int, tuple[int, int, int]]:
    """Packets processed, dropped and times squeezed, per CPU."""
    rows: dict[int, tuple[int, int, int]] = {}
    for index, line in enumerate(text.splitlines()):
        columns = [int(column, 16) for column in line.split()]
        cpu = columns[12] if len(columns) > 12 else index
        rows[cpu] = (columns[0], columns[1], columns[2])
    return rows


def local_ports(text: str) -> int:
    """How many ports connections may begin at, from ip_local_port_range."""
    first, last = map(int, text.split())
    return last - first + 1


class NetworkSource:
    """TCP of this network namespace, and the receive path per CPU."""

    name = "network"

    def __init__(self, directory: Path = Path("/proc/net"), ports: Path = PORT_RANGE) -> None:
        self._directory = directory
        self._ports = ports

    def read(self) -> NetworkReading:
        """Reads netstat, snmp, sockstat and softnet_stat, and the range of ports."""
        counters = parse_groups((self._directory / "netstat").read_text())
        counters |= parse_groups((self._directory / "snmp").read_text())
        return NetworkReading(
            counters={name: counters[name] for name in COUNTERS if name in counters},
            gauges={
                **parse_sockstat((self._directory / "sockstat").read_text()),
                "local_ports": local_ports(self._ports.read_text()),
            },
            softnet=parse_softnet((self._directory / "softnet_stat").read_text()),
        )

    def values(self, earlier: NetworkReading, later: NetworkReading, interval_s: float) -> Values:
        """Rates per second, numbers of sockets, and `softnet` per CPU."""
        softnet = [
            {
                "cpu": cpu,
                **{
                    name: round((row[column] - earlier.softnet[cpu][column]) / interval_s, 2)
                    for column, name in enumerate(("processed_per_s", "dropped_per_s", "squeezed_per_s"))
                },
            }
            for cpu, row in later.softnet.items()
            if cpu in earlier.softnet
        ]
        rates = per_second(earlier.counters, later.counters, interval_s, COUNTERS)
        return {**rates, **later.gauges, "softnet": softnet}
