"""`trimtab up` in which what live tuning finds out is what a file says, for the browser tests.

    python live_daemon.py FILE [--port PORT …]

Servers, connections, files and reloads are real, and a minute takes a second. Nothing is judged by a
measurement or a clock: the word in FILE says what an episode has shown (`better`), and the watch after a
promotion (`harm` or `fine`). Otherwise both go on.
"""

import sys
from pathlib import Path

import pytest
from live_sessions import ENDLESS, shortened
from trimtab_agent.live import episodes
from trimtab_agent.live import session as sessions
from trimtab_agent.terminal.main import main
from trimtab_tuner.live.episode import Action, Decision, Episode
from trimtab_tuner.live.observed import ArmPeriod, Observed
from trimtab_tuner.live.watch import Watch

FOUND = Path(sys.argv.pop(1)) if __name__ == "__main__" else Path()


def found() -> str:
    """The word, as it is now."""
    return FOUND.read_text().strip() if FOUND.exists() else ""


class ToldEpisode(Episode):
    """Shows what it is told to have shown; what it draws on the way is real."""

    def told(self, production: ArmPeriod, baseline: ArmPeriod, canary: ArmPeriod) -> Decision:
        """See Episode."""
        super().told(production, baseline, canary)
        if found() == "better":
            reason = "CPU time per request is 20.0% to 10.0% lower than the baseline's"
            return Decision(Action.PROMOTE, self.share, reason)
        return Decision(Action.GO_ON, self.share, "")


class ToldWatch(Watch):
    """Sees what it is told to see."""

    def tell(self, period: Observed) -> str:
        """See Watch."""
        super().tell(period)
        return "it has become slow" if found() == "harm" else ""

    @property
    def is_over(self) -> bool:
        """See Watch."""
        return found() == "fine"


if __name__ == "__main__":
    patch = pytest.MonkeyPatch()
    shortened(patch, ENDLESS)
    patch.setattr(episodes, "Episode", ToldEpisode)
    patch.setattr(sessions, "Watch", ToldWatch)
    sys.argv[:1] = ["trimtab", "up"]
    main()
