"""What the tuner makes of a run's records beyond the outcome: `GET /runs/{id}/analysis`."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from trimtab_db import Repository, records
from trimtab_db.records import RunState
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.diagnosis import diagnose
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.equivalents import equivalents_of
from trimtab_tuner.understanding.analysis import Analysis, analyse
from trimtab_tuner.workloads.links import LINKS
from trimtab_tuner.workloads.parameters import clients_of, conditions_of

from trimtab_agent.results.outcome import Outcome, best_known

MOST_KEPT = 16  # runs that somebody may be looking at

# What an analysis depends on that changes: how many trials there are, the ladder that gives them their
# scores, and the outcome. When the run began tells it from a deleted one, whose number it may have.
_Progress = tuple[datetime, int, tuple[float, ...], records.JsonObject | None]


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
            run = summary.run
            progress = (run.created_at, summary.trials, tuple(run.ladder), run.outcome)
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
    whole = [t for t in repository.trials(run_id) if t.verdict is not Verdict.ABORTED]
    if run.settings.get("capacity_only"):
        return _analyse_climb(repository, run, space, whole)
    trials = [t for t in whole if t.purpose is not TrialPurpose.CALIBRATION]
    default = configuration_hash(space.default())
    measured = {t.number: t for t in repository.trials_with_curves(run_id, configuration_hash=default)}
    searched = [measured.get(t.number, t) for t in trials if t.purpose is TrialPurpose.SEARCH]
    outcome = None if run.outcome is None else Outcome.model_validate(run.outcome)
    best = best_known(outcome, searched)
    evidence = _evidence(repository, run, space, trials, best or space.default())
    return analyse(space, searched, best, evidence, [t for t in trials if t.in_block])


def _analyse_climb(
    repository: Repository, run: records.Run, space: Space, climbs: Sequence[Trial]
) -> Analysis:
    """What limits the default, by the one climb that was all that was asked for; nothing if that failed."""
    default = space.default()
    if run.state is RunState.FAILED:
        climbs = ()
    evidence = _evidence(repository, run, space, climbs, default)
    findings: tuple[Finding, ...] = () if evidence is None else diagnose(evidence.of_climb())
    return Analysis(noise=None, best=default, importance=None, stability=None, findings=findings, notes=())


def _evidence(
    repository: Repository,
    run: records.Run,
    space: Space,
    trials: Sequence[Trial],
    best: Configuration,
) -> RunEvidence | None:
    """The run's trials as evidence, with rates and counters only where a rule may look at them.

    Those are the best's latest trial, the trials that differ from it in one knob, and the last trial that
    failed with each way of sending: so a run of thousands of trials is not read whole. A trial that other
    programs spoilt is no evidence; None where the best has no other.
    """
    trials = [t for t in trials if not t.verdict.spoilt]
    failed = [t for t in trials if t.verdict is Verdict.FAILED_VERIFICATION]
    sending = space.of_role(Role.SENDING_MODE)
    modes = {None if sending is None else t.configuration.get(sending.name): t.number for t in failed}
    looked_at = {
        *modes.values(),
        *{t.configuration_hash: t.number for t in trials if _one_knob_apart(t.configuration, best)}.values(),
    }
    whole = {t.number: ascending(t) for t in repository.whole_trials(run.id, numbers=looked_at)}
    own = (t.number for t in reversed(trials) if t.configuration == best)
    latest = (ascending(repository.trial(run.id, number)) for number in own)
    of_best = next((trial for trial in latest if trial.measurements), None)
    if of_best is None:
        return None
    whole[of_best.number] = of_best
    return evidence_of(run, space, of_best, tuple(whole.get(t.number, t) for t in trials))


def evidence_of(run: records.Run, space: Space, best: Trial, trials: tuple[Trial, ...]) -> RunEvidence:
    """What rules look at: these trials of a run, of which `best` is the one in question (`ascending`)."""
    return RunEvidence(
        space=space,
        equivalents=equivalents_of(TARGETS[run.target].equivalents, space.default()),
        best=best,
        trials=trials,
        clients=clients_of(run.workload_parameters),
        server_cpus=tuple(run.layout.get("server", ())),
        link_mbps=_link_mbps(run),
        protocol=TARGETS[run.target].protocol,
    )


def ascending(trial: Trial) -> Trial:
    """The trial with its measurements from the lowest rate to the highest, as rules look at them.

    Of a rate that was doubted and driven again only the second one is left, which is the one that counts.
    """
    last = {m.rate_rps: m for m in trial.measurements}
    return replace(trial, measurements=tuple(last[rate] for rate in sorted(last)))


def _one_knob_apart(one: Configuration, other: Configuration) -> bool:
    return sum(one.get(name) != value for name, value in other.items()) == 1


def _link_mbps(run: records.Run) -> float | None:
    """What the link between clients and server carries; None on the loopback, which has no rate."""
    profile = LINKS.get(conditions_of(run.workload_parameters).link)
    return None if profile is None else profile.total_mbps
