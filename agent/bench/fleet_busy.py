"""A host whose CPUs are wholly taken: is it ever taken for dead? Our settings of Dask beside Dask's own.

    python agent/bench/fleet_busy.py [MINUTES]

All the time (an hour without being told) SPINNERS processes for each CPU compute, so that all CPUs are at
100 % and everybody waits for one. Meanwhile

    Trimtab   a real station in a namespace carries out the trials of real runs, one run after the other, with
              scheduler, PostgreSQL and study on the same busy machine
    Dask      a scheduler and a worker with Dask's own settings compute one task after the other
              (dask_defaults.py)

A host that lives and is removed has been taken for dead; what it did is then done twice. `silence` is how old
the last heartbeat was at most that the scheduler had of it: at 300 s both would remove it.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from rack_lab import DIES_WITH_US, minutes_asked, rack_with_scheduler
from trimtab_agent.errors import FleetError
from trimtab_agent.fleet.controller import Fleet
from trimtab_db import Repository, open_database
from trimtab_db.records import BookingState

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "db" / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fleet_rack import Agent, Rack
from postgresql_server import PostgresqlServer

SPINNERS = 4  # for each CPU
EVERY_S = 2.0
MOST_RUNS = 10_000
MOST_S = 900.0  # that Dask's tasks may take beyond the time
BAD_INPUT = 2  # the exit code of `trimtab tune`
RUN = (
    *("--host", "web1", "--workload", "tcp-1k", "--ladder", "200,400", "--budget", "200"),
    *("--set", "rate_duration_s=2", "--set", "confirmation_repeats=0"),
)


class Seen(NamedTuple):
    """What came of a host: trials or tasks that are `done`, how many were done `twice`, how often it was
    `removed` although it lived, and for how long at most it was silent.
    """

    done: int
    twice: int
    removed: int
    silence_s: float


@contextmanager
def computing(count: int) -> Iterator[None]:
    """So many processes that compute all the while."""
    command = ("setpriv", "--pdeathsig=KILL", "--", sys.executable, "-c", "while True: pass")
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def beside_dask(seconds: float) -> Iterator["subprocess.Popen[str]"]:
    """Dask as it comes, in a process of its own."""
    script = Path(__file__).with_name("dask_defaults.py")
    command = ("setpriv", "--pdeathsig=KILL", "--", sys.executable, str(script), str(seconds))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        process.wait()


def of_dask(process: "subprocess.Popen[str]") -> Seen:
    """What came of its worker."""
    printed = process.communicate(timeout=MOST_S)[0]
    if process.returncode != 0:
        raise RuntimeError(f"dask_defaults.py ended with exit code {process.returncode}")
    said = json.loads(printed)
    return Seen(said["done"], said["twice"], said["removed"], said["silence_s"])


def of_ours(rack: Rack, repository: Repository, station: Agent, seconds: float) -> Seen:
    """What came of our station `web1` in runs that go on for so long."""
    control = rack.hosts["control"]
    deadline = time.monotonic() + seconds
    study: Agent | None = None
    silence_s, there = 0.0, True
    with Fleet(rack.scheduler, rack.credentials) as fleet:
        while time.monotonic() < deadline:
            if study is None or study.process.poll() is not None:
                if study is not None and study.process.returncode == BAD_INPUT:
                    raise RuntimeError(f"the run did not begin: {study.log}")
                study = control.start("tune", *RUN, ahead=DIES_WITH_US)
            if station.process.poll() is not None:
                raise RuntimeError(f"the station has ended: {station.log}")
            with suppress(FleetError):  # a scheduler that answers late has removed nobody by that
                present = fleet.present()
                there = "web1" in present
                if there:
                    silence_s = max(silence_s, time.time() - present["web1"].last_seen)
            time.sleep(EVERY_S)
        if study is not None:
            study.end()
    runs = [each.run.id for each in repository.runs(limit=MOST_RUNS)]
    bookings = [each for run_id in runs for each in repository.bookings(run_id).all()]
    joined_anew = station.log.count("is in the fleet") - 1
    return Seen(
        done=sum(each.state is BookingState.COMMITTED for each in bookings),
        twice=sum(max(0, each.token - 1) for each in bookings),
        removed=joined_anew + (not there),
        silence_s=silence_s,
    )


def measured(seconds: float, database_url: str) -> tuple[Seen, Seen, float]:
    """Ours, Dask's, and how much of the CPUs was taken meanwhile (0 to 1)."""
    cpus = os.cpu_count() or 1
    repository = open_database(database_url)
    try:
        with rack_with_scheduler(TRIMTAB_DATABASE_URL=database_url) as rack:
            web1 = rack.host("web1", TRIMTAB_DATABASE_URL=database_url)
            station = web1.join("server", ahead=DIES_WITH_US)
            with computing(SPINNERS * cpus), beside_dask(seconds) as dask:
                before = psutil.cpu_times()
                ours = of_ours(rack, repository, station, seconds)
                after = psutil.cpu_times()
                theirs = of_dask(dask)
    finally:
        repository.close()
    idle_s = after.idle + after.iowait - before.idle - before.iowait
    return ours, theirs, 1 - idle_s / (sum(after) - sum(before))


def main() -> None:
    """Prints the section."""
    minutes = minutes_asked(60)
    server = PostgresqlServer()
    try:
        ours, theirs, taken = measured(60 * minutes, server.url(server.new_database()))
    finally:
        server.remove()
    cpus = os.cpu_count() or 1
    print("## A host at full load\n")
    print(
        f"For {minutes:g} min {taken:.0%} of {cpus} CPUs were taken, which {SPINNERS * cpus} other "
        "processes wanted too (`agent/bench/fleet_busy.py`).\n"
    )
    print("| host | taken for dead | longest silence, s | trials or tasks | done twice |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, seen in (("a station, with our settings", ours), ("a worker, with Dask's own", theirs)):
        print(f"| {name} | {seen.removed} | {seen.silence_s:.0f} | {seen.done:,} | {seen.twice} |")


if __name__ == "__main__":
    main()
