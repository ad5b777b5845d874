"""A workload learnt from an access log: the files that were asked for, and a sample of the log's own
sessions.

The sessions are not drawn from fitted distributions but are a random sample of those in the log, with their
files, their order and their pauses. So popularity, lengths, pages and pauses are the log's, and so is
whatever connects them: people who read long pages, crawlers that read everything. `learning.py` makes the
model.

The model is a JSON document, kept compressed beside the definition, named by the first 16 hexadecimal digits
of its SHA-256:

    {"version": 1,
     "files": [[path, size_bytes, requests], …],             in the order of first request
     "sessions": [[[file, pause_s, begins_burst], …], …],    `file` counts in `files`
     "facts": {…}}                                           learning.Facts
"""

import gzip
import hashlib
import json
import math
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.workloads.session_log import Request, Session

VERSION = 1


class ModelError(ValueError):
    """A model that cannot be used; the message says why."""


class Learnt(Frozen):
    """The `[learnt]` table of a definition: which model, and what its file set comes to."""

    model: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    files: Annotated[int, Field(ge=1)]
    file_set_bytes: Annotated[int, Field(ge=0)]


def pack(model: dict[str, Any]) -> tuple[str, bytes]:
    """Name and compressed bytes of a model; the same model has the same name."""
    text = json.dumps(model, separators=(",", ":")).encode()
    return hashlib.sha256(text).hexdigest()[:16], gzip.compress(text, compresslevel=6, mtime=0)


def unpack(name: str, packed: bytes) -> dict[str, Any]:
    """The model of that name; raises ModelError if the bytes are not it."""
    try:
        text = gzip.decompress(packed)
    except (OSError, EOFError) as error:
        raise ModelError(f"the model {name} is damaged: {error}") from error
    if hashlib.sha256(text).hexdigest()[:16] != name:
        raise ModelError(f"the model {name} is damaged: its contents are not those of its name")
    model: dict[str, Any] = json.loads(text)
    if model.get("version") != VERSION:
        raise ModelError(f"the model {name} has version {model.get('version')}: expected {VERSION}")
    return model


class LearntWorkload:
    """The workload of a model. Pauses are multiplied by `time_scale`; time limits must be scaled alike."""

    def __init__(self, name: str, model: dict[str, Any], time_scale: float = 1.0) -> None:
        if not (time_scale > 0 and math.isfinite(time_scale)):
            raise ValueError(f"time_scale = {time_scale}: expected a number above 0")
        self.name = name
        self.facts: dict[str, Any] = model["facts"]
        self._files = [(str(path), int(size)) for path, size, _ in model["files"]]
        self._sessions = model["sessions"]
        self._time_scale = time_scale
        self.default_sessions = len(self._sessions)

    def files(self) -> Iterator[tuple[str, int]]:
        """URL path and size in bytes of every file that the log asked for with success."""
        return iter(self._files)

    def total_bytes(self) -> int:
        """Size of the whole file set."""
        return sum(size for _, size in self._files)

    def scripts(self) -> dict[str, str]:
        """None: requests with a query are counted when a log is learnt, and left out."""
        return {}

    def data(self) -> str:
        """None: it asks for files."""
        return ""

    def sessions(self, count: int | None = None) -> list[Session]:
        """The first `count` sessions of the sample, from its start again if there are fewer."""
        count = self.default_sessions if count is None else count
        return [self._session(self._sessions[number % self.default_sessions]) for number in range(count)]

    def _session(self, requests: list[tuple[int, float, bool]]) -> Session:
        return tuple(
            Request(*self._files[file], think_s=pause_s * self._time_scale, begins_burst=bool(begins))
            for file, pause_s, begins in requests
        )
