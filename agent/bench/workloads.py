"""Workloads: how fast a file set is built, how fast a log is learnt, and what a memory limit does.

The log is made here, so that the truth is known: `LOG_LINES` requests in the Combined format, of `CLIENTS`
clients whose sessions arrive at random; files by Zipf's law; one line in a hundred is garbage, one in fifty a
404, one in twenty a query. Peak memory is that of a process that does nothing but learn it.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trimtab_agent.errors import HostError
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.memory_group import memory_group
from trimtab_agent.station.warming import read_in_group
from trimtab_agent.stopping import StopSignal
from trimtab_agent.workloads.choice import make_workload
from trimtab_agent.workloads.log_reading import read_logs
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.conditions import memory_limit_bytes
from trimtab_tuner.workloads.learning import Learner
from trimtab_tuner.workloads.learnt_page import learnt_page
from trimtab_tuner.workloads.parameters import parameters

REPEATS = 3
DIRECTORIES = 100
LOG_LINES = 1_000_000
CLIENTS = 20_000
FILES = 30_000


def main() -> None:
    """Prints the section; `learn FILE` is the part that runs in a process of its own."""
    if sys.argv[1:2] == ["learn"]:
        learn(Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print("## Workloads\n")
        files = report_building(folder)
        report_memory(folder, files)
        report_learning(folder)


def report_building(folder: Path) -> FileSet:
    """Builds the SPECweb99 file set several times; the last one stays."""
    workload = make_workload(parameters(WORKLOADS["specweb99"].sized(DIRECTORIES), 1.0))
    speeds = []
    for repeat in range(REPEATS):
        files = FileSet(folder / f"sets-{repeat}", workload)
        begun_s = time.monotonic()
        files.prepare(lambda done, total: None, StopSignal())
        speeds.append(files.total_bytes / 1e6 / (time.monotonic() - begun_s))
    shown = ", ".join(f"{speed:.0f}" for speed in speeds)
    print(
        f"Building `specweb99` with {DIRECTORIES} directories ({files.total_bytes / 1e6:.0f} MB): "
        f"{shown} MB/s.\n"
    )
    return files


def report_memory(folder: Path, files: FileSet) -> None:
    """Reads the file set twice under each limit of the thesis."""
    print("Reading that file set twice from within a memory group:\n")
    print("| memory | limit, MB | held, MB | pages read back (refaults) |\n| --- | ---: | ---: | ---: |")
    for memory in ("in-memory", "moderate-io", "heavy-io"):
        limit = memory_limit_bytes(memory, files.total_bytes)
        if limit is None:
            raise ValueError(memory)
        try:
            with memory_group(f"bench-{os.getpid()}", limit, Leftovers(folder / "leftovers.json")) as group:
                files.drop_from_page_cache(StopSignal())
                for _ in range(2):
                    cpus = sorted(os.sched_getaffinity(0))
                    read_in_group(files.root, group, cpus, folder / "reader.log", StopSignal())
                reading = group.read()
        except HostError as error:
            print(f"| {memory} | not measured: {error.sentence} | | |")
            continue
        held = reading.usage_bytes / 1e6
        print(f"| {memory} | {limit / 1e6:.0f} | {held:.0f} | {reading.file_refaults:,} |")
    print()


def report_learning(folder: Path) -> None:
    """Learns the log in a process of its own."""
    log = folder / "access.log"
    write_log(log)
    done = subprocess.run(
        [sys.executable, __file__, "learn", str(log)], capture_output=True, text=True, check=True
    )
    print(done.stdout, end="")


def write_log(path: Path) -> None:
    """The log that the module's docstring describes."""
    draw = random.Random(1)
    paths = [f"/section{number % 97}/page{number}.html" for number in range(FILES)]
    weights = [1 / (rank + 1) for rank in range(FILES)]
    chosen = draw.choices(range(FILES), weights, k=LOG_LINES)
    moment = 971_179_200.0
    with path.open("w") as log:
        for number, file in enumerate(chosen):
            moment += draw.expovariate(100)
            if number % 100 == 99:
                log.write("\\x16\\x03\\x01 not a request\n")
                continue
            when = time.strftime("%d/%b/%Y:%H:%M:%S", time.gmtime(moment))
            # A client stays for some requests, and others come in between.
            client = (number // 40 * 7 + draw.randrange(12)) % CLIENTS
            target = paths[file] + ("?page=2" if number % 20 == 0 else "")
            status, size = (404, 196) if number % 50 == 1 else (200, 200 + file * 7919 % 100_000)
            log.write(
                f"10.{client >> 16}.{client >> 8 & 255}.{client & 255} - - [{when} +0000] "
                f'"GET {target} HTTP/1.1" {status} {size} "-" "Browser/{client % 9}"\n'
            )


def learn(path: Path) -> None:
    """Learns the log and prints speed, peak memory and the page."""
    learner = Learner()
    begun_s = time.process_time()
    read_logs([path], learner, lambda done, total: None, StopSignal())
    model, facts = learner.finish()
    spent_s = time.process_time() - begun_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"Learning a log of {facts.lines:,} lines ({path.stat().st_size / 1e6:.0f} MB): "
        f"{spent_s:.1f} s of CPU, "
        f"{facts.lines / spent_s:,.0f} lines/s, {peak_mb:.0f} MB of memory at most. What was learnt:\n"
    )
    print("\n".join("> " + line for line in learnt_page("access-log", model["facts"]).splitlines()))


if __name__ == "__main__":
    main()
