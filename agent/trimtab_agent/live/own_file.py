"""Production's own file: written as a whole or not at all, with owner, mode and line ends as they are.

Its directory may be another user's, who may put anything under any name there at any moment. So what is made
beside the file is new under its name, and gets its owner and mode by its descriptor: as root it would
otherwise be another file that was overwritten or given away.
"""

import glob
import itertools
import os
import stat
import tempfile
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from trimtab_agent.base_file import encoding_of
from trimtab_agent.errors import HostError

ONLY_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def text_of(file: Path) -> str:
    """What is in it now; raises HostError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise HostError(f"{file} cannot be read: {error.strerror}") from error
    return content.decode(encoding_of(content))


def name_beside(file: Path) -> Path:
    """What a copy of it may be called now: a name that nobody has, and that says what it is."""
    stamp = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    for number in itertools.count(1):
        again = f"-{number}" if number > 1 else ""  # a second one within the second
        backup = file.with_name(f"{file.name}.before-trimtab-{stamp}{again}")
        if not os.path.lexists(backup):
            return backup
    raise AssertionError("numbers do not end")


def keep_as(backup: Path, file: Path) -> None:
    """Copies the file to a name that nobody has; raises OSError, also where somebody has it by now."""
    with file.open("rb") as own:
        descriptor = os.open(backup, ONLY_NEW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as copy:
                copy.write(own.read())
                _like(copy, own.fileno())
                was = os.fstat(own.fileno())
                os.utime(copy.fileno(), ns=(was.st_atime_ns, was.st_mtime_ns))
        except BaseException:
            backup.unlink(missing_ok=True)  # a part of the file would be taken for what it was
            raise


def write(file: Path, text: str) -> None:
    """The file has that text, at no moment a part of it; raises OSError."""
    with file.open("rb") as own:
        content = text.encode(encoding_of(own.read()))
        descriptor, name = tempfile.mkstemp(prefix=_part_of(file), dir=file.parent)
        part = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as written:
                written.write(content)
                _like(written, own.fileno())
            part.replace(file)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def remove_parts(file: Path) -> None:
    """Removes texts that killed processes were about to write; nobody may write the file meanwhile."""
    for part in file.parent.glob(f"{glob.escape(_part_of(file))}*"):
        with suppress(OSError):
            part.unlink()


def put_back(file: Path, backup: Path) -> None:
    """The file is the one from before, even its time: nobody is to take it for changed. Raises HostError."""
    try:
        backup.replace(file)
    except OSError as error:
        raise unwritten(file, error) from error


def unwritten(file: Path, error: OSError) -> HostError:
    """What to say of it."""
    return HostError(f"{file} cannot be written: {error.strerror}")


def _part_of(file: Path) -> str:
    """How names of texts begin that are about to be written."""
    return f".{file.name}.trimtab-"


def _like(written: BinaryIO, other: int) -> None:
    """What was written is on the disk, and has owner and mode of the other file; raises OSError."""
    was = os.fstat(other)
    if os.geteuid() == 0:
        os.fchown(written.fileno(), was.st_uid, was.st_gid)
    os.fchmod(written.fileno(), stat.S_IMODE(was.st_mode))
    written.flush()
    os.fsync(written.fileno())
