"""From a run's recorded trials to its outcome: the sentence, the gain, the ranking."""

from collections import Counter
from collections.abc import Sequence

from trimtab_db import records
from trimtab_tuner.confirmation import conclude, describe
from trimtab_tuner.records import Configuration, ConfirmedScore, TrialResult, Verdict
from trimtab_tuner.space import Space, configuration_hash
from trimtab_tuner.statistics import Gain

from trimtab_agent.outcome import Outcome, RankedConfiguration
from trimtab_agent.run.trade_off import run_front

ADVICE = {
    Verdict.FAILED_VERIFICATION: (
        "Let the server admit fewer connections (--knob max_connections=LOW:HIGH with lower bounds), or give "
        "clients more time (--set timeout_s=SECONDS)."
    ),
    Verdict.GENERATOR_LIMITED: (
        "The load generator is the limit: give it more or faster CPUs, or tune for a slower server "
        "configuration (--knob workers=1)."
    ),
    Verdict.CRASHED: "The logs of the crashed servers lie in the run's log directory.",
    Verdict.REJECTED: "Narrow the space to what this machine allows (--knob NAME=LOW:HIGH).",
}


def verdict_counts(trials: Sequence[records.Trial]) -> dict[str, int]:
    """How many trials of the search and the confirmation got each verdict, most frequent first."""
    judged = [trial for trial in trials if trial.purpose is not records.TrialPurpose.CALIBRATION]
    return dict(Counter(trial.verdict for trial in judged).most_common())


def confirmed_outcome(
    run: records.Run, finalists: Sequence[Configuration], trials: Sequence[records.Trial]
) -> Outcome:
    """The outcome of a run whose confirmation is complete; `finalists` begins with the default."""
    space = Space.model_validate(run.space)
    scores = [
        ConfirmedScore(configuration=trial.configuration, block=trial.block, score=trial.score)
        for trial in trials
        if trial.purpose is records.TrialPurpose.CONFIRMATION
        and trial.block > 0  # 0: somebody asked for a repeat
        and trial.verdict not in (Verdict.ABORTED, Verdict.DISTURBED)
    ]
    concluded = conclude(space, finalists, scores)
    ranks = {member: group.rank for group in concluded.groups for member in group.members}
    gains = {configuration_hash(c.configuration): c.gain for c in concluded.challengers}
    ranking = [
        _ranked(finalist, number == 0, scores, ranks, gains.get(configuration_hash(finalist)))
        for number, finalist in enumerate(finalists)
    ]
    ranking.sort(key=lambda r: (r.rank is None, r.rank, -(r.mean_score_mbps or 0.0)))
    sentence = concluded.sentence
    if concluded.recommended is None:
        sentence = f"{sentence} {explain_no_verified(trials)}"
    return Outcome(
        sentence=sentence,
        confirmed=len(scores) > 0,
        default=space.default(),
        best=concluded.recommended,
        gain=concluded.gain,
        ranking=tuple(ranking),
        verdicts=verdict_counts(trials),
        front=run_front(run, concluded.recommended, trials),
    )


def _ranked(
    finalist: Configuration,
    is_default: bool,
    scores: Sequence[ConfirmedScore],
    ranks: dict[str, int],
    gain: Gain | None,
) -> RankedConfiguration:
    own = configuration_hash(finalist)
    row = sorted((s.block, s.score) for s in scores if configuration_hash(s.configuration) == own)
    verified = [score for _, score in row if score is not None]
    return RankedConfiguration(
        rank=ranks.get(own),
        is_default=is_default,
        configuration=finalist,
        configuration_hash=own,
        scores_mbps=tuple(score for _, score in row),
        mean_score_mbps=sum(verified) / len(verified) if verified else None,
        gain=gain,
    )


def unfinished_outcome(
    run: records.Run, best: TrialResult | None, trials: Sequence[records.Trial]
) -> Outcome | None:
    """The outcome of a run that ended early: the best so far, not confirmed; None if there is none."""
    if best is None or best.score is None:
        return None
    default = Space.model_validate(run.space).default()
    name = describe(best.configuration, default)
    return Outcome(
        sentence=f"Best so far is {name} with {best.score:.1f} Mbps in one trial; not confirmed.",
        confirmed=False,
        default=default,
        best=best.configuration,
        gain=None,
        ranking=(),
        verdicts=verdict_counts(trials),
        front=run_front(run, best.configuration, trials),
    )


def explain_no_verified(trials: Sequence[records.Trial]) -> str:
    """Why no trial was verified: what became of most of them, one as an example, and what may help."""
    judged = [trial for trial in trials if trial.purpose is records.TrialPurpose.SEARCH]
    if not judged:
        return ""
    verdict, count = Counter(trial.verdict for trial in judged).most_common(1)[0]
    example = next(trial for trial in judged if trial.verdict == verdict)
    advice = ADVICE.get(Verdict(verdict), "")
    sentence = (
        f"{count} of {len(judged)} trials: {verdict}, for instance trial {example.number}: {example.reason}"
    )
    return f"{sentence} {advice}".strip()
