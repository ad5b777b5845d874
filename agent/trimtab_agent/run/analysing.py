"""What the tuner makes of a run's records beyond the outcome: `GET /runs/{id}/analysis`."""

from collections.abc import Sequence
from dataclasses import replace

from trimtab_db import Repository, records
from trimtab_db.records import TrialPurpose
from trimtab_tuner.diagnosis.evidence import RateEvidence, RunEvidence, TrialEvidence
from trimtab_tuner.records import Configuration, TrialResult, Verdict
from trimtab_tuner.space import Space
from trimtab_tuner.understanding.analysis import Analysis, analyse
from trimtab_tuner.workloads.links import LINKS

from trimtab_agent.outcome import Outcome
from trimtab_agent.run.history import as_result
from trimtab_agent.run.measuring import for_tuner
from trimtab_agent.workload_choice import recorded_conditions


def analyse_run(repository: Repository, run_id: int) -> Analysis:
    """The analysis of a run as far as it has come."""
    run = repository.run(run_id)
    space = Space.model_validate(run.space)
    trials = [
        t
        for t in repository.trial_summaries(run_id)
        if t.purpose is not TrialPurpose.CALIBRATION and t.verdict != Verdict.ABORTED
    ]
    results = [as_result(t) for t in trials if t.purpose is TrialPurpose.SEARCH]
    best = _best(run, results)
    return analyse(space, results, best, _evidence(repository, run, trials, best or space.default()))


def _best(run: records.Run, results: Sequence[TrialResult]) -> Configuration | None:
    """What the run recommends, before its end the highest score."""
    if run.outcome is not None:
        recommended = Outcome.model_validate(run.outcome).best
        if recommended is not None:
            return recommended
    verified = [r for r in results if r.score is not None]
    return max(verified, key=lambda r: r.score or 0.0).configuration if verified else None


def _evidence(
    repository: Repository, run: records.Run, trials: Sequence[records.TrialSummary], best: Configuration
) -> RunEvidence | None:
    """The run's trials as evidence, with rates and counters only where a rule may look at them.

    Those are the best's latest trial, the trials that differ from it in one knob, and the last trial that
    failed with each way of sending: so a run of thousands of trials is not read whole.
    """
    own = [t for t in trials if t.configuration == best and t.measurements]
    if not own:
        return None
    failed = [t for t in trials if t.verdict == Verdict.FAILED_VERIFICATION and t.measurements]
    looked_at = {
        own[-1].number,
        *{t.configuration.get("sendfile"): t.number for t in failed}.values(),
        *{t.configuration_hash: t.number for t in trials if _one_knob_apart(t.configuration, best)}.values(),
    }
    evidence = {t.number: _trial(t) for t in trials}
    evidence |= {number: _trial_with_rates(repository.trial(run.id, number)) for number in looked_at}
    return RunEvidence(
        space=Space.model_validate(run.space),
        best=evidence[own[-1].number],
        trials=tuple(evidence.values()),
        server_cpus=tuple(run.layout.get("server", ())),
        link_mbps=_link_mbps(run),
    )


def _one_knob_apart(one: Configuration, other: Configuration) -> bool:
    return sum(one.get(name) != value for name, value in other.items()) == 1


def _link_mbps(run: records.Run) -> float | None:
    """What the link between clients and server carries; None on the loopback, which has no rate."""
    profile = LINKS.get(recorded_conditions(run.workload_parameters).link)
    return None if profile is None else profile.total_mbps


def _trial(trial: records.TrialSummary) -> TrialEvidence:
    return TrialEvidence(
        number=trial.number,
        configuration=trial.configuration,
        verdict=Verdict(trial.verdict),
        score=trial.score,
        rates=(),
    )


def _trial_with_rates(trial: records.Trial) -> TrialEvidence:
    rates = tuple(_rate(m) for m in sorted(trial.measurements, key=lambda m: m.rate_rps))
    return replace(_trial(trial), rates=rates)


def _rate(measurement: records.Measurement) -> RateEvidence:
    busy = measurement.health.get("cpu_share")
    return RateEvidence(
        rate_rps=measurement.rate_rps,
        duration_s=measurement.duration_s,
        goodput_mbps=measurement.goodput_mbps,
        reply_rate_rps=measurement.reply_rate_rps,
        asked=measurement.requests.offered,
        timed_out_before_read=measurement.requests.timed_out_before_read,
        timed_out_after_read=measurement.requests.timed_out_after_read,
        generator_limited=measurement.generator_limited,
        generator_cpu=100.0 * busy if isinstance(busy, int | float) else None,
        size_classes=for_tuner(measurement).size_classes,
        counters=measurement.counters,
        server=measurement.server_stats,
    )
