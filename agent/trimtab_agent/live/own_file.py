"""Production's own file: written as a whole or not at all, with owner, mode and line ends as they are."""

import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

from trimtab_agent.base_file import encoding_of
from trimtab_agent.errors import HostError


def text_of(file: Path) -> str:
    """What is in it now; raises HostError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise HostError(f"{file} cannot be read: {error.strerror}") from error
    return content.decode(encoding_of(content))


def kept_beside(file: Path) -> Path:
    """A copy of it under a name that says what it is; raises OSError."""
    stamp = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    backup = file.with_name(f"{file.name}.before-trimtab-{stamp}")
    try:
        shutil.copy2(file, backup)
        _owned_like(backup, file)
    except BaseException:
        backup.unlink(missing_ok=True)  # a part of the file would be taken for what it was
        raise
    return backup


def write(file: Path, text: str) -> None:
    """The file has that text, at no moment a part of it; raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as written:
            written.write(text.encode(encoding_of(file.read_bytes())))
            written.flush()
            os.fsync(written.fileno())
        shutil.copymode(file, part)
        _owned_like(part, file)
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def put_back(file: Path, backup: Path) -> None:
    """The file is the one from before, even its time: nobody is to take it for changed. Raises HostError."""
    try:
        backup.replace(file)
    except OSError as error:
        raise unwritten(file, error) from error


def unwritten(file: Path, error: OSError) -> HostError:
    """What to say of it."""
    return HostError(f"{file} cannot be written: {error.strerror}")


def _owned_like(path: Path, other: Path) -> None:
    owner = other.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid)
