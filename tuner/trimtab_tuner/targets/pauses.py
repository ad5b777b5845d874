"""What shortened pauses do to a limit on connections, by Little's law.

A run may multiply the pauses of its workload by a time scale, so that sessions are shorter than those of the
workload, and fewer connections are open at the same rate: sessions per second times the length of a session.
A limit that was found so belongs to as many sessions per second, and not to as many connections.

ASSUMED is that a session lasts as long as its pauses and its transfers, and that the transfers take as long
with the pauses as they are as they did at the measured load.
"""

from dataclasses import dataclass

from trimtab_tuner.wording import in_percent

DESCRIPTORS_EACH = 2  # the socket, and the file that is being sent
MEMORY_SHARE = 0.5  # what connections may take up; the rest is for the page cache and everything else
SOCKET_BYTES = 16 << 10  # assumed: what the kernel keeps of a connection, with some data on its way
CONNECTION_BYTES = 64 << 10  # assumed where the server's own part has not been measured


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """The sessions of a run.

    Pauses were `time_scale` times those of the workload, which add up to `pause_s` in a session of so many
    `requests`, and a session had to end within `timeout_s`. The rate at which the configuration sent most
    had `sessions_rps` sessions a second, in each of which transfers took `transfer_s`; the ladder reached
    `most_sessions_rps`.
    """

    time_scale: float
    timeout_s: float
    requests: float = 0.0
    pause_s: float = 0.0
    transfer_s: float = 0.0
    sessions_rps: float = 0.0
    most_sessions_rps: float = 0.0

    @property
    def measured_s(self) -> float:
        """How long a session lasted."""
        return self.pause_s * self.time_scale + self.transfer_s

    @property
    def unscaled_s(self) -> float:
        """How long it lasts with the pauses as they are."""
        return self.pause_s + self.transfer_s

    @property
    def factor(self) -> float:
        """How many times as long that is; 1 at least."""
        return max(1.0, self.unscaled_s / self.measured_s) if self.measured_s > 0 else 1.0

    @property
    def most_open(self) -> float:
        """Connections that can be open at all with the pauses as they are, and a time limit that fits."""
        return self.most_sessions_rps * self.timeout_s / self.time_scale


@dataclass(frozen=True, kw_only=True)
class Room:
    """What the host has for connections: descriptors for each process, and memory.

    A connection takes `connection_bytes`; `measured` says whether the server's own part of that was measured.
    """

    descriptors: int
    memory_bytes: int
    connection_bytes: int = CONNECTION_BYTES
    measured: bool = False

    def sentence(self) -> str:
        """What there is, in words."""
        told = "the server's part measured" if self.measured else "assumed"
        return (
            f"{self.descriptors:,} descriptors for each process ({DESCRIPTORS_EACH} for each connection), "
            f"and {in_percent(MEMORY_SHARE)} of "
            f"{self.memory_bytes / 2**30:.1f} GiB of memory at {self.connection_bytes / 1024:.0f} KiB for "
            f"each connection ({told})"
        )
