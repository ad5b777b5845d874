"""Lets the server that an exported file is for check it, as far as that is installed here.

A server that checks a file opens what the file names: nginx makes its log, its pid file and its directories
for temporary files, in the folder of the exports. Those are taken away again, whatever the check says. What
the check has in place of the user's own, which may not be read or is not known here, is said below its
output.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trimtab_tuner.exports import Check
from trimtab_tuner.targets import TARGETS

from trimtab_agent.errors import TrimtabError
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.made_keys import with_made_keys
from trimtab_agent.station.server.unresolved import Names, with_resolvable

CHECK_LIMIT_S = 20.0
IN_THE_CHECK = "In the check alone: "
NOT_CHECKED = "not checked: "


def check_file(check: Check | None, file: Path, httpd: Path) -> tuple[str, bool, str]:
    """Lets its server check an exported file: the command, whether it accepts, what it said.

    A file that no program checks is accepted with an empty command; one whose server is not installed here is
    not accepted, and its sentence begins with NOT_CHECKED.  A text that is checked in place of the file lies
    beside it meanwhile: what a killed run leaves of that, its next export overwrites and takes away.
    """
    if check is None:
        return "", True, ""
    program = httpd if check.program == httpd.name else find_installed(check.program)
    text_file = file if check.text is None else file.with_name(f".check-{file.name}")
    command = check.command(str(text_file), None if program is None else str(program))
    if program is None:
        return " ".join(command), False, f"{NOT_CHECKED}{check.program} is not installed here"
    try:
        with _left_as_it_is(file.parent):
            said: tuple[str, ...] = ()
            if check.text is not None:
                text, said = _checkable(check.program, check.text, file.parent / ".check-keys")
                text_file.write_text(text)
            done = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return " ".join(command), False, f"{NOT_CHECKED}{error}"
    except TrimtabError as error:
        return " ".join(command), False, f"{NOT_CHECKED}{error.sentence}"
    finally:
        if check.text is not None:
            text_file.unlink(missing_ok=True)
    output = (done.stderr + done.stdout).strip()
    lines = (*((output,) if output else ()), *(f"{IN_THE_CHECK}{each}" for each in said))
    return " ".join(command), done.returncode == 0, "\n".join(lines)


def _checkable(program: str, text: str, keys: Path) -> tuple[str, tuple[str, ...]]:
    """A private instance of the user's file as its server can check it here, and what in it is another's.

    `keys` is where keys are made. Raises HostError, BinaryMissing.
    """
    target = next((each for each in TARGETS.values() if each.program == program), None)
    if target is None:
        return text, ()
    changed = with_made_keys(target, with_resolvable(target, text, Names()), keys)
    lines = changed.splitlines()  # the comments come first, and nothing else adds a line
    said = lines[: len(lines) - len(text.splitlines())]
    return changed, tuple(line.removeprefix("# ") for line in said)


@contextmanager
def _left_as_it_is(directory: Path) -> Iterator[None]:
    """Takes away what appears in the directory meanwhile; what was there before stays."""
    before = set(directory.rglob("*"))
    try:
        yield
    finally:
        for path in sorted(set(directory.rglob("*")) - before, reverse=True):  # contents before directories
            with suppress(OSError):  # a user's server that runs from there may have put something in
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
