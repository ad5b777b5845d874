"""Trials, runs and histories made by hand, for what is decided from records alone."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

from trimtab_agent.study.conclusion import confirmed_outcome
from trimtab_agent.study.history import History
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_trials.measurement import Latency, Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.certainty.blocks import Blocks

PLAN = check(RunSpec())
SPACE = PLAN.space
DEFAULT = SPACE.default()
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def trial(number, purpose, configuration, score, verdict="verified", block=0, reason=""):
    """A recorded trial."""
    return Trial(
        run_id=1,
        number=number,
        purpose=purpose,
        block=block,
        configuration=configuration,
        verdict=Verdict(verdict),
        reason=reason,
        score=score,
        server_config="",
        started_at=NOW,
        finished_at=NOW,
    )


def measured(rate_rps, replies_rps, cpu_share=0.5):
    """What a calibration and a remark look at in a measurement."""
    return Measurement(
        rate_rps=rate_rps, goodput_mbps=1.0, reply_rate_rps=replies_rps, health={"cpu_share": cpu_share}
    )


def recorded_run(second_objective=None, **settings):
    """A run, as far as a conclusion looks at it."""
    return SimpleNamespace(
        space=SPACE.model_dump(mode="json"),
        settings={**PLAN.settings.model_dump(mode="json"), **settings},
        objective="condensed-area",
        second_objective=second_objective,
        workload_parameters={},
    )


def history_of(trials, ladder=(1000.0, 2000.0, 3000.0, 4000.0)):
    """The history of a run with these trials."""
    recorded = SimpleNamespace(
        run=lambda _: SimpleNamespace(ladder=ladder, space=SPACE.model_dump(mode="json")),
        trials_with_curves=lambda _: trials,
        proposals_of=lambda _: [],
        whole_trials=lambda _, *, after=0, limit=None, numbers=None, size_classes: [
            t for t in trials if t.number > after and (numbers is None or t.number in numbers)
        ][:limit],
        trial=lambda _, number: next(t for t in trials if t.number == number),
    )
    return History(recorded, 1)


def confirmation(scores, other):
    """Four blocks of default and other."""
    trials = []
    for block, (a, b) in enumerate(scores, start=1):
        trials.append(trial(2 * block, TrialPurpose.CONFIRMATION, DEFAULT, a, block=block))
        trials.append(trial(2 * block + 1, TrialPurpose.CONFIRMATION, other, b, block=block))
    return trials


def concluded(finalists, trials, repeats=4):
    """The outcome of a confirmation of so many blocks."""
    blocks = Blocks(finalists, repeats, 1, trials)
    return confirmed_outcome(recorded_run(), finalists, history_of(trials), blocks, None)


def climbed(capacity_rps):
    """What a server of that capacity measures up a ladder."""
    return tuple(
        replace(measured(rate, min(rate, capacity_rps)), reply_latency=Latency(p99_us=1000.0))
        for rate in (1000.0, 2000.0, 3000.0, 4000.0)
    )


def with_tail(measured, p99_us):
    """The trial with one measurement at 100 requests/s, as far as tails look at it."""
    latency = Latency(p99_us=p99_us)
    rate = Measurement(rate_rps=100.0, goodput_mbps=1.0, reply_rate_rps=100.0, reply_latency=latency)
    return replace(measured, measurements=(rate,))
