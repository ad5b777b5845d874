"""How a second server of a kind runs beside one that carries real traffic, on sockets that it is given.

The second one is production's own file with what is its own: pid file, logs, temporary files, stats socket.
It serves the same sites. Where it listens, it does not open anything: the sockets are handed to it when it
starts, each kind of server in its own way. A kind that takes none from others opens its own
(`opens_sockets`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from signal import Signals


@dataclass(frozen=True)
class Inherited:
    """A listening socket that a server finds when it starts: its address (127.0.0.1:80), its descriptor."""

    address: str
    descriptor: int


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a server beside production puts what is its own: paths.

    Files that it makes lie in `directory`. It appends a line for every reply to `access_log`, or answers at
    `stats_socket`, whichever its kind can do.
    """

    directory: str
    access_log: str
    stats_socket: str


@dataclass(frozen=True)
class StatusPage:
    """Where a running server tells what it has counted: path and query, and the host that it is asked as."""

    path: str
    host: str = "localhost"


@dataclass(frozen=True, kw_only=True)
class Beside:
    """How a kind of server is run beside production.

    `file` makes its configuration of production's own, with the includes filled in; it raises RenderError for
    what two servers cannot do at once. `environment` tells it of the sockets. `check_command` and
    `start_command` take the program and the file: unlike Target's they leave the server the directory that
    relative paths in its file begin at. It ends in good order at `quit_signal`, and production takes up its
    file anew at `reload_signal`: both answer what they have begun.

    With `opens_sockets` it is handed none: its file has it open its own, one on each of production's
    addresses, with SO_REUSEPORT.

    With a `starter`, the main process is one of that program, which has the sockets and starts the server
    anew at a reload; a server that runs without it cannot be reloaded. `only_by_restart` are knobs that a
    reload does not change, and `most_by_reload` tells of a file how high others can get by one.

    `status_pages` finds in its file where it tells over HTTP what it has counted, all workers together; the
    target's parse_status() reads it.

    `live` are knobs that it takes while it runs, without a reload. `of_all_traffic` are those of them that
    have to do with how much there is in all, as limits and what goes by the length of queues: an arm with a
    share of the connections would not meet them, so production itself tries them by turns (switchback.py).
    """

    file: Callable[[str, Place], str]
    environment: Callable[[Sequence[Inherited]], Mapping[str, str]]
    check_command: Callable[[str, str], tuple[str, ...]]
    start_command: Callable[[str, str], tuple[str, ...]]
    quit_signal: Signals
    reload_signal: Signals
    live: frozenset[str] = frozenset()
    of_all_traffic: frozenset[str] = frozenset()
    opens_sockets: bool = False
    starter: str = ""
    status_pages: Callable[[str], Sequence[StatusPage]] = lambda _text: ()
    only_by_restart: frozenset[str] = frozenset()
    most_by_reload: Callable[[str], Mapping[str, int]] = lambda _text: {}


def activated(sockets: Sequence[Inherited]) -> Mapping[str, str]:
    """What sd_listen_fds(3) reads besides LISTEN_PID, which the process itself has to set."""
    return {"LISTEN_FDS": str(len(sockets))}
