"""What sampling the counters costs, once and ten times a second, and how long a day of them takes to read;
what reading the memory of a server costs, which is done twice in each rate.

CPU time is that of this process while a sampler runs in it.

The sampler is the daemon's own, with its database and a running trimtab-httpd to ask; nothing else
happens in the process meanwhile. CPU time is that of all threads of the process. The day is made of one real
sample, put together to means as the sampler does it, and read over the API's own route.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import httpx
import psutil
from fastapi import FastAPI
from trimtab_agent.api.app import make_api
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.host import host_counters
from trimtab_agent.counters.process import ProcessSource
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.host.identity import describe_host
from trimtab_agent.recording.recorder import Recorder
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.recording.thinning import StepMeans
from trimtab_db import Repository, open_database, sqlite_url
from trimtab_db.records import CounterSample

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "server-core" / "bench"))
import servers

WINDOW_S = 10
WINDOWS = 3
READS = 5
DAY_S = 24 * 3600


def cpu_shares(sampler: Sampler) -> list[float]:
    """CPU time of this process in windows of a running sampler, as shares of one core."""
    shares = []
    for _ in range(WINDOWS):
        before_s, begun_s = time.process_time(), time.monotonic()
        time.sleep(WINDOW_S)  # the window itself: there is nothing to wait for but time
        shares.append((time.process_time() - before_s) / (time.monotonic() - begun_s))
    return shares


def sampling(folder: Path) -> None:
    """Samples for a while at both rates, and prints what that took."""
    root = folder / "root"
    root.mkdir()
    (root / "1k.bin").write_bytes(bytes(1024))
    repository = open_database(sqlite_url(folder / "trimtab.db"))
    with servers.running("trimtab-httpd", folder / "server", root, "/1k.bin") as server:
        broadcaster, counters = Broadcaster(), WatchedCounters()
        recorder = Recorder(repository, repository.register_host(describe_host(folder)), broadcaster)
        sampler = Sampler(counters, recorder, broadcaster)
        counters.watch_server(tuple(process.pid for process in server.processes()), None)
        sampler.start()
        shares = {1: cpu_shares(sampler)}
        sampler.sample_every(0.1, for_s=WINDOWS * WINDOW_S + 10)
        shares[10] = cpu_shares(sampler)
        sampler.stop()
        recorder.close()
    repository.close()
    print("## Cost of sampling\n")
    print(
        f"All counters of the host ({psutil.cpu_count()} CPUs) and of a running server, published and "
        f"recorded, in {WINDOWS} windows of {WINDOW_S} s each, as a share of one core:\n"
    )
    print("| samples a second | CPU time |\n| --- | --- |")
    for rate, measured in shares.items():
        print(f"| {rate} | {', '.join(f'{share * 100:.2f} %' for share in measured)} |")


def memory(folder: Path) -> None:
    """Reads the memory of processes that have a file mapped, as servers have, and prints how long that takes.

    On the CPU of the generator, as the agent does it: the kernel walks the pages there, whosever they are.
    """
    print("\n## Reading the memory of a server (PSS)\n")
    print(f"Processes that share a mapped file and have touched all of it; median of {READS} reads.\n")
    print("| processes | mapped in each | time |\n| --- | --- | --- |")
    mapped = folder / "mapped"
    for mib in (4, 64, 1024):
        mapped.write_bytes(bytes(mib * 2**20))
        for processes in (1, 8, 32):
            with mapping_processes(mapped, processes) as pids:
                source = ProcessSource()
                source.watch(pids)
                times_s = []
                for _ in range(READS):
                    begun_s = time.perf_counter()
                    source.memory_bytes()
                    times_s.append(time.perf_counter() - begun_s)
            print(f"| {processes} | {mib} MiB | {1000 * median(times_s):.1f} ms |")


@contextmanager
def mapping_processes(file: Path, count: int) -> Iterator[tuple[int, ...]]:
    """So many processes that have each mapped `file` and read a byte of each of its pages."""
    program = (
        "import mmap, sys; file = open(sys.argv[1], 'rb'); "
        "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); "
        "mapped[::4096]; print(flush=True); sys.stdin.read()"
    )
    with ExitStack() as running:
        children = []
        for _ in range(count):
            command = [sys.executable, "-c", program, str(file)]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            children.append(running.enter_context(child))
            running.callback(child.kill)
        for child in children:
            if child.stdout is None or not child.stdout.readline():
                raise RuntimeError(f"process {child.pid} could not map {file}")
        yield tuple(child.pid for child in children)


def record_day(repository: Repository, host_id: int, cpus: int) -> None:
    """A day of samples on so many CPUs: means of ten seconds and of a minute, and its last hour's seconds."""
    counters = host_counters()
    earlier = counters.take()
    time.sleep(1)  # a sample is of a second
    sample = counters.between(earlier, counters.take())
    rows = sample["cpu"]["cpus"]
    sample["cpu"]["cpus"] = [{**rows[cpu % len(rows)], "cpu": cpu} for cpu in range(cpus)]
    minutes, batch, end = StepMeans(60, without_lists=True), [], datetime.now(UTC)
    for age_s in range(DAY_S, 0, -10):
        taken_at = end - timedelta(seconds=age_s)
        values = {**sample, "time": taken_at.timestamp()}
        ten = CounterSample(host_id=host_id, taken_at=taken_at, values=values, step_s=10)
        minute = minutes.add(ten)
        batch += [ten] if minute is None else [ten, minute]
    seconds = [
        CounterSample(host_id=host_id, taken_at=end - timedelta(seconds=age_s), values=sample)
        for age_s in range(3600, 0, -1)
    ]
    repository.add_counter_samples([*batch, *seconds])


def reading(folder: Path) -> None:
    """Reads windows of recorded days as the browser does, and prints how long that takes."""
    print("\n## Reading recorded counters\n")
    print(f"`GET /api/v1/counters`, median of {READS} reads.\n")
    print("| CPUs of the host | window | step | samples | time |\n| --- | --- | --- | --- | --- |")
    for cpus in (4, 100):
        repository = open_database(sqlite_url(folder / f"day-{cpus}.db"))
        host_id = repository.register_host(describe_host(folder))
        record_day(repository, host_id, cpus)
        app = make_api()
        app.state.context = SimpleNamespace(
            repository=repository, host_id=host_id, recorder=Recorder(repository, host_id, Broadcaster())
        )
        for seconds, step_s in ((DAY_S, 300), (DAY_S, 60), (3600, 12)):
            read_s, samples = asyncio.run(read_window(app, seconds, step_s))
            print(f"| {cpus} | {seconds // 3600} h | {step_s} s | {samples} | {1000 * read_s:.0f} ms |")
        repository.close()


async def read_window(app: FastAPI, seconds: int, step_s: int) -> tuple[float, int]:
    """The median time of a read, and how many samples it brings."""
    times_s: list[float] = []
    samples = 0
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://bench") as client:
        for _ in range(READS):
            begun_s = time.perf_counter()
            reply = await client.get("/api/v1/counters", params={"seconds": seconds, "step_s": step_s})
            times_s.append(time.perf_counter() - begun_s)
            samples = len(reply.raise_for_status().json())
    return median(times_s), samples


def main() -> None:
    """Prints all sections."""
    with tempfile.TemporaryDirectory() as temporary:
        sampling(Path(temporary))
        memory(Path(temporary))
        reading(Path(temporary))


if __name__ == "__main__":
    main()
