"""Applies settings under a write-ahead journal, and puts them back.

    apply    read every setting; write "was A, becomes B" of all to the journal in one transaction, and only
             then each B to the kernel; read it back; what the kernel refused, or turned into something else,
             is put back at once; mark the others as applied in one transaction
    drift    reads everything again: what no longer has the value that we gave it was changed by somebody else
    restore  latest first: where it still is B, write A and read it back; strike out in one transaction what
             has its value again

A kill between any two steps loses nothing: the next start finds the line and restores it, whether or not B
had been written. Three cases are struck out without writing: the machine has been booted since (the settings
live in the kernel only; the boot id of /proc/sys/kernel/random/boot_id tells), the device has gone, and the
value is neither A nor B: then somebody else, such as the administrator, has set it since, and it stays.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from trimtab_agent.os_settings.access import SettingAccess, SettingGone, SettingRefused, same_value

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Line(Protocol):
    """A line of the journal: a setting, its value before, what it becomes, and when it had become that."""

    @property
    def id(self) -> int:
        """Later lines have larger ones."""

    @property
    def by_hand(self) -> bool:
        """Whether a person asked for it, who puts it back when the time has come."""

    @property
    def boot_id(self) -> str:
        """In which boot of the machine it was touched; empty where that is not known."""

    @property
    def path(self) -> str:
        """The setting."""

    @property
    def value_before(self) -> str:
        """What the machine had before us."""

    @property
    def value_after(self) -> str:
        """What it gets."""

    @property
    def applied_at(self) -> datetime | None:
        """When it had got that; None for a line that was written and nothing more."""


class Journal(Protocol):
    """Where the lines of this host are kept, so that a kill loses none
    (`trimtab_db.repository.os_changes`).
    """

    def record(
        self, changes: Sequence[tuple[str, str, str]], *, by_hand: bool, boot_id: str = ""
    ) -> tuple[int, ...]:
        """Keeps a line for each path with its value before and after, before it is touched; their ids."""

    def mark_applied(self, change_ids: Collection[int]) -> None:
        """The settings have their new values."""

    def mark_restored(self, change_ids: Collection[int]) -> None:
        """The settings have their old values again."""

    def unrestored(self) -> Sequence[Line]:
        """The lines that have not been put back, latest first."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A setting that shall get a new value; `why` is what is behind it, for people."""

    path: str
    value: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What became of a change. `state`: `applied`, `unchanged` (it had that value), `refused`, `planned`."""

    path: str
    why: str
    before: str | None
    after: str
    state: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What became of a line of the journal, and the value before us.

    `state`: `restored`, `kept` (somebody else has set it since), `gone`, `rebooted` or `failed`.
    """

    path: str
    value: str
    state: str
    reason: str = ""


class SettingsJournal:
    """Settings of this host, changed and put back. Safe to call from one thread at a time."""

    def __init__(self, lines: Journal, access: SettingAccess, boot_id: str | None = None) -> None:
        self._lines = lines
        self.access = access
        self._boot_id = boot_id if boot_id is not None else BOOT_ID.read_text().strip()

    def preview(self, changes: Sequence[Change]) -> tuple[Applied, ...]:
        """What `apply` would touch, without touching anything."""
        return tuple(self._preview(change) for change in changes)

    def apply(
        self,
        changes: Sequence[Change],
        *,
        by_hand: bool,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[Applied, ...]:
        """Applies what can be applied, and says of each what became of it; none is an error.

        What a person asks for is done `by_hand`, and stays until it is put back by hand. `stopped` is asked
        before each change; what follows is left alone then. Raises ValueError when two changes are of the
        same setting.
        """
        if len({change.path for change in changes}) < len(changes):
            raise ValueError("two changes of the same setting: expected one of each")
        outcomes = [self._preview(change) for change in changes]
        planned = [number for number, outcome in enumerate(outcomes) if outcome.state == "planned"]
        lines = self._lines.record(
            [(changes[n].path, outcomes[n].before or "", changes[n].value) for n in planned],
            by_hand=by_hand,
            boot_id=self._boot_id,
        )
        applied, undone = [], []
        for number, line in zip(planned, lines, strict=True):
            if stopped():
                undone.append(line)
                continue
            outcomes[number], has_old_value = self._write(outcomes[number])
            if outcomes[number].state == "applied":
                applied.append(line)
            elif has_old_value:
                undone.append(line)
        self._lines.mark_applied(applied)
        self._lines.mark_restored(undone)
        return tuple(outcome for outcome in outcomes if outcome.state != "planned")

    @contextmanager
    def held(self, changes: Sequence[Change]) -> Iterator[tuple[Applied, ...]]:
        """Applies all of the changes for the time of a trial, and takes just these back, whatever ends it.

        Raises SettingRefused when one of them is refused.
        """
        if not changes:
            yield ()
            return
        mark = max((line.id for line in self.in_force()), default=0)
        try:
            settings = self.apply(changes, by_hand=False)
            for setting in settings:
                if setting.state == "refused":
                    raise SettingRefused(f"{setting.path}: {setting.reason}")
            yield settings
        finally:
            self.restore(down_to=mark)

    def in_force(self) -> Sequence[Line]:
        """The lines that have not been put back, latest first."""
        return self._lines.unrestored()

    def drift(self) -> tuple[str, ...]:
        """A sentence for each setting in the journal that no longer has our value."""
        values: dict[str, str] = {}
        for line in self.in_force():
            if line.applied_at is not None:
                values.setdefault(line.path, line.value_after)  # of a setting the latest line is in force
        return self._moved(values)

    def drift_of(self, settings: Sequence[Applied]) -> tuple[str, ...]:
        """The same for what `apply` has answered, also for settings that had their value and have no line."""
        return self._moved({s.path: s.after for s in settings if s.state in ("applied", "unchanged")})

    def _moved(self, values: Mapping[str, str]) -> tuple[str, ...]:
        sentences = []
        for path, value in values.items():
            try:
                now = self.access.read(path)
            except SettingRefused as error:
                sentences.append(f"{path}: {error}")
                continue
            if not same_value(path, now, value):
                sentences.append(f"{path} was set to {value} and is {now} now")
        return tuple(sentences)

    def restore(self, down_to: int = 0, *, only_left_behind: bool = False) -> tuple[Restored, ...]:
        """Puts back every line whose id is greater than `down_to`, latest first.

        `only_left_behind` are the lines of trials, and those of a command that was killed before it had noted
        the setting as applied; what a person applied stays, and so does what lies beneath it: that is put
        back when the person's is. What cannot be put back stays in the journal, with the reason in the
        answer.
        """
        lines = self.in_force()
        chosen = [line for line in lines if line.id > down_to]
        if only_left_behind:
            kept = {line.path: line.id for line in reversed(lines) if _is_kept(line)}
            chosen = [line for line in chosen if not _is_kept(line) and line.id > kept.get(line.path, 0)]
        ours: dict[str, set[str]] = {}
        for line in lines:
            ours.setdefault(line.path, set()).update((line.value_before, line.value_after))
        outcomes = [(line.id, self._restore(line, ours[line.path])) for line in chosen]
        self._lines.mark_restored([line_id for line_id, outcome in outcomes if outcome.state != "failed"])
        return tuple(outcome for _, outcome in outcomes)

    def _preview(self, change: Change) -> Applied:
        try:
            before = self.access.read(change.path)
        except SettingRefused as error:
            return _outcome(change, None, "refused", str(error))
        return _outcome(
            change, before, "unchanged" if same_value(change.path, before, change.value) else "planned"
        )

    def _write(self, planned: Applied) -> tuple[Applied, bool]:
        """Writes one value; what became of it, and whether the setting has its old value (again)."""
        before = planned.before or ""
        try:
            self.access.write(planned.path, planned.after)
            now = self.access.read(planned.path)
            if not same_value(planned.path, now, planned.after):
                raise SettingRefused(f"the kernel made {now} of it")
        except SettingRefused as error:
            reason, back = str(error), self._put_back(planned.path, before)
            if back is not None:
                reason = f"{reason}; and it could not be put back: {back}"
            return replace(planned, state="refused", reason=reason), back is None
        return replace(planned, state="applied"), False

    def _put_back(self, path: str, value: str) -> SettingRefused | None:
        """Writes the old value unless the setting has it; the refusal if that fails."""
        try:
            if not same_value(path, self.access.read(path), value):
                self.access.write(path, value)
                now = self.access.read(path)
                if not same_value(path, now, value):
                    return SettingRefused(f"it is {now} after {value} was written")
        except SettingRefused as error:
            return error
        return None

    def _set_since(self, path: str, ours: Collection[str]) -> str | None:
        """The value that somebody else has given the setting since; None if it is one of the journal's."""
        try:
            now = self.access.read(path)
        except SettingRefused:
            return None
        return None if any(same_value(path, now, value) for value in ours) else now

    def _restore(self, line: Line, ours: Collection[str]) -> Restored:
        def became(state: str, reason: str = "") -> Restored:
            return Restored(path=line.path, value=line.value_before, state=state, reason=reason)

        if line.boot_id and line.boot_id != self._boot_id:
            return became("rebooted", "the machine has been booted since")
        if (theirs := self._set_since(line.path, ours)) is not None:
            return became("kept", f"somebody else has set it to {theirs} since")
        failure = self._put_back(line.path, line.value_before)
        if failure is None or isinstance(failure, SettingGone):
            return became("restored") if failure is None else became("gone", str(failure))
        return became("failed", str(failure))


def _is_kept(line: Line) -> bool:
    """Whether a line is a person's, who restores it when the time has come."""
    return line.by_hand and line.applied_at is not None


def _outcome(change: Change, before: str | None, state: str, reason: str = "") -> Applied:
    return Applied(
        path=change.path, why=change.why, before=before, after=change.value, state=state, reason=reason
    )
