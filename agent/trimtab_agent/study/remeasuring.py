"""The exported file itself, driven once more: the text that is handed back must do what was confirmed.

The server runs with the text as with a user's own file (trimtab_tuner.targets.editing): every setting as it
stands there, with only addresses, logs and directories of a private instance, and a limit on connections as
it was measured, where the file has one for longer pauses than the run's. One trial up the ladder,
outside the blocks of the confirmation; its score must lie where one more trial of the confirmed configuration
is expected, or within `AS_GOOD` of that. If it does not, the configuration is measured right after it, to
tell the file from the machine. A configuration that is recommended for its capacity, as it fails verification
further up the ladder, does so again: then the capacity must be the one that was confirmed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from trimtab_db import records
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.statistics import prediction_interval
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.telling.capacity import capacity_of
from trimtab_tuner.wording import counted, in_mbps, in_percent

from trimtab_agent.errors import HostError, TrimtabError
from trimtab_agent.results.exporting import Driven, text_digest
from trimtab_agent.results.outcome import Outcome, RankedConfiguration, Remeasured
from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_agent.study.history import MOST_DISTURBED

NOT_THE_BEST = "it is not called the best"
# Blocks on a quiet machine can agree to a tenth of a percent; a difference below this matters to nobody.
AS_GOOD = 0.01


def remeasure(
    run: records.Run,
    outcome: Outcome,
    best: Configuration,
    exports: Sequence[records.Export],
    driven: Driven,
    ladder: Sequence[float],
    dispatcher: Dispatcher,
) -> tuple[Outcome, str]:
    """Has the exported file of the measured server driven; the outcome with what came of it, in words too.

    What is driven is the text `driven`, whose limits fit the run's pauses. Raises what the dispatcher raises.
    """
    exported = next(export for export in exports if export.format == TARGETS[run.target].program)
    file = replace(exported, text=driven.text)
    try:
        require_accepted(file)
    except TrimtabError as error:
        again = not_driven(file, str(error))
    else:
        trial = _measured(best, ladder, dispatcher, base=file.text)
        again = judged(outcome, best, file, trial)
        if again.agrees is False and trial.score is not None:
            again = judged(outcome, best, file, trial, _measured(best, ladder, dispatcher))
    if driven.text != exported.text:
        sentence = f"{again.sentence} {driven.note}".rstrip()
        update = {"sentence": sentence, "export_sha256": text_digest(exported.text)}
        again = again.model_copy(update=update)
    return with_remeasured(outcome, again), again.sentence


def _measured(
    best: Configuration, ladder: Sequence[float], dispatcher: Dispatcher, base: str | None = None
) -> Trial:
    """A trial outside the blocks, again if it was disturbed; with the text `base` if that is given."""
    for _ in range(MOST_DISTURBED):
        trial = dispatcher.carry_out(
            dispatcher.orders.trial(TrialPurpose.CONFIRMATION, best, ladder, base=base)
        )
        if trial.verdict is not Verdict.DISTURBED:
            break
    return trial


def require_accepted(file: records.Export) -> None:
    """Raises HostError for a file that its server refuses."""
    if not file.check_ok:
        raise HostError(f"the server's own check does not accept it: {file.check_output}")


def not_driven(file: records.Export, reason: str) -> Remeasured:
    """The file could not be driven."""
    sentence = f"The exported file was not re-measured, and {NOT_THE_BEST}: {reason}"
    return Remeasured(sentence=sentence, agrees=False, text_sha256=text_digest(file.text))


def judged(
    outcome: Outcome,
    best: Configuration,
    file: records.Export,
    trial: Trial,
    beside: Trial | None = None,
) -> Remeasured:
    """What the trial of the file says about it, against the confirmed scores of the configuration.

    `beside` is a trial of the configuration itself right after it: a machine that has changed since the
    confirmation has changed for both.
    """
    confirmed = next(
        (ranked for ranked in outcome.ranking if ranked.configuration_hash == configuration_hash(best)), None
    )
    scores = [] if confirmed is None else [score for score in confirmed.scores_mbps if score is not None]
    interval = prediction_interval(scores)
    by_capacity = None if confirmed is None else _sentence_by_capacity(trial, confirmed)
    sentence, agrees = by_capacity or _sentence(trial, interval)
    if beside is not None and beside.score and trial.score is not None:
        interval = prediction_interval(scores, beside=beside.score)
        sentence, agrees = _sentence_beside(trial, beside, interval)
    low, high = interval or (None, None)
    return Remeasured(
        sentence=sentence,
        agrees=agrees,
        trial=trial.number,
        score_mbps=trial.score,
        low_mbps=low,
        high_mbps=high,
        text_sha256=text_digest(file.text),
    )


def _sentence(trial: Trial, interval: tuple[float, float] | None) -> tuple[str, bool | None]:
    """In words, and whether it agrees."""
    if trial.verdict in (Verdict.DISTURBED, Verdict.GENERATOR_LIMITED):
        reason = f"{trial.verdict} (trial {trial.number})"
        return f"Re-measured from the exported file: {reason}, which says nothing about the file.", None
    if trial.score is None:
        reason = f"{trial.verdict} in trial {trial.number}: {trial.reason}"
        return f"Re-measured from the exported file: {reason} So {NOT_THE_BEST}.", False
    score = f"Re-measured from the exported file: {in_mbps(trial.score)} (trial {trial.number})"
    if interval is None:
        return f"{score}; too few confirmed trials for an interval to compare it with.", None
    bounds = f"{in_mbps(interval[0])} to {in_mbps(interval[1])}, where 95 % of such trials are expected"
    if interval[0] <= trial.score <= interval[1]:
        return f"{score}, within the confirmed interval of {bounds}.", True
    middle = math.sqrt(interval[0] * interval[1])
    if _as_good(trial.score, middle):
        return f"{score}, within {in_percent(AS_GOOD)} of the confirmed {in_mbps(middle)}.", True
    return f"{score}, outside the confirmed interval of {bounds}: {NOT_THE_BEST}.", False


def _sentence_by_capacity(trial: Trial, confirmed: RankedConfiguration) -> tuple[str, bool] | None:
    """The same where the trial fails verification as most of the blocks did; None where it is told by score.

    A trial up the ladder shows between which two rates its capacity lies.
    """
    blocks, verified = len(confirmed.scores_mbps), sum(score is not None for score in confirmed.scores_mbps)
    figure = None if confirmed.performance is None else confirmed.performance.capacity_rps
    own = capacity_of(trial.measurements)
    if trial.verdict is not Verdict.FAILED_VERIFICATION or 2 * verified > blocks:
        return None
    if own is None or figure is None or figure.low is None or figure.high is None:
        return None
    # The interval is that of the mean of the blocks; one more trial strays further.
    further = math.sqrt(blocks + 1)
    low = figure.mean * (figure.low / figure.mean) ** further
    high = figure.mean * (figure.high / figure.mean) ** further
    agrees = own.rate_rps <= high and low <= (own.lost_rps or math.inf)
    said = (
        f"Re-measured from the exported file: it keeps up with {own.rate_rps:,.0f} requests/s (trial "
        f"{trial.number}), where {figure.mean:,.0f} requests/s were confirmed. Above that it fails "
        f"verification, as in {blocks - verified} of {counted(blocks, 'block')}"
    )
    return (f"{said}.", True) if agrees else (f"{said}. The two differ: {NOT_THE_BEST}.", False)


def _as_good(score: float, other: float) -> bool:
    return abs(score - other) <= AS_GOOD * other


def _sentence_beside(
    trial: Trial, beside: Trial, interval: tuple[float, float] | None
) -> tuple[str, bool | None]:
    """The same for a file that was outside the interval, with the configuration measured right after it."""
    score, other = trial.score or 0.0, beside.score or 0.0
    said = (
        f"Re-measured from the exported file: {in_mbps(score)} (trial {trial.number}), outside the "
        f"confirmed interval; the configuration right after it: {in_mbps(other)} "
        f"(trial {beside.number})"
    )
    within = interval is not None and interval[0] <= score <= interval[1]
    if within or _as_good(score, other):
        return f"{said}. The two agree: the machine has changed since the confirmation, not the file.", True
    return f"{said}. The two differ: {NOT_THE_BEST}.", False


def with_remeasured(outcome: Outcome, again: Remeasured) -> Outcome:
    """The outcome with what driving the file has shown; a disagreement stands in its sentence too."""
    sentence = outcome.sentence if again.agrees is not False else f"{outcome.sentence} {again.sentence}"
    return outcome.model_copy(update={"remeasured": again, "sentence": sentence})
