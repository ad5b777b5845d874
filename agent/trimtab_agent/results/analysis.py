"""What the tuner makes of a run's records beyond the outcome: `GET /runs/{id}/analysis`."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from trimtab_db import Repository, records
from trimtab_db.records import TrialPurpose
from trimtab_tuner.diagnosis.evidence import RateEvidence, RunEvidence, TrialEvidence
from trimtab_tuner.records import Configuration, TrialResult, Verdict
from trimtab_tuner.space import Space
from trimtab_tuner.understanding.analysis import Analysis, analyse
from trimtab_tuner.workloads.clients import Clients
from trimtab_tuner.workloads.links import LINKS

from trimtab_agent.results.outcome import Outcome
from trimtab_agent.station.measuring import for_tuner
from trimtab_agent.study.history import as_result
from trimtab_agent.workloads.choice import recorded_clients, recorded_conditions

MOST_KEPT = 16  # runs that somebody may be looking at

# What an analysis depends on that changes: how many trials there are, and the outcome.
_Progress = tuple[int, records.JsonObject | None]


class Analyses:
    """The latest analyses of runs; one is worked out anew only when its run has got on. For any thread."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = threading.Lock()  # two who ask at once wait for the same one
        self._done: OrderedDict[int, tuple[_Progress, Analysis]] = OrderedDict()

    def of(self, run_id: int) -> Analysis:
        """The analysis of a run as far as it has come; raises RecordNotFoundError."""
        with self._lock:
            summary = self._repository.run_summary(run_id)
            progress = (summary.trials, summary.run.outcome)
            known, analysis = self._done.pop(run_id, (None, None))
            if analysis is None or known != progress:
                analysis = analyse_run(self._repository, run_id)
            self._done[run_id] = (progress, analysis)
            if len(self._done) > MOST_KEPT:
                self._done.popitem(last=False)
            return analysis


def analyse_run(repository: Repository, run_id: int) -> Analysis:
    """The analysis of a run as far as it has come."""
    run = repository.run(run_id)
    space = Space.model_validate(run.space)
    trials = [
        t
        for t in repository.trial_lines(run_id)
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
    repository: Repository, run: records.Run, trials: Sequence[records.TrialLine], best: Configuration
) -> RunEvidence | None:
    """The run's trials as evidence, with rates and counters only where a rule may look at them.

    Those are the best's latest trial, the trials that differ from it in one knob, and the last trial that
    failed with each way of sending: so a run of thousands of trials is not read whole.
    """
    clients = recorded_clients(run.workload_parameters)
    looked_at = {
        *{t.configuration.get("sendfile"): t.number for t in trials if _failed(t)}.values(),
        *{t.configuration_hash: t.number for t in trials if _one_knob_apart(t.configuration, best)}.values(),
    }
    evidence = {t.number: _trial(t, clients) for t in trials}
    whole = repository.trials_numbered(run.id, looked_at)
    evidence |= {trial.number: trial_evidence(trial, clients) for trial in whole}
    own = (t.number for t in reversed(trials) if t.configuration == best)
    latest = (trial_evidence(repository.trial(run.id, number), clients) for number in own)
    of_best = next((trial for trial in latest if trial.rates), None)
    if of_best is None:
        return None
    evidence[of_best.number] = of_best
    return RunEvidence(
        space=Space.model_validate(run.space),
        best=of_best,
        trials=tuple(evidence.values()),
        server_cpus=tuple(run.layout.get("server", ())),
        link_mbps=_link_mbps(run),
    )


def _failed(trial: records.TrialLine) -> bool:
    return trial.verdict == Verdict.FAILED_VERIFICATION


def _one_knob_apart(one: Configuration, other: Configuration) -> bool:
    return sum(one.get(name) != value for name, value in other.items()) == 1


def _link_mbps(run: records.Run) -> float | None:
    """What the link between clients and server carries; None on the loopback, which has no rate."""
    profile = LINKS.get(recorded_conditions(run.workload_parameters).link)
    return None if profile is None else profile.total_mbps


def _trial(trial: records.TrialLine, clients: Clients) -> TrialEvidence:
    return TrialEvidence(
        number=trial.number,
        configuration=trial.configuration,
        verdict=Verdict(trial.verdict),
        score=trial.score,
        rates=(),
        clients=clients,
    )


def trial_evidence(trial: records.Trial, clients: Clients) -> TrialEvidence:
    """A recorded trial as the rules of diagnosis look at it."""
    rates = tuple(_rate(m) for m in sorted(trial.measurements, key=lambda m: m.rate_rps))
    return replace(_trial(trial, clients), rates=rates)


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
