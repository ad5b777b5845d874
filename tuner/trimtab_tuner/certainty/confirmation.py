"""Confirming the winner: the best trial of a noisy search is also the luckiest, so it is measured again.

The finalists (the default, the best and, if wanted, runners-up) are measured in blocks: every block holds
each finalist once, in a random order of its own. Whatever drifts while the confirmation lasts then hits all
of them alike, and cancels when scores are compared within blocks.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.cost import Cost, cheapest
from trimtab_tuner.certainty.factorial import leaves_kernel
from trimtab_tuner.certainty.noise import USUAL_NOISE
from trimtab_tuner.certainty.ranking import RankGroup, rank_blocks
from trimtab_tuner.certainty.stability import Kind, stability
from trimtab_tuner.certainty.statistics import Gain, paired_gain
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Space
from trimtab_tuner.wording import counted


@dataclass(frozen=True)
class Capacities:
    """How much more load a configuration takes than the default, and how much in each block."""

    gain: Gain | None
    rps_by_block: Mapping[int, float]


def choose_finalists(
    results: Sequence[Trial],
    best: Trial | None,
    default: Configuration,
    runners_up: int = 0,
    expert: Configuration | None = None,
    members: Sequence[Configuration] = (),
) -> tuple[Configuration, ...]:
    """The default, the best, the expert baseline, members of a front and the next best scores, each once.

    Empty if nothing has been verified; the default alone if the best scores 0 (of `mat`: the limit was never
    held), as then there is nothing to tell apart.

    `best` is the strategy's recommendation. The default takes part whatever its own verdict was. `members`
    are what is worth confirming of the front of a run with two objectives.
    """
    if best is None:
        return ()
    if best.score == 0:
        return (default,)
    verified = [r for r in results if r.verdict is Verdict.VERIFIED and r.score is not None]
    verified.sort(key=lambda r: -(r.score or 0.0))
    finalists: dict[str, Configuration] = {}
    for configuration in (default, best.configuration, *([] if expert is None else [expert]), *members):
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
    """`repeats` blocks, each with all finalists in a random order; the same for the same seed."""
    shuffler = random.Random(seed)  # noqa: S311 - an experiment's order, no secret
    return tuple(tuple(shuffler.sample(list(finalists), len(finalists))) for _ in range(repeats))


class Challenger(Frozen):
    """A finalist other than the default.

    `verified_blocks` counts the blocks in which it was verified with a score above 0, `mean_score` is over
    those (None if there are none), `gain` over the blocks in which the default was too. With `at_least` its
    scores are lower bounds, as the load generator gave out.
    """

    configuration: Configuration
    verified_blocks: int
    mean_score: float | None
    gain: Gain | None
    at_least: bool = False


class ConfirmationResult(Frozen):
    """What a run has found.

    `recommended` is the configuration to use: the default, unless another is significantly better. `gain` is
    that of the configuration the sentence speaks of. `groups` ranks the finalists within the blocks (members
    are configuration hashes). `stability` has the kind of each finalist's neighbourhood, by hash.
    """

    recommended: Configuration | None
    is_default: bool
    gain: Gain | None
    challengers: tuple[Challenger, ...]
    groups: tuple[RankGroup, ...]
    sentence: str
    stability: dict[str, Kind] = Field(default_factory=dict)


def conclude(
    space: Space,
    finalists: Sequence[Configuration],
    confirmed: Sequence[Trial],
    searched: Sequence[Trial] = (),
    *,
    confidence: float = 0.95,
    best: Configuration | None = None,
    costs: Mapping[str, Cost] | None = None,
    capacities: Mapping[str, Capacities] | None = None,
    noise: float = USUAL_NOISE,
) -> ConfirmationResult:
    """The outcome of a confirmation of finalists in the order of `choose_finalists`, the default first.

    `confirmed` are the trials of its whole blocks, one for each slot; `searched` those of the search, which
    show how stable each finalist is, without drift and with the `noise` of one. `best` is the search's, for
    when there is no score; if it is not given, the first of the others. `costs` has what the finalists cost,
    by hash, as far as it is known. A score of 0 (of `mat`: the limit never held) counts as not verified: it
    has no ratio to another, and to leave its block out of the gain only would reward a configuration for the
    blocks in which it fails. A trial at which the load generator gave out counts with what it scored at
    least; what is announced of its configuration is then at least so much.

    With k challengers each interval has the confidence 1 - (1 - confidence) / k (Bonferroni), so that all
    hold together with `confidence` and having several attempts makes no claim easier. A challenger must also
    have been verified in more than half of all blocks, and in at least as many as the default, unless it
    takes significantly more load by the capacities of all blocks (`capacities`, by hash): the ladder ends
    above what the best can do, and a rule that breaks up there by chance says nothing against a configuration
    that follows more than the default where all rules hold. If the default was verified in none, the best
    such challenger is recommended although no percentage of its score can be stated. Where not even that is
    there, capacity decides: of a challenger whose score stands beside the default's in half of the blocks at
    most, which was verified no less often than the default, and which takes significantly more load.

    Among challengers that are significantly better than the default and share the best one's rank, those
    that change knobs of the kernel are passed over if others leave it as it is, and so are those whose
    neighbourhood is known to be sharp if there are others. Of the rest the one that was measured to use the
    least CPU time is recommended, of equals the one with the least memory, and of equals in both the nearest
    to the default (`cost.py`).
    """
    if not finalists:
        return ConfirmationResult(
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
    by_block = {(trial.configuration_hash, trial.block): trial.least_score for trial in confirmed}
    limited = {(t.configuration_hash, t.block) for t in confirmed if t.verdict is Verdict.GENERATOR_LIMITED}
    blocks = sorted({trial.block for trial in confirmed})
    if not blocks:
        winner = best or others[0]
        if configuration_hash(winner) == configuration_hash(default):
            return _keep_default(
                default, "The default was the best of the search; it has not been confirmed."
            )
        return ConfirmationResult(
            recommended=winner,
            is_default=False,
            gain=None,
            challengers=(),
            groups=(),
            sentence=f"{describe(winner, default)} was the best of the search; it has not been confirmed.",
        )

    def row(configuration: Configuration) -> list[float | None]:
        return [by_block.get((configuration_hash(configuration), block)) or None for block in blocks]

    default_row = row(default)
    # What the default can do at least makes no gain over it: such a block has no pair.
    default_exact = [
        None if (configuration_hash(default), block) in limited else score
        for block, score in zip(blocks, default_row, strict=True)
    ]
    bounded = {digest for digest, _ in limited}
    each = 1 - (1 - confidence) / len(others)
    challengers = tuple(
        sorted(
            (
                _challenger(
                    other, default_exact, row(other), each, at_least=configuration_hash(other) in bounded
                )
                for other in others
            ),
            key=_standing,
            reverse=True,
        )
    )
    groups = rank_blocks({configuration_hash(f): row(f) for f in finalists}, 1 - confidence)
    stable = {
        configuration_hash(f): stability(space, searched, f, noise=noise, confirmed=confirmed)
        for f in finalists
    }
    kinds = {digest: judged.kind for digest, judged in stable.items()}
    default_blocks = sum(score is not None for score in default_row)
    takes_more = {
        digest
        for digest, own in (capacities or {}).items()
        if own.gain and own.gain.significant and own.gain.gain > 0 and own.gain.blocks == len(blocks)
    }
    sound = [
        c
        for c in challengers
        if c.verified_blocks > len(blocks) // 2
        and (c.verified_blocks >= default_blocks or _digest(c) in takes_more)
    ]
    better = [c for c in sound if c.gain and c.gain.significant and c.gain.gain > 0]
    if default_blocks == 0:
        better = sound
    by_capacity = not better
    if by_capacity:
        better = [
            c
            for c in challengers
            if _digest(c) in takes_more
            and c.verified_blocks >= default_blocks
            and (c.gain is None or c.gain.blocks <= len(blocks) // 2)
        ]
    if not better:
        nearest = (sound or challengers)[0]
        in_both = any(a and b for a, b in zip(default_row, row(nearest.configuration), strict=True))
        sentence = _why_default(nearest, default, default_blocks, len(blocks), in_both=in_both)
        kept = _keep_default(default, sentence, nearest.gain, challengers, groups)
        return kept.model_copy(update={"stability": kinds})
    if by_capacity:
        leaders = _alike_in_capacity(better, capacities or {}, blocks, 1 - confidence)
    else:
        lead = _digest(better[0])
        leaders = {lead}.union(*(group.members for group in groups if lead in group.members))
    level = [c for c in better if _digest(c) in leaders]
    chosen, why = _recommended(space, level, kinds, costs or {})
    sentence = _announced(chosen, default, default_blocks, len(blocks), by_capacity=by_capacity)
    return ConfirmationResult(
        recommended=chosen.configuration,
        is_default=False,
        gain=None if by_capacity else chosen.gain,
        challengers=challengers,
        groups=groups,
        sentence=sentence + why,
        stability=kinds,
    )


def describe(configuration: Configuration, default: Configuration) -> str:
    """The settings in which a configuration differs from the default, for instance `workers=2`."""
    changed = [f"{name}={value}" for name, value in configuration.items() if default.get(name) != value]
    return ", ".join(changed) or "the default"


def _digest(challenger: Challenger) -> str:
    return configuration_hash(challenger.configuration)


def _announced(
    chosen: Challenger, default: Configuration, default_blocks: int, blocks: int, *, by_capacity: bool
) -> str:
    """What is said of the recommended challenger."""
    name, passed = describe(chosen.configuration, default), chosen.verified_blocks
    if by_capacity:
        sentence = (
            f"{name} is recommended for its capacity, which is of rates at which all rules hold. Up the "
            f"whole ladder it passed verification in {passed} of {counted(blocks, 'block')} and the default "
            f"in {default_blocks}: too few to compare their scores."
        )
    elif chosen.gain:
        sentence = f"In score {name} gains {chosen.gain.told(at_least=chosen.at_least)}."
    else:
        sentence = (
            f"Over all rates of the ladder {name} kept every rule of the verification in {passed} of "
            f"{counted(blocks, 'block')}. The default did in none, so their scores are not compared."
        )
    if passed < default_blocks:
        sentence += (
            f" In {blocks - passed} of {counted(blocks, 'block')} it broke a rule of verification somewhere "
            "on the ladder; its capacity is of rates at which all rules hold."
        )
    return sentence


def _alike_in_capacity(
    better: Sequence[Challenger], capacities: Mapping[str, Capacities], blocks: Sequence[int], level: float
) -> set[str]:
    """The hashes of those that share the first rank by what they take in the blocks."""
    rows = {_digest(c): [capacities[_digest(c)].rps_by_block.get(block) for block in blocks] for c in better}
    return set(rank_blocks(rows, level)[0].members)


def _standing(challenger: Challenger) -> tuple[bool, float, float]:
    """By what challengers are ordered: the gain within the blocks, from which drift has gone, where there is
    one.
    """
    gain = challenger.gain
    return gain is not None, 0.0 if gain is None else gain.gain, challenger.mean_score or 0.0


def _recommended(
    space: Space,
    level: Sequence[Challenger],
    kinds: Mapping[str, Kind],
    costs: Mapping[str, Cost],
) -> tuple[Challenger, str]:
    """Which of some challengers that cannot be told apart to use; a sentence on why, if there are several."""
    if len(level) < 2:
        return level[0], ""
    of = f" Of {len(level)} that cannot be told apart"
    leaving = [c for c in level if leaves_kernel(space, c.configuration)]
    if leaving and len(leaving) < len(level):
        # What counts for the whole host is changed for a gain that is shown, or not at all.
        of += ", those that change the kernel were passed over;"
        level = leaving
        if len(level) == 1:
            return level[0], f"{of} this one leaves it as it is."
        of += " of the rest"
    kept = [c for c in level if kinds[_digest(c)] != "sharp"] or level
    configuration, what_of_kept = cheapest(space, [c.configuration for c in kept], costs)
    of_all, what_of_all = cheapest(space, [c.configuration for c in level], costs)
    if of_all == configuration:
        why = f"it {what_of_all}"
    else:
        why = "those that lose more than 2 % a step away were passed over"
        why += f"; of the rest it {what_of_kept}" if len(kept) > 1 else ""
    chosen = next(c for c in kept if c.configuration == configuration)
    return chosen, f"{of} {why}."


def _challenger(
    configuration: Configuration,
    default_row: Sequence[float | None],
    row: Sequence[float | None],
    confidence: float,
    *,
    at_least: bool,
) -> Challenger:
    present = [score for score in row if score is not None]
    return Challenger(
        configuration=configuration,
        verified_blocks=len(present),
        mean_score=sum(present) / len(present) if present else None,
        gain=paired_gain(default_row, row, confidence=confidence),
        at_least=at_least,
    )


def _keep_default(
    default: Configuration,
    sentence: str,
    gain: Gain | None = None,
    challengers: tuple[Challenger, ...] = (),
    groups: tuple[RankGroup, ...] = (),
) -> ConfirmationResult:
    return ConfirmationResult(
        recommended=default,
        is_default=True,
        gain=gain,
        challengers=challengers,
        groups=groups,
        sentence=sentence,
    )


def _why_default(
    best: Challenger, default: Configuration, default_blocks: int, blocks: int, *, in_both: bool
) -> str:
    """Why no challenger is announced; `in_both`: it has a score in a block in which the default has one."""
    name = describe(best.configuration, default)
    if best.verified_blocks < max(default_blocks, blocks // 2 + 1):
        return (
            f"No gain over the default: {name} passed verification in {best.verified_blocks} "
            f"of {counted(blocks, 'block')}, the default in {default_blocks}."
        )
    if best.gain is None and in_both:
        return (
            f"No gain over the default can be told: wherever {name} and the default both passed "
            "verification, the load generator gave out before the default did."
        )
    if best.gain is None:
        return (
            f"No score to compare with the default's: {name} passed verification in {best.verified_blocks} "
            f"of {counted(blocks, 'block')} and the default in {default_blocks}, but never both in the same."
        )
    return (
        f"No significant gain over the default: the best other configuration, {name}, measured {best.gain}."
    )
