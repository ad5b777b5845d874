"""What stations have recorded for a run whose study had died: taken in before it goes on."""

import logging
from typing import Any

from trimtab_db import Repository, records
from trimtab_db.records import BookingState
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.judging.job import TrialJob, TrialReport
from trimtab_tuner.judging.judgement import scores
from trimtab_tuner.space import Space

from trimtab_agent.study.orders import scored_on
from trimtab_agent.study.recorded_run import history_of

log = logging.getLogger(__name__)


def take_in_booked(repository: Repository, run_id: int) -> int:
    """Records the results that stations have left in their bookings; the last number that was offered.

    What has no result yet is offered no more: it will be decided anew.
    """
    run, bookings = repository.run(run_id), repository.bookings(run_id)
    bookings.expire()
    offered = bookings.all()
    if not offered:
        return 0
    known = {trial.number for trial in repository.trials(run_id)}
    history = history_of(repository, run, Space.model_validate(run.space))
    for booking in offered:
        if booking.state is BookingState.COMMITTED and booking.trial_number not in known:
            order, job = booking.job["order"], TrialJob.model_validate(booking.job["job"])
            report = TrialReport.model_validate(booking.result)
            ladder = scored_on(TrialPurpose(order["purpose"]), job, history.ladder)
            scored = scores(
                report.verdict,
                report.measurements,
                ladder,
                run.objective,
                run.second_objective,
                history.low_load_limit(),
            )
            history.record(_trial(run, repository.register_host(report.host), order, report, **vars(scored)))
            log.info("run %d: recorded the trial %d that a station had left", run_id, booking.trial_number)
    bookings.withdraw()
    return max(booking.trial_number for booking in offered)


def _trial(
    run: records.Run, host_id: int, order: dict[str, Any], report: TrialReport, **scored: float | None
) -> Trial:
    fields = {**order, "purpose": TrialPurpose(order["purpose"]), **scored}
    return Trial(
        run_id=run.id,
        host_id=host_id,
        verdict=report.verdict,
        reason=report.reason,
        server_config=report.server_config,
        started_at=report.started_at,
        finished_at=report.finished_at,
        measurements=report.measurements,
        **fields,
    )
