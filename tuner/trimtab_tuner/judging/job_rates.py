"""Which rates a job drives, each found from what was measured before it."""

from collections.abc import Iterator, Sequence

from trimtab_trials.measurement import Measurement

from trimtab_tuner.clients import follows
from trimtab_tuner.judging.climbing import Climbing
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.ladder import Calibration, CalibrationError


def rates_of(job: TrialJob, measured: Sequence[Measurement]) -> Iterator[float]:
    """The rates of a job in requests per second, in order; in a closed loop numbers of connections.

    Whoever takes one appends its measurement to `measured` before the next is asked for. A job climbs its
    ladder with what lies beyond and between, or calibrates.
    """
    if job.calibrate_from_rps is not None:
        calibration = Calibration(job.calibrate_from_rps, refinements=job.refinements, capacity=job.capacity)
        while (rate_rps := calibration.next_rate()) is not None:
            yield rate_rps
            try:
                calibration.tell(measured[-1])
            except CalibrationError:
                return  # whoever asked for the calibration comes to the same end with what was measured
        return
    climbing = Climbing(job.ladder, rise=job.rise, refinements=job.refinements)
    while (rate_rps := climbing.next_rate()) is not None:
        yield rate_rps
        last = measured[-1]
        good = follows(last, job.clients.loop) and last.held
        climbing.tell(rate_rps, good=good, limited=last.generator_limited)
