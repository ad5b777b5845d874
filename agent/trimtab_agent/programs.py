"""Where the programs are that the agent starts, and what to say when one is not there."""

import shutil
from pathlib import Path

from trimtab_agent.errors import BinaryMissing


def require_built(path: Path) -> Path:
    """`path`, if a program is there; raises BinaryMissing naming the goal that builds it."""
    if not path.is_file():
        raise BinaryMissing(f"{path.name} was expected at {path}; `make build` builds it")
    return path


def find_installed(name: str) -> Path | None:
    """A program of the system, such as nginx, in PATH or /usr/sbin; None if it is not there."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    return Path(found) if found else None
