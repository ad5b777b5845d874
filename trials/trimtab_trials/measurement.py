"""One rate driven for one configuration, with all that generator, server and host have counted meanwhile."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

FOLLOWS = 0.95  # replies at 95 % of what was due still follow it; the rest is noise
# What is not answered at once waits: at the end of a rate whose twentieth was left over, for that much of it.
BACKLOG = (1 - FOLLOWS) / 2
GENERATOR_LATE_US = 10_000.0  # of an arrival in a hundred: beyond it the generator says that it was the limit
GENERATOR_STARVED = 0.5  # of a CPU: one that is late though it used no more has been kept from it by others

CURVE = (
    "number",
    "rate_rps",
    "goodput_mbps",
    "reply_rate_rps",
    "due_rate_rps",
    "requests",
    "reply_latency",
    "generator_limited",
    "held",
    "duration_s",
)
"""What curves and tables show of a measurement."""


@dataclass(frozen=True)
class SessionCounts:
    """What became of the sessions a load generator was to offer."""

    offered: int = 0
    started: int = 0
    completed: int = 0
    timed_out_connect: int = 0
    timed_out: int = 0
    failed: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class RequestCounts:
    """What became of the requests in those sessions; `offered` is the sum of the others.

    `timed_out_before_read` are requests that the server shows no sign of having accepted or read; `abandoned`
    are those never sent because their session had ended.
    """

    offered: int = 0
    replied: int = 0
    timed_out_before_read: int = 0
    timed_out_after_read: int = 0
    failed: int = 0
    abandoned: int = 0
    dropped: int = 0

    @property
    def timed_out(self) -> int:
        """Requests that nobody waited for any more, read by the server or not."""
        return self.timed_out_before_read + self.timed_out_after_read


@dataclass(frozen=True, kw_only=True)
class SizeClassCounts:
    """What became of the requests for files of one size; `asked` is the sum of the other five."""

    size_bytes: int
    asked: int
    replied: int
    timed_out_before_read: int
    timed_out_after_read: int
    failed: int
    abandoned: int


@dataclass(frozen=True)
class Latency:
    """A distribution of times in microseconds from the intended start; None where nothing was observed."""

    p50_us: float | None = None
    p90_us: float | None = None
    p99_us: float | None = None
    p999_us: float | None = None
    max_us: float | None = None
    mean_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One rate driven for one configuration.

    `number` counts from 1 in the order of driving. `due_rate_rps` is what the sessions of this rate ask for
    in the window, where `reply_rate_rps` is counted, if nothing keeps them waiting: `rate_rps` but for how
    many sessions have begun by then, and how long those are. It is None in a closed loop, and in measurements
    older than it. In a closed loop the number of connections takes the place of `rate_rps`. `held` says
    whether the rules of verification and the run's constraints held at it. The database reads whole runs with
    the fields of `CURVE` alone, and then the others are empty.

    `health` is what the generator says of itself, `server_stats` what the server counted during the rate,
    `counters` the averages of the host's counters by source, over the window from the end of the warm-up to
    the end of the load in which `goodput_mbps` and `reply_rate_rps` are counted.
    """

    rate_rps: float
    goodput_mbps: float
    reply_rate_rps: float
    due_rate_rps: float | None = None
    number: int = 1
    requests: RequestCounts = RequestCounts()
    reply_latency: Latency = Latency()
    generator_limited: bool = False
    held: bool = True
    duration_s: float = 0.0
    warmup_s: float = 0.0
    elapsed_s: float = 0.0
    bytes_received: int = 0
    sessions: SessionCounts = SessionCounts()
    connect_latency: Latency = Latency()
    first_byte_latency: Latency = Latency()
    failures: dict[str, Any] = field(default_factory=dict)
    health: dict[str, Any] = field(default_factory=dict)
    server_stats: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, Any] = field(default_factory=dict)
    size_classes: tuple[SizeClassCounts, ...] = ()

    def curve(self) -> "Measurement":
        """What curves and tables show of it, for those who keep thousands."""
        return Measurement(**{name: getattr(self, name) for name in CURVE})

    @property
    def followed(self) -> bool:
        """Whether the replies followed what was due.

        In older measurements that is not known, only the rate. Sessions come and go by chance: in a short
        window fewer requests than usual may have been due. So replies that stay behind the rate count only
        where something was left over: requests that nobody waited for any more, or replies that waited
        behind others.
        """
        if self.due_rate_rps is not None:
            return self.reply_rate_rps >= FOLLOWS * self.due_rate_rps
        if self.reply_rate_rps >= FOLLOWS * self.rate_rps:
            return True
        p99_us, lost = self.reply_latency.p99_us, self.requests.offered - self.requests.replied
        return p99_us is not None and not lost and p99_us < BACKLOG * self.duration_s * 1e6

    @property
    def cpu_s_per_1000_requests(self) -> float | None:
        """CPU seconds of all server processes, in user and kernel mode, per 1,000 replies in the window.

        None where it was not counted, or nothing was replied.
        """
        used_s = self.counter("server_processes", "cpu_s")
        replies = self.reply_rate_rps * (self.duration_s - self.warmup_s)
        return None if used_s is None or replies <= 0 else 1000 * used_s / replies

    @property
    def memory_bytes(self) -> float | None:
        """The memory of all server processes at its peak, shared pages counted once (PSS).

        None where it was not counted.
        """
        return self.counter("server_processes", "peak_memory_bytes")

    @property
    def resident_bytes(self) -> float | None:
        """The resident memory of all server processes added up; only in runs older than `memory_bytes`."""
        return self.counter("server_processes", "resident_bytes")

    @property
    def generator_cpu_share(self) -> float | None:
        """The share of a CPU that the generator's busiest process used; None where it does not say."""
        share = self.health.get("cpu_share")
        return float(share) if isinstance(share, int | float) else None

    @property
    def generator_starved(self) -> bool:
        """Whether the generator was late although it used little of its CPU: other programs had that."""
        share, health = self.generator_cpu_share, self.health
        late = (health.get("lateness_p99_us") or 0) > GENERATOR_LATE_US or health.get("dropped_for_lateness")
        return self.generator_limited and bool(late) and share is not None and share < GENERATOR_STARVED

    def counter(self, *path: str) -> float | None:
        """A number in the counters, such as `counter("cpu", "total", "iowait")`; None if it was not
        counted.
        """
        found: Any = self.counters
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return float(found) if isinstance(found, int | float) else None

    def cpus(self, numbers: Collection[int]) -> list[Mapping[str, float]]:
        """The time of each of some CPUs, by state in percent."""
        cpu = self.counters.get("cpu")
        each = cpu.get("cpus", []) if isinstance(cpu, Mapping) else []
        return [entry for entry in each if entry.get("cpu") in numbers]

    def percent_taken_by_others(self, cpus: Collection[int]) -> float | None:
        """What processes other than the server's had of these CPUs' time, in percent; None if not counted.

        The kernel's own time in interrupts counts for nobody. `cpus` are those that the server runs on.
        """
        each = self.cpus(cpus)
        own = [self.counter("server_processes", state) for state in ("user", "system")]
        if not each or None in own:
            return None
        used = sum(entry.get(state, 0.0) for entry in each for state in ("user", "nice", "system"))
        return max(0.0, used - sum(share for share in own if share is not None)) / len(each)
