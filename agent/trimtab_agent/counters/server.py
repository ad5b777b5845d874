"""The server's own counters: of trimtab-httpd in total and of each worker, of other servers what their
status pages tell (docs/internals/stats-socket.md, docs/targets.md).
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trimtab_agent.counters.process import TICKS_PER_S
from trimtab_agent.counters.process import parse as parse_process
from trimtab_agent.counters.source import Values

# Of these the present value counts; all others only ever grow, and are shown per second.
GAUGES = {
    "admission_rps",
    "connections_open",
    "connections_reading",
    "connections_waiting",
    "connections_writing",
    "pool_size",
    "pool_threads",
    "queue_length",
    "stage_batch",
    "stage_threads",
    "stage_wait_p90_us",
    "threads_running",
    "workers_busy",
    "workers_idle",
}

# Reads the document of `show stats`, or one with only a `total`; None when the server does not answer.
ReadStats = Callable[[], dict[str, Any] | None]

# What is kept of each worker: enough to see whether they share the work evenly.
WORKER_COUNTERS = ("connections_accepted", "requests", "bytes_sent")


def plain_metrics(metrics: dict[str, Any]) -> dict[str, float]:
    """The counters and gauges among the metrics of a worker or of all; histograms are left out."""
    return {name: value for name, value in metrics.items() if isinstance(value, int | float)}


class ServerSource:
    """The server that was last given to `watch`."""

    name = "server"

    def __init__(self) -> None:
        self._read_stats: ReadStats | None = None
        # The sampler and a trial read at their own times: neither may find what the other has read.
        self._own = threading.local()

    @property
    def workers(self) -> tuple[dict[str, Any], ...]:
        """What this thread's last reading said of each worker."""
        workers: tuple[dict[str, Any], ...] = getattr(self._own, "workers", ())
        return workers

    def watch(self, read_stats: ReadStats | None) -> None:
        """From now on reads this server's counters; nothing when None."""
        self._read_stats = read_stats

    def read(self) -> dict[str, float] | None:
        """The totals; None when no server is being watched, or it does not answer.

        `workers` then holds what the same reading said of each worker.
        """
        read_stats = self._read_stats
        self._own.workers = ()
        document = read_stats() if read_stats is not None else None
        if document is None:
            return None
        self._own.workers = tuple(document.get("workers", ()))
        return plain_metrics(document["total"])

    def values(self, earlier: dict[str, float], later: dict[str, float], interval_s: float) -> Values:
        """Gauges as of the later reading, counters per second with `_per_s` added to their names."""
        values: Values = {}
        for name, value in later.items():
            if name in GAUGES:
                values[name] = value
            elif name in earlier:
                # A restarted server counts from zero again.
                values[f"{name}_per_s"] = round(max(0.0, value - earlier[name]) / interval_s, 2)
        return values


class WorkersSource:
    """Each worker of the server that `server` has just read, with the CPU time of its process."""

    name = "server_workers"

    def __init__(self, server: ServerSource, proc: Path = Path("/proc")) -> None:
        self._server = server
        self._proc = proc

    def read(self) -> dict[int, dict[str, float]] | None:
        """Counters by number of worker; None while there is no server.

        Workers that are threads of one process share its id, and have no CPU time of their own here.
        """
        workers = self._server.workers
        pids = [worker["pid"] for worker in workers]
        readings: dict[int, dict[str, float]] = {}
        for worker in workers:
            reading = plain_metrics(worker)
            if pids.count(worker["pid"]) == 1 and (ticks := self._ticks(worker["pid"])) is not None:
                reading["ticks"] = ticks
            readings[worker["worker"]] = reading
        return readings or None

    def values(
        self,
        earlier: Mapping[int, dict[str, float]],
        later: Mapping[int, dict[str, float]],
        interval_s: float,
    ) -> Values:
        """A list `workers`: number, process, gauges, counters per second, and `cpu` in percent of one CPU."""
        rows: list[dict[str, float]] = []
        for number, reading in later.items():
            before = earlier.get(number)
            if before is None or before["pid"] != reading["pid"]:
                continue
            row: dict[str, float] = {"worker": number, "pid": reading["pid"]}
            row.update({name: reading[name] for name in GAUGES if name in reading})
            for name in WORKER_COUNTERS:
                if name in reading and name in before:
                    row[f"{name}_per_s"] = round(max(0.0, reading[name] - before[name]) / interval_s, 2)
            if "ticks" in reading and "ticks" in before:
                row["cpu"] = round(100 * (reading["ticks"] - before["ticks"]) / TICKS_PER_S / interval_s, 2)
            rows.append(row)
        return {"workers": rows}

    def _ticks(self, pid: int) -> float | None:
        try:
            return parse_process((self._proc / str(pid) / "stat").read_text()).ticks
        except OSError:
            return None
