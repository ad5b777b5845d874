"""What earlier sessions on a server's file have risked, for the next one: attaching anew earns no new budget.

A session keeps its risk budget, its reloads and its cool-down itself, and records what it does. When the next
one begins, within a day, it takes them over from there: the budget from the latest sample that has one, the
rest from the decisions.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from trimtab_db import Repository
from trimtab_db.records import LiveDecision, LiveDecisionKind, LiveSession
from trimtab_tuner.live.budget import DAY_S, Spent
from trimtab_tuner.live.guards import HOUR_S, CoolDown

from trimtab_agent.live.proposing import Memory

KINDS = LiveDecisionKind
HARM = frozenset({KINDS.ROLL_BACK, KINDS.UNDONE})
# What an episode ended with, or the minute after a promotion.
ENDINGS = HARM | {KINDS.PROMOTE, KINDS.GIVE_UP, KINDS.KEPT}
# Each is a reload, where the server is not told its values while it runs.
RELOADS = frozenset({KINDS.PROMOTED, KINDS.UNDONE})
LAST_SAMPLES = 60  # it takes one every few seconds for as long as it lives


def recalled(memory: Memory, repository: Repository, record: LiveSession) -> Memory:
    """The memory that a session, which has just begun, begins with; what is new in it is `memory`."""
    earlier = list(_earlier(repository, record))
    now_s, now = time.monotonic(), datetime.now(UTC)

    def at_s(moment: datetime) -> float:
        """By the clock that does not go back; a moment that is yet to come is now: a clock was set."""
        return now_s - max((now - moment).total_seconds(), 0.0)

    for session in earlier:
        if (found := _spent(repository, session)) is not None:
            at, spent = found
            memory.budget.tell(at_s(at), spent.requests, spent.harmed)
            break
    decisions = [each for of in earlier for each in reversed(repository.live_decisions(of.id))]
    harm = list(_harm_in_a_row(decisions))
    if harm:
        memory = replace(memory, cool_down=CoolDown(in_a_row=len(harm), last_at_s=at_s(harm[0].at)))
    for each in reversed(decisions):
        if each.kind in RELOADS and at_s(each.at) > now_s - HOUR_S:
            memory = replace(memory, reloads=memory.reloads.one_more(at_s(each.at)))
    return memory


def _earlier(repository: Repository, record: LiveSession) -> Iterator[LiveSession]:
    """The sessions of the day before on the same file, the latest first."""
    for each in repository.live_sessions(record.host_id):
        is_same = (each.target, each.file) == (record.target, record.file)
        if each.id < record.id and is_same and each.seen_at > record.started_at - timedelta(seconds=DAY_S):
            yield each


def _spent(repository: Repository, session: LiveSession) -> tuple[datetime, Spent] | None:
    """What a session had spent at the end, with what it had taken over; None where it has not told."""
    for sample in repository.last_live_samples(session.id, LAST_SAMPLES):
        if "budget" in sample.data:
            return sample.at, Spent.model_validate(sample.data["budget"])
    return None


def _harm_in_a_row(latest_first: Iterable[LiveDecision]) -> Iterator[LiveDecision]:
    """The rollbacks since something ended well."""
    return takewhile(lambda each: each.kind in HARM, (each for each in latest_first if each.kind in ENDINGS))
