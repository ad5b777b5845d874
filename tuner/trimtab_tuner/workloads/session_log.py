"""Sessions of requests, and the text form in which the load generator reads them.

The form is httperf's `wsesslog` with one extension, `size=`:

    # comment
    /dir00000/class1_4 size=4096 think=0.01
     /dir00000/class0_2 size=204 think=1.2
    /dir00003/class1_4 size=4096

A blank line ends a session. A line that starts with white space belongs to the burst begun by the last line
that does not. `think=S` is the pause in seconds after that request's reply, `size=B` the expected length of
the body in bytes. For a MariaDB server a line has `contents="..."`, statements, and `rows=N` of them.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Request(NamedTuple):
    """One GET: URL path, expected body length, pause after the reply, whether it begins a burst.

    Or `statements` for a MariaDB server, which send, find and insert so many `rows`; the path names them.
    """

    path: str
    size_bytes: int
    think_s: float
    begins_burst: bool
    statements: str = ""
    rows: int = 0


Session = tuple[Request, ...]
"""The requests of one persistent connection, one after the other."""


def write_session_log(sessions: Iterable[Session], comment: str = "") -> str:
    """The log's text; each line of `comment` becomes a comment line at the top."""
    return "".join(_lines(sessions, comment))


def _lines(sessions: Iterable[Session], comment: str) -> Iterator[str]:
    for line in comment.splitlines():
        yield f"# {line}\n"
    for session in sessions:
        for path, size_bytes, think_s, begins_burst, statements, rows in session:
            indent = "" if begins_burst else " "
            asks = f' contents="{statements}" rows={rows}' if statements else ""
            think = f" think={think_s:.6g}" if think_s else ""
            yield f"{indent}{path}{asks} size={size_bytes}{think}\n"
        yield "\n"
