"""Where the programs are that the agent starts, which version, and what to say when one is not there."""

import re
import shutil
import subprocess
from pathlib import Path

from trimtab_tuner.targets.base import Target

from trimtab_agent.errors import BinaryMissing

SYSTEM_PROGRAMS = Path("/usr/sbin")


def server_program(target: Target, httpd: Path) -> Path:
    """The program of a target: `httpd` is ours, the others are installed; raises BinaryMissing."""
    return require_built(httpd) if target.package is None else installed_program(target)


def installed_program(target: Target) -> Path:
    """The program of a target that comes with the system; raises BinaryMissing."""
    found = find_installed(target.program)
    if found is None:
        raise BinaryMissing(
            f"{target.program} is not installed here; `apt-get install --no-install-recommends "
            f"{target.package}` installs it"
        )
    return found


def version_of(target: Target, program: Path) -> str:
    """The version that the target's program says it has, such as 1.22.1; "unknown" if it says none.

    Raises BinaryMissing if it does not run.
    """
    command = target.version_command(str(program))
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BinaryMissing(f"{program} does not say its version: {error}") from error
    found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)  # nginx says it on standard error
    return found[0] if found else "unknown"


def require_built(path: Path) -> Path:
    """`path`, if a program is there; raises BinaryMissing naming the goal that builds it."""
    if not path.is_file():
        raise BinaryMissing(f"{path.name} was expected at {path}; `make build` builds it")
    return path


def find_installed(name: str) -> Path | None:
    """A program of the system, such as nginx, in PATH or /usr/sbin; None if it is not there.

    One that carries its version in its name, as Debian's php-fpm8.2 does, is taken in the newest.
    """
    found = shutil.which(name) or shutil.which(name, path=str(SYSTEM_PROGRAMS))
    if found:
        return Path(found)
    versions = {
        tuple(map(int, version[1].split("."))): program
        for program in SYSTEM_PROGRAMS.glob(f"{name}[0-9]*")
        if (version := re.fullmatch(rf"{re.escape(name)}(\d+(?:\.\d+)*)", program.name))
    }
    return versions[max(versions)] if versions else None
