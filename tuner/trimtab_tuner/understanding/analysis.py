"""All that is understood of a run at once: importance, interaction, stability, diagnosis."""

from collections.abc import Sequence

from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.noise import Noise, noise_of, without_drift
from trimtab_tuner.certainty.stability import Stability, stability
from trimtab_tuner.diagnosis import diagnose
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Space
from trimtab_tuner.understanding.importance import FEWEST_TRIALS, Importance, importance


class Analysis(Frozen):
    """What a run's trials say beyond its outcome. What could not be worked out is None, and `notes` say
    why. `noise` is None where nothing was searched.
    """

    noise: Noise | None
    best: Configuration | None
    importance: Importance | None
    stability: Stability | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def analyse(
    space: Space,
    searched: Sequence[Trial],
    best: Configuration | None,
    evidence: RunEvidence | None,
    confirmed: Sequence[Trial] = (),
) -> Analysis:
    """The analysis of a run by the trials of its search, in their order, and those of its blocks.

    `evidence` is of the best configuration's trial; of the default's where nothing has been verified: then it
    is to tell why.
    """
    notes = []
    noise = noise_of(searched, space.default())
    results = without_drift(list(enumerate(searched, start=1)), noise)
    mattered = importance(space, results)
    if mattered is None:
        notes.append(
            f"Importance needs at least {FEWEST_TRIALS} verified trials whose scores differ; "
            f"there are {sum(r.score is not None for r in results)}."
        )
    if best is None:
        notes.append("No configuration has been verified yet: what is diagnosed is the default.")
    own = None
    if best is not None:
        own = stability(space, results, best, noise=noise.share, confirmed=confirmed)
    return Analysis(
        noise=noise,
        best=best,
        importance=mattered,
        stability=own,
        findings=() if evidence is None else diagnose(evidence),
        notes=tuple(notes),
    )
