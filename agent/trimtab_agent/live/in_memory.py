"""Where servers beside production have their files: a directory in memory, which goes when they do.

On a disk that is full or slow their logs would hold them up. Others need that memory too: so much stays free.

Whoever needs a directory has a lock on it, which ends with its holders: the agent that makes it, and the
keeper, which inherits it. When both were killed, or the agent before the keeper had noted what it does
(restoring.py), the next Trimtab finds it without a lock and removes it.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab_agent.errors import HostError

PLACES = (Path("/run"), Path("/dev/shm"))  # noqa: S108 - each gets a new directory of its own
PREFIX = "trimtab-live-"
LEAST_FREE_BYTES = 32 << 20
LOCKED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def new_directory() -> Iterator[tuple[Path, int]]:
    """A new one, which the servers' workers may enter, and the descriptor that has the lock on it: until the
    end of the block, or as long as a process that inherits it lives. Raises HostError.
    """
    place = next(
        (each for each in PLACES if os.access(each, os.W_OK) and _free_bytes(each) >= LEAST_FREE_BYTES), None
    )
    if place is None:
        raise HostError(
            f"neither {PLACES[0]} nor {PLACES[1]} can be written to and has {LEAST_FREE_BYTES / 1e6:,.0f} MB "
            "left: expected a place in memory"
        )
    try:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        directory.chmod(0o711)
        held = os.open(directory, LOCKED)
    except OSError as error:
        raise HostError(f"{place} cannot be written to: {error.strerror}") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield directory, held
    finally:
        os.close(held)


def require_room(place: Path) -> None:
    """Raises HostError where that is about to be full: what the servers are sent may lie there too."""
    if (free := _free_bytes(place)) < LEAST_FREE_BYTES:
        raise HostError(
            f"{place} is about to be full ({free / 1e6:,.0f} MB are free): expected "
            f"{LEAST_FREE_BYTES / 1e6:,.0f} MB at least beside what the servers write there"
        )


def remove_what_nobody_needs() -> None:
    """The directories of processes that were killed."""
    for directory in (each for place in PLACES for each in place.glob(f"{PREFIX}*")):
        try:
            descriptor = os.open(directory, LOCKED)
        except OSError:
            continue  # it has just gone, is no directory, or another user's
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)


def _free_bytes(place: Path) -> int:
    """What a place has room for; raises HostError."""
    try:
        found = os.statvfs(place)
    except OSError as error:
        raise HostError(f"{place} cannot be looked at: {error.strerror}") from error
    return found.f_bavail * found.f_frsize
