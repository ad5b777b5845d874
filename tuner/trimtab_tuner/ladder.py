"""Which rates a run measures: a calibration on the default configuration, then a ladder fixed for the run.

The calibration raises the offered rate geometrically until the replies no longer follow it, then narrows the
knee down. The first rate that is not followed is driven once more before it counts: a host that was busy with
something else for a second would otherwise set the ladder of the whole run, far below the knee. A generator
that gives out where the server has already been seen not to follow says nothing new; nor does a generator
that is full, whether it has fallen behind already or not. It is a state
machine without clock or network: the caller drives each `next_rate()` for a second or two and tells what was
measured.

    calibration = Calibration()
    while (rate_rps := calibration.next_rate()) is not None:
        calibration.tell(drive(rate_rps))
    ladder = calibration.ladder(points=4)
"""

import math
from dataclasses import dataclass, field

import numpy as np
from trimtab_trials.measurement import Measurement

RISE = 1.6  # about five steps per decade: the knee is met within 60 %, and two refinements bring that to 15 %
FOLLOWS = 0.9  # replies at 90 % of the offered rate still follow it; the rest is ramp-up and noise
REFINEMENTS = 2
GENERATOR_FULL = 0.95  # of a CPU: then it has no more to give
GENERATOR_SPARE = 0.9  # what it has just managed once it will not manage in every trial


class CalibrationError(Exception):
    """The calibration cannot give a saturation rate; the message says why."""


@dataclass
class Calibration:
    """The search for the saturation rate; rates in requests per second.

    `steps` counts the measurements told. `generator_limited` says that the load generator gave out before the
    server: the saturation rate is then only a lower bound.
    """

    start_rate_rps: float = 2000.0
    max_steps: int = 14
    steps: int = 0
    generator_limited: bool = False
    _followed: float = 0.0  # highest offered rate that the replies followed
    _lost: float = math.inf  # lowest offered rate that they did not
    _doubted: float | None = None  # the rate that was not followed and is driven once more
    _refined: int = 0
    _reply_rates: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.start_rate_rps > 0:
            raise CalibrationError(
                f"start rate {self.start_rate_rps}: expected a rate above 0 requests per second"
            )

    def next_rate(self) -> float | None:
        """The rate to drive next, or None when the calibration is over."""
        if self.steps == 0:
            return self.start_rate_rps
        if self.steps >= self.max_steps or self.generator_limited or self._refined >= REFINEMENTS:
            return None
        if self._doubted is not None:
            return self._doubted
        if math.isinf(self._lost):
            return self._followed * RISE
        if self._followed == 0.0:
            return self._lost / RISE**2
        return math.sqrt(self._followed * self._lost)

    def tell(self, measurement: Measurement) -> None:
        """Take in what was measured at the rate given last.

        Raises CalibrationError if the server answers nothing although it has not yet answered at any rate.
        """
        rate, replies = measurement.rate_rps, measurement.reply_rate_rps
        full = (measurement.generator_cpu_share or 0.0) >= GENERATOR_FULL
        limited = measurement.generator_limited or full
        if replies == 0 and not self._reply_rates:
            raise CalibrationError(
                f"the server answered no request at {rate:.0f} requests per second; "
                "expected it to answer some, is it running and does it serve the workload's files?"
            )
        self.steps += 1
        bracketed = self._followed > 0.0 and math.isfinite(self._lost)
        self._reply_rates.append(replies)
        if limited and self._doubted is None and math.isinf(self._lost):
            self.generator_limited = True
        elif replies >= FOLLOWS * rate and not limited:
            self._followed = max(self._followed, rate)
            self._doubted = None
        elif math.isinf(self._lost) and self._doubted is None:
            self._doubted = rate
        else:
            self._doubted = None
            self._lost = min(self._lost, rate)
        self._refined += bracketed

    @property
    def saturation_rps(self) -> float:
        """Highest reply rate seen; CalibrationError before the first measurement."""
        if not self._reply_rates:
            raise CalibrationError("no rate has been measured yet; expected at least one calibration step")
        return max(self._reply_rates)

    def ladder(self, points: int) -> tuple[float, ...]:
        """The ladder for a run; where the generator gave out before the server, it ends just below that.

        Higher rates would measure the generator. Raises CalibrationError if the rates are too low for one.
        """
        saturation_rps = self.saturation_rps
        try:
            ladder = make_ladder(saturation_rps, points)
            if self.generator_limited:
                ladder = make_ladder(GENERATOR_SPARE * saturation_rps * saturation_rps / ladder[-1], points)
        except ValueError as error:
            raise CalibrationError(f"the default configuration could not be calibrated: {error}") from error
        return ladder

    @property
    def expected_steps(self) -> int:
        """Present estimate of the number of steps in all, those done included (for progress bars)."""
        if self.next_rate() is None:
            return self.steps
        if math.isinf(self._lost):
            return max(9, min(self.steps + REFINEMENTS + 1, self.max_steps))
        return min(self.steps + REFINEMENTS - self._refined, self.max_steps)


def make_ladder(saturation_rps: float, points: int) -> tuple[float, ...]:
    """The ascending rates of a run, whole requests per second, from 0.5 to 1.3 times the saturation rate.

    Below saturation all good configurations answer what is asked, so one rate well below it suffices, to see
    that nothing is wrong under light load. Configurations differ at the knee and beyond, so the other points
    crowd there: four points lie at 0.5, 0.8, 1.0 and 1.3. The last is far enough above that even a
    configuration somewhat better than the default is overloaded, and not so far that mostly clients giving up
    would be measured. Other numbers of points are spread along the same line.

    Raises ValueError for fewer than two points or a saturation rate too low to tell the points apart.
    """
    if points < 2:
        raise ValueError(f"ladder_points = {points}: expected at least 2")
    shares = np.interp(np.linspace(0, 1, points), [0, 1 / 3, 2 / 3, 1], [0.5, 0.8, 1.0, 1.3])
    rates = tuple(float(round(saturation_rps * share)) for share in shares)
    if rates[0] < 1 or len(set(rates)) != points:
        raise ValueError(
            f"a saturation rate of {saturation_rps:.1f} requests per second is too low "
            f"for a ladder of {points} rates"
        )
    return rates
