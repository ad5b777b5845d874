"""Learns a workload from the entries of an access log, in one pass and with bounded memory.

    learner = Learner()
    for line in lines:
        learner.line(line)
    model, facts = learner.finish()

FILES. Every path that was answered with 200 or 304, without a query, becomes a file; its size is the largest
body that was sent for it. Files that were only ever answered without a body (304, HEAD) get the median size.

SESSIONS. The requests of one client that follow each other by at most `session_gap_s` are a session, as far
as the log tells; after `LONGEST_SESSION` requests another one begins. A uniform random sample of `sample`
sessions is kept (reservoir sampling, Vitter 1985). Logs mostly count whole seconds: requests of the same
second are spread over it evenly. Pauses that add up to more than 5 s in a session are shortened in
proportion, for the reason given in session_shapes.py. A pause of more than a second begins another burst.

ARRIVALS. The variance of the sessions that begin in a second, divided by their mean, is the index of
dispersion: 1 for Poisson arrivals, more for burstier ones, less for steadier ones.

BOUNDS. At most `MOST_FILES` files and `MOST_OPEN` sessions at a time are kept; what does not fit is counted.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from trimtab_tuner.wording import counted
from trimtab_tuner.workloads.access_log import Entry, LineParser, has_query, plain_path
from trimtab_tuner.workloads.learnt import VERSION
from trimtab_tuner.workloads.other_logs import READ, kind_of
from trimtab_tuner.workloads.session_shapes import ACTIVE_LIMIT_S, shorten_pauses

MOST_FILES = 500_000
MOST_OPEN = 200_000
LONGEST_SESSION = 200
PATHS_REMEMBERED = 200_000
STEADY_DISPERSION = 0.67
BURSTY_DISPERSION = 1.5
REASONS = ("not a log line", "method", "status", "query", "path", "size", "file limit")
LARGEST_FILE_BYTES = 10**11
"""A body that no file system of a test machine holds is a mistake of the log."""
SHOWN_BYTES = 120


class LearningError(ValueError):
    """Nothing can be learnt from the log; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was learnt, for people. Shares are of the requests that are replayed.

    `first_unread` is the first line that is none of an access log: its number and its text.
    """

    lines: int
    requests: int
    passed_over: dict[str, int]
    clock_steps_back: int
    first_s: float
    last_s: float
    clients_at_most_open: int
    sessions: int
    sessions_kept: int
    mean_session_length: float
    session_lengths: dict[int, int]
    mean_session_pause_s: float
    files: int
    file_set_bytes: int
    files_of_unknown_size: int
    bytes_sent: int
    busiest_files: tuple[tuple[str, int, float], ...]
    popularity_exponent: float
    share_of_top_tenth: float
    requests_per_s: float
    busiest_second_requests: int
    sessions_per_s: float
    arrival_dispersion: float | None
    first_unread: tuple[int, str] | None = None


@dataclass
class _OpenSession:
    last_s: float
    requests: list[tuple[int, float]] = field(default_factory=list)  # file, time


class _PerSecond:
    """Counts per second of a nearly ordered stream: how many seconds, the sum of counts and of squares."""

    def __init__(self) -> None:
        self.total = self.squares = self.most = 0
        self._second: int | None = None
        self._count = 0

    def add(self, time_s: float) -> None:
        """One event; a late one counts in the present second."""
        second = int(time_s)
        if self._second is None or second > self._second:
            self.flush()
            self._second = second
        self._count += 1

    def flush(self) -> None:
        """Closes the present second; the next event begins another one, whatever its time."""
        self._second = None
        self.total += self._count
        self.squares += self._count**2
        self.most = max(self.most, self._count)
        self._count = 0

    def dispersion(self, seconds: int) -> float | None:
        """Variance over mean of the counts in so many seconds; None when there is too little to say."""
        if seconds < 10 or self.total == 0:
            return None
        mean = self.total / seconds
        return (self.squares / seconds - mean**2) / mean


class Learner:
    """Takes lines one by one; see the module's docstring for the rules."""

    def __init__(self, session_gap_s: float = 15.0, sample: int = 5000, seed: int = 0) -> None:
        if not (math.isfinite(session_gap_s) and session_gap_s > 0):
            raise LearningError(f"session gap {session_gap_s}: expected seconds above 0")
        if not 1 <= sample <= 1_000_000:
            raise LearningError(f"sample of {sample} sessions: expected 1 to 1000000")
        self._gap_s = session_gap_s
        self._sample = sample
        self._random = np.random.default_rng(seed)
        self._parser = LineParser()
        self._lines = 0
        self._passed_over: Counter[str] = Counter()
        self._first_unread: tuple[int, bytes] | None = None
        self._paths: dict[bytes, str | None] = {}
        self._files: dict[str, int] = {}  # path → position in the three lists below
        self._sizes: list[int] = []  # -1 while unknown
        self._asked: list[int] = []
        self._bytes_sent = 0
        self._open: OrderedDict[bytes, _OpenSession] = OrderedDict()
        self._most_open = 0
        self._sessions = 0
        self._lengths: Counter[int] = Counter()
        self._kept: list[list[tuple[int, float]]] = []
        self._first_s = math.inf
        self._last_s = -math.inf
        self._now_s = -math.inf
        self._steps_back = 0
        self._request_seconds = _PerSecond()
        self._session_seconds = _PerSecond()

    @property
    def lines(self) -> int:
        """Lines taken so far."""
        return self._lines

    def line(self, line: bytes) -> None:
        """Takes one line."""
        self._lines += 1
        entry = self._parser.parse(line)
        if entry is None:
            self._passed_over["not a log line"] += 1
            if self._first_unread is None:
                self._first_unread = self._lines, line[:SHOWN_BYTES]
            return
        file = self._file_of(entry)
        if file is None:
            return
        self._asked[file] += 1
        self._bytes_sent += entry.size_bytes or 0
        self._pass_time(entry.time_s)
        self._request_seconds.add(entry.time_s)
        session = self._open.get(entry.client)
        if session is not None and (
            abs(entry.time_s - session.last_s) > self._gap_s or len(session.requests) >= LONGEST_SESSION
        ):
            self._close(self._open.pop(entry.client))
            session = None
        if session is None:
            if len(self._open) >= MOST_OPEN:
                self._close(self._open.popitem(last=False)[1])
            session = self._open[entry.client] = _OpenSession(entry.time_s)
            self._most_open = max(self._most_open, len(self._open))
            self._session_seconds.add(entry.time_s)
        session.requests.append((file, entry.time_s))
        session.last_s = max(session.last_s, entry.time_s)
        self._open.move_to_end(entry.client)

    def finish(self) -> tuple[dict[str, Any], Facts]:
        """The model and what there is to say of it; raises LearningError when there is nothing in the log."""
        while self._open:
            self._close(self._open.popitem(last=False)[1])
        self._request_seconds.flush()
        self._session_seconds.flush()
        if not self._files:
            raise LearningError(self._nothing_sentence())
        unknown = self._sizes.count(-1)
        known = sorted(size for size in self._sizes if size >= 0)
        median = known[len(known) // 2] if known else 1024
        sizes = [median if size < 0 else size for size in self._sizes]
        paths = without_collisions(list(self._files))
        sessions = [self._with_pauses(requests) for requests in self._kept]
        facts = self._facts(paths, sizes, unknown, sessions)
        model = {
            "version": VERSION,
            "files": [list(file) for file in zip(paths, sizes, self._asked, strict=True)],
            "sessions": sessions,
            "facts": asdict(facts),
        }
        return model, facts

    def _file_of(self, entry: Entry) -> int | None:
        """The position of the file that was asked for; None, and counted, if the request is not replayed."""
        reason, path = self._judge(entry)
        file = self._files.get(path)
        if not reason and file is None and len(self._files) >= MOST_FILES:
            reason = "file limit"
        if reason:
            self._passed_over[reason] += 1
            return None
        if file is None:
            file = self._files[path] = len(self._sizes)
            self._sizes.append(-1)
            self._asked.append(0)
        if entry.status == 200 and entry.method == b"GET" and entry.size_bytes is not None:
            self._sizes[file] = max(self._sizes[file], entry.size_bytes)
        return file

    def _judge(self, entry: Entry) -> tuple[str, str]:
        """Why the request is passed over, or else its path; the other one is empty."""
        if entry.method not in (b"GET", b"HEAD"):
            return "method", ""
        if entry.status not in (200, 304):
            return "status", ""
        if has_query(entry.target):
            return "query", ""
        if (entry.size_bytes or 0) > LARGEST_FILE_BYTES:
            return "size", ""
        if len(self._paths) >= PATHS_REMEMBERED:
            self._paths.clear()
        if entry.target not in self._paths:
            self._paths[entry.target] = plain_path(entry.target)
        path = self._paths[entry.target]
        return ("path", "") if path is None else ("", path)

    def _pass_time(self, time_s: float) -> None:
        """Closes the sessions that nobody can continue any more, oldest first."""
        self._first_s, self._last_s = min(self._first_s, time_s), max(self._last_s, time_s)
        if time_s < self._now_s - self._gap_s:
            # Another log, or a clock that was set: what is open has ended, and time begins anew.
            self._steps_back += 1
            self._now_s = math.inf
            self._request_seconds.flush()
            self._session_seconds.flush()
        while self._open:
            client, session = next(iter(self._open.items()))
            if self._now_s - session.last_s <= self._gap_s:
                break
            del self._open[client]
            self._close(session)
        self._now_s = time_s if math.isinf(self._now_s) else max(self._now_s, time_s)

    def _close(self, session: _OpenSession) -> None:
        """Counts a session, and keeps it with the same probability as every other one."""
        self._sessions += 1
        self._lengths[len(session.requests)] += 1
        if len(self._kept) < self._sample:
            self._kept.append(session.requests)
            return
        place = int(self._random.integers(0, self._sessions))
        if place < self._sample:
            self._kept[place] = session.requests

    @staticmethod
    def _with_pauses(requests: list[tuple[int, float]]) -> list[tuple[int, float, bool]]:
        """The session with the pause after each request, and which requests begin a burst."""
        times = spread_over_seconds([time_s for _, time_s in requests])
        pauses = shorten_pauses(np.append(np.maximum(np.diff(times), 0.0), 0.0), np.array([len(requests)]))
        begins = [True, *(bool(pause > ACTIVE_LIMIT_S) for pause in np.diff(times))]
        return [
            (file, round(float(pause), 4), begin)
            for (file, _), pause, begin in zip(requests, pauses, begins, strict=True)
        ]

    def _facts(
        self,
        paths: list[str],
        sizes: list[int],
        unknown: int,
        sessions: list[list[tuple[int, float, bool]]],
    ) -> Facts:
        requests = sum(self._asked)
        seconds = int(self._last_s) - int(self._first_s) + 1
        order = sorted(range(len(paths)), key=lambda file: -self._asked[file])
        ranked = np.array([self._asked[file] for file in order], dtype=np.float64)
        return Facts(
            lines=self._lines,
            requests=requests,
            passed_over=_in_order(self._passed_over),
            clock_steps_back=self._steps_back,
            first_s=self._first_s,
            last_s=self._last_s,
            clients_at_most_open=self._most_open,
            sessions=self._sessions,
            sessions_kept=len(sessions),
            mean_session_length=requests / self._sessions,
            session_lengths=dict(sorted(self._lengths.items())),
            mean_session_pause_s=float(np.mean([sum(r[1] for r in session) for session in sessions])),
            files=len(paths),
            file_set_bytes=sum(sizes),
            files_of_unknown_size=unknown,
            bytes_sent=self._bytes_sent,
            busiest_files=tuple(
                (paths[file], sizes[file], self._asked[file] / requests) for file in order[:10]
            ),
            popularity_exponent=_zipf_exponent(ranked),
            share_of_top_tenth=float(ranked[: max(1, len(ranked) // 10)].sum() / requests),
            requests_per_s=requests / seconds,
            busiest_second_requests=self._request_seconds.most,
            sessions_per_s=self._sessions / seconds,
            arrival_dispersion=self._session_seconds.dispersion(seconds),
            first_unread=None
            if self._first_unread is None
            else (self._first_unread[0], shown(self._first_unread[1])),
        )

    def _nothing_sentence(self) -> str:
        if self._lines == 0:
            return f"the log is empty: expected lines in {READ}"
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in _in_order(self._passed_over).items())
        example = ""
        if self._first_unread is not None:
            number, line = self._first_unread
            kind = kind_of(line)
            example = f", line {number} for instance is {shown(line)!r}"
            if kind:
                example += f": this looks like {kind}"
        return (
            f"there is no successful GET of a file in {counted(self._lines, 'line')} ({reasons}{example}); "
            f"expected {READ}"
        )


def shown(line: bytes) -> str:
    """A line for people, without what a terminal would obey."""
    text = line.decode(errors="replace").strip()
    return "".join(character if character.isprintable() else "?" for character in text)


def steadier_than_poisson(dispersion: float | None) -> bool:
    """Whether arrivals of that index of dispersion come at more equal distances than by chance."""
    return dispersion is not None and dispersion < STEADY_DISPERSION


def without_collisions(paths: list[str]) -> list[str]:
    """The paths, with a file that is also a directory of others renamed: a disk cannot hold both."""
    directories = {path[:end] for path in paths for end in range(1, len(path)) if path[end] == "/"}
    taken = set(paths)
    renamed = []
    for path in paths:
        plain = path
        while path in directories or (path != plain and path in taken):
            path += "_"
        renamed.append(path)
    return renamed


def spread_over_seconds(times: list[float]) -> list[float]:
    """Times ascending; those that share a whole second are spread over it evenly."""
    times = sorted(times)
    spread: list[float] = []
    start = 0
    while start < len(times):
        end = start
        while end < len(times) and times[end] == times[start]:
            end += 1
        count = end - start
        whole = times[start] == int(times[start])
        spread += [times[start] + (k / count if whole else 0.0) for k in range(count)]
        start = end
    return spread


def _in_order(passed_over: Mapping[str, int]) -> dict[str, int]:
    return {reason: passed_over[reason] for reason in REASONS if passed_over.get(reason)}


def _zipf_exponent(ranked: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Slope of requests over rank, both logarithmic, over the thousand most popular files."""
    top = ranked[:1000]
    if len(top) < 10 or top[0] == top[-1]:
        return 0.0
    return float(-np.polyfit(np.log(np.arange(1, len(top) + 1)), np.log(top), 1)[0])
