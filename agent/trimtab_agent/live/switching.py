"""Values that a running server takes at its stats socket for a while, and the way back.

    python -m trimtab_agent.live.switching NOTE

runs their keeper (keeping.py), whose lines are JSON objects of values by knob. A value that an administrator
has set meanwhile stays, and ends it all.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from trimtab_trials.configuration import Configuration

from trimtab_agent.errors import HostError
from trimtab_agent.live.keeping import Keeper, Kept, keep, note_of, put_back_by_notes
from trimtab_agent.live.restoring import Process
from trimtab_agent.os_settings.journal import BOOT_ID
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError

ANSWER_S = 5.0
SUFFIX = ".switch.json"


@dataclass(frozen=True, kw_only=True)
class SwitchedValues(Kept[Mapping[str, str]]):
    """Who takes values where, what was production's `own`, and what may be in force in its place (`ours`, the
    two latest). Values are texts, by knob.
    """

    stats_socket: str
    own: Mapping[str, str]
    ours: Mapping[str, tuple[str, ...]]

    @staticmethod
    def understood(line: str) -> Mapping[str, str]:
        """The values of a line."""
        values: dict[str, str] = json.loads(line)
        return values

    def with_next(self, what: Mapping[str, str]) -> Self:
        """What may be in force when these values are about to be set."""
        return replace(self, ours={knob: (*self.ours[knob][-1:], value) for knob, value in what.items()})

    def put(self, what: Mapping[str, str]) -> str:
        """Sets values, or says in a sentence what is in the way."""
        try:
            with StatsSocket(Path(self.stats_socket)) as stats:
                in_force = stats.ask("show config")
                for knob in what:
                    if str(in_force[knob]) not in (self.own[knob], *self.ours[knob]):
                        return f"{knob} = {in_force[knob]} has been set by somebody else meanwhile, and stays"
                for knob, value in what.items():
                    stats.ask(f"set {knob} {value}")
        except StatsSocketError as error:
            return str(error)
        return ""

    def put_back(self) -> list[str]:
        """Sets production's own values where ours are in force; sentences about what could not be.

        A server that has ended, or started anew, has its file's.
        """
        if not self.same_start:
            return []
        try:
            with StatsSocket(Path(self.stats_socket)) as stats:
                in_force = stats.ask("show config")
                for knob, value in self.own.items():
                    if str(in_force[knob]) in self.ours[knob]:
                        stats.ask(f"set {knob} {value}")
        except StatsSocketError as error:
            return [str(error)] if self.production.lives() else []
        return []


class Switch(Keeper):
    """Values of one server that change while it runs; its own again when this is closed.

    `own` are the values that it has, `notes` is a directory. Raises HostError where the server has gone, and
    where another Trimtab sets its values.
    """

    def __init__(self, pid: int, stats_socket: Path, own: Configuration, notes: Path) -> None:
        note = note_of(notes, pid, SUFFIX)
        try:
            switched = SwitchedValues(
                agent=Process.of(os.getpid()),
                production=Process.of(pid),
                boot_id=BOOT_ID.read_text().strip(),
                stats_socket=str(stats_socket),
                own={knob: str(value) for knob, value in own.items()},
                ours=dict.fromkeys(own, ()),
            )
        except OSError as error:
            raise HostError(f"process {pid} has ended") from error
        for other in filter(None, map(SwitchedValues.read, notes.glob(f"*{SUFFIX}"))):
            if other.production == switched.production and (holder := other.holder) is not None:
                raise HostError(f"process {holder.pid} sets values of process {pid} already")
        try:
            switched.write(note)
        except OSError as error:
            raise HostError(f"{note} cannot be written: {error.strerror}") from error
        super().__init__("trimtab_agent.live.switching", note, SwitchedValues, "values", ANSWER_S)

    def put(self, values: Configuration) -> None:
        """These values, of the same knobs, are in force when it returns; raises HostError where not."""
        self.ask(json.dumps({knob: str(value) for knob, value in values.items()}))


def put_values_back(notes: Path) -> list[str]:
    """Puts back what killed keepers of agents that have gone have left; sentences about what resists."""
    return put_back_by_notes(notes, SUFFIX, SwitchedValues)


if __name__ == "__main__":
    keep(SwitchedValues)
