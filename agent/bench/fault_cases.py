"""The faults that record_faults.py brings a server into, and how each is mended, by the name of the rule."""

import atexit
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_trials.configuration import Configuration
from trimtab_tuner.workloads.conditions import Memory, Start


@dataclass(frozen=True, kw_only=True)
class Side:
    """One half of a case: trials of these `configurations` (what changes in the case's), the best of which is
    diagnosed unless `best` names one by index; `prepare` changes what was made for the conditions.
    """

    configurations: tuple[Configuration, ...] = ({},)
    rates_rps: tuple[float, ...] = ()
    best: int | None = None
    start: Start = "warm"
    prepare: Callable[[], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault: `how` it is brought about and mended in a sentence or two, and what both sides share.

    The healthy server has no fault. The server is `target`, ours unless another one is named.
    """

    how: str
    fault: Side | None
    mended: Side
    target: str = "core"
    configuration: Configuration = field(default_factory=dict)
    workload: str = "specweb99"
    directories: int = 1
    time_scale: float = 0.02
    clients: Mapping[str, Any] = field(default_factory=dict)
    link: Literal["loopback", "hundred-megabit", "gigabit"] = "loopback"
    memory: Memory = "unlimited"
    rates_rps: tuple[float, ...] = (500.0, 1000.0)
    duration_s: float = 2.0
    warmup_s: float = 0.3
    timeout_s: float = 0.5
    layout: CpuLayout | None = None


def steer_receive_queues(cpus: tuple[int, ...]) -> Callable[[], None]:
    """Lets these CPUs handle what arrives at the server's end of the link (station/link.py)."""

    def steer() -> None:
        queues = list(Path("/sys/class/net").glob(f"t{os.getpid()}s*/queues/rx-*"))
        if not queues:
            raise ValueError("the loopback has no receive queues: expected a link")
        for queue in queues:
            (queue / "rps_cpus").write_text(f"{sum(1 << cpu for cpu in cpus):x}")

    return steer


class Crowd:
    """A program that keeps the server's CPU busy."""

    def __init__(self) -> None:
        self._program: subprocess.Popen[bytes] | None = None

    def come(self) -> None:
        """Starts it; it ends with `go`, or when this process does."""
        self._program = subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"])
        atexit.register(self.go)

    def go(self) -> None:
        """Ends it."""
        if self._program is not None:
            self._program.kill()
            self._program.wait()


CROWD = Crowd()

CASES: dict[str, Case] = {
    "healthy": Case(
        how="One worker with 1,024 connections, far below what it can serve.",
        rates_rps=(200.0, 400.0),
        fault=None,
        mended=Side(),
    ),
    "other-processes": Case(
        how="Another program is always busy on the server's CPU; mended: it has ended.",
        layout=CpuLayout(server=(0,), generator=(1,)),
        rates_rps=(500.0, 1000.0, 2000.0),
        fault=Side(prepare=CROWD.come),
        mended=Side(prepare=CROWD.go),
    ),
    "connection-ceiling": Case(
        how="2, 4 and 8 connections at rates that want more; mended: 128, 256 and 512.",
        rates_rps=(400.0, 800.0),
        fault=Side(configurations=tuple({"max_connections": most} for most in (2, 4, 8))),
        mended=Side(configurations=tuple({"max_connections": most} for most in (128, 256, 512))),
    ),
    "accept-queue-overflow": Case(
        how="A connection for each request, accept queue of 2, one connection accepted at a time; mended: "
        "a queue of 1,024, all accepted. In a network namespace of its own (unshare -n), for the kernel "
        "counts the connections of all servers together.",
        workload="one-packet",
        clients={"arrivals": "poisson"},
        rates_rps=(1000.0, 3000.0),
        fault=Side(configurations=({"backlog": 2, "accept_limit": 1},)),
        mended=Side(configurations=({"backlog": 1024, "accept_limit": "inf"},)),
    ),
    "large-file-starvation": Case(
        how="Non-blocking sendfile over 100 Mbit/s with more asked for than that; mended: less.",
        link="hundred-megabit",
        fault=Side(rates_rps=(500.0, 1200.0)),
        mended=Side(rates_rps=(200.0, 400.0)),
    ),
    "too-few-workers-for-blocking-sendfile": Case(
        how="Blocking sendfile with 1 worker while four of ten clients read slowly; mended: 200 workers.",
        configuration={
            "architecture": "symped",
            "sendfile": "blocking",
            "max_connections": 4096,
            "sndbuf": 16_384,
        },
        clients={"slow_share": 0.4},
        rates_rps=(50.0, 200.0, 800.0),
        fault=Side(configurations=({"workers": 1},)),
        mended=Side(configurations=({"workers": 200},)),
    ),
    "disk-wait": Case(
        how="One worker whose files are on disk only (a cold start); mended: in memory.",
        directories=40,
        rates_rps=(500.0, 2500.0),
        fault=Side(start="cold"),
        mended=Side(),
    ),
    "footprint-evicts-file-cache": Case(
        how="2 and 100 workers with a memory limit of two thirds of the file set; mended: 2 and 3.",
        directories=20,
        memory="moderate-io",
        rates_rps=(2000.0, 4000.0),
        fault=Side(configurations=({"workers": 2}, {"workers": 100}), best=0),
        mended=Side(configurations=({"workers": 2}, {"workers": 3}), best=0),
    ),
    "interrupts-on-one-cpu": Case(
        how="All that arrives at the server is handled by its CPU (rps_cpus); mended: by both CPUs in use.",
        link="gigabit",
        workload="one-packet",
        rates_rps=(3000.0, 6000.0),
        fault=Side(prepare=steer_receive_queues((0,))),
        mended=Side(prepare=steer_receive_queues((0, 1))),
    ),
    "lock-contention": Case(
        how="64 threads with a cache of 1 entry under a mutex; mended: readers-writer locks.",
        configuration={"architecture": "mt", "workers": 64, "cache_entries": 1},
        rates_rps=(2000.0, 8000.0),
        fault=Side(configurations=({"cache_lock": "mutex"},)),
        mended=Side(configurations=({"cache_lock": "rw"},)),
    ),
    "context-switch-overhead": Case(
        how="A kernel thread per connection, 1,000 of them, send buffers of 16 KB, more requests than it can "
        "serve; mended: an event loop.",
        rates_rps=(3000.0, 9000.0),
        fault=Side(
            configurations=({"architecture": "mt", "workers": 1000, "sendfile": "blocking", "sndbuf": 16384},)
        ),
        mended=Side(),
    ),
    "clients-refused": Case(
        how="MariaDB with 10 connections for customers who come faster than it serves them; mended: 2,000.",
        target="mariadb",
        workload="shop",
        time_scale=0.1,
        timeout_s=1.0,
        rates_rps=(200.0, 600.0),
        fault=Side(configurations=({"max_connections": 10},)),
        mended=Side(configurations=({"max_connections": 2000},)),
    ),
    "threads-lose-throughput": Case(
        how="MariaDB with a thread for each connection, far beyond what it can serve; mended: a pool.",
        target="mariadb",
        configuration={"max_connections": 4000},
        workload="shop",
        time_scale=0.1,
        timeout_s=1.0,
        rates_rps=(1000.0, 5000.0),
        fault=Side(),
        mended=Side(configurations=({"thread_handling": "pool-of-threads"},)),
    ),
    "threads-made-anew": Case(
        how="MariaDB that keeps no thread for the next connection; mended: 256 of them.",
        target="mariadb",
        configuration={"max_connections": 1000},
        workload="shop",
        time_scale=0.02,
        rates_rps=(200.0, 400.0),
        timeout_s=1.0,
        fault=Side(configurations=({"thread_cache_size": 0},)),
        mended=Side(configurations=({"thread_cache_size": 256},)),
    ),
    "buffer-pool-misses": Case(
        how="MariaDB with 8 MiB of memory for 23 MB of tables; mended: 128 MiB.",
        target="mariadb",
        configuration={"max_connections": 1000},
        workload="shop",
        time_scale=0.02,
        rates_rps=(200.0, 400.0),
        timeout_s=1.0,
        fault=Side(configurations=({"innodb_buffer_pool_size": 8},)),
        mended=Side(configurations=({"innodb_buffer_pool_size": 128},)),
    ),
    "process-migration": Case(
        how="Two workers on two CPUs that they share with generator and others; mended: pinned.",
        configuration={"architecture": "symped", "workers": 2},
        layout=CpuLayout(server=(0, 1), generator=(1,)),
        rates_rps=(400.0, 800.0, 1200.0, 1600.0),
        fault=Side(),
        mended=Side(configurations=({"affinity": "process"},)),
    ),
    "generator-is-the-bottleneck": Case(
        how="More connections a second than a generator on one CPU can open; mended: a few.",
        workload="one-packet",
        configuration={"architecture": "symped", "max_connections": 10_000, "backlog": 4096},
        fault=Side(rates_rps=(1000.0, 60000.0)),
        mended=Side(rates_rps=(500.0, 1000.0)),
    ),
    "link-is-the-bottleneck": Case(
        how="More asked for than 100 Mbit/s carry; mended: less.",
        link="hundred-megabit",
        duration_s=3.0,
        fault=Side(rates_rps=(1000.0, 1500.0, 2000.0)),
        mended=Side(rates_rps=(100.0, 200.0)),
    ),
}
