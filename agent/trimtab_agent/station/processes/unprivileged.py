"""Under which user the servers of Debian's packages run.

Started by an ordinary user, they run as that user.  Started by root, they run as `nobody`: Apache does not
serve as root, and the others would change the user themselves, each in its own way.  Files that lie where
`nobody` may not look (a checkout in root's home) are then read with CAP_DAC_READ_SEARCH, capabilities(7),
which lets a process read and search everything and write nothing.
"""

import os
import pwd
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from trimtab_agent.errors import HostError

USER = "nobody"
CAP_DAC_READ_SEARCH = 2  # linux/capability.h


def command_prefix(reads: Iterable[Path]) -> tuple[str, ...]:
    """What goes before a server's command so that it runs without privileges and can read these paths.

    Raises HostError where it cannot be let in: root in a container has no right to read everything to give.
    """
    if os.geteuid() != 0:
        return ()
    user = pwd.getpwnam(USER)
    prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    closed = next((path for path in reads if not open_to_everyone(path)), None)
    if closed is None:
        prefix.append("--inh-caps=-all")
    elif not may_read_everything():
        raise HostError(
            f"{closed}: the server runs as {USER}, who may not read that, and root here may not let it "
            "(CAP_DAC_READ_SEARCH is missing, as in a container); expected a folder that every user may enter"
        )
    else:
        prefix += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    return (*prefix, "--no-new-privs", "--")


def may_read_everything() -> bool:
    """Whether this process has CAP_DAC_READ_SEARCH, and so can give it, proc_pid_status(5)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    permitted = next(line.split()[1] for line in lines if line.startswith("CapPrm:"))
    return bool(int(permitted, 16) >> CAP_DAC_READ_SEARCH & 1)


def open_to_everyone(path: Path) -> bool:
    """Whether every user may read the file or directory, and enter all directories above it."""
    resolved = path.resolve()
    wanted = stat.S_IROTH | (stat.S_IXOTH if resolved.is_dir() else 0)
    return resolved.stat().st_mode & wanted == wanted and all(
        parent.stat().st_mode & stat.S_IXOTH for parent in resolved.parents
    )


def first_guarded(files: Iterable[Path]) -> Path | None:
    """The first of the files that not every user may read, or the folder of it; None without one."""
    entered: set[Path] = set()
    for file in files:
        if not file.is_file():  # whoever needs it says so
            continue
        if not file.stat().st_mode & stat.S_IROTH:
            return file
        if file.parent not in entered and not open_to_everyone(file.parent):
            return file.parent
        entered.add(file.parent)
    return None


def hand_over(path: Path) -> None:
    """Makes the user under whom servers run the owner of a file or directory."""
    if os.geteuid() == 0:
        shutil.chown(path, USER)
