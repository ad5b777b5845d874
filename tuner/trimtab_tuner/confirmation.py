"""Confirming the winner: the best trial of a noisy search is also the luckiest, so it is measured again.

The finalists (the best, the default and, if wanted, runners-up) are measured in blocks: every block holds each
finalist once, in a random order of its own. Whatever drifts while the confirmation lasts then hits all of them
alike, and cancels when scores are compared within blocks.
"""

import random
from collections.abc import Sequence

from trimtab_tuner.records import Configuration, ConfirmedScore, Frozen, TrialResult, Verdict
from trimtab_tuner.space import Space, configuration_hash
from trimtab_tuner.statistics import Gain, RankGroup, paired_gain, tukey_groups


def choose_finalists(
    results: Sequence[TrialResult], best: TrialResult | None, default: Configuration, runners_up: int = 0
) -> tuple[Configuration, ...]:
    """The default, the best and the next best scores, each once; empty if nothing has been verified.

    `best` is the strategy's recommendation. The default takes part whatever its own verdict was.
    """
    if best is None:
        return ()
    verified = [r for r in results if r.verdict is Verdict.VERIFIED and r.score is not None]
    verified.sort(key=lambda r: -(r.score or 0.0))
    finalists: dict[str, Configuration] = {}
    for configuration in (default, best.configuration):
        finalists[configuration_hash(configuration)] = configuration
    wanted = len(finalists) + runners_up
    for result in verified:
        if len(finalists) >= wanted:
            break
        finalists.setdefault(configuration_hash(result.configuration), result.configuration)
    return tuple(finalists.values())


def confirmation_schedule(
    finalists: Sequence[Configuration], repeats: int, seed: int
) -> tuple[tuple[Configuration, ...], ...]:
    """`repeats` blocks, each with all finalists in a random order; the same for the same seed.

    A single finalist (the default was the best) has nothing to be compared with: no blocks.
    """
    if len(finalists) < 2:
        return ()
    shuffler = random.Random(seed)  # noqa: S311 - an experiment's order, no secret
    return tuple(tuple(shuffler.sample(list(finalists), len(finalists))) for _ in range(repeats))


class Challenger(Frozen):
    """A finalist other than the default: its mean score (None if never verified) and its gain over the default."""

    configuration: Configuration
    mean_score: float | None
    gain: Gain | None


class Outcome(Frozen):
    """What a run has found.

    `recommended` is the configuration to use: the default, unless another is significantly better. `gain` is
    that of the best challenger, `groups` the finalists ranked by Tukey's HSD (members are configuration hashes).
    """

    recommended: Configuration | None
    is_default: bool
    gain: Gain | None
    challengers: tuple[Challenger, ...]
    groups: tuple[RankGroup, ...]
    sentence: str


def conclude(
    space: Space,
    finalists: Sequence[Configuration],
    scores: Sequence[ConfirmedScore],
    *,
    confidence: float = 0.95,
) -> Outcome:
    """The outcome of a confirmation; the first of `finalists` is the default, as `choose_finalists` gives them.

    With k challengers each interval has the confidence 1 - (1 - confidence) / k (Bonferroni), so that all
    hold together with `confidence` and having several attempts makes no claim easier. Among challengers that
    are significantly better than the default and share the best one's rank, the least resource-intensive is
    recommended.
    """
    if not finalists:
        return Outcome(
            recommended=None,
            is_default=False,
            gain=None,
            challengers=(),
            groups=(),
            sentence="No configuration passed verification, so there is nothing to recommend.",
        )
    default, others = finalists[0], finalists[1:]
    if not others:
        return _keep_default(default, "The default itself is the best configuration found.")
    by_block = {(configuration_hash(s.configuration), s.block): s.score for s in scores}
    blocks = sorted({s.block for s in scores})

    def row(configuration: Configuration) -> list[float | None]:
        return [by_block.get((configuration_hash(configuration), block)) for block in blocks]

    default_row = row(default)
    each = 1 - (1 - confidence) / len(others)
    challengers = tuple(
        sorted(
            (_challenger(other, default_row, row(other), each) for other in others),
            key=lambda c: -(c.mean_score or 0.0),
        )
    )
    groups = tukey_groups(
        {configuration_hash(f): [s for s in row(f) if s is not None] for f in finalists}, 1 - confidence
    )
    best = challengers[0]
    better = [c for c in challengers if c.gain and c.gain.significant and c.gain.gain > 0]
    if not better:
        return _keep_default(default, _why_default(best, default_row), best.gain, challengers, groups)
    leaders = next(
        (set(g.members) for g in groups if configuration_hash(better[0].configuration) in g.members), set()
    )
    level = [c for c in better if configuration_hash(c.configuration) in leaders] or better[:1]
    chosen = min(level, key=lambda c: space.resource_cost(c.configuration))
    return Outcome(
        recommended=chosen.configuration,
        is_default=False,
        gain=chosen.gain,
        challengers=challengers,
        groups=groups,
        sentence=f"{describe(chosen.configuration, default)} is {_in_words(chosen.gain)}.",
    )


def describe(configuration: Configuration, default: Configuration) -> str:
    """The settings in which a configuration differs from the default, for instance `workers=2`."""
    changed = [f"{name}={value}" for name, value in configuration.items() if default.get(name) != value]
    return ", ".join(changed) or "the default"


def _challenger(
    configuration: Configuration,
    default_row: Sequence[float | None],
    row: Sequence[float | None],
    confidence: float,
) -> Challenger:
    present = [score for score in row if score is not None]
    return Challenger(
        configuration=configuration,
        mean_score=sum(present) / len(present) if present else None,
        gain=paired_gain(default_row, row, confidence=confidence),
    )


def _keep_default(
    default: Configuration,
    sentence: str,
    gain: Gain | None = None,
    challengers: tuple[Challenger, ...] = (),
    groups: tuple[RankGroup, ...] = (),
) -> Outcome:
    return Outcome(
        recommended=default,
        is_default=True,
        gain=gain,
        challengers=challengers,
        groups=groups,
        sentence=sentence,
    )


def _in_words(gain: Gain | None) -> str:
    """For instance `23.4 % better than the default (95 % interval 20.1 to 26.8 %)`."""
    if gain is None or gain.low is None or gain.high is None:
        return "not comparable with the default"
    return (
        f"{gain.gain * 100:.1f} % better than the default "
        f"({gain.confidence * 100:.3g} % interval {gain.low * 100:.1f} to {gain.high * 100:.1f} %)"
    )


def _why_default(best: Challenger, default_row: Sequence[float | None]) -> str:
    """Why no challenger is announced."""
    start = "No significant gain over the default: the best other configuration measured"
    if best.gain is not None:
        return f"{start} {best.gain}."
    if not any(default_row):
        return "No gain can be stated: the default passed verification in no block of the confirmation."
    return "No gain can be stated: no other finalist passed verification in the same block as the default."
