"""What the lines of an access log say of a server's replies.

A server of ours writes them in a format of ours: status, bytes, service time, which request on its connection
it was, how the reply ended, and the query if there was one.

    200 14240 0.003 1 +?page=2

Almost only numbers: 50,000 lines a second cost a few per cent of a CPU to read. What makes each server write
such lines is in targets/log_formats.py.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trimtab_tuner.live.observed import CLASSES, SIZE_CLASSES, Replies, Served, Statuses, size_classes
from trimtab_tuner.live.service_times import service_times_of
from trimtab_tuner.targets.log_formats import ENDED, LineFormat
from trimtab_tuner.workloads.access_log import Entry, has_query

COLUMNS = 5
SPACE, LINE_FEED, QUERY = 32, 10, ord("?")
_LINE = re.compile(rb"[1-5]\d\d \d{1,18} (?:\d{1,18}(?:\.\d{1,9})?|-) \d{1,18} [-+X](?:\?\S*)?")
# Nobody asked for anything: the server gave up waiting for a request.
REQUEST_TIMEOUT = 408
# nginx: the client went away before it got a reply.
CLIENT_CLOSED_REQUEST = 499


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
