"""The file that a running server was started with, as far as whoever has started it may read it.

Its command line names the file, and the file what it includes. Both are somebody else's words if Trimtab is
root: it reads with the rights of that user alone, or a copy of what only root may read would come into the
files of the servers beside production, which are that user's.
"""

from pathlib import Path

from trimtab_agent.base_file import BaseFile, read_base
from trimtab_agent.errors import HostError
from trimtab_agent.live import own_file
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.surroundings import as_its_user


def read_its_file(server: RunningServer) -> BaseFile:
    """With all that it includes; raises SpecError for what may not be read, or not be understood, and
    HostError where the server has ended or its user cannot be stood in for.
    """
    file = _known(server)
    try:
        with as_its_user(server.pid):
            return read_base(server.target, file)
    except OSError as error:
        raise _unread(server, error) from error


def text_of_its_file(server: RunningServer) -> str:
    """The file alone; raises HostError."""
    file = _known(server)
    try:
        with as_its_user(server.pid):
            return own_file.text_of(file)
    except OSError as error:
        raise _unread(server, error) from error


def _known(server: RunningServer) -> Path:
    if server.file is None:
        raise HostError(f"process {server.pid}: the file that it was started with is not known")
    return server.file


def _unread(server: RunningServer, error: OSError) -> HostError:
    return HostError(f"process {server.pid}: {server.file} cannot be read as its user does: {error.strerror}")
