"""Files that only root may read, certificates' keys above all, for a server that runs without privileges.

It reads copies in its own directory, which go when it ends. Nothing else of root's can be read by it.
"""

import os
import shutil
from pathlib import Path

from trimtab_tuner.targets import tls
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.editing import apply

from trimtab_agent.errors import HostError
from trimtab_agent.station.processes.unprivileged import hand_over, open_to_everyone
from trimtab_agent.station.server.certificates import KeyKind, make_pair
from trimtab_agent.station.server.made_keys import with_made_keys


def with_readable(target: Target, text: str, directory: Path, made: Path) -> str:
    """The server's file with copies named in place of what only root may read, and a comment for each.

    Started by an ordinary user there is nothing to copy: in place of keys that the user may not read it names
    made ones, which are kept in `made`; the server refuses what else it may not read. What the file names as
    made for sites without a certificate (`tls.made_file`) is put there. Raises HostError where a copy or a
    key cannot be made, BinaryMissing.
    """
    readable = (
        _with_copies(target, text, directory) if os.geteuid() == 0 else with_made_keys(target, text, made)
    )
    place = Path(tls.made_file(str(directory)))
    if any(named.value == str(place) for named in target.reads(text)):
        kept = made / place.name
        make_pair(kept, KeyKind())
        _copied(kept, place)
    return readable


def _with_copies(target: Target, text: str, directory: Path) -> str:
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
        _copied(Path(name), copy)
    return said + apply(text, edits)


def _copied(file: Path, copy: Path) -> None:
    """Copies a file for the server to read, and nobody else; raises HostError."""
    try:
        copy.touch(mode=0o600)
        shutil.copyfile(file, copy)
        hand_over(copy)
    except OSError as error:
        raise HostError(f"{file} cannot be copied for the server to read: {error.strerror}") from error
