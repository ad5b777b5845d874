"""The server under test as a trial sees it: one instance, or several replicas side by side.

Replicas are started one after the other, each on its share of the CPUs, on a loopback address of its own
(127.0.0.1, 127.0.0.2 …) and, behind a link, on the addresses of its network devices: of the first device the
first replica, and so on in turn. Their files are those of one instance with the replica's number in the name.
What they count is added up; the death of one is the death of the server.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import IPv4Address
from types import TracebackType
from typing import Any, Self

from trimtab_tuner.affinity import cpus_of_replicas
from trimtab_tuner.targets.placement import replicas_of

from trimtab_agent.counters.server import plain_metrics
from trimtab_agent.counters.source import Values
from trimtab_agent.station.processes.children import Child
from trimtab_agent.station.server.ports import ADDRESS
from trimtab_agent.station.server.refusals import ConfigurationRejected
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.stopping import StopSignal

MEAN = "memory_per_child_bytes"
LARGEST_COUNTS = {"queue_length_max"}  # a maximum: replicas do not add up (docs/internals/stats-socket.md)


class Replicas:
    """As many instances as the configuration of `order` asks for, all of them answering.

    Raises what TargetServer does, ConfigurationRejected also for more replicas than CPUs.
    """

    def __init__(self, order: ServerOrder, stop: StopSignal) -> None:
        try:
            self.shares = cpus_of_replicas(order.cpus, replicas_of(order.configuration))
        except ValueError as error:
            raise ConfigurationRejected(str(error)) from error
        self._link_addresses = order.addresses
        with ExitStack() as started:
            self.servers = tuple(
                started.enter_context(TargetServer(self._order_of(order, number), stop))
                for number in range(len(self.shares))
            )
            self._running = started.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends all of them."""
        self._running.close()

    @property
    def name(self) -> str:
        """The program's name."""
        return self.servers[0].child.name

    @property
    def url(self) -> str:
        """The URL of the first one, which names the host in requests to any of them."""
        return self.servers[0].url

    @property
    def text(self) -> str:
        """The configuration they run with, one after the other."""
        if len(self.servers) == 1:
            return self.servers[0].text
        heads = (
            f"# replica {number} of {len(self.servers)}, on CPU {', '.join(map(str, share))}\n"
            for number, share in enumerate(self.shares, start=1)
        )
        return "\n".join(head + server.text for head, server in zip(heads, self.servers, strict=True))

    @property
    def children(self) -> tuple[Child, ...]:
        """The main process of each."""
        return tuple(server.child for server in self.servers)

    @property
    def destinations(self) -> tuple[str, ...]:
        """Addresses with port for the generator, so that all instances and all devices get the same share.

        Empty where there is only the address of the URL.
        """
        if not self._link_addresses:
            single = len(self.servers) == 1
            return () if single else tuple(f"{server.address}:{server.port}" for server in self.servers)
        return tuple(
            f"{address}:{self.servers[number].port}"
            for number, address in _in_turn(self._link_addresses, len(self.servers))
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of all."""
        return tuple(pid for server in self.servers for pid in server.pids)

    def death_sentence(self) -> str | None:
        """How the first that has ended came to its end; None while all are running."""
        return next((child.death_sentence() for child in self.children if child.wait(0) is not None), None)

    def read_stats(self) -> dict[str, Any] | None:
        """The counters of all together, with the workers of all numbered through.

        None while one of them does not answer: the sum of the others would look as if requests were gone.
        """
        documents = [server.read_stats() for server in self.servers]
        if len(documents) == 1:
            return documents[0]
        answers = [document for document in documents if document is not None]
        if len(answers) < len(documents):
            return None
        total: dict[str, float] = {}
        workers: list[dict[str, Any]] = []
        for document in answers:
            for name, value in plain_metrics(document["total"]).items():
                before = total.get(name, 0.0)
                total[name] = max(before, value) if name in LARGEST_COUNTS else before + value
            for worker in document.get("workers", ()):
                workers.append({**worker, "worker": len(workers)})
        return {"total": total, "workers": workers}

    def read_backend(self) -> Values | None:
        """What the programs behind them do, added up, but for the memory of a process; None without any."""
        read = [each for server in self.servers if (each := server.read_backend()) is not None]
        if not read:
            return None
        total = {name: sum(each.get(name, 0) for each in read) for name in read[0]}
        if MEAN in total:
            total[MEAN] = round(total[MEAN] / len(read))
        return total

    def stats(self) -> dict[str, float]:
        """Their counters in total; empty when one of them does not answer."""
        document = self.read_stats()
        return {} if document is None else plain_metrics(document["total"])

    def workers_lost(self) -> int:
        """How many workers have ended, over all."""
        return sum(server.workers_lost() for server in self.servers)

    def workers_moved(self) -> tuple[str, ...]:
        """A sentence for each worker that somebody has taken from its CPU."""
        return tuple(sentence for server in self.servers for sentence in server.workers_moved())

    def _order_of(self, order: ServerOrder, number: int) -> ServerOrder:
        if len(self.shares) == 1:
            return order
        addresses = _in_turn(order.addresses, len(self.shares))
        return replace(
            order,
            cpus=self.shares[number],
            name=f"{order.name}.{number + 1}",
            # On an address that other machines reach there is one, and each replica has a port of its own.
            address=str(IPv4Address(ADDRESS) + number) if order.address == ADDRESS else order.address,
            addresses=tuple(dict.fromkeys(address for owner, address in addresses if owner == number)),
        )


def _in_turn(addresses: Sequence[str], replicas: int) -> list[tuple[int, str]]:
    """Every pair of a replica and an address that are each other's turn, the addresses in their order.

    As many replicas as addresses, or a divisor of that, have each address to themselves.
    """
    turns = math.lcm(len(addresses), replicas) if addresses else 0
    return [(turn % replicas, addresses[turn % len(addresses)]) for turn in range(turns)]
