"""What a session tries next on one server's file, whether it may, and what came of it before.

What was tried is kept in the database for the file: a later session goes on from there.
"""

import math
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

import psutil
from trimtab_db import Repository
from trimtab_db.records import LiveSession
from trimtab_trials.configuration import Configuration
from trimtab_tuner.live.budget import RiskBudget
from trimtab_tuner.live.contexts import Context
from trimtab_tuner.live.episode import Action
from trimtab_tuner.live.guards import (
    Candidate,
    CoolDown,
    Guard,
    Now,
    Rails,
    Refusal,
    Reloads,
    Shown,
    refused,
)
from trimtab_tuner.live.incumbents import Incumbent, Incumbents
from trimtab_tuner.live.observed import Observed
from trimtab_tuner.live.proposals import (
    OF_PRODUCTION_ALONE,
    Attempt,
    Proposal,
    Seed,
    live_space,
    proposals,
)
from trimtab_tuner.targets.base import space_of
from trimtab_tuner.targets.editing import own_values

from trimtab_agent.live.attachment import Attachment
from trimtab_agent.live.episodes import shown
from trimtab_agent.live.promotion import is_set

PROPOSALS_SHOWN = 5


@dataclass
class Memory:
    """What a session remembers between episodes of what it may risk."""

    budget: RiskBudget = field(default_factory=RiskBudget)
    reloads: Reloads = field(default_factory=Reloads)
    cool_down: CoolDown = field(default_factory=CoolDown)

    def reloaded(self) -> None:
        """Production was reloaded for us just now."""
        self.reloads = self.reloads.one_more(time.monotonic())

    def rolled_back(self, met_harm: int) -> None:
        """A candidate did harm, which so many requests have met."""
        self.cool_down = self.cool_down.rolled_back(time.monotonic())
        self.budget.tell(time.monotonic(), 0, met_harm)

    def ended_well(self) -> None:
        """An episode has ended without harm."""
        self.cool_down = self.cool_down.ended_well()


class Proposer:
    """Proposes for one server, as it is now."""

    def __init__(
        self,
        record: LiveSession,
        attachment: Attachment,
        *,
        rails: Rails,
        seeds: tuple[Seed, ...],
        seed: int,
        repository: Repository,
    ) -> None:
        self._record, self._at, self._repository = record, attachment, repository
        self._rails, self._seeds, self._seed = rails, seeds, seed
        self._known = Incumbents.model_validate(
            repository.live_incumbents(record.host_id, record.target, record.file) or {}
        )
        self._put_off: list[Configuration] = []

    def incumbent(self, context: Context) -> Incumbent:
        """What is in force now, with what was tried with this kind of traffic."""
        in_force = own_values(self._at.server.target, self._at.base.expanded, self._at.cpus)
        known = self._known.of(context)
        if known is None:
            return Incumbent(context=context, configuration=in_force)
        return known.model_copy(update={"configuration": in_force})

    def proposals(self, incumbent: Incumbent) -> list[Proposal]:
        """The next ones, in their order; those that were put off once there is nothing else."""
        target, own = self._at.server.target, incumbent.configuration
        # What an included file sets cannot be changed in the file itself.
        in_includes = set(target.parse(self._at.base.expanded)) - set(target.parse(self._at.base.text))
        left_out, beside = {*OF_PRODUCTION_ALONE, *in_includes}, target.beside
        if beside is not None:
            left_out |= beside.only_by_restart
        most = {} if beside is None else beside.most_by_reload(self._at.base.expanded)
        space = live_space(space_of(target, own, self._at.cpus), own, left_out, most)
        found = proposals(
            space,
            [*self._remembered(incumbent), *self._seeds],
            incumbent.attempts,
            context=incumbent.context,
            seed=self._seed,
            most_step=self._rails.most_step,
        )
        ahead = list(islice((each for each in found if not self._is_put_off(each)), PROPOSALS_SHOWN))
        if not ahead and self._put_off:
            self._put_off.clear()
            return self.proposals(incumbent)
        return ahead

    def put_off(self, proposal: Proposal) -> None:
        """It could not be tried: others are, before it is again."""
        self._put_off.append(proposal.configuration)

    def _is_put_off(self, proposal: Proposal) -> bool:
        return proposal.configuration in self._put_off

    def _remembered(self, incumbent: Incumbent) -> Iterator[Seed]:
        """What was promoted to this file, with this kind of traffic and with others."""
        here = self._known.of(incumbent.context)
        for known in self._known.known:
            if known.configuration != incumbent.configuration and known.was_promoted:
                traffic = "this kind of" if known == here else "other"
                yield Seed(
                    configuration=known.configuration,
                    gain=math.inf if known == here else 0.0,
                    source=f"it was promoted here with {traffic} traffic",
                    context=known.context,
                )

    def refused(
        self, incumbent: Incumbent, proposal: Proposal, memory: Memory, seen: Observed, *, beside: bool
    ) -> Refusal | None:
        """Why nothing may be tried now, by servers `beside` production or by itself; `seen` is what it did
        lately.
        """
        now_s = time.monotonic()
        space = space_of(self._at.server.target, incumbent.configuration, self._at.cpus)
        does = shown(seen, self._at.cpus)
        return refused(
            self._rails.model_copy(update={"guards": told_by(self._rails.guards, does)}),
            Now(
                at_s=now_s,
                local=datetime.now().astimezone().time(),
                shown=does,
                spent=memory.budget.spent(now_s),
                available_bytes=psutil.virtual_memory().available,
                production_bytes=_pss_bytes(self._at.server.pid),
                reloads=memory.reloads,
                cool_down=memory.cool_down,
            ),
            Candidate(
                space=space.with_defaults(incumbent.configuration),
                incumbent=incumbent.configuration,
                configuration=proposal.configuration,
                measured=proposal.measured,
                by_reload=not is_set(self._at.server, [change.knob for change in proposal.changes]),
                beside=beside,
            ),
        )

    def remember(self, incumbent: Incumbent, proposal: Proposal, action: Action) -> None:
        """What came of a proposal."""
        attempt = Attempt(
            before=incumbent.configuration,
            after=proposal.configuration,
            action=action,
            measured=proposal.measured,
        )
        self._known = self._known.kept(incumbent.told(attempt))
        record, document = self._record, self._known.model_dump(mode="json")
        self._repository.set_live_incumbents(record.host_id, record.target, record.file, document)


def told_by(guards: Collection[Guard], does: Shown) -> tuple[Guard, ...]:
    """Those guards that production tells of: what it does not tell, nobody can hold it to; the canary tells
    it.
    """
    told = ("errors", "queue", "cpu", *does.latency_us)
    return tuple(guard for guard in guards if guard.statistic in told)


def _pss_bytes(pid: int) -> float:
    """What a process and its descendants have of the memory; those that end meanwhile have none."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        server = psutil.Process(pid)
        for each in (server, *server.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += _bytes_of(each)
    return total


def _bytes_of(process: psutil.Process) -> int:
    """Its share of the memory; of one that may not be looked into, as another user's in a container, all that
    is resident, what it shares included.
    """
    try:
        share: int = process.memory_full_info().pss
    except psutil.AccessDenied:
        share = process.memory_info().rss
    return share
