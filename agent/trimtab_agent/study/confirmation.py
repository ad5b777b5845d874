"""Finalists measured in interleaved blocks, as far as that is not done: the confirmation of a run.

Which slots are left is asked of the recorded trials before each one (trimtab_tuner.certainty.blocks), so a
resumed run goes on where it was. One trial follows the other at one station: blocks compare only within one
machine.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from statistics import geometric_mean

from trimtab_db import records
from trimtab_db.records import RunPhase
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS, Blocks
from trimtab_tuner.certainty.confirmation import choose_finalists
from trimtab_tuner.certainty.factorial import halves
from trimtab_tuner.certainty.luck import expected_score
from trimtab_tuner.certainty.noise import planned_repeats
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.wording import counted

from trimtab_agent.results.front import finalists_of_front
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.conclusion import confirmed_outcome
from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_agent.study.elimination import BackwardElimination
from trimtab_agent.study.history import History
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.rungs import ladder_of_default


class InBlocks(ABC):
    """Finalists of one run, the default first, that are measured in so many interleaved blocks."""

    def __init__(
        self, run: records.Run, history: History, finalists: Sequence[Configuration], repeats: int
    ) -> None:
        self._run = run
        self._history = history
        self._finalists = finalists
        self._repeats = repeats

    def carry_out(self, ladder: Sequence[float], dispatcher: Dispatcher, progress: RunProgress) -> Outcome:
        """Has measured what is missing, and says what came out; raises what the dispatcher raises."""
        while True:
            blocks = self._blocks()
            progress.expect(RunPhase.CONFIRMING, blocks.trials_left)
            if blocks.next_slot is None:
                return self._outcome(blocks)
            block, configuration = blocks.next_slot
            self._take_in(
                dispatcher.carry_out(
                    dispatcher.orders.trial(
                        TrialPurpose.CONFIRMATION,
                        configuration,
                        self._rungs_of(configuration, ladder),
                        block=block,
                        **dispatcher.orders.to_capacity(),
                    )
                )
            )

    def so_far(self) -> Outcome | None:
        """What the blocks measured so far say; None while they are too few for an interval."""
        blocks = self._blocks()
        if blocks.next_slot is not None and len(blocks.whole) < FEWEST_BLOCKS:
            return None
        outcome = self._outcome(blocks)
        if blocks.next_slot is None:
            return outcome
        sentence = (
            f"The run ended after {len(blocks.whole)} of the {counted(blocks.wanted, 'block')} of its "
            f"confirmation, which say so far: {outcome.sentence} Not confirmed."
        )
        return outcome.model_copy(update={"confirmed": False, "sentence": sentence})

    def _blocks(self) -> Blocks:
        return Blocks(self._finalists, self._repeats, self._run.seed, self._history.trials)

    def _rungs_of(self, configuration: Configuration, ladder: Sequence[float]) -> Sequence[float]:
        """The part of the run's ladder that a finalist is driven at; it climbs on from there."""
        del configuration
        return ladder

    def _take_in(self, trial: Trial) -> None:  # noqa: B027 - most take nothing in
        """Called with each trial that was carried out; may raise what ends the run."""

    @abstractmethod
    def _outcome(self, blocks: Blocks) -> Outcome:
        """What the whole ones of the blocks say."""


class Confirmation(InBlocks):
    """The confirmation of one run whose search is over and recommends `best`, with what is worth something of
    its settings.
    """

    def __init__(
        self,
        run: records.Run,
        settings: RunSettings,
        space: Space,
        history: History,
        best: Trial | None,
    ) -> None:
        self._settings = settings
        self._space = space
        self._elimination = BackwardElimination(run, settings, space, history, best)
        self._best = self._elimination.recommended()
        self._run, self._history = run, history
        finalists = choose_finalists(
            history.results(),
            self._best,
            space.default(),
            settings.runners_up,
            self._expert(),
            (*finalists_of_front(run, history.trials), *self._halves()),
        )
        super().__init__(run, history, finalists, self._repeats_for(best, len(finalists)))

    def _rungs_of(self, configuration: Configuration, ladder: Sequence[float]) -> Sequence[float]:
        """The default has given way above its own, so that its time is better spent on further blocks."""
        if configuration != self._space.default():
            return ladder
        return ladder_of_default(self._run, self._settings, self._history)

    def _outcome(self, blocks: Blocks) -> Outcome:
        outcome = confirmed_outcome(
            self._run, self._finalists, self._history, blocks, self._best, self._expert()
        )
        return self._elimination.with_effects(outcome)

    def _repeats_for(self, best: Trial | None, finalists: int) -> int:
        """As many as the preset says, or up to three times that if the expected gain needs so many.

        No repeats where everything scored 0 (of `mat`: the limit was never held), as then nothing can be
        told.
        """
        if best is not None and best.score == 0:
            return 0
        usual = self._settings.confirmation_repeats
        if finalists < 2:
            return usual
        noise, searched = self._history.noise().share, self._history.without_drift()
        scores = [t.score for t in searched if t.configuration == self._space.default() and t.score]
        expected = None if best is None else expected_score(searched, best.configuration, noise)
        if not usual or expected is None or not scores:
            return usual
        gain = expected / geometric_mean(scores) - 1
        return planned_repeats(noise, gain, challengers=finalists - 1, usual=usual)

    def _halves(self) -> tuple[Configuration, ...]:
        """The best's knobs of the server alone, and of the kernel alone, where it has changed both."""
        return () if self._best is None else halves(self._space, self._best.configuration)

    def _expert(self) -> Configuration | None:
        """The target's documented advice for this host, as far as the space of the run lets it be
        followed.
        """
        if not self._settings.expert_baseline:
            return None
        advice = TARGETS[self._run.target].expert(len(self._run.layout["server"]))
        free = {knob.name: advice[knob.name] for knob in self._space.free if knob.name in advice}
        expert = {**self._space.default(), **free}
        return expert if self._space.allows(expert) else None
