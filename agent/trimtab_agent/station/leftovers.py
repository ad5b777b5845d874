"""What a station has made in the operating system and must take away again: control groups, network
namespaces.

DESIGN.  A line goes to the journal `var/leftovers.json` before the thing is made, and is struck out when the
thing is gone.  So a kill at any moment leaves a journal that names everything there may be, and `clear`, at
the next start, takes it away.  Whoever clears holds the machine's lock: nothing then belongs to a run that
goes on.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple


class Leftover(NamedTuple):
    """One thing; `kind` says who can take it away, `name` which one it is."""

    kind: str
    name: str


class Leftovers:
    """The journal; safe to use from one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self) -> list[Leftover]:
        """What is in the journal, oldest first; nothing if it is not there or cannot be understood."""
        try:
            lines = json.loads(self._path.read_text())
            return [Leftover(str(kind), str(name)) for kind, name in lines]
        except (OSError, ValueError, TypeError):
            return []

    def remember(self, kind: str, name: str) -> None:
        """To be called before the thing is made; raises OSError."""
        self._write([*self.entries(), Leftover(kind, name)])

    def forget(self, kind: str, name: str) -> None:
        """To be called when the thing is gone; raises OSError."""
        self._write([entry for entry in self.entries() if entry != Leftover(kind, name)])

    def clear(self, removers: Mapping[str, Callable[[str], None]]) -> list[str]:
        """Takes away, latest first, all that there is; returns a sentence for everything that resists.

        `removers` take the name of a thing of their kind, do nothing if it is gone, and raise OSError.
        """
        complaints = []
        for entry in reversed(self.entries()):
            remove = removers.get(entry.kind)
            try:
                if remove is not None:
                    remove(entry.name)
                self.forget(*entry)
            except OSError as error:
                complaints.append(f"the {entry.kind} {entry.name} of an earlier job stays: {error.strerror}")
        return complaints

    def _write(self, entries: list[Leftover]) -> None:
        if not entries:
            self._path.unlink(missing_ok=True)
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(self._path.name + ".part")
        with part.open("w") as file:
            json.dump(entries, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._path)
