"""What a session of live tuning records: what it does now, what it has decided, what the servers did."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from trimtab_db import Repository
from trimtab_db.records import LiveDecisionKind, LiveSample, LiveState, NewLiveDecision
from trimtab_tuner.live.budget import Spent
from trimtab_tuner.live.observed import Observed
from trimtab_tuner.live.proposals import Proposal

from trimtab_agent.live.episodes import figures, finite

SAMPLE_EVERY_S = {LiveState.EPISODE: 2.0, LiveState.WATCHING: 2.0}
SAMPLE_OTHERWISE_S = 10.0
SEEN_EVERY_S = 2.0


class Teller:
    """Writes for one session; `share` is the canary's of the connections, as it is now."""

    def __init__(self, repository: Repository, session_id: int) -> None:
        self._repository, self._id = repository, session_id
        self._state, self._sentence = LiveState.OBSERVING, ""
        self.share = 0.0
        self._sampled_at_s, self._seen_at_s = 0.0, 0.0
        self._sampled_at: datetime | None = None
        self._end_told = False

    def become(self, state: LiveState, sentence: str) -> None:
        """The session is in this state from now on; the sentence tells people what it does."""
        self._state, self._sentence = state, sentence
        self._write()

    def says(self, sentence: str) -> None:
        """The session is in the same state, and does something else in it."""
        self.become(self._state, sentence)

    def is_seen(self) -> None:
        """Now and then notes that the session lives; to be called in every period."""
        if time.monotonic() - self._seen_at_s > SEEN_EVERY_S:
            self._write()

    def decided(
        self,
        kind: LiveDecisionKind,
        sentence: str,
        *,
        proposal: Proposal | None = None,
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        """A decision, with the proposal that it is about and the figures that it rests on."""
        changed = {c.knob: [c.before, c.after] for c in proposal.changes} if proposal is not None else None
        self._repository.add_live_decision(
            NewLiveDecision(
                session_id=self._id,
                kind=kind,
                sentence=sentence,
                share=self.share,
                configuration=changed,
                evidence=dict(evidence or {}),
            )
        )

    def sample(
        self, servers: Mapping[str, Observed], change: Mapping[str, tuple[float, float]], spent: Spent
    ) -> None:
        """Notes what the servers did in this period, if it is time for that."""
        now_s = time.monotonic()
        if now_s - self._sampled_at_s < SAMPLE_EVERY_S.get(self._state, SAMPLE_OTHERWISE_S):
            return
        at = datetime.now(UTC)
        if self._sampled_at is not None:
            # A clock that was set back: until it has come so far again, time passes half as fast.
            passed = timedelta(seconds=(now_s - self._sampled_at_s) / 2)
            at = max(at, self._sampled_at + passed)
        self._sampled_at, self._sampled_at_s = at, now_s
        data = {
            "share": self.share,
            **{name: figures(seen) for name, seen in servers.items()},
            "change": {name: finite(bounds) for name, bounds in change.items()},
            "budget": spent.model_dump(),
        }
        self._repository.add_live_sample(self._id, LiveSample(at=at, data=data))

    def ended(self, kind: LiveDecisionKind, sentence: str) -> None:
        """The session has ended; the sentence says why."""
        self.share = 0.0
        if not self._end_told:  # it may be told again where the database has taken a part of it
            self.decided(kind, sentence)
            self._end_told = True
        self.become(LiveState.ENDED, sentence)

    def _write(self) -> None:
        self._seen_at_s = time.monotonic()
        self._repository.update_live_session(
            self._id, state=self._state, sentence=self._sentence, share=self.share
        )
