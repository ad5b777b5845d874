"""A directory with a short path, for the sockets of a server whose own directory lies too deep for them.

unix(7) gives the path of a socket 107 bytes. The directory lies under that of temporary files, where nobody
would look for it after a kill -9: so it is noted in the journal of leftovers before it is made.
"""

import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from trimtab_agent.station.leftovers import Leftovers

KIND = "directory"
PREFIX = "trimtab-"


def make(journal: Leftovers) -> Path:
    """Makes one that only its owner may enter; raises OSError."""
    directory = Path(tempfile.gettempdir()) / f"{PREFIX}{secrets.token_hex(6)}"
    journal.remember(KIND, str(directory))
    directory.mkdir(mode=0o700)
    return directory


def unmake(directory: Path, journal: Leftovers) -> None:
    """Takes it away with all that is in it; raises OSError."""
    remove(str(directory))
    journal.forget(KIND, str(directory))


def remove(name: str) -> None:
    """What is left of one; nothing else, whatever the journal says. Raises OSError."""
    directory = Path(name)
    if directory.parent == Path(tempfile.gettempdir()) and directory.name.startswith(PREFIX):
        with suppress(FileNotFoundError):
            shutil.rmtree(directory)
