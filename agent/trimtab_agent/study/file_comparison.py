"""Two files of a server measured against each other: the run of the preset `compare`.

The old file takes the place of the default, the new one that of the finalist that a search would have found.
So they are measured in the blocks of a confirmation, on the ladder of the old one, each to its capacity.
"""

from collections.abc import Sequence

from trimtab_db import records
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.certainty.blocks import Blocks
from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_of_all
from trimtab_tuner.targets.tls import KEY
from trimtab_tuner.telling.people import in_words
from trimtab_tuner.telling.two_files import judged, with_file

from trimtab_agent.errors import HostError
from trimtab_agent.results.outcome import OLD_FILE, ComparedFiles, Outcome
from trimtab_agent.study.conclusion import confirmed_outcome
from trimtab_agent.study.confirmation import InBlocks
from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_agent.study.history import History
from trimtab_agent.study.progress import RunProgress

HOW = {Verdict.CRASHED: "crashed", Verdict.UNRESPONSIVE: "answered nobody"}


class FileComparison(InBlocks):
    """The blocks of a run's old and new file."""

    def __init__(self, run: records.Run, settings: RunSettings, space: Space, history: History) -> None:
        cpus = len(run.layout["server"])
        own = own_of_all(TARGETS[run.target], run.base["new"]["expanded"], cpus)
        values = {k.name: own[k.name] for k in space.knobs if k.name in own and k.name != KEY.name}
        files = (space.default(), with_file(space, values))
        super().__init__(run, history, files, settings.confirmation_repeats)
        self._most_loss = settings.most_loss

    def carry_out(self, ladder: Sequence[float], dispatcher: Dispatcher, progress: RunProgress) -> Outcome:
        """As of any blocks; raises HostError where the old file has followed nothing."""
        outcome = super().carry_out(ladder, dispatcher, progress)
        old = self._measured(self._finalists[0], self._blocks())
        if not any(m.followed and m.held for trial in old for m in trial.measurements):
            path = self._run.base["path"]
            raise HostError(f"{path} follows none of the rates, so there is nothing to compare with")
        return outcome

    def _take_in(self, trial: Trial) -> None:
        """Raises HostError for a file that says nothing of the other: it was refused, or is the old one and
        the server ended.
        """
        new = trial.configuration == self._finalists[1]
        if trial.verdict is Verdict.REJECTED or (trial.verdict.without_server and not new):
            path = self._run.base["new"]["path"] if new else self._run.base["path"]
            raise HostError(f"{path} cannot be measured: {trial.reason}")

    def _outcome(self, blocks: Blocks) -> Outcome:
        old, new = (self._measured(configuration, blocks) for configuration in self._finalists)
        loss = judged(
            {trial.block: trial.measurements for trial in old},
            {trial.block: () if trial.verdict.without_server else trial.measurements for trial in new},
            self._most_loss,
        )
        outcome = confirmed_outcome(self._run, self._finalists, self._history, blocks, None)
        done = {ranked.configuration_hash: ranked.performance for ranked in outcome.ranking}
        own, of_old = (done.get(configuration_hash(each)) for each in reversed(self._finalists))
        told = "" if own is None else in_words("The new file", own, of_old, called=OLD_FILE)
        crashed = next((trial for trial in new if trial.verdict.without_server), None)
        why = "" if crashed is None else f"With it the server {HOW[crashed.verdict]}: {crashed.reason}"
        files = ComparedFiles(old=self._run.base["path"], new=self._run.base["new"]["path"], loss=loss)
        sentence = " ".join(part for part in (loss.sentence, told, why) if part)
        better = loss.gain is not None and loss.gain.significant and loss.gain.gain > 0
        best = self._finalists[better]
        return outcome.model_copy(update={"files": files, "sentence": sentence, "best": best})

    def _measured(self, configuration: Configuration, blocks: Blocks) -> Sequence[Trial]:
        """The trials that count of a file, with what was measured in them."""
        standing = standings(self._history.trials).get(configuration_hash(configuration))
        counting = {} if standing is None else standing.blocks
        return self._history.whole(trial.number for block, trial in counting.items() if block in blocks.whole)
