"""The calibration of a run: the default configuration's saturation rate, and the ladder made from it.

The rates are found where they are driven, by the same `Calibration` that is told here what was measured.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from trimtab_trials.configuration import Configuration
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.clients import Clients
from trimtab_tuner.judging.answers import refusing
from trimtab_tuner.judging.ladder import Calibration, CalibrationError, what_spoilt
from trimtab_tuner.judging.limits import Limit
from trimtab_tuner.judging.score import LOW_LOAD_FACTOR
from trimtab_tuner.presets import RunSettings

from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_agent.study.history import History

USELESS = (Verdict.CRASHED, Verdict.UNRESPONSIVE, Verdict.REJECTED)
MOST_CALIBRATIONS = 3  # so often one is tried that other programs spoil


def calibrate(
    settings: RunSettings,
    default: Configuration,
    dispatcher: Dispatcher,
    start_rps: float,
    on_step: Callable[[int, int], None],
    on_repeat: Callable[[str], None],
) -> Calibration:
    """Has the default configuration calibrated, as the run's next trial; again where other programs spoil it.

    `on_step` gets the steps done and the steps expected, `on_repeat` why it is repeated. Raises
    CalibrationError when the server does not come through it, or other programs leave nothing to go by.
    """
    for left in reversed(range(MOST_CALIBRATIONS)):
        trial = _calibrated(settings, default, dispatcher, start_rps, on_step)
        why = what_spoilt(trial)
        if not why:
            break
        if left:
            on_repeat(f"{why} The calibration is repeated.")
    else:
        raise CalibrationError(
            f"{why} Nothing was measured, in {MOST_CALIBRATIONS} calibrations. Stop the other programs, "
            "or come back when the machine is quiet."
        )
    if refusing(trial.measurements) is not None:
        raise CalibrationError(f"the default configuration does not answer what it is asked: {trial.reason}")
    return _told(settings, trial.measurements)


def _calibrated(
    settings: RunSettings,
    default: Configuration,
    dispatcher: Dispatcher,
    start_rps: float,
    on_step: Callable[[int, int], None],
) -> Trial:
    """One calibration, recorded; raises CalibrationError when the server does not come through it."""
    going_on = new_calibration(settings, start_rps)

    def measured(measurement: Measurement) -> None:
        with suppress(CalibrationError):  # told below
            going_on.tell(measurement)
        on_step(going_on.steps, max(1, going_on.expected_steps))

    trial = dispatcher.carry_out(dispatcher.orders.calibration(default, start_rps), measured)
    if trial.verdict in USELESS:
        raise CalibrationError(f"the default configuration could not be calibrated: {trial.reason}")
    return trial


def new_calibration(settings: RunSettings, start_rps: float) -> Calibration:
    """A calibration as the run wants it, that has been told nothing."""
    return Calibration(
        start_rps,
        refinements=settings.calibration_halvings,
        capacity=settings.capacity_only,
    )


def recorded_calibration(
    settings: RunSettings, history: History, *, after_trial: int = 0
) -> Calibration | None:
    """The last calibration that was recorded after that trial; None if there is none to keep."""
    for trial in reversed(history.calibrations()):
        if trial.number > after_trial and trial.verdict not in USELESS:
            with suppress(CalibrationError):
                return _told(settings, trial.measurements)
    return None


def limit_sentence(limit: Limit) -> str:
    """What `mat` is scored under, and where it comes from."""
    return f"mat: {limit.text}, which is {LOW_LOAD_FACTOR:g} times the mean latency at the lowest rate."


def calibration_sentence(calibration: Calibration, ladder: tuple[float, ...], clients: Clients) -> str:
    """What came out, in words; rates as the clients are told them."""
    rates, saturation = clients.level(*ladder), clients.level(calibration.saturation_rps)
    if calibration.generator_limited:
        return (
            f"The load generator gave out before the server, at {saturation}: "
            f"the ladder {rates} ends below that, so it cannot show how much faster others are."
        )
    if not calibration.saturated:
        return (
            "The default configuration kept up with every rate of the calibration, to "
            f"{saturation}; the ladder begins with {rates}."
        )
    return (
        f"The default configuration saturates at {saturation}; "
        f"the ladder begins with {rates}, and grows if a configuration keeps up with more."
    )


def _told(settings: RunSettings, measurements: Sequence[Measurement]) -> Calibration:
    """A calibration that has been told these, the first of which it began with; raises CalibrationError."""
    start_rps = measurements[0].rate_rps if measurements else settings.calibration_start_rps
    calibration = new_calibration(settings, start_rps)
    for measurement in measurements:
        calibration.tell(measurement)
    return calibration
