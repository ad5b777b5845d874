"""The workload's files on disk, and the session log that asks for them.

A file set lies in `var/filesets/NAME-HASH/`: `root/` is what the server serves, `sessions-HASH.log` what the
load generator replays, and `complete.json`, written last, says that nothing is missing.  Contents are a
function of path and offset, so a file of the right size is a file that is there: preparation that was
interrupted goes on where it left off, and finished sets are used again by every run with the same workload.

Files are made by a few threads: making contents and writing them both leave the interpreter to others.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from trimtab_tuner.wording import counted
from trimtab_tuner.workloads import Workload
from trimtab_tuner.workloads.content import file_content
from trimtab_tuner.workloads.session_log import write_session_log

from trimtab_agent.errors import FileSetError
from trimtab_agent.station.processes.unprivileged import first_guarded
from trimtab_agent.stopping import Stopped, StopSignal

BLOCK_BYTES = 4096
SPARE_BYTES = 64 << 20  # left free for the database, logs and everybody else
READ_BYTES = 1 << 20
MOST_WRITERS = 4  # beyond, threads wait for each other or for the disk
# Files that one thread writes in one go: many small ones, or few large ones.
BATCH_FILES = 64
BATCH_BYTES = 256 << 10

# Called with the bytes there are, and the bytes there will be.
OnProgress = Callable[[int, int], None]


class FileSet:
    """The files of one workload: `root` is the server's document root, `sessions` the session log.

    With a `site`, the user's own document root, the files are those that lie there: nothing is made or
    written in it.
    """

    def __init__(self, directory: Path, workload: Workload, site: str | None = None) -> None:
        self.files: tuple[tuple[str, int], ...] = tuple(workload.files())
        self.total_bytes = sum(size for _, size in self.files)
        made = _root_of(directory, workload.name, self.files)
        self.root = made if site is None else Path(site)
        self.directory = made.parent
        self._is_own = site is not None
        # Named by its whole text, so that no run ever replays another one's log.
        self._log_text = write_session_log(workload.sessions(), comment=f"{workload.name} session log")
        self.sessions = self.directory / f"sessions-{_digest(self._log_text)}.log"
        self._scripts = workload.scripts()
        self._marker = self.directory / "complete.json"

    def prepare(self, on_progress: OnProgress, stop: StopSignal) -> None:
        """Writes what is not there yet.

        Raises FileSetError when the disk has not enough room or refuses, or the user's own files are not as
        they were, Stopped when asked to stop; what has been written stays.
        """
        try:
            if self._is_own:
                self._prepare_own()
                on_progress(self.total_bytes, self.total_bytes)
                return
            self.root.mkdir(parents=True, exist_ok=True)
            # The marker saves opening a million files, not looking whether they are there.
            absent = self._absent()
            if absent or not self._marker.exists():
                self._marker.unlink(missing_ok=True)
                self._write_files(absent, on_progress, stop)
                _write_whole(
                    self._marker,
                    json.dumps({"files": len(self.files), "bytes": self.total_bytes}).encode(),
                )
            for path, text in self._scripts.items():
                self._place(path).parent.mkdir(parents=True, exist_ok=True)
                _write_whole(self._place(path), text.encode())
            self._write_log()
        except OSError as error:
            raise FileSetError(
                f"the file set {self.directory} cannot be written: {error.strerror} ({error.filename})"
            ) from error
        if self.files:
            on_progress(self.total_bytes, self.total_bytes)

    def _prepare_own(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_log()
        self.require()

    def _write_log(self) -> None:
        if not self.sessions.exists():
            _write_whole(self.sessions, self._log_text.encode())

    @cached_property
    def guarded(self) -> tuple[Path, ...]:
        """A file of the user's own that not everybody may read, or the folder of one; nothing where there is
        none.
        """
        found = first_guarded(self._place(path) for path, _ in self.files) if self._is_own else None
        return () if found is None else (found,)

    def read_into_page_cache(self, stop: StopSignal) -> None:
        """Reads every file once, so that the first trial finds memory as the others do."""
        buffer = bytearray(READ_BYTES)
        for path, _ in self.files:
            if stop.requested:
                raise Stopped
            try:
                with self._place(path).open("rb", buffering=0) as file:
                    while file.readinto(buffer):
                        pass
            except OSError as error:
                raise FileSetError(self.missing_sentence() or str(error)) from error

    def drop_from_page_cache(self, stop: StopSignal) -> None:
        """Puts every file out of memory, as after booting; what is not yet on disk is written there first."""
        os.sync()
        for path, _ in self.files:
            if stop.requested:
                raise Stopped
            try:
                with self._place(path).open("rb", buffering=0) as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            except OSError as error:
                raise FileSetError(self.missing_sentence() or str(error)) from error

    def require(self) -> None:
        """Raises FileSetError if something is missing: then no configuration is to blame."""
        if missing := self.missing_sentence():
            raise FileSetError(missing)

    def missing_sentence(self) -> str:
        """What is missing, in words; empty when everything is there."""
        if not self.root.is_dir():
            return f"the document root {self.root} is gone"
        missing = self._absent()
        if not missing:
            if not self.sessions.exists():
                return f"the session log {self.sessions} is gone"
            return ""
        first = self._place(missing[0][0])
        if self._is_own:
            files = counted(len(missing), "file")
            return f"{files} of your site are not as they were when the run began, the first is {first}"
        if len(missing) == 1:
            return f"the file {first} of the file set is gone"
        return f"{len(missing)} of the {len(self.files)} files of the file set are gone, the first is {first}"

    def _absent(self) -> list[tuple[str, int]]:
        """The files that are not there in their full size."""
        absent = []
        for path, size in self.files:
            try:
                there = self._place(path).stat().st_size == size
            except OSError:
                there = False
            if not there:
                absent.append((path, size))
        return absent

    def _place(self, path: str) -> Path:
        """Where the file of a URL path lies; FileSetError for a path that would lead out of the set."""
        parts = path.split("/")
        if parts[0] != "" or len(parts) < 2 or any(part in ("", ".", "..") for part in parts[1:]):
            raise FileSetError(f"the workload names the file {path!r}: expected a plain path from the root")
        return self.root.joinpath(*parts[1:])

    def _write_files(
        self, absent: Sequence[tuple[str, int]], on_progress: OnProgress, stop: StopSignal
    ) -> None:
        needed = sum(-(-size // BLOCK_BYTES) * BLOCK_BYTES for _, size in absent)
        free = shutil.disk_usage(self.directory).free
        if needed + SPARE_BYTES > free:
            raise FileSetError(
                f"the file set needs {_mb(needed)} MB in {self.directory} and {_mb(SPARE_BYTES)} MB to "
                f"spare, but only {_mb(free)} MB are free; ask for fewer directories (--set directories=N) "
                "or a smaller workload"
            )
        done = self.total_bytes - sum(size for _, size in absent)
        writers = max(1, min(MOST_WRITERS, len(os.sched_getaffinity(0))))
        in_hand: deque[Future[int]] = deque()
        with ThreadPoolExecutor(writers) as pool:
            for batch in _batches(absent):
                if stop.requested:
                    raise Stopped
                if len(in_hand) > writers:
                    done += in_hand.popleft().result()
                    on_progress(done, self.total_bytes)
                in_hand.append(pool.submit(self._write_batch, batch))
            for written in in_hand:
                done += written.result()
                on_progress(done, self.total_bytes)

    def _write_batch(self, batch: Sequence[tuple[str, int]]) -> int:
        """Writes these files; returns their bytes."""
        for path, size in batch:
            file, content = self._place(path), file_content(path, size)
            try:
                file.write_bytes(content)
            except FileNotFoundError:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        return sum(size for _, size in batch)


def document_root(directory: Path, workload: Workload, site: str | None) -> Path:
    """What a server serves for a workload: the user's own `site`, or its files in `directory`."""
    return _root_of(directory, workload.name, tuple(workload.files())) if site is None else Path(site)


def _root_of(directory: Path, name: str, files: tuple[tuple[str, int], ...]) -> Path:
    return directory / f"{name}-{_digest(files)}" / "root"


def _batches(files: Sequence[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    """The files in batches of at most BATCH_FILES, each ending with the file that makes it BATCH_BYTES."""
    batch: list[tuple[str, int]] = []
    size_bytes = 0
    for file in files:
        batch.append(file)
        size_bytes += file[1]
        if len(batch) == BATCH_FILES or size_bytes >= BATCH_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def _write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that it is there whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _digest(content: Any) -> str:  # noqa: ANN401 - anything with a stable repr
    """Eight hexadecimal digits that tell one content from another."""
    return hashlib.sha256(repr(content).encode()).hexdigest()[:8]


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.0f}"
