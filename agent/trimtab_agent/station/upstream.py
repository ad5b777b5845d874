"""Our upstreams behind a proxy that is measured: `trimtab-upstream` on the load generator's CPUs.

They belong to the load and not to what is tuned: they take none of the server's CPUs and are no processes of
the server. When one has no CPU in time its replies come late, and then the load was the limit, as with the
generator.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.request import urlopen

from trimtab_agent.counters.source import Values
from trimtab_agent.errors import HostError
from trimtab_agent.station.generator import GeneratorDied
from trimtab_agent.station.processes.children import Child
from trimtab_agent.station.processes.programs import require_built
from trimtab_agent.stopping import Stopped, StopSignal

START_LIMIT_S = 10.0
RETRY_S = 0.005
STATUS_LIMIT_S = 2.0
LATE_LIMIT_PERCENT = 5.0


class RunningUpstream:
    """An upstream that answers at `address`. Raises BinaryMissing, HostError, Stopped."""

    def __init__(
        self,
        program: Path,
        address: str,
        concurrency: int,
        *,
        cpus: Sequence[int],
        prioritised: bool,
        log: Path,
        stop: StopSignal,
    ) -> None:
        self.address = address
        command = (str(require_built(program)), "--listen", address, "--concurrency", str(concurrency))
        self._child = Child(command, cpus=cpus, log=log, prioritised=prioritised)
        try:
            self._wait_until_it_answers(stop)
        except BaseException:
            self._child.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._child.stop()

    def read(self) -> dict[str, int]:
        """What it has counted; raises GeneratorDied if it does not answer any more."""
        try:
            return self._counted()
        except (OSError, ValueError) as error:
            raise GeneratorDied(f"{self._child.name} does not answer: {error}") from error

    def _counted(self) -> dict[str, int]:
        with urlopen(f"http://{self.address}/status", timeout=STATUS_LIMIT_S) as reply:
            counted: dict[str, int] = json.load(reply)
        return counted

    def _wait_until_it_answers(self, stop: StopSignal) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            try:
                self._counted()
            except (OSError, ValueError):
                if stop.wait(RETRY_S, self._child):
                    if stop.requested:
                        raise Stopped from None
                    raise HostError(self._child.death_sentence()) from None
            else:
                return
        raise HostError(f"{self._child.name} did not answer within {START_LIMIT_S:.0f} s")


def counted(upstreams: Sequence[RunningUpstream]) -> dict[str, int]:
    """What all of them have counted together."""
    read = [each.read() for each in upstreams]
    return {name: sum(each[name] for each in read) for name in read[0]}


def upstream_counters(before: dict[str, int], after: dict[str, int], elapsed_s: float) -> Values:
    """What it did between two readings: requests and connections a second, how long requests waited there in
    line and were worked on, on average, and which share of replies came late.
    """
    passed = {name: after[name] - before[name] for name in after}
    begun = max(1, passed["requests"] - (after["queued"] - before["queued"]))
    return {
        "requests_per_s": round(passed["requests"] / elapsed_s, 2),
        "connections_per_s": round(passed["connections_accepted"] / elapsed_s, 2),
        "connections_open": after["connections_open"],
        "in_service": after["in_service"],
        "queued": after["queued"],
        "waited_percent": round(100 * passed["waited"] / max(1, passed["requests"]), 2),
        "wait_ms": round(passed["wait_us"] / begun / 1000, 3),
        "service_ms": round(passed["service_us"] / begun / 1000, 3),
        "late_percent": round(100 * passed["late"] / max(1, passed["done"]), 2),
        "cpu": round(passed["cpu_us"] / elapsed_s / 1e4, 2),
    }


def was_the_limit(counters: Values) -> bool:
    """Whether the upstream could not keep its own times."""
    late = counters.get("late_percent")
    return isinstance(late, int | float) and late > LATE_LIMIT_PERCENT
