"""/proc/net/dev: bytes, packets, errors and drops of each network device (networking/statistics.rst).

Of this network namespace. Devices that moved nothing and dropped nothing are left out of a sample.
"""

from pathlib import Path

from trimtab_agent.counters.source import Values

# Column of the file → our name.
COLUMNS = {
    0: "received_bytes_per_s",
    1: "received_packets_per_s",
    2: "receive_errors_per_s",
    3: "receive_drops_per_s",
    8: "sent_bytes_per_s",
    9: "sent_packets_per_s",
    10: "send_errors_per_s",
    11: "send_drops_per_s",
}

Reading = dict[str, tuple[int, ...]]


def parse(text: str) -> Reading:
    """{device: the counts in the order of COLUMNS}; the first two lines are headings."""
    reading: Reading = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        words = rest.split()
        reading[name.strip()] = tuple(int(words[column]) for column in COLUMNS)
    return reading


class DeviceSource:
    """Per device and second."""

    name = "devices"

    def __init__(self, path: Path = Path("/proc/net/dev")) -> None:
        self._path = path

    def read(self) -> Reading:
        """Reads /proc/net/dev."""
        return parse(self._path.read_text())

    def values(self, earlier: Reading, later: Reading, interval_s: float) -> Values:
        """{device: rates}; a device that was made anew meanwhile begins with the next sample."""
        values: Values = {}
        for name, counts in later.items():
            before = earlier.get(name)
            if before is None or any(b > a for b, a in zip(before, counts, strict=True)):
                continue
            rates = [round((a - b) / interval_s, 2) for b, a in zip(before, counts, strict=True)]
            if any(rates):
                values[name] = dict(zip(COLUMNS.values(), rates, strict=True))
        return values
