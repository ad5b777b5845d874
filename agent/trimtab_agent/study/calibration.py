"""The calibration of a run: the default configuration's saturation rate, and the ladder made from it."""

from collections.abc import Callable, Iterator

from trimtab_db import records
from trimtab_db.records import TrialPurpose
from trimtab_tuner.ladder import Calibration, CalibrationError, make_ladder
from trimtab_tuner.limits import Limit
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.records import Configuration, Measurement, Verdict
from trimtab_tuner.score import LOW_LOAD_FACTOR

from trimtab_agent.station.measuring import for_tuner
from trimtab_agent.study.bench import TrialOrder
from trimtab_agent.study.history import History

GENERATOR_FULL = 0.95
"""A generator that uses so much of a CPU has no more to give, whether it has fallen behind already or not."""
GENERATOR_SPARE = 0.9
"""What it has just managed once it will not manage in every trial: the ladder ends at this share of it."""

# Carries out a trial, telling a listener of every rate measured.
CarryOut = Callable[[TrialOrder, Callable[[records.Measurement], None]], records.Trial]


def calibrate(
    settings: RunSettings,
    default: Configuration,
    number: int,
    carry_out: CarryOut,
    on_step: Callable[[int, int], None],
) -> Calibration:
    """Drives the default configuration, as trial `number`, at the rates the calibration asks for.

    `on_step` gets the steps done and the steps expected.  Raises CalibrationError when the server does not
    come through it.
    """
    calibration = Calibration(start_rate_rps=settings.calibration_start_rps)

    def rates() -> Iterator[float]:
        while (rate_rps := calibration.next_rate()) is not None:
            yield rate_rps

    def measured(record: records.Measurement) -> None:
        calibration.tell(as_calibration(record))
        on_step(calibration.steps, max(1, calibration.expected_steps))

    step_s = settings.calibration_step_s
    trial = carry_out(
        TrialOrder(
            number=number,
            purpose=TrialPurpose.CALIBRATION,
            configuration=default,
            rates_rps=rates(),
            rates_expected=calibration.expected_steps,
            duration_s=step_s,
            warmup_s=step_s * settings.warmup_s / settings.rate_duration_s,
        ),
        measured,
    )
    if trial.verdict in (Verdict.CRASHED, Verdict.REJECTED):
        raise CalibrationError(f"the default configuration could not be calibrated: {trial.reason}")
    return calibration


def recorded_calibration(settings: RunSettings, history: History) -> Calibration | None:
    """The calibration of a run that was killed before it had its ladder; None if there is none to keep."""
    useless = (Verdict.CRASHED, Verdict.REJECTED)
    trials = [trial for trial in history.calibrations() if trial.verdict not in useless]
    if not trials:
        return None
    calibration = Calibration(start_rate_rps=settings.calibration_start_rps)
    for record in trials[-1].measurements:
        calibration.tell(as_calibration(record))
    return calibration


def as_calibration(record: records.Measurement) -> Measurement:
    """A measurement as the calibration takes it in: what a full generator measures is not the server."""
    measurement = for_tuner(record)
    full = record.health.get("cpu_share", 0.0) >= GENERATOR_FULL
    return measurement.model_copy(update={"generator_limited": True}) if full else measurement


def limit_sentence(limit: Limit) -> str:
    """What `mat` is scored under, and where it comes from."""
    return f"mat: {limit.text}, which is {LOW_LOAD_FACTOR:g} times the mean latency at the lowest rate."


def ladder_from(calibration: Calibration, points: int) -> tuple[float, ...]:
    """The ladder for a run; where the generator gave out before the server, it ends just below that.

    Higher rates would measure the generator.  Raises CalibrationError if the rates are too low for one.
    """
    saturation_rps = calibration.saturation_rps
    try:
        ladder = make_ladder(saturation_rps, points)
        if calibration.generator_limited:
            ladder = make_ladder(GENERATOR_SPARE * saturation_rps * saturation_rps / ladder[-1], points)
    except ValueError as error:
        raise CalibrationError(f"the default configuration could not be calibrated: {error}") from error
    return ladder


def calibration_sentence(calibration: Calibration, ladder: tuple[float, ...]) -> str:
    """What came out, in words."""
    rates = ", ".join(f"{rate:.0f}" for rate in ladder)
    if calibration.generator_limited:
        return (
            f"The load generator gave out before the server, at {calibration.saturation_rps:.0f} requests/s: "
            f"the ladder {rates} requests/s ends below, and faster configurations cannot show by how much."
        )
    return (
        f"The default configuration saturates at {calibration.saturation_rps:.0f} requests/s; "
        f"the ladder is {rates} requests/s."
    )
