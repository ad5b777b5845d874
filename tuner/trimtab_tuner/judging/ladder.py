"""Which rates a run measures: a calibration on the default configuration, a ladder made from it, and how that
grows.

The calibration raises the offered rate geometrically until the replies no longer follow it, then narrows the
knee down (climbing.py). The first rate that is not followed is driven once more before it counts: a host that
was busy with something else for a second would otherwise set the ladder of the whole run, far below the knee.
A generator that gives out where the server has already been seen not to follow says nothing new. It is a
state machine without clock or network: the caller drives each `next_rate()` for a second or two and tells
what was measured.

On its way up a calibration also ends at a generator that is full, though that has not fallen behind yet: what
the generator has just managed cannot be asked of it in every trial, let alone 1.3 times as much, so it needs
more CPUs or the ladder has to end below. Nothing else minds a full generator, neither a trial's climb nor
`capacity_of` nor a calibration between what was followed and what was not: what it delivered it has
delivered, and says of itself when it did not.

    calibration = Calibration()
    while (rate_rps := calibration.next_rate()) is not None:
        calibration.tell(drive(rate_rps))
    ladder = calibration.ladder(points=4)

The ladder that comes of it says what the default can do. What the search finds can do more: a trial that
follows the highest rung climbs on (`RUNG_RISE`), and the rungs that it passes are added for all. Trials of
the search are then driven at the lowest rung and the highest few: what lies between every contender follows.
Only `mat` needs every rung.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.judging.climbing import Climbing, next_rung, whole
from trimtab_tuner.judging.second_objective import is_mat

RISE = 1.6  # about five steps per decade: the knee is met within 60 %, and two refinements bring that to 15 %
RUNG_RISE = 1.25  # from rung to rung where the ladder grows
REFINEMENTS = 2
GENERATOR_FULL = 0.95  # of a CPU: then it has no more to give
GENERATOR_SPARE = 0.9  # what it has just managed once it will not manage in every trial


class CalibrationError(Exception):
    """The calibration cannot give a saturation rate; the message says why."""


@dataclass
class Calibration:
    """The search for the saturation rate; rates in requests per second.

    `steps` counts the measurements told. With `capacity` only a rate at which all rules held counts as
    followed: what comes out is the capacity, not the saturation alone.
    """

    start_rate_rps: float = 2000.0
    refinements: int = REFINEMENTS
    capacity: bool = False
    steps: int = 0
    _climbing: Climbing = field(init=False)
    _reply_rates: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.start_rate_rps > 0:
            raise CalibrationError(
                f"start rate {self.start_rate_rps}: expected a rate above 0 requests per second"
            )
        self._climbing = Climbing([self.start_rate_rps], rise=RISE, refinements=self.refinements, sure=True)

    @property
    def generator_limited(self) -> bool:
        """Whether the load generator gave out before the server: the saturation is then a lower bound."""
        return self._climbing.limited

    @property
    def saturated(self) -> bool:
        """Whether a rate was met that the server did not follow; without one its saturation was not seen."""
        return math.isfinite(self._climbing.lost_rps)

    def next_rate(self) -> float | None:
        """The rate to drive next, or None when the calibration is over."""
        return self._climbing.next_rate()

    def tell(self, measurement: Measurement) -> None:
        """Take in what was measured at the rate given last.

        Raises CalibrationError if the server answers nothing although it has not yet answered at any rate.
        """
        rate, replies = measurement.rate_rps, measurement.reply_rate_rps
        full = self._climbing.rising and (measurement.generator_cpu_share or 0.0) >= GENERATOR_FULL
        if replies == 0 and not self._reply_rates:
            raise CalibrationError(
                f"the server answered no request at {rate:,.0f} requests per second; "
                "expected it to answer some, is it running and does it serve the workload's files?"
            )
        self.steps += 1
        self._reply_rates.append(replies)
        good = measurement.followed and (measurement.held or not self.capacity)
        self._climbing.tell(rate, good=good, limited=measurement.generator_limited or full)

    @property
    def next_start_rps(self) -> float:
        """Where the calibration begins that repeats this one with the CPUs divided anew.

        What was followed need not be climbed to again: a server that has got CPUs follows it too, one that
        has given some away follows a rung less.
        """
        followed_rps = self._climbing.followed_rps
        if followed_rps == 0.0:
            return self.start_rate_rps
        return whole(followed_rps / RISE) if self.generator_limited else followed_rps

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
        known = self.steps + self._climbing.steps_left
        return known if self.saturated else max(7 + self.refinements, known + 1)


def what_spoilt(calibration: Trial) -> str:
    """Which programs have left a calibration without an answer, in words; empty where none has.

    `calibration` has its measurements. A generator that was starved at a higher rate than one that was
    followed leaves a lower bound; one that was starved before leaves nothing.
    """
    if calibration.verdict.spoilt:
        return f"Other programs disturbed the calibration: {calibration.reason}"
    measurements = calibration.measurements
    starved = any(measurement.generator_starved for measurement in measurements)
    if starved and not any(m.followed and not m.generator_limited for m in measurements):
        return "Other programs took the load generator's CPU."
    return ""


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


def grown(ladder: Sequence[float], measurements: Sequence[Measurement]) -> tuple[float, ...]:
    """The ladder with the rungs above it at which a verified trial was measured and all rules still held.

    The last of them is the first that the trial did not follow, unless the generator gave out before, or a
    rule broke there: so the ladder ends above what its best can do, and not far above.
    """
    rungs = list(ladder)
    rung, highest = ladder[-1], max((m.rate_rps for m in measurements), default=0.0)
    measured = {m.rate_rps: m for m in measurements if not m.generator_limited}
    while (rung := next_rung(rung, RUNG_RISE)) <= highest:
        here = measured.get(rung)
        if here is None:
            continue
        if here.held:
            rungs.append(rung)
        if not (here.held and here.followed):
            break
    return tuple(rungs)


def rungs_to_search(ladder: Sequence[float], points: int, objectives: Iterable[str]) -> tuple[float, ...]:
    """The rungs that a trial of the search is driven at, by the texts of the run's objectives.

    No more than the `points` that the ladder began with; of a ladder that has grown these are the lowest and
    the highest. Under `mat` it is every rung: a latency limit may be broken first at any of them, and what
    was measured at others does not say where.
    """
    if len(ladder) <= points or any(map(is_mat, objectives)):
        return tuple(ladder)
    return ladder[0], *ladder[len(ladder) - points + 1 :]
