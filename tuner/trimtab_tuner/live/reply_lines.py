"""What the lines of an access log say of a server's replies.

A server of ours writes them in a format of ours: status, bytes, service time, which request on its connection
it was, how the reply ended, and the query if there was one.

    200 14240 0.003 1 +?page=2

Almost only numbers: 50,000 lines a second cost a few per cent of a CPU to read. What makes each server write
such lines is in FORMATS, as tried with those of Debian 12.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trimtab_tuner.live.observed import CLASSES, SIZE_CLASSES, Replies, Served, Statuses, size_classes
from trimtab_tuner.live.service_times import service_times_of
from trimtab_tuner.workloads.access_log import Entry, has_query

COLUMNS = 5
TIME, ENDED = 2, 4  # columns
SPACE, LINE_FEED, QUERY = 32, 10, ord("?")
_LINE = re.compile(rb"[1-5]\d\d \d{1,18} (?:\d{1,18}(?:\.\d{1,9})?|-) \d{1,18} [-+X](?:\?\S*)?")
# Nobody asked for anything: the server gave up waiting for a request.
REQUEST_TIMEOUT = 408
# nginx: the client went away before it got a reply.
CLIENT_CLOSED_REQUEST = 499


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFormat:
    """How a server is told to write such lines, and how they are to be read.

    `settings` is what stands in its configuration file, with PATH for the log. A line whose column
    `aborted_at` begins with the byte `aborted` is of a reply that the client did not wait for. `time_unit_s`
    is that of the service time, `resolution_s` the shortest time that the server can tell from 0. The first
    request on a connection is number `first`; None where the server does not number them.
    """

    settings: str
    aborted: bytes = b"X"
    aborted_at: int = ENDED
    time_unit_s: float = 1.0
    resolution_s: float = 1e-6
    first: int | None = 0


FORMATS = {
    # In the block http. Bytes are those of the body, as in the formats that production logs in.
    # $request_completion is OK, or empty where the reply did not get out as a whole.
    "nginx": LineFormat(
        settings=(
            "map $request_completion $trimtab_ended { OK +; default X; }\n"
            "log_format trimtab '$status $body_bytes_sent $request_time $connection_requests "
            "$trimtab_ended$is_args';\n"
            "access_log PATH trimtab;\n"
        ),
        resolution_s=1e-3,
        first=1,
    ),
    # Wants mod_accesslog. Lines for a file are kept for up to 4 seconds; a program gets each at once.
    "lighttpd": LineFormat(
        settings='accesslog.filename = "|exec cat >>PATH"\naccesslog.format = "%s %O %D %k %X%q"\n',
        time_unit_s=1e-6,
    ),
    # Wants mod_log_config and mod_logio, which Debian's has built in.
    "apache": LineFormat(
        settings='LogFormat "%>s %O %D %k %X%q" trimtab\nCustomLog PATH trimtab\n',
        time_unit_s=1e-6,
    ),
    # Bytes are those of the body. An aborted reply has no duration. The clock stands still while h2o goes
    # round its loop once, so that a reply that is sent at once takes no time.
    "h2o": LineFormat(
        settings='access-log:\n  path: PATH\n  format: "%s %b %{duration}x 1 +%q"\n',
        aborted=b"-",
        aborted_at=TIME,
        resolution_s=1e-3,
        first=None,
    ),
}


def replies_of(lines: bytes, form: LineFormat) -> Replies:
    """What complete lines say; raises ValueError with the first that is none of ours."""
    if not lines:
        return Replies(connections_accepted=None if form.first is None else 0, dynamic=0)
    columns = _columns(lines, form)
    # What a server cannot tell from nothing took its shortest time: servers without any cannot be compared.
    time_s = np.maximum(columns.time_s, form.resolution_s)
    replies, answered = _counted(columns.status, columns.size_bytes, time_s, columns.aborted, columns.later)
    asked = columns.status != REQUEST_TIMEOUT
    return replace(
        replies,
        service_times=service_times_of(time_s[answered]),
        connections_accepted=None if form.first is None else int(np.count_nonzero(asked & ~columns.later)),
        dynamic=int(np.count_nonzero(asked & columns.query)),
    )


def replies_of_entries(entries: Sequence[Entry], each: int) -> Replies:
    """What lines of a log in the Common or the Combined format say; each stands for so many.

    There is no service time in them, and of aborted replies only those that nginx had not begun.
    """
    if not entries:
        return Replies(dynamic=0)
    status = np.repeat([entry.status for entry in entries], each)
    size_bytes = np.repeat([entry.size_bytes or 0 for entry in entries], each)
    nothing = np.zeros(len(status))
    replies, _ = _counted(status, size_bytes, nothing, nothing != 0, nothing != 0)
    return replace(replies, dynamic=each * sum(has_query(entry.target) for entry in entries))


def _counted(
    status: NDArray[np.int64],
    size_bytes: NDArray[np.int64],
    time_s: NDArray[np.float64],
    aborted: NDArray[np.bool_],
    later: NDArray[np.bool_],
) -> tuple[Replies, NDArray[np.bool_]]:
    """The counts of these replies without their histogram, and which were answered to their end."""
    asked = status != REQUEST_TIMEOUT
    aborted = aborted | (status == CLIENT_CLOSED_REQUEST)
    answered = asked & ~aborted
    classes = size_classes(size_bytes[answered]) + SIZE_CLASSES * later[answered]
    counts = np.bincount(classes, minlength=CLASSES)
    served_s = np.bincount(classes, weights=time_s[answered], minlength=CLASSES)
    by_hundreds = np.bincount(status[answered] // 100, minlength=6)
    replies = Replies(
        served=tuple(map(Served, counts.tolist(), served_s.tolist())),
        aborted=int(np.count_nonzero(asked & aborted)),
        bytes_sent=int(size_bytes.sum()),
        statuses=Statuses(*by_hundreds[2:6].tolist()),
    )
    return replies, answered


@dataclass(frozen=True, slots=True)
class _Columns:
    """Each line: status, bytes, service time, whether it was aborted, not the first on its connection, and
    with a query.
    """

    status: NDArray[np.int64]
    size_bytes: NDArray[np.int64]
    time_s: NDArray[np.float64]
    aborted: NDArray[np.bool_]
    later: NDArray[np.bool_]
    query: NDArray[np.bool_]


def _columns(lines: bytes, form: LineFormat) -> _Columns:
    """Raises ValueError for lines that are none of ours."""
    text = np.frombuffer(lines, np.uint8)
    blanks = np.flatnonzero(text <= SPACE)
    expected = np.array([SPACE] * (COLUMNS - 1) + [LINE_FEED], np.uint8)
    if len(blanks) % COLUMNS or not np.array_equal(text[blanks], np.tile(expected, len(blanks) // COLUMNS)):
        raise ValueError(_complaint(lines))
    count = len(blanks) // COLUMNS
    ended_at = blanks[ENDED - 1 :: COLUMNS] + 1
    aborted = text[blanks[form.aborted_at - 1 :: COLUMNS] + 1] == form.aborted[0]
    words = lines.replace(b" - ", b" 0 ").split()
    try:
        status = np.fromiter(map(int, words[0::COLUMNS]), np.int64, count)
        size_bytes = np.fromiter(map(int, words[1::COLUMNS]), np.int64, count)
        time_s = np.fromiter(map(float, words[2::COLUMNS]), np.float64, count) * form.time_unit_s
        number = np.fromiter(map(int, words[3::COLUMNS]), np.int64, count)
    except (ValueError, OverflowError) as error:
        raise ValueError(_complaint(lines)) from error
    if status.min() < 100 or status.max() > 599 or min(size_bytes.min(), time_s.min(), number.min()) < 0:
        raise ValueError(_complaint(lines))
    later = np.zeros(count, np.bool_) if form.first is None else number > form.first
    return _Columns(status, size_bytes, time_s, aborted, later, text[ended_at + 1] == QUERY)


def _complaint(lines: bytes) -> str:
    """The sentence about the first line that is none of ours."""
    wrong = next(line for line in lines.splitlines() if not _LINE.fullmatch(line))
    return f"{wrong[:80]!r} is no line of ours: expected status, bytes, time, number and how the reply ended"
