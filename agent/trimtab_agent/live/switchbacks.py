"""Carries out a switchback: production itself has the candidate's values in some blocks, its own in others.

For limits on all of the traffic, which an arm with a share of it would never meet: the server's stats socket
takes the values (switching.py), and no file is touched. And for servers beside which there can be no arms:
its file has the values, and a reload takes them up (file_switching.py). Everything that ends it puts back
what was.
"""

from collections import deque
from collections.abc import Callable, Collection
from enum import StrEnum
from pathlib import Path
from typing import Protocol, Self

from trimtab_trials.configuration import Configuration
from trimtab_tuner.live.episode import Action, Decision, Rules
from trimtab_tuner.live.guards import Guard, breached
from trimtab_tuner.live.observed import Observed, observed_together
from trimtab_tuner.live.proposals import Proposal
from trimtab_tuner.live.switchback import (
    BY_SETTING,
    SHARE,
    Block,
    Lengths,
    Side,
    Switchback,
    by_reloads,
)

from trimtab_agent.base_file import BaseFile
from trimtab_agent.errors import HostError
from trimtab_agent.live.arms import changed_file
from trimtab_agent.live.episodes import (
    GUARD_PERIODS,
    Change,
    EpisodeEnd,
    Over,
    Tick,
    changes_of,
    finite,
    never_over,
    shown,
    summary,
)
from trimtab_agent.live.file_switching import FileSwitch
from trimtab_agent.live.production import stats_socket_of
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.switching import Switch


def takes_turns(server: RunningServer, knobs: Collection[str]) -> bool:
    """Whether a change of these knobs is tried by turns: all are limits that the running server takes."""
    beside = server.target.beside
    of_all_traffic = frozenset() if beside is None else beside.of_all_traffic
    return set(knobs) <= of_all_traffic and stats_socket_of(server) is not None


class Way(StrEnum):
    """How a candidate is tried."""

    ARMS = "arms"
    SETTING = "setting"
    RELOADS = "reloads"

    @property
    def in_words(self) -> str:
        """Behind what is tried."""
        return {Way.ARMS: "", Way.SETTING: ", by turns", Way.RELOADS: ", by turns, with a reload each"}[self]


class Turns(Protocol):
    """What puts the values of one side or the other into force, and back to production's own at the end."""

    lengths: Lengths

    def __enter__(self) -> Self:
        """Nothing is changed yet."""
        ...

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        ...

    def put(self, side: Side) -> None:
        """That side's values are in force; raises HostError."""
        ...

    def close(self) -> list[str]:
        """Production's own are in force; sentences about what could not be put back."""
        ...


class ValueTurns:
    """By the stats socket; `incumbent` and `candidate` are the values that differ. Raises HostError."""

    lengths = BY_SETTING

    def __init__(
        self, server: RunningServer, incumbent: Configuration, candidate: Configuration, notes: Path
    ) -> None:
        stats_socket = stats_socket_of(server)
        if stats_socket is None:
            raise HostError(
                f"{server.file} names no stats_socket: expected one, to set {', '.join(candidate)} at"
            )
        self._sides = {Side.INCUMBENT: incumbent, Side.CANDIDATE: candidate}
        self._switch = Switch(server.pid, stats_socket, incumbent, notes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, side: Side) -> None:
        """See Turns."""
        self._switch.put(self._sides[side])

    def close(self) -> list[str]:
        """See Turns."""
        return self._switch.close()


class FileTurns:
    """By the file and a reload, of which there may be so many an hour; `written` is told of each.

    Raises HostError.
    """

    def __init__(
        self,
        server: RunningServer,
        base: BaseFile,
        candidate: str,
        notes: Path,
        *,
        reloads_an_hour: int,
        written: Callable[[], None],
    ) -> None:
        self.lengths = by_reloads(reloads_an_hour)
        self._texts = {Side.INCUMBENT: base.text, Side.CANDIDATE: candidate}
        self._in_force, self._written = Side.INCUMBENT, written
        self._switch = FileSwitch(server, base, notes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, side: Side) -> None:
        """See Turns."""
        if side is not self._in_force:
            self._switch.put(self._texts[side])
            self._in_force = side
            self._written()

    def close(self) -> list[str]:
        """See Turns."""
        complaints = self._switch.close()
        if self._in_force is not Side.INCUMBENT:
            self._in_force = Side.INCUMBENT
            self._written()
        return complaints


def turns_of(
    way: Way,
    server: RunningServer,
    base: BaseFile,
    proposal: Proposal,
    notes: Path,
    *,
    reloads_an_hour: int,
    written: Callable[[], None],
) -> ValueTurns | FileTurns:
    """The turns of that way, which is not that of arms; raises HostError."""
    changes = proposal.changes
    if way is Way.SETTING:
        incumbent = {change.knob: change.before for change in changes}
        return ValueTurns(server, incumbent, {change.knob: change.after for change in changes}, notes)
    knobs = [change.knob for change in changes]
    candidate = changed_file(server, base.text, proposal.configuration, knobs)
    return FileTurns(server, base, candidate, notes, reloads_an_hour=reloads_an_hour, written=written)


def carry_out_switchback(
    *,
    turns: Turns,
    rules: Rules,
    guards: Collection[Guard],
    cpus: int,
    seed: int,
    tick: Tick,
    tell: Callable[[Change], None],
    over: Over = never_over,
) -> EpisodeEnd:
    """From the first block to the end; it closes `turns`.

    Raises HostError where values cannot be put into force, and what `tick` raises, with production's own
    values in force. `tell` is told after every period what has been shown so far, and `over` asked.
    """
    switchback = Switchback(rules, seed=seed, lengths=turns.lengths)
    seen: dict[Side, list[Observed]] = {side: [] for side in Side}
    blocks: list[list[Observed]] = []  # of the candidate
    recent: deque[Observed] = deque(maxlen=GUARD_PERIODS)
    decision, at_s = Decision(Action.GO_ON, SHARE, ""), 0.0
    block: Block | None = None
    cut_short = False
    with turns:
        while decision.action is Action.GO_ON:
            if switchback.block is not block:
                block, at_s = switchback.block, 0.0
                recent.clear()
                turns.put(block.side)
                if block.side is Side.CANDIDATE:
                    blocks.append([])
            period = tick()
            seen[block.side].append(period)
            decision = switchback.told(period.arm, from_s=at_s, until_s=at_s + period.seconds)
            at_s += period.seconds
            if block.side is Side.CANDIDATE:
                recent.append(period)
                blocks[-1].append(period)
                if said := breached(guards, shown(observed_together(recent), cpus)):
                    decision = Decision(Action.ROLL_BACK, 0.0, f"a guard does not hold: {said}")
            if decision.action is not Action.ROLL_BACK and (said := over()):
                decision, cut_short = Decision(Action.GIVE_UP, 0.0, said), True
            tell(changes_of(switchback.episode))
        complaints = turns.close()
    harmful = switchback.episode.periods_of_harm  # pairs
    if block is not None and block is switchback.block and block.side is Side.CANDIDATE:
        harmful += 1  # one that was not brought to its end
    met = sum(max(each.arm.requests, each.arm.errors) for of in blocks[-max(harmful, 1) :] for each in of)
    return EpisodeEnd(
        decision=decision,
        evidence={
            "periods": sum(map(len, seen.values())),
            "change": {name: finite(bounds) for name, bounds in changes_of(switchback.episode).items()},
            "baseline": summary(seen[Side.INCUMBENT]),
            "canary": summary(seen[Side.CANDIDATE]),
            **({"complaints": complaints} if complaints else {}),
        },
        met_harm=met if decision.action is Action.ROLL_BACK else 0,
        cut_short=cut_short,
    )
