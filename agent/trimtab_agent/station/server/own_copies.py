"""Files that only root may read, certificates' keys above all, for a server that runs without privileges.

It reads copies in its own directory, which go when it ends. Nothing else of root's can be read by it.
"""

import os
import shutil
from pathlib import Path

from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.editing import apply

from trimtab_agent.errors import HostError
from trimtab_agent.station.processes.unprivileged import hand_over, open_to_everyone
from trimtab_agent.station.server.made_keys import with_made_keys


def with_readable(target: Target, text: str, directory: Path, made: Path) -> str:
    """The server's file with copies named in place of what only root may read, and a comment for each.

    Started by an ordinary user there is nothing to copy: in place of keys that the user may not read it names
    made ones, which are kept in `made`; the server refuses what else it may not read. Raises HostError where
    a copy or a key cannot be made, BinaryMissing.
    """
    if os.geteuid() != 0:
        return with_made_keys(target, text, made)
    copies: dict[str, Path] = {}
    edits, said = [], ""
    for named in target.reads(text):
        path = Path(named.value)
        if not path.is_file() or open_to_everyone(path):
            continue
        copy = copies.setdefault(named.value, directory / f"read-{len(copies) + 1}")
        edits.append((named.start, named.end, str(copy)))
        said += f"# {named.name} {named.value} from its copy {copy}\n"
    for name, copy in copies.items():
        try:
            copy.touch(mode=0o600)
            shutil.copyfile(name, copy)
            hand_over(copy)
        except OSError as error:
            raise HostError(f"{name} cannot be copied for the server to read: {error.strerror}") from error
    return said + apply(text, edits)
