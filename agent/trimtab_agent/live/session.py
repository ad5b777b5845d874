"""A session of live tuning on one running server, from attaching to detaching.

    observe     a minute of production's own traffic: what kind it is (its context)
    propose     what runs of this host recommend, then steps round what production has
    advise      says what it would try, and why; touches nothing
    try         an episode: baseline and canary beside production (episodes.py), or production by turns
                (switchbacks.py)
    promote     when a person has agreed (canary), or by itself (auto); put back if a minute shows harm

When the traffic becomes another kind, whatever goes on ends and it observes anew. What a person wants comes
through the database, so the page, the terminal and the session may be three processes.
"""

import logging
import time
from collections import deque
from collections.abc import Collection
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, NoReturn

from trimtab_db import Repository
from trimtab_db.errors import PASSING_FAULTS, DatabaseError
from trimtab_db.records import LiveDecisionKind, LiveMode, LiveRequest, LiveSession, LiveState
from trimtab_tuner.live.contexts import ChangeWatch, Context, context_of, traffic_of
from trimtab_tuner.live.episode import Action, Decision
from trimtab_tuner.live.guards import breached
from trimtab_tuner.live.incumbents import Incumbent
from trimtab_tuner.live.observed import Observed, observed_together
from trimtab_tuner.live.proposals import Proposal
from trimtab_tuner.live.switchback import SHARE
from trimtab_tuner.live.watch import Watch
from trimtab_tuner.targets.base import RenderError

from trimtab_agent.errors import HostError, RunConflict, TrimtabError
from trimtab_agent.live.arms import CandidateRefused
from trimtab_agent.live.attachment import Attachment
from trimtab_agent.live.episodes import GUARD_PERIODS, Change, EpisodeEnd, Told, carry_out, figures, shown
from trimtab_agent.live.observation import ObservationLost
from trimtab_agent.live.plan import Plan
from trimtab_agent.live.promotion import Promotion
from trimtab_agent.live.proposing import Memory, Proposer, told_by
from trimtab_agent.live.recalling import recalled
from trimtab_agent.live.restoring import is_running
from trimtab_agent.live.switchbacks import Way, carry_out_switchback, takes_turns, turns_of
from trimtab_agent.live.telling import Teller
from trimtab_agent.stopping import StopSignal

log = logging.getLogger(__name__)

PERIOD_S = 0.5
CONTEXT_PERIODS = 120
WAIT_AFTER_REFUSAL_S = 10.0
# After something could not be tried, and twice as long after each further one in a row, up to an hour.
WAIT_AFTER_TROUBLE_S, DOUBLED = 60.0, 6
RESTART_S = 60.0  # so long production may take to be started anew
LOOK_EVERY_S = 0.25
RECORD_EVERY_S = 5.0
DETACHED, ENDED_BY_TRIMTAB = "a person has detached it", "Trimtab has ended it"
# Servers beside production may take a while to answer what they have begun.
DETACHING = "a person detaches it: production gets all new connections"


class _Detach(Exception):
    """A person, or the end of the process, ends the session; the text says who."""


class _NotTried(Exception):
    """A candidate could not be tried, for something that is not its own; the text says for what."""


class _Anew(Exception):
    """The traffic, or production's file, is no longer what it was; the text says which."""


class Session:
    """One session; `run` returns when it has ended, with production as it was or as it was promoted."""

    def __init__(
        self,
        *,
        record: LiveSession,
        attachment: Attachment,
        plan: Plan,
        repository: Repository,
        stop: StopSignal,
    ) -> None:
        self._record, self._at, self._plan = record, attachment, plan
        self._repository, self._stop = repository, stop
        self._memory = recalled(Memory(), repository, record)
        self._recent: deque[Observed] = deque(maxlen=CONTEXT_PERIODS)
        self._usual: Observed | None = None  # production with all of this traffic, for a minute
        self._teller = Teller(repository, record.id)
        self._asked: LiveRequest | None = None
        self._next_tick_s = time.monotonic()
        self._troubles = 0  # in a row
        self._others: list[Observed] = []  # the arms' part of the traffic in this period
        self._change: Change = {}  # what a switchback has shown so far
        self._watch = ChangeWatch()
        self._proposer = Proposer(
            record, attachment, rails=plan.rails, seeds=plan.seeds, seed=plan.seed, repository=repository
        )

    def run(self) -> None:
        """Until a person detaches it, the server ends, or the process does; the record says why."""
        try:
            self._teller.decided(LiveDecisionKind.ATTACHED, f"attached, mode {self._plan.mode}")
            while True:
                try:
                    self._with_this_traffic()
                except HostError as error:
                    if self._at.serves():
                        raise
                    self._until_it_is_back(error)
        except _Detach as detach:
            self._end(LiveDecisionKind.DETACHED, str(detach))
        except (TrimtabError, RenderError, DatabaseError) as error:
            self._end(LiveDecisionKind.TROUBLE, str(error))
        except Exception as error:
            log.exception("live session %d", self._record.id)
            self._end(LiveDecisionKind.TROUBLE, f"an error that was not foreseen: {error}")
        finally:
            self._at.close()

    def _end(self, kind: LiveDecisionKind, sentence: str) -> None:
        """Records the end, which has come; as soon as the database takes it, where that is full or away."""
        while True:
            try:
                self._teller.ended(kind, sentence)
            except PASSING_FAULTS as error:
                log.warning("the end of live session %d (%s) waits: %s", self._record.id, sentence, error)
                if not self._stop.wait(RECORD_EVERY_S):
                    continue
            return

    def _with_this_traffic(self) -> None:
        """Until the traffic, or what an administrator has made of production, has changed."""
        try:
            self._in_context(self._observe())
        except _Anew as changed:
            self._at.read_anew()
            self._plan.require_way(self._at)
            self._teller.decided(LiveDecisionKind.CONTEXT, f"{changed}: observing anew")

    def _until_it_is_back(self, error: HostError) -> None:
        """Production has ended, or answers what it has begun and listens no more: waits for it to be started
        anew, as by a restart; raises the error if it is not.
        """
        pid, told = self._at.server.pid, ""
        until_s = time.monotonic() + RESTART_S
        while not self._at.is_back():
            if (left := _left(pid)) != told:
                told = left
                self._teller.become(LiveState.OBSERVING, f"{left}: waiting for it to be restarted")
            if time.monotonic() > until_s:
                raise error
            if self._stop.wait(LOOK_EVERY_S):
                raise _Detach(ENDED_BY_TRIMTAB)
            if self._repository.take_live_request(self._record.id) is LiveRequest.DETACH:
                raise _Detach(DETACHED)
        server = self._at.server
        self._plan.require_way(self._at)
        addresses = tuple(listener.address for listener in server.listeners)
        self._repository.move_live_session(self._record.id, pid=server.pid, addresses=addresses)
        self._teller.decided(
            LiveDecisionKind.CONTEXT, f"{_left(pid)} and runs again as process {server.pid}: observing anew"
        )

    def _observe(self) -> Context:
        """A minute of the traffic: what kind it is."""
        self._teller.become(LiveState.OBSERVING, "observing the traffic for a minute")
        self._watch = ChangeWatch()
        self._recent.clear()
        for _ in range(CONTEXT_PERIODS):
            self._tick()
        self._usual = observed_together(self._recent)
        context = context_of(self._recent)
        self._repository.update_live_session(self._record.id, context=context.model_dump())
        self._teller.decided(
            LiveDecisionKind.OBSERVED,
            f"{context.rate_rps:,.0f} requests/s, {context.reply_bytes:,.0f} bytes each in the mean",
            evidence=figures(self._usual),
        )
        return context

    def _in_context(self, context: Context) -> NoReturn:
        """What is done for as long as the traffic stays as it is."""
        told_of: Proposal | None = None
        while True:
            incumbent = self._proposer.incumbent(context)
            ahead = self._proposer.proposals(incumbent)
            if not ahead:
                self._teller.become(LiveState.OBSERVING, "nothing is left to try with this traffic")
                self._wait_for_change()
            if ahead[0] != told_of:
                told_of = ahead[0]
                self._teller.decided(
                    LiveDecisionKind.PROPOSAL,
                    str(ahead[0]),
                    proposal=ahead[0],
                    evidence={"next": [str(each) for each in ahead[1:]]},
                )
            if self._plan.mode is LiveMode.ADVISE:
                self._teller.become(LiveState.OBSERVING, str(ahead[0]))
                self._wait_for_change()
            refusal = self._proposer.refused(
                incumbent,
                ahead[0],
                self._memory,
                observed_together(self._recent),
                beside=self._way([change.knob for change in ahead[0].changes]) is Way.ARMS,
            )
            if refusal is not None:
                self._teller.become(LiveState.OBSERVING, f"nothing is tried now: {refusal.reason}")
                self._wait(WAIT_AFTER_REFUSAL_S)
                continue
            self._try(incumbent, ahead[0])

    def _try(self, incumbent: Incumbent, proposal: Proposal) -> None:
        """One episode, and what follows from it."""
        try:
            with self._plan.machine_lock():
                end = self._episode(proposal)
        except RunConflict as error:
            self._teller.become(LiveState.OBSERVING, f"nothing is tried now: {error.sentence}")
            self._wait(WAIT_AFTER_REFUSAL_S)
            return
        except _NotTried as error:
            self._put_off(proposal, str(error))
            return
        self._troubles = 0
        action, reason = end.decision.action, end.decision.reason
        self._teller.become(LiveState.OBSERVING, reason)
        self._teller.decided(LiveDecisionKind(action), reason, proposal=proposal, evidence=end.evidence)
        if end.cut_short:
            return
        if action is Action.ROLL_BACK:
            self._memory.rolled_back(end.met_harm)
        else:
            self._memory.ended_well()
        if action is Action.PROMOTE:
            action = Action.GIVE_UP
            if self._plan.mode is LiveMode.AUTO or self._person_agrees(reason):
                with self._lock():
                    action = Action.PROMOTE if self._promote(proposal) else Action.GIVE_UP
        self._proposer.remember(incumbent, proposal, action)

    def _put_off(self, proposal: Proposal, why: str) -> None:
        """A disk that is full, a keeper that was killed: nothing is known of the candidate by that."""
        self._proposer.put_off(proposal)
        wait_s = WAIT_AFTER_TROUBLE_S * 2 ** min(self._troubles, DOUBLED)
        self._troubles += 1
        self._teller.decided(LiveDecisionKind.TROUBLE, f"not tried: {why}", proposal=proposal)
        self._teller.become(LiveState.OBSERVING, f"nothing is tried now: {why}")
        self._wait(wait_s)

    def _episode(self, proposal: Proposal) -> EpisodeEnd:
        knobs = [change.knob for change in proposal.changes]
        way = self._way(knobs)
        doing = f"trying {_in_words(proposal)}{way.in_words}"
        self._teller.become(LiveState.EPISODE, doing)
        self._teller.decided(LiveDecisionKind.BEGAN, doing, proposal=proposal)
        try:
            if way is not Way.ARMS:
                return self._switchback(proposal, way)
            return carry_out(
                server=self._at.server,
                base=self._at.base,
                candidate=proposal.configuration,
                knobs=knobs,
                notes=self._plan.notes,
                rules=self._plan.rules,
                guards=self._plan.rails.guards,
                slow_s=self._plan.slow_s,
                cpus=self._at.cpus,
                paths=self._at.observer.paths,
                tick=self._tick,
                tell=lambda told: self._told(told, proposal),
                over=self._quiet,
            )
        except ObservationLost:
            raise  # production itself
        except CandidateRefused as error:
            decision = Decision(Action.GIVE_UP, 0.0, error.sentence)
            return EpisodeEnd(decision=decision, evidence={}, met_harm=0)
        except HostError as error:
            raise _NotTried(error.sentence) from error
        finally:
            self._others, self._change, self._teller.share = [], {}, 0.0

    def _way(self, knobs: Collection[str]) -> Way:
        if takes_turns(self._at.server, knobs):
            return Way.SETTING
        return Way.RELOADS if self._plan.by_reload else Way.ARMS

    def _switchback(self, proposal: Proposal, way: Way) -> EpisodeEnd:
        """An episode in which production itself has the candidate's values for half of the time."""

        def tell(change: Change) -> None:
            self._change = change

        def written() -> None:
            self._at.written()
            self._memory.reloaded()

        self._teller.share = SHARE
        return carry_out_switchback(
            turns=turns_of(
                way,
                self._at.server,
                self._at.base,
                proposal,
                self._plan.notes,
                reloads_an_hour=self._plan.rails.reloads_an_hour,
                written=written,
            ),
            rules=self._plan.rules,
            guards=self._plan.rails.guards,
            cpus=self._at.cpus,
            seed=self._plan.seed,
            tick=self._tick,
            tell=tell,
            over=self._quiet,
        )

    def _quiet(self) -> str:
        """The sentence about the quiet hours, if it is quiet now."""
        return self._plan.rails.quiet(datetime.now().astimezone().time())

    def _told(self, told: Told, proposal: Proposal) -> None:
        """After a period of an episode: what it has shown is kept."""
        self._others = [told.baseline, told.canary]
        self._memory.budget.tell(time.monotonic(), sum(each.arm.requests for each in self._others), 0)
        self._teller.share = told.decision.share
        if told.decision.action is Action.NEXT_STEP:
            self._teller.decided(LiveDecisionKind.NEXT_STEP, told.decision.reason, proposal=proposal)
        arms = {"production": told.production, "baseline": told.baseline, "canary": told.canary}
        self._teller.sample(arms, told.change, self._memory.budget.spent(time.monotonic()))

    def _person_agrees(self, reason: str) -> bool:
        """Waits for a person; False when the person rejects it."""
        self._asked = None
        self._teller.become(LiveState.WAITING, f"{reason}: promote or reject it")
        while self._asked is None:
            self._tick()
        agreed, self._asked = self._asked is LiveRequest.PROMOTE, None
        if not agreed:
            self._teller.decided(LiveDecisionKind.REJECTED, "a person has rejected it")
        return agreed

    def _lock(self) -> AbstractContextManager[Any]:
        """The machine's lock for a promotion, as soon as no tuning run has it: its load would be taken for
        harm, and a reload disturb it.
        """
        while True:
            try:
                return self._plan.machine_lock()
            except RunConflict as error:
                self._teller.become(LiveState.PROMOTING, f"the promotion waits: {error.sentence}")
                self._wait(WAIT_AFTER_REFUSAL_S)

    def _promote(self, proposal: Proposal) -> bool:
        """Puts it into production's file and watches for a minute; whether it stays."""
        # Lately the servers beside it had most of the traffic, or all.
        before = self._usual or observed_together(self._recent)
        self._teller.become(LiveState.PROMOTING, f"promoting {_in_words(proposal)}")
        try:
            promotion = Promotion(
                self._at.server,
                self._at.base,
                proposal.configuration,
                [change.knob for change in proposal.changes],
                self._plan.notes,
            )
        except HostError as error:
            self._teller.decided(
                LiveDecisionKind.TROUBLE, f"not promoted: {error.sentence}", proposal=proposal
            )
            return False
        self._at.written()
        if promotion.by_reload:
            self._memory.reloaded()
        try:
            self._teller.decided(
                LiveDecisionKind.PROMOTED,
                f"{promotion.file} has it; {promotion.backup} is the file from before",
                proposal=proposal,
            )
            harm, met = self._watched(before)
        except (_Detach, _Anew):
            promotion.keep()  # as a person wants it, or has made it
            raise
        except BaseException:
            promotion.take_back()
            raise
        if harm:
            if self._at.lives():
                promotion.undo()
            else:
                promotion.take_back()  # and whatever was started in its place takes it up
            self._at.written()
            if promotion.by_reload:
                self._memory.reloaded()
            self._memory.rolled_back(met)
            self._teller.decided(LiveDecisionKind.UNDONE, f"put back: {harm}", proposal=proposal)
            return False
        promotion.keep()
        self._usual = observed_together(self._recent)
        self._at.read_anew()
        self._teller.decided(
            LiveDecisionKind.KEPT, "no harm was seen in a minute: it stays", proposal=proposal
        )
        return True

    def _watched(self, before: Observed) -> tuple[str, int]:
        """The sentence about the harm that was seen, empty where there was none; how many requests met it."""
        self._teller.become(LiveState.WATCHING, "watching production for a minute after the promotion")
        watch, recent = Watch(before), deque[Observed](maxlen=GUARD_PERIODS)
        self._watch = ChangeWatch()  # the promotion itself may look like a change
        while not watch.is_over:
            try:
                period = self._tick()
            except HostError as error:
                return error.sentence, watch.asked
            recent.append(period)
            if harm := watch.tell(period) or self._broken_guard(recent):
                return harm, watch.asked
        return "", 0

    def _broken_guard(self, recent: Collection[Observed]) -> str:
        """The sentence about a guard that production itself does not keep; empty if it keeps all."""
        does = shown(observed_together(recent), self._at.cpus)
        said = breached(told_by(self._plan.rails.guards, does), does)
        return f"a guard does not hold: {said}" if said else ""

    def _wait_for_change(self) -> NoReturn:
        while True:
            self._tick()

    def _wait(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            self._tick()

    def _tick(self) -> Observed:
        """Waits for the next period; what production did in it.

        Raises _Detach, _Anew, and ObservationLost.
        """
        self._next_tick_s = max(self._next_tick_s + PERIOD_S, time.monotonic())
        if self._stop.wait(self._next_tick_s - time.monotonic()):
            raise _Detach(ENDED_BY_TRIMTAB)
        asked = self._repository.take_live_request(self._record.id)
        if asked is LiveRequest.DETACH:
            with suppress(DatabaseError):  # the end is told in any case
                self._teller.says(DETACHING)
            raise _Detach(DETACHED)
        self._asked = asked or self._asked
        seen = self._at.observer.read()
        now_s = time.monotonic()
        self._memory.budget.tell(now_s, seen.arm.requests, 0)
        self._recent.append(seen)
        self._teller.is_seen()
        if changed := self._at.changed():
            raise _Anew(changed)
        if not self._others:
            self._teller.sample({"production": seen}, self._change, self._memory.budget.spent(now_s))
        usual = self._usual if self._others else None  # alone it tells what it tells
        if self._watch.tell(traffic_of([seen, *self._others], usual)):
            raise _Anew("the traffic has changed")
        return seen


def _left(pid: int) -> str:
    """What has become of that process."""
    return f"process {pid} {'listens no more' if is_running(pid) else 'has ended'}"


def _in_words(proposal: Proposal) -> str:
    return ", ".join(str(change) for change in proposal.changes)
