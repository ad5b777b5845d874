"""MariaDB under a shop's customers: trimtab-load beside sysbench, and threads beside a pool of them.

Prints a page. One CPU serves, the other asks. Every measurement has a server of its own, on a
fresh copy of the same data directory.

    mariadb.py [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import report
from servers import CLIENT_CPU, LOAD, SERVER_CPU
from trimtab_tuner.workloads import shop
from trimtab_tuner.workloads.session_log import Request, write_session_log

ITEMS = 10_000
SESSIONS = 2_000
MIX = "shopping"
PAUSE_S = 0.15
TIMEOUT_S = 6.0
CLOSED_CONNECTIONS = 16
LOADS = (0.8, 1.5, 3.0)
"""Of the capacity of the closed loop."""

HANDLINGS = ("one-thread-per-connection", "pool-of-threads")
WANTED_RATIO = 0.03
WARMING_S = 2
START_LIMIT_S = 30.0
SAMPLE_S = 0.1

FIRST = ("nice", "--adjustment=-10")
"""Before the command of a server or generator: what else the machine does at the moment has to wait."""

SYSBENCH = """\
function thread_init()
  connection = sysbench.sql.driver():connect()
end
function event()
  connection:query("{statement}")
end
"""


@dataclass(frozen=True)
class Overload:
    """What came of one load; `threads` are the most that the server had."""

    reply_rate_rps: float
    goodput_mbps: float
    timed_out_share: float
    p99_ms: float
    threads: int


class Shop:
    """The data of the shop, made once in `folder`, and servers that run on copies of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = folder / "made"
        subprocess.run(
            [
                "mariadb-install-db",
                "--no-defaults",
                "--user=root",
                f"--datadir={self._made}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
            check=True,
            capture_output=True,
        )
        self.log = folder / "shop.log"
        sessions = shop.sessions(MIX, items=ITEMS, count=SESSIONS, pause_s=PAUSE_S, seed=0)
        self.log.write_text(write_session_log(sessions))
        with self._serving(self._made, HANDLINGS[0]):
            client = ["mariadb", "--no-defaults", f"--socket={self._socket}", "--user=root"]
            subprocess.run(client, input=shop.data(ITEMS), text=True, check=True)

    @property
    def _socket(self) -> Path:
        return self._folder / "server.sock"

    @contextlib.contextmanager
    def served(self, handling: str) -> Iterator[Running]:
        """A server with these threads on a copy of the data."""
        copy = self._folder / "copy"
        shutil.copytree(self._made, copy)
        try:
            with self._serving(copy, handling) as server:
                yield server
        finally:
            shutil.rmtree(copy)

    @contextlib.contextmanager
    def _serving(self, data: Path, handling: str) -> Iterator[Running]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [
            *FIRST,
            "taskset",
            "--cpu-list",
            str(SERVER_CPU),
            shutil.which("mariadbd") or "/usr/sbin/mariadbd",
        ]
        command += ["--no-defaults", "--user=root", f"--datadir={data}", f"--socket={self._socket}"]
        command += ["--bind-address=127.0.0.1", f"--port={port}", f"--thread-handling={handling}"]
        command += ["--thread-pool-size=1", "--max-connections=10000", "--back-log=10000", "--log-warnings=1"]
        command += ["--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=2"]
        with (self._folder / "server.log").open("a") as log, subprocess.Popen(command, stderr=log) as server:
            try:
                deadline_s = time.monotonic() + START_LIMIT_S
                while not self._socket.exists():
                    if server.poll() is not None or time.monotonic() > deadline_s:
                        raise SystemExit(f"mariadbd does not start: see {log.name}")
                    time.sleep(0.02)
                yield Running(port, psutil.Process(server.pid))
            finally:
                server.terminate()
                server.wait(START_LIMIT_S)


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    port: int
    process: psutil.Process

    def load(self, log: Path, *arguments: str) -> tuple[Mapping[str, Any], int]:
        """The result of trimtab-load with a log of sessions, and the most threads that the server had."""
        url = f"mariadb://{shop.USER}@127.0.0.1:{self.port}/{shop.DATABASE}"
        command = [*FIRST, str(LOAD), *arguments, f"--url={url}", f"--sessions={log}"]
        command += [f"--timeout={TIMEOUT_S:g}", "--close=reset", f"--cpus={CLIENT_CPU}"]
        threads = 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as generator:
            while True:
                threads = max(threads, self.process.num_threads())
                try:
                    said, _ = generator.communicate(timeout=SAMPLE_S)
                except subprocess.TimeoutExpired:
                    continue
                break
        if generator.returncode != 0:
            raise SystemExit(f"trimtab-load ended with {generator.returncode}")
        result: dict[str, Any] = json.loads(said.splitlines()[-1])
        return result, threads


def agreement(data: Shop, folder: Path, rounds: int, seconds: int) -> str:
    """trimtab-load and sysbench ask for the same statement, in turn; the section of the page."""
    newest = shop.INTERACTIONS["new-products"](shop.Chosen(items=(), author=0, customer=0, subject=7))
    log, script = folder / "one.log", folder / "one.lua"
    request = Request("/new", newest.size_bytes, 0.0, True, newest.statements, newest.rows)
    log.write_text(write_session_log([(request,) * 1000]))
    script.write_text(SYSBENCH.format(statement=newest.statements))
    ours_rps: list[float] = []
    peer_rps: list[float] = []

    def ours(server: Running, duration_s: int) -> float:
        """Replies a second."""
        closed = ("closed", f"--connections={CLOSED_CONNECTIONS}", f"--duration={duration_s}")
        return float(server.load(log, *closed)[0]["reply_rate_rps"])

    for number in range(rounds):
        with data.served(HANDLINGS[0]) as server:
            ours(server, WARMING_S)
            if number % 2 == 0:
                ours_rps.append(ours(server, seconds))
            peer_rps.append(_sysbench(server, script, seconds))
            if number % 2 == 1:
                ours_rps.append(ours(server, seconds))
    ratios = [ours / peer for ours, peer in zip(ours_rps, peer_rps, strict=True)]
    held = "They agree" if abs(statistics.median(ratios) - 1) <= WANTED_RATIO else "They do not agree"
    return (
        "## trimtab-load beside sysbench\n\n"
        f"A closed loop of {CLOSED_CONNECTIONS} connections asks for the same statement, the page of new "
        f"products; {rounds} times {seconds} s, first the one, then the other.\n\n"
        + report.table(
            ("", "trimtab-load, replies/s", "sysbench, replies/s", "ratio"),
            [
                (
                    "closed loop",
                    report.spread(ours_rps, 0),
                    report.spread(peer_rps, 0),
                    report.spread(ratios, 3),
                )
            ],
        )
        + f"\n\n{held} within {WANTED_RATIO * 100:.0f} %.\n"
    )


def _sysbench(server: Running, script: Path, duration_s: int) -> float:
    """Replies a second."""
    command = [*FIRST, "taskset", "--cpu-list", str(CLIENT_CPU), "sysbench", str(script), "run"]
    command += ["--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}"]
    command += [f"--mysql-user={shop.USER}", f"--mysql-db={shop.DATABASE}", f"--time={duration_s}"]
    command += [f"--threads={CLOSED_CONNECTIONS}", "--db-ps-mode=disable"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"queries:\s+\d+\s+\(([\d.]+) per sec", said)
    if found is None:
        raise SystemExit(f"sysbench said nothing that is understood: {said[-400:]}")
    return float(found[1])


def overload(data: Shop, rounds: int, seconds: int) -> str:
    """Both ways of handling connections, below and beyond capacity; the section of the page."""
    with data.served(HANDLINGS[0]) as server:
        closed = ("closed", f"--connections={CLOSED_CONNECTIONS}", f"--duration={seconds}")
        capacity_rps = float(server.load(data.log, *closed)[0]["reply_rate_rps"])
    found: dict[tuple[str, float], list[Overload]] = {}
    for _ in range(rounds):
        for share in LOADS:
            for handling in HANDLINGS:
                with data.served(handling) as server:
                    measured = _offered(server, data.log, share * capacity_rps, seconds)
                found.setdefault((handling, share), []).append(measured)
    rows = []
    for (handling, share), all_of in sorted(found.items(), key=lambda item: item[0][1]):
        rows.append(
            (
                f"{share:g} × capacity, {handling}",
                report.spread([one.reply_rate_rps for one in all_of], 0),
                report.spread([one.goodput_mbps for one in all_of], 2),
                report.spread([one.timed_out_share * 100 for one in all_of], 1),
                report.spread([one.p99_ms for one in all_of], 0),
                str(max(one.threads for one in all_of)),
            )
        )
    return (
        "## One thread per connection, and a pool of threads\n\n"
        f"The {MIX} mix in an open loop, pauses of {PAUSE_S:g} s in the mean, sessions of "
        f"{shop.SESSION_LENGTH:g} interactions that must end within {TIMEOUT_S:g} s. Capacity is what a "
        f"closed loop of {CLOSED_CONNECTIONS} connections gets from one thread per connection: "
        f"{capacity_rps:,.0f} interactions/s. {seconds} s each, of which the first third is left out.\n\n"
        + report.table(
            ("load", "replies/s", "goodput, Mbit/s", "timed out, %", "99th percentile, ms", "most threads"),
            rows,
        )
        + "\n\n"
        + _verdict(found)
    )


def _offered(server: Running, log: Path, rate_rps: float, seconds: int) -> Overload:
    """One load in an open loop."""
    result, threads = server.load(
        log, "open", f"--rate={rate_rps:g}", f"--duration={seconds}", f"--warmup={seconds / 3:g}"
    )
    requests = result["requests"]
    timed_out = requests["timed_out_before_read"] + requests["timed_out_after_read"] + requests["abandoned"]
    return Overload(
        reply_rate_rps=float(result["reply_rate_rps"]),
        goodput_mbps=float(result["goodput_mbps"]),
        timed_out_share=timed_out / requests["offered"],
        p99_ms=result["latency_us"]["reply"]["p99"] / 1000,
        threads=threads,
    )


def _verdict(found: Mapping[tuple[str, float], list[Overload]]) -> str:
    """What became of the statement of the documents, by pairs within a round."""
    threads, pool = (
        {share: [one.reply_rate_rps for one in found[handling, share]] for share in LOADS}
        for handling in HANDLINGS
    )
    most = LOADS[-1]
    ratios = [ours / theirs for ours, theirs in zip(pool[most], threads[most], strict=True)]
    comes_out = (
        "comes out as stated" if min(ratios) > 1 else "does not come out" if max(ratios) <= 1 else "is mixed"
    )
    kept = [
        f"{statistics.median(rates[most]) / max(map(statistics.median, pool.values())) * 100:.0f} %"
        for rates in (threads, pool)
    ]
    return (
        "The statement: a pool of threads keeps the throughput under overload where one thread per "
        f"connection loses it. At {most:g} times the capacity the pool has {report.spread(ratios)} times the "
        f"replies of one thread per connection. Of the most that the pool reached under any load, one thread "
        f"per connection keeps {kept[0]}, the pool {kept[1]}. It {comes_out} here.\n"
    )


def main() -> None:
    """Measures and prints the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data = Shop(folder)
        sections = (
            agreement(data, folder, options.rounds, options.seconds),
            overload(data, options.rounds, options.seconds),
        )
    print("# MariaDB, measured here\n")
    print(
        "MariaDB with Debian's settings but for those named, one CPU for it and one for the generator, under "
        f"a book shop after TPC-W with {ITEMS:,} items. Transactions are written to the log each second "
        "(`innodb_flush_log_at_trx_commit = 2`), the pool has one group (`thread_pool_size = 1`). "
        "`make bench-mariadb` prints this page.\n"
    )
    print(f"Machine: {report.machine()}.\n")
    print("\n".join(sections), end="")


if __name__ == "__main__":
    main()
