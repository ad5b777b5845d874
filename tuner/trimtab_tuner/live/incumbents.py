"""An incumbent for each known context: the configuration in force there, and what has been tried beside it.

Contexts that come back find the configuration that was best for them, and are not asked again what they have
answered. All of it is plain values, as the database keeps them.
"""

from typing import Self

from trimtab_trials.configuration import Configuration

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.live.contexts import Context, nearest
from trimtab_tuner.live.episode import Action
from trimtab_tuner.live.proposals import Attempt


class Incumbent(Frozen):
    """The configuration of a context, complete, and the attempts there, in the order of time."""

    context: Context
    configuration: Configuration
    attempts: tuple[Attempt, ...] = ()

    def told(self, attempt: Attempt) -> Self:
        """After one more attempt. What was promoted is in force; what did harm, if only after its promotion,
        leaves what was before.
        """
        in_force = attempt.after if attempt.action is Action.PROMOTE else attempt.before
        return self.model_copy(update={"configuration": in_force, "attempts": (*self.attempts, attempt)})

    @property
    def was_promoted(self) -> bool:
        """Whether the configuration is one that was found here, and not what the file had at first."""
        return any(
            attempt.action is Action.PROMOTE and attempt.after == self.configuration
            for attempt in self.attempts
        )


class Incumbents(Frozen):
    """All that are known."""

    known: tuple[Incumbent, ...] = ()

    def of(self, context: Context) -> Incumbent | None:
        """The incumbent of the nearest known context of the same kind; None if there is none."""
        found = nearest(context, (incumbent.context for incumbent in self.known))
        return next((incumbent for incumbent in self.known if incumbent.context == found), None)

    def kept(self, incumbent: Incumbent) -> Self:
        """With an incumbent in place of the one of its context, or beside the others if there is none."""
        others = tuple(each for each in self.known if each.context != incumbent.context)
        return self.model_copy(update={"known": (*others, incumbent)})
