"""What the database has refused of a run: kept in memory, tried again, and at last left on disk beside it.

A trial takes minutes, and whoever locks the database or fills its disk needs seconds for that. So a trial
that is refused waits while the database is asked again; before the run gives up it is written as JSON to
`var/unwritten/`, and so is how the run ended. Whoever goes on with the run takes that in first.

On a disk that is full there would be no room for it. So a run sets some aside at its beginning (`room`), and
gives it back when it is needed.
"""

import logging
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from trimtab_db import Repository, records
from trimtab_db.errors import PASSING_FAULTS, RecordNotFoundError
from trimtab_db.records import RunState
from trimtab_trials.trial import Trial
from trimtab_tuner.wording import counted

from trimtab_agent.errors import HostError

log = logging.getLogger(__name__)

PATIENCE_S = 60.0
PAUSE_S = 1.0
ROOM_BYTES = 4 << 20  # a trial of eight rates is some 100 KiB
END = re.compile(r"run-(\d+)-end\.json")

Document = TypeVar("Document", bound="_Document")


class _Document(BaseModel):
    """What is left on disk; the time tells its run from one of the same number in another database."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_created_at: datetime


class _KeptTrial(_Document):
    trial: Trial


class _KeptEnd(_Document):
    state: RunState
    error: str


class Unwritten:
    """The trials of one run that wait to be written by `write`; all calls come from the run's thread.

    `tell` is told in a sentence that the database refuses them.
    """

    def __init__(
        self, run: records.Run, folder: Path, write: Callable[[Trial], None], tell: Callable[[str], None]
    ) -> None:
        self._run = run
        self._folder = folder
        self._write = write
        self._tell = tell
        self._waiting: list[Trial] = []

    def set_room_aside(self) -> None:
        """Takes the room on the disk that a refused trial would need, for a stretch of the run that begins.

        Raises HostError.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _end_path(self._folder, self._run.id).unlink(missing_ok=True)  # of a stretch before
            with self._room.open("wb") as room:
                os.posix_fallocate(room.fileno(), 0, ROOM_BYTES)
        except OSError as error:
            raise HostError(
                f"{self._room}: {ROOM_BYTES >> 20} MiB could not be set aside for trials that the database "
                f"refuses: {error.strerror}"
            ) from error

    def give_room_back(self) -> None:
        """The run has ended, or needs the room."""
        with suppress(OSError):  # it was never taken
            self._room.unlink()

    def record(self, trial: Trial, wait: Callable[[float], bool]) -> None:
        """Writes a trial, and before it those that wait; one that is refused waits.

        Tries again for up to `PATIENCE_S`; `wait` waits for so many seconds, and returns whether the run is
        to end. Raises the DatabaseError with which the database has refused it last.
        """
        self._waiting.append(trial)
        deadline = time.monotonic() + PATIENCE_S
        told = False
        while True:
            try:
                self._write_waiting()
            except PASSING_FAULTS as error:
                if not told:
                    told = True
                    self._tell(f"Trial {trial.number} could not be written, is kept and tried again: {error}")
                if time.monotonic() >= deadline or wait(PAUSE_S):
                    raise
            else:
                return

    def keep(self) -> str:
        """Leaves on disk what the database refuses to the end; what to tell of it, "" if there is nothing.

        Never raises: what cannot be written there either goes to the log, with the reason.
        """
        if not self._waiting:
            return ""
        try:
            self._write_waiting()
        except Exception as error:
            log.warning("run %d: the database refuses its trials to the end: %s", self._run.id, error)
        kept: list[str] = []
        lost: list[str] = []
        for trial in self._waiting:
            document = _KeptTrial(run_created_at=self._run.created_at, trial=trial)
            path = self._folder / f"run-{self._run.id}-trial-{trial.number}.json"
            (kept if self._leave(path, document) else lost).append(str(trial.number))
        self._waiting = []
        sentences = []
        if kept:
            sentences.append(
                f"The database refused {counted(len(kept), 'trial')} (number {', '.join(kept)}): kept in "
                f"{self._folder}, and taken in when the run is resumed or one of its trials is repeated."
            )
        if lost:
            sentences.append(f"Trial {', '.join(lost)} could be written nowhere and is lost.")
        return " ".join(sentences)

    def keep_end(self, state: RunState, error: str) -> None:
        """Leaves on disk how the run ended, which the database refuses; never raises."""
        document = _KeptEnd(run_created_at=self._run.created_at, state=state, error=error)
        self._leave(_end_path(self._folder, self._run.id), document)

    @property
    def _room(self) -> Path:
        return self._folder / "room"

    def _write_waiting(self) -> None:
        """Writes what waits, in its order; raises the first error when it has tried them all."""
        refused, errors = [], []
        for trial in self._waiting:
            try:
                self._write(trial)
            except Exception as error:
                refused.append(trial)
                errors.append(error)
        self._waiting = refused
        if errors:
            raise errors[0]

    def _leave(self, path: Path, document: _Document) -> bool:
        """Writes a file for nobody else's eyes, into the room if need be; whether that went well."""
        text = document.model_dump_json().encode()
        try:
            try:
                _write_durably(path, text)
            except OSError:
                self.give_room_back()
                _write_durably(path, text)
        except OSError:
            log.exception("run %d: %s could not be written", self._run.id, path)
            return False
        return True


def take_in(repository: Repository, run: records.Run, folder: Path) -> tuple[int, ...]:
    """Records the trials that an earlier stretch of the run had to leave on disk; their numbers.

    Each file goes when its trial is recorded. Raises DatabaseError, and HostError for a file that holds none.
    """
    taken = []
    recorded = {trial.number: trial for trial in repository.trials(run.id)}
    for path in sorted(folder.glob(f"run-{run.id}-trial-*.json")):
        document = _read(path, _KeptTrial, run)
        if document is None:
            continue
        trial = document.trial
        same = recorded.get(trial.number)
        # A kill may have come between the record and this.
        if same is None or same.started_at != trial.started_at:
            repository.record_trial(trial)
            taken.append(trial.number)
        path.unlink()
    return tuple(taken)


def take_ends_in(repository: Repository, folder: Path) -> tuple[int, ...]:
    """Records how runs ended that could not do it themselves, and seem to go on; their numbers.

    A file that holds no end goes to the log. Raises DatabaseError.
    """
    taken = []
    names = [found for path in sorted(folder.glob("*")) if (found := END.fullmatch(path.name))]
    for name in names:
        path = folder / name[0]
        try:
            run = repository.run(int(name[1]))
            end = _read(path, _KeptEnd, run) if run.state is RunState.RUNNING else None
        except (HostError, RecordNotFoundError) as error:
            log.warning("%s: %s", path, error)
            continue
        if end is not None:
            repository.set_run_state(run.id, end.state, error=end.error)
            path.unlink()
            taken.append(run.id)
    return tuple(taken)


def _end_path(folder: Path, run_id: int) -> Path:
    return folder / f"run-{run_id}-end.json"


def _read(path: Path, kind: type[Document], run: records.Run) -> Document | None:
    """What the file holds; None if it belongs to the run of that number in another database."""
    try:
        document = kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise HostError(
            f"{path}: expected what run {run.id} has left there for the database, found something else; "
            "mend or remove it"
        ) from error
    if document.run_created_at != run.created_at:
        log.warning("%s belongs to a run %d of another database, and is left alone", path, run.id)
        return None
    return document


def _write_durably(path: Path, text: bytes) -> None:
    """Makes the file of mode 0600, whole or not at all, also if the machine goes down; raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
        with unfinished.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
