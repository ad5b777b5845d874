"""The daemon's socket in its own directory, for the commands of the user whose daemon it is.

Only that user may connect (mode 0600, which bind(2) takes from the socket it is given; and root, as
anywhere). So nothing is asked at this door: no Host, no Origin, no token, and a run may begin with the user's
own file. Whoever holds the lock beside it is the daemon of this directory; a socket without one was left by a
kill.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.types import Scope

from trimtab_agent.errors import HostError
from trimtab_agent.host.lock import FileLock, LockTaken
from trimtab_agent.paths import VarPaths


def only_daemon(var: Path, url: str) -> FileLock:
    """Makes this process the daemon of `var`, which is at `url` for browsers, until the lock is given back.

    Raises HostError if another one is.
    """
    path = VarPaths(var.resolve()).daemon_lock
    try:
        return FileLock(path, url=url)
    except LockTaken as taken:
        where = taken.holder.get("url", "an address of its own")
        raise HostError(
            f"the daemon of {path.parent} is running already (process {taken.pid}, {where}); "
            "expected another directory (--var)"
        ) from taken


@contextmanager
def listen_locally(var: Path) -> Iterator[socket.socket]:
    """The socket of the daemon of `var`, for its only daemon. Raises HostError if the directory can hold
    none.
    """
    path = VarPaths(var.resolve()).daemon_socket
    with socket.socket(socket.AF_UNIX) as listener:
        path.unlink(missing_ok=True)
        try:
            _bind(listener, path)
        except OSError as error:
            raise HostError(f"cannot listen at {path}: {error.strerror}") from error
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def is_local(scope: Scope) -> bool:
    """Whether a request came through such a socket: those have a path, and no port (ASGI, HTTP scope)."""
    server = scope.get("server")
    return server is not None and server[1] is None


def _bind(listener: socket.socket, path: Path) -> None:
    # Through a descriptor of the directory: unix(7) gives a path 107 bytes, and directories lie deeper.
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        os.fchmod(listener.fileno(), 0o600)
        listener.bind(f"/proc/self/fd/{directory}/{path.name}")
        listener.listen(128)
    finally:
        os.close(directory)
