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

USER = "nobody"


def command_prefix(reads: Iterable[Path]) -> tuple[str, ...]:
    """What goes before a server's command so that it runs without privileges and can read these paths."""
    if os.geteuid() != 0:
        return ()
    user = pwd.getpwnam(USER)
    prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if all(open_to_everyone(path) for path in reads):
        prefix.append("--inh-caps=-all")
    else:
        prefix += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    return (*prefix, "--no-new-privs", "--")


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
