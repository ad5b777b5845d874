"""The server's own counters, from its stats socket (docs/stats-socket.md): in total, and of each worker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab_agent.counters.process import TICKS_PER_S
from trimtab_agent.counters.process import parse as parse_process
from trimtab_agent.counters.source import Values
from trimtab_agent.stats_socket import StatsSocket, StatsSocketError, plain_metrics

# Of these the present value counts; all others only ever grow, and are shown per second.
GAUGES = {"connections_open"}

# What is kept of each worker: enough to see whether they share the work evenly.
WORKER_COUNTERS = ("connections_accepted", "requests", "bytes_sent")


class ServerSource:
    """The server whose stats socket was last given to `watch`."""

    name = "server"

    def __init__(self) -> None:
        self._path: Path | None = None
        self.workers: tuple[dict[str, Any], ...] = ()

    def watch(self, path: Path | None) -> None:
        """From now on reads the stats socket at `path`; nothing when None."""
        self._path = path

    def read(self) -> dict[str, float] | None:
        """The totals of `show stats`; None when no server is being watched, or it has just gone.

        `workers` then holds what the same reading said of each worker.
        """
        path = self._path
        self.workers = ()
        if path is None:
            return None
        try:
            with StatsSocket(path) as stats:
                document = stats.ask("show stats")
        except StatsSocketError:
            return None
        self.workers = tuple(document.get("workers", ()))
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
            reading = parse_process((self._proc / str(pid) / "stat").read_text())
        except OSError:
            return None
        return reading.user_ticks + reading.system_ticks
