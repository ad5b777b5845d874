"""From a run's recorded trials to its outcome: the sentence, the gain, the ranking."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from trimtab_db import records
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS, Blocks
from trimtab_tuner.certainty.confirmation import Capacities, conclude, describe
from trimtab_tuner.certainty.cost import cost_of
from trimtab_tuner.certainty.factorial import Cell, Factorial, factorial
from trimtab_tuner.certainty.noise import Noise
from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.fleet.host_blocks import HostBlocks
from trimtab_tuner.judging.ladder import Calibration
from trimtab_tuner.judging.limits import broken_limit, nearest_miss, parse_limit
from trimtab_tuner.judging.score import parse_objective
from trimtab_tuner.judging.verification import Thresholds, verify
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.in_force import noted_in
from trimtab_tuner.telling.capacity import capacity_of
from trimtab_tuner.telling.performance import OfBlocks, capacities_of, performances
from trimtab_tuner.wording import counted, in_mbps, in_percent
from trimtab_tuner.workloads.parameters import clients_of

from trimtab_agent.results.front import run_front
from trimtab_agent.results.outcome import Outcome, RankedConfiguration, alone, headline
from trimtab_agent.study.history import History

IDLE = ("idle", "iowait")
ADVICE = {
    Verdict.DISTURBED: (
        "Stop what else uses the server's CPUs, or start Trimtab on others (taskset -c CPUS trimtab tune …, "
        "or trimtab up)."
    ),
    Verdict.CRASHED: "The logs of the crashed servers lie in the run's log directory.",
    Verdict.UNRESPONSIVE: "What the silent servers said last is in the run's log directory.",
    Verdict.REJECTED: "Narrow the space to what this machine allows (--knob NAME=LOW:HIGH).",
}


def verdict_counts(trials: Sequence[Trial]) -> dict[str, int]:
    """How many trials but calibrations got each verdict, most frequent first."""
    judged = [trial for trial in trials if trial.purpose is not TrialPurpose.CALIBRATION]
    return dict(Counter(trial.verdict for trial in judged).most_common())


def confirmed_outcome(
    run: records.Run,
    finalists: Sequence[Configuration],
    history: History,
    blocks: Blocks | HostBlocks,
    best: Trial | None,
    expert: Configuration | None = None,
) -> Outcome:
    """The outcome by the blocks of the confirmation that are whole; `finalists` begins with the default.

    `best` is what the search recommends, `expert` the target's documented advice.
    """
    space, trials = Space.model_validate(run.space), history.trials
    if blocks.spoilt and blocks.next_slot is None and len(blocks.whole) < FEWEST_BLOCKS:
        return _without_answer(run, best, history, blocks)
    slots = blocks.slots(trials)
    recommended = None if best is None else best.configuration
    by_hash: dict[str, list[Trial]] = {}
    for trial in history.whole(trial.number for trial in blocks.measured(trials)):
        by_hash.setdefault(trial.configuration_hash, []).append(trial)
    clients = clients_of(run.workload_parameters)
    costs = {digest: cost_of(own, blocks.whole, clients) for digest, own in by_hash.items()}
    measured = {
        digest: {t.block: t.measurements for t in own}
        for digest, own in by_hash.items()
        if clients.loop == "open"
    }
    done = performances(measured, configuration_hash(finalists[0]), history.ladder) if measured else {}
    concluded = conclude(
        space,
        finalists,
        slots,
        history.without_drift(),
        best=recommended,
        costs=costs,
        capacities={
            digest: Capacities(own.capacity_gain, _rps_by_block(measured[digest]))
            for digest, own in done.items()
        },
        noise=history.noise().share,
    )
    ranks = {member: group.rank for group in concluded.groups for member in group.members}
    gains = {configuration_hash(c.configuration): c.gain for c in concluded.challengers}
    ranking = []
    for number, finalist in enumerate(finalists):
        digest = configuration_hash(finalist)
        ranked = _ranked(finalist, number == 0, slots, ranks, gains.get(digest))
        ranking.append(
            ranked.model_copy(
                update={
                    "stability": concluded.stability.get(digest, "unknown"),
                    "is_expert": finalist == expert,
                    "performance": done.get(digest),
                }
            )
        )
    ranking.sort(key=lambda r: (r.rank is None, r.rank, -(r.mean_score_mbps or 0.0)))
    told = headline(ranking, space.default(), concluded.recommended)
    crossed = _factorial(space, recommended, ranking)
    sentence = f"{told} {concluded.sentence} {crossed.sentence if crossed else ''}".strip()
    if concluded.recommended is None:
        sentence = f"{_before_nothing_verified(history)}{sentence} {explain_no_verified(run, history)}"
    elif best is not None and best.score == 0:
        sentence = _limit_never_held(run, history)
    if blocks.next_slot is None and len(blocks.whole) < blocks.wanted:
        sentence = (
            f"{sentence} Only {len(blocks.whole)} of the {counted(blocks.wanted, 'block')} wanted could be "
            f"measured: {counted(len(blocks.spoilt), 'was', 'were')} spoilt, because the host was busy with "
            "something else."
        )
    of_both = {configuration_hash(each) for each in (space.default(), concluded.recommended) if each}
    own = [trial.server_config for digest in of_both for trial in by_hash.get(digest, ())]
    return Outcome(
        sentence=f"{sentence} {not_in_force(own)}".rstrip(),
        confirmed=len(slots) > 0,
        default=space.default(),
        best=concluded.recommended,
        gain=concluded.gain,
        ranking=tuple(ranking),
        verdicts=verdict_counts(trials),
        front=run_front(run, concluded.recommended, trials),
        factorial=crossed,
    )


def not_in_force(texts: Iterable[str]) -> str:
    """A sentence on what servers with these files really ran with; empty where all was as they say."""
    said = noted_in(texts)
    return f"In force was not what the file asks for: {'; '.join(said)}." if said else ""


def _factorial(
    space: Space, best: Configuration | None, ranking: Sequence[RankedConfiguration]
) -> Factorial | None:
    """What the server's and the kernel's knobs gain, alone and together, where the best changes both."""
    if best is None:
        return None
    parts = {
        ranked.configuration_hash: Cell(
            configuration_hash=ranked.configuration_hash,
            gain=ranked.gain,
            capacity_gain=ranked.performance and ranked.performance.capacity_gain,
            at_least=ranked.performance is not None and ranked.performance.at_least,
        )
        for ranked in ranking
    }
    scores = {ranked.configuration_hash: ranked.scores_mbps for ranked in ranking}
    return factorial(space, best, parts, scores)


def _rps_by_block(blocks: OfBlocks) -> dict[int, float]:
    """The capacity that each block shows, in requests per second."""
    return {block: capacity.likely_rps for block, capacity in capacities_of(blocks).items() if capacity}


def _ranked(
    finalist: Configuration,
    is_default: bool,
    slots: Sequence[Trial],
    ranks: dict[str, int],
    gain: Gain | None,
) -> RankedConfiguration:
    own = configuration_hash(finalist)
    row = sorted((slot.block, slot.least_score) for slot in slots if slot.configuration_hash == own)
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


def _without_answer(
    run: records.Run, best: Trial | None, history: History, blocks: Blocks | HostBlocks
) -> Outcome:
    """The outcome of a confirmation that something else spoilt: nothing is recommended.

    What the search found is not, as the best of a noisy search is also its luckiest.
    """
    outcome = unfinished_outcome(run, None, history)
    told = (
        f"{disturbed_sentence(history.trials)} Of its confirmation {len(blocks.whole)} of the "
        f"{counted(blocks.wanted, 'block')} wanted could be measured."
    )
    if best is not None and best.configuration != outcome.default:
        told += f" Not confirmed, and so not recommended: {describe(best.configuration, outcome.default)}."
    return outcome.model_copy(update={"sentence": told})


def disturbed_sentence(trials: Sequence[Trial]) -> str:
    """What to say first of a run that other programs have left without an answer."""
    counts = verdict_counts(trials)
    return (
        f"No answer: other programs disturbed {counts.get(Verdict.DISTURBED, 0)} of "
        f"{counted(sum(counts.values()), 'trial')}. Stop them, or measure longer."
    )


def unfinished_outcome(run: records.Run, best: Trial | None, history: History) -> Outcome:
    """The outcome of a run that ended before its confirmation told anything: the best so far.

    That is the default where its mean is the higher one: the strategy may prefer what is as good and cheaper,
    which nothing has shown to be better.
    """
    default = Space.model_validate(run.space).default()
    scores = {
        digest: own.search_score
        for digest, own in standings(history.comparable()).items()
        if own.search_score is not None
    }
    of_default = scores.get(configuration_hash(default))
    if best is not None and of_default is not None and of_default >= scores.get(best.configuration_hash, 0.0):
        best = replace(best, configuration=default)
    return Outcome(
        sentence=_unfinished_sentence(run, best, history, history.noise(), scores),
        confirmed=False,
        default=default,
        best=None if best is None else best.configuration,
        gain=None,
        ranking=(),
        verdicts=verdict_counts(history.trials),
        front=run_front(run, None if best is None else best.configuration, history.trials),
    )


def capacity_outcome(run: records.Run, space: Space, history: History, climbed: Calibration) -> Outcome:
    """The outcome of a run that was to find the default's capacity, from its one climb."""
    climb = history.calibrations()[-1]
    measurements = climb.measurements
    default = space.default()
    digest = configuration_hash(default)
    ladder = [m.rate_rps for m in measurements]
    capacity = performances({digest: {1: measurements}}, digest, ladder)[digest]
    sentence = alone(capacity) or "The configuration follows none of the rates driven."
    return Outcome(
        sentence=" ".join(
            filter(
                None,
                (sentence, _what_ended(run, measurements, climbed), not_in_force((climb.server_config,))),
            )
        ),
        confirmed=False,
        default=default,
        best=default,
        gain=None,
        ranking=(),
        verdicts={},
        capacity=capacity,
    )


def _what_ended(run: records.Run, measurements: Sequence[Measurement], climbed: Calibration) -> str:
    """What came above the capacity: the generator's limit, a rule that broke, or replies that fell behind."""
    if climbed.generator_limited:
        return "More the load generator could not offer."
    capacity = capacity_of(measurements)
    told = (m for m in measurements if not m.generator_limited)
    if capacity is None:
        lost = sorted(told, key=lambda m: m.rate_rps)[:1]
    else:
        lost = [m for m in told if m.rate_rps == capacity.lost_rps]
    if not lost:
        return ""
    counts = lost[-1]  # a rate that was doubted was driven twice
    at = clients_of(run.workload_parameters).level(counts.rate_rps)
    busy = _busy_percent(counts, run.layout["server"])
    limit = "" if busy is None else f", with the server's CPUs {busy:.0f} % busy"
    if not counts.held:
        return _rule_broken(run, counts, f"At {at} a rule of verification or a constraint breaks{limit}.")
    return f"At {at} it answers {counts.reply_rate_rps:,.0f} requests/s{limit}."


def _rule_broken(run: records.Run, measurement: Measurement, otherwise: str) -> str:
    """Which rule or constraint breaks at a rate, with what the failures were; `otherwise` where none does."""
    clients = clients_of(run.workload_parameters)
    thresholds = Thresholds.model_validate(run.settings.get("thresholds") or {})
    verification = verify([measurement], thresholds) if measurement.size_classes else None
    if verification is not None and not verification.verified:
        return verification.sentence(clients, [measurement])
    limits = [parse_limit(text) for text in run.settings.get("constraints", ())]
    if (broken := broken_limit(limits, [measurement])) is not None:
        return broken[0].broken_sentence(measurement, clients.level(measurement.rate_rps))
    return otherwise


def _busy_percent(measurement: Measurement, cpus: Collection[int]) -> float | None:
    """How much of these CPUs' time was used; None where it was not counted."""
    counted_cpus = measurement.cpus(cpus)
    idle = [sum(cpu.get(state, 0.0) for state in IDLE) for cpu in counted_cpus]
    return 100.0 - sum(idle) / len(idle) if idle else None


def _unfinished_sentence(
    run: records.Run, best: Trial | None, history: History, noise: Noise, scores: Mapping[str, float]
) -> str:
    """The best so far, and how much there is to it, by the mean score of each configuration in the search."""
    searched = history.finished(TrialPurpose.SEARCH)
    if not searched:
        return "The run ended before any configuration had been measured."
    if best is None or best.score is None:
        return f"Nothing has been verified so far. {explain_no_verified(run, history)}".strip()
    default = Space.model_validate(run.space).default()
    own, of_default = scores.get(best.configuration_hash, best.score), scores.get(configuration_hash(default))
    lucky = ""
    if best.configuration == default:
        sentence = f"So far nothing has been shown to be better than the default, which has {in_mbps(own)}"
    else:
        sentence = f"Best so far is {describe(best.configuration, default)} with {in_mbps(own)}"
        lucky = ", and the best of several is also the luckiest"
        if of_default is not None:
            sentence += f"; the default has {in_mbps(of_default)}"
    return (
        f"{sentence}. That is not confirmed: single trials are taken to differ by "
        f"{in_percent(noise.share, 1)} (standard deviation, {noise.basis}){lucky}."
    )


def _before_nothing_verified(history: History) -> str:
    """What goes before that nothing was verified: whose fault it was, if not the configurations'."""
    judged = history.finished(TrialPurpose.SEARCH)
    if 2 * sum(trial.verdict.spoilt for trial in judged) <= len(judged):
        return ""
    return f"{disturbed_sentence(history.trials)} "


def explain_no_verified(run: records.Run, history: History) -> str:
    """Why no trial was verified: what became of most of them, one as an example, and what may help."""
    judged = history.finished(TrialPurpose.SEARCH)
    if not judged:
        return ""
    verdict, count = Counter(trial.verdict for trial in judged).most_common(1)[0]
    example = next(trial for trial in judged if trial.verdict == verdict)
    advice = _looser_constraint(run, history, len(judged)) or advice_for(
        verdict, Space.model_validate(run.space)
    )
    of_all = f"{count} of {counted(len(judged), 'trial')}"
    sentence = f"{of_all}: {verdict}, for instance trial {example.number}: {example.reason}"
    return f"{sentence} {advice}".strip()


def advice_for(verdict: Verdict, space: Space) -> str:
    """What may help where most trials got the verdict, with the knobs as the server calls them."""
    if verdict is Verdict.FAILED_VERIFICATION:
        admitting = space.of_role(Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER)
        fewer = "Let the server admit fewer connections" + (
            "" if admitting is None else f" ({_lower(admitting)})"
        )
        return f"{fewer}, or give clients more time (--set timeout_s=SECONDS)."
    if verdict is Verdict.GENERATOR_LIMITED:
        workers = space.of_role(Role.WORKERS)
        slower = "" if workers is None else f" (--knob {workers.name}={workers.grid(2)[0]})"
        return (
            "The load generator is the limit: give it more or faster CPUs, or tune for a slower server "
            f"configuration{slower}."
        )
    return ADVICE.get(verdict, "")


def _lower(knob: Knob) -> str:
    """How lower values of a knob are asked for."""
    if knob.kind == "integer":
        return f"--knob {knob.name}=LOW:HIGH with lower bounds"
    return f"--knob {knob.name}={','.join(map(str, knob.choices[:2]))}"


def _looser_constraint(run: records.Run, history: History, trials: int) -> str:
    """What to loosen where a constraint is what most trials broke; empty where it is something else."""
    limits = [parse_limit(text) for text in run.settings.get("constraints", ())]
    if not limits:
        return ""
    broken = Counter(
        found[0].text
        for measurements in _measured(history)
        if (found := broken_limit(limits, measurements)) is not None
    )
    if 2 * broken.total() <= trials:
        return ""
    text = broken.most_common(1)[0][0]
    nearest = nearest_miss(parse_limit(text), _measured(history))
    had = f"; the trial that came nearest had {nearest} at its worst rate" if nearest else ""
    return f"Loosen or drop the constraint {text}{had}."


def _limit_never_held(run: records.Run, history: History) -> str:
    """Of a run under `mat` in which every trial broke the limit at its first rate: what came nearest."""
    _, given = parse_objective(run.objective)
    limit = given or history.low_load_limit()
    if limit is None:
        return "No configuration scored more than 0 Mbps, so the default is kept."
    at_first = ([min(each, key=lambda m: m.rate_rps)] for each in _measured(history))
    nearest = nearest_miss(limit, at_first)
    had = f"; the trial that came nearest had {nearest} there" if nearest else ""
    return (
        f"No configuration held {limit.text} even at the lowest rate{had}. So there is nothing to tell "
        "apart, and the default is kept: give a longer limit, for instance --objective 'mat: p999 <= 20ms'."
    )


def _measured(history: History) -> Iterator[list[Measurement]]:
    """What each trial of the search measured."""
    return (list(trial.measurements) for trial in history.searched() if trial.measurements)
