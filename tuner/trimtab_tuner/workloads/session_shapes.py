"""The kinds of session a workload's definition may name: how many requests, in which bursts, with what
pauses.

Every kind is the `[sessions]` table of a definition (definition.py).

    surge   persistent connections of people who read pages, see below
    plain   so many requests on a connection, one after the other, without pauses

SURGE. Lengths are geometric, cut off at `max_length` requests, with the mean `mean_length`. They are drawn in
blocks of 64, each block holding one length from every 64th of the distribution in random order, so that the
mean of any stretch of the log stays close to it: the load generator turns a request rate into a session rate
by it.

The form of the pauses is Barford and Crovella's (SURGE, SIGMETRICS 1998), which the seeds' thesis cites. A
session is a series of bursts, each a page and its embedded files, whose number is Pareto distributed (k = 1,
alpha = 2.43, rounded down). Within a burst the browser pauses between files: active off times, Weibull (scale
1.46 s, shape 0.382) below 1 s, the limit by which active and inactive times are told apart. Between bursts
the user thinks: inactive off times, Pareto (k = 1 s, alpha = 1.5), cut off at 3 s here. A session whose
pauses add up to more than 5 s has all of them shortened in proportion, because the seeds' time limit of 10 s
covers the entire session, and a session that spends it thinking would time out at any server.
"""

from functools import cache
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.workloads.file_sets import Floats, Integers, pick, stratified

LENGTH_BLOCK = 64
ACTIVE_LIMIT_S = 1.0
INACTIVE_LIMIT_S = 3.0
SESSION_PAUSE_LIMIT_S = 5.0


class Shape(NamedTuple):
    """Sessions without their files, request after request: `ends` are the positions after each session."""

    ends: Integers
    begins_burst: NDArray[np.bool_]
    pauses_s: Floats


Streams = tuple[np.random.Generator, np.random.Generator, np.random.Generator]


class SurgeSessions(Frozen):
    """Sessions of people who read pages."""

    kind: Literal["surge"] = "surge"
    mean_length: Annotated[float, Field(ge=1, le=1000)] = 7.29
    max_length: Annotated[int, Field(ge=2, le=10_000)] = 40

    @model_validator(mode="after")
    def _reachable(self) -> "SurgeSessions":
        if not self.mean_length < self.max_length / 2:
            raise ValueError(
                f"mean_length = {self.mean_length}: expected less than half of max_length = {self.max_length}"
            )
        return self

    def shape(self, count: int, streams: Streams) -> Shape:
        """`count` sessions, from random streams for lengths, bursts and pauses."""
        cumulative = _length_cumulative(self.mean_length, self.max_length)
        lengths = pick(cumulative, stratified(count, streams[0], LENGTH_BLOCK)) + 1
        ends = np.cumsum(lengths)
        begins_burst = _bursts(int(lengths.sum()), ends - lengths, self.max_length, streams[1])
        return Shape(ends, begins_burst, _pauses(begins_burst, ends, streams[2]))


class PlainSessions(Frozen):
    """So many requests on each connection, without a pause."""

    kind: Literal["plain"]
    requests: Annotated[int, Field(ge=1, le=10_000)] = 1

    @property
    def mean_length(self) -> float:
        """Requests of a session."""
        return float(self.requests)

    def shape(self, count: int, streams: Streams) -> Shape:
        """`count` sessions; each is one burst."""
        total = count * self.requests
        begins_burst = np.arange(total) % self.requests == 0
        return Shape(np.arange(1, count + 1) * self.requests, begins_burst, np.zeros(total))


@cache
def _length_cumulative(mean_length: float, max_length: int) -> Floats:
    """Cumulative shares of lengths 1 … max_length: geometric, its ratio found by bisection on the mean."""
    lengths = np.arange(1, max_length + 1)
    low, high = 0.0, 1.0
    for _ in range(60):
        ratio = (low + high) / 2
        shares = ratio ** (lengths - 1) / (ratio ** (lengths - 1)).sum()
        if float(shares @ lengths) < mean_length:
            low = ratio
        else:
            high = ratio
    return np.cumsum(shares)


def _bursts(total: int, starts: Integers, max_length: int, stream: np.random.Generator) -> NDArray[np.bool_]:
    """Which of the `total` requests begin a burst: every session's first, and then one after each whole page.

    A page is one file and its embedded ones; pages follow each other over the whole log, and a session's
    start cuts one short.
    """
    pages = 1 + np.floor((1 - stream.random(total)) ** (-1 / 2.43))
    page_starts = np.cumsum(np.minimum(pages, max_length).astype(np.int64))
    begins = np.zeros(total, dtype=np.bool_)
    begins[page_starts[page_starts < total]] = True
    begins[starts] = True
    return begins


def _pauses(begins_burst: NDArray[np.bool_], ends: Integers, stream: np.random.Generator) -> Floats:
    """Pause after each request in seconds: active within a burst, inactive after it, none at the end."""
    uniform = stream.random(begins_burst.size)
    active_share = 1 - np.exp(-((ACTIVE_LIMIT_S / 1.46) ** 0.382))
    active = 1.46 * (-np.log1p(-uniform * active_share)) ** (1 / 0.382)
    inactive_share = 1 - INACTIVE_LIMIT_S**-1.5
    inactive = (1 - uniform * inactive_share) ** (-1 / 1.5)
    pauses = np.where(np.append(begins_burst[1:], True), inactive, active)
    pauses[ends - 1] = 0.0
    return shorten_pauses(pauses, ends)


def shorten_pauses(pauses: Floats, ends: Integers) -> Floats:
    """The pauses with those of a session that add up to more than SESSION_PAUSE_LIMIT_S shortened alike."""
    sums = np.diff(np.cumsum(pauses)[ends - 1], prepend=0.0)
    factors = np.minimum(1.0, SESSION_PAUSE_LIMIT_S / np.maximum(sums, SESSION_PAUSE_LIMIT_S))
    shortened: Floats = pauses * np.repeat(factors, np.diff(ends, prepend=0))
    return shortened
