"""Dask as it comes, for comparison: does its scheduler take a busy worker for dead?

    python agent/bench/dask_defaults.py SECONDS

starts a scheduler and one worker with Dask's own settings, and has the worker compute one task after the
other in each of its threads: loops of Python, of TASK_S each, as a trial would be that ran in the worker.
Prints one JSON object: tasks that are done, how often one was begun a second time, how often the worker was
removed, and for how long at most it was silent.
"""

import json
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster, wait
from distributed.diagnostics.plugin import SchedulerPlugin

TASK_S = 20.0
MOST_S = 600.0  # beyond the time that the tasks take, which only a fault reaches


class Removed(SchedulerPlugin):  # type: ignore[misc]
    """Counts the workers that the scheduler removes."""

    count = 0

    def remove_worker(self, scheduler: Any, worker: str, **_told: Any) -> None:  # noqa: ANN401 - Dask's
        """Dask calls this."""
        self.count += 1


def spin(number: int, begun: str) -> int:
    """Computes for TASK_S; notes in the file `begun` that it has."""
    with Path(begun).open("a") as file:
        file.write(f"{number}\n")
    until = time.monotonic() + TASK_S
    while time.monotonic() < until:
        pass
    return number


def main() -> None:
    """Prints the object."""
    seconds = float(sys.argv[1])
    removed, silence_s = Removed(), 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        cluster.scheduler.add_plugin(removed)
        begun = Path(folder) / "begun"
        threads = os.cpu_count() or 1
        tasks = [
            client.submit(spin, number, str(begun), pure=False)
            for number in range(max(1, round(seconds / TASK_S)) * threads)
        ]
        deadline = time.monotonic() + seconds + MOST_S
        left = set(tasks)
        while left and time.monotonic() < deadline:
            with suppress(TimeoutError):
                wait(list(left), timeout=1.0, return_when="FIRST_COMPLETED")
            left = {task for task in left if not task.done()}
            for worker in list(cluster.scheduler.workers.values()):
                silence_s = max(silence_s, time.time() - worker.last_seen)
        count = removed.count  # before the cluster is taken apart
        starts = begun.read_text().splitlines()
    said = {
        "done": len(tasks) - len(left),
        "twice": len(starts) - len(set(starts)),
        "removed": count,
        "silence_s": round(silence_s, 1),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
