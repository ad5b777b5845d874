"""What the thesis published of its comparison on one CPU: which servers, in which order at which memory size.

A. Harji, Performance Comparison of Uniprocessor and Multiprocessor Web Server Architectures, PhD thesis,
University of Waterloo 2010, chapter 3. Its tuning tables are in `trimtab_tuner.replay`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab_trials.configuration import Configuration

from trimtab_tuner.workloads.conditions import Memory


@dataclass(frozen=True)
class Published:
    """One memory size: the table of its ranks, the servers in order (a group shares a rank), their areas.

    `machine` is how much memory the thesis' machine had; areas are of each server's best configuration.
    """

    machine: str
    table: str
    order: tuple[tuple[str, ...], ...]
    areas: Mapping[str, float]

    def rank(self, server: str) -> int:
        """Place of the server's group, from 1; servers that share a rank count."""
        before = 0
        for group in self.order:
            if server in group:
                return before + 1
            before += len(group)
        raise KeyError(server)


SERVERS: dict[str, Configuration] = {
    "symped-nb": {"architecture": "symped", "sendfile": "nonblocking"},
    "symped-b": {"architecture": "symped", "sendfile": "blocking"},
    "sharedsymped-nb": {"architecture": "shared-symped", "sendfile": "nonblocking", "cache_lock": "rw"},
    "sharedsymped-b": {"architecture": "shared-symped", "sendfile": "blocking", "cache_lock": "rw"},
    "watpipe-nb": {"architecture": "pipeline", "sendfile": "nonblocking"},
    "watpipe-b": {"architecture": "pipeline", "sendfile": "blocking"},
    "knot-nb": {"architecture": "knot", "sendfile": "nonblocking"},
    "knot-b": {"architecture": "knot", "sendfile": "blocking"},
    "knot-c": {"architecture": "knot", "sendfile": "off"},
}
"""The thesis' servers by its names, as configurations of the target `core`."""

PUBLISHED: dict[Memory, Published] = {
    "in-memory": Published(
        machine="4 GB",
        table="3.26",
        order=(
            ("symped-nb", "sharedsymped-nb", "watpipe-nb"),
            ("watpipe-b",),
            ("sharedsymped-b",),
            ("knot-nb",),
            ("knot-b",),
            ("symped-b",),
            ("knot-c",),
        ),
        areas={
            "knot-c": 2.11,
            "knot-nb": 2.29,
            "knot-b": 2.26,
            "symped-nb": 2.45,
            "symped-b": 2.21,
            "sharedsymped-nb": 2.46,
            "sharedsymped-b": 2.31,
            "watpipe-nb": 2.45,
            "watpipe-b": 2.36,
        },
    ),
    "moderate-io": Published(
        machine="1.4 GB",
        table="3.13",
        order=(
            ("watpipe-nb",),
            ("sharedsymped-nb",),
            ("watpipe-b",),
            ("symped-nb", "sharedsymped-b"),
            ("knot-nb", "knot-b"),
            ("symped-b",),
            ("knot-c",),
        ),
        areas={
            "knot-c": 1.78,
            "knot-nb": 2.18,
            "knot-b": 2.17,
            "symped-nb": 2.21,
            "symped-b": 2.14,
            "sharedsymped-nb": 2.34,
            "sharedsymped-b": 2.23,
            "watpipe-nb": 2.37,
            "watpipe-b": 2.32,
        },
    ),
    "heavy-io": Published(
        machine="0.75 GB",
        table="3.39",
        order=(
            ("watpipe-b",),
            ("sharedsymped-b",),
            ("knot-b", "watpipe-nb"),
            ("knot-c", "sharedsymped-nb"),
            ("knot-nb", "symped-b"),
            ("symped-nb",),
        ),
        areas={
            "knot-c": 1.44,
            "knot-nb": 1.37,
            "knot-b": 1.57,
            "symped-nb": 1.24,
            "symped-b": 1.34,
            "sharedsymped-nb": 1.46,
            "sharedsymped-b": 1.64,
            "watpipe-nb": 1.52,
            "watpipe-b": 1.77,
        },
    ),
}
"""By the memory of the workload that stands for the size here, from most memory to least."""
