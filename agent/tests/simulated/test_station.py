"""The simulated station: what a scenario says, happens."""

import threading

import pytest
from live_support import WAIT_S
from simulation import Simulation
from trimtab_agent.errors import HostError, StationLost
from trimtab_agent.simulated.scenario import Incident
from trimtab_agent.station.equipment import JobListener
from trimtab_trials.trial import Verdict

QUIET = JobListener()


def carried_out(station, job, number=1, listener=QUIET):
    """The report of a trial."""
    return station.carry_out(number, job, listener, {})


def test_job_is_answered_with_its_rates_and_dates_of_the_stations_own_clock(station, job):
    """Each as long as the job says; the next trial begins where this one has ended."""
    told = []
    listener = JobListener(rate_started=told.append, measured=lambda each: told.append(each.rate_rps))
    first = carried_out(station, job(), listener=listener)
    assert (first.verdict, first.reason) == (Verdict.VERIFIED, "All verification rules hold at every rate.")
    assert told == [1000.0, 1000.0, 2000.0, 2000.0]
    assert (first.finished_at - first.started_at).total_seconds() == pytest.approx(0.4 + 2 * 11)
    assert carried_out(station, job(), number=2).started_at == first.finished_at
    assert "workers" in first.server_config


@pytest.mark.parametrize(
    ("what", "verdict", "rates"),
    [
        ("rejected", Verdict.REJECTED, 0),
        ("crashes", Verdict.CRASHED, 1),
        ("disturbed", Verdict.DISTURBED, 2),
        ("starves", Verdict.FAILED_VERIFICATION, 2),
        ("fails", Verdict.FAILED_VERIFICATION, 2),
        ("generator-limited", Verdict.GENERATOR_LIMITED, 2),
        ("generator-starved", Verdict.GENERATOR_LIMITED, 2),
        ("hangs", Verdict.UNRESPONSIVE, 2),
    ],
)
def test_incident_gives_its_verdict_from_its_rate_on(station, simulation, job, what, verdict, rates):
    """At the second rate of two; other trials are as ever."""
    simulation.happens(what, trials=(2,), rate=1 if what == "rejected" else 2)
    assert carried_out(station, job()).verdict is Verdict.VERIFIED
    report = carried_out(station, job(), number=2)
    assert (report.verdict, len(report.measurements)) == (verdict, rates)
    assert report.reason


def test_incident_happens_to_the_configuration_that_it_names(job):
    """Every value must be as it says; with none, all trials have it."""
    four = Incident(what="crashes", where={"workers": 4})
    assert four.happens_to(1, job({"workers": 4}))
    assert not four.happens_to(1, job({"workers": 3}))
    assert Incident(what="crashes").happens_to(9, job())
    assert not Incident(what="crashes", trials=(1, 2)).happens_to(9, job())


def in_the_background(station, job, number=1):
    """A thread that carries out a trial, what comes of it, and when its first rate has been measured."""
    reports, measured = [], threading.Event()
    listener = JobListener(measured=lambda _each: measured.set())
    thread = threading.Thread(target=lambda: reports.append(carried_out(station, job, number, listener)))
    thread.start()
    return thread, reports, measured


def test_held_trial_waits_before_its_rate_until_it_is_released(station, simulation, job):
    """And then ends as if it had not been held."""
    simulation.hold(trial=1, rate=2)
    thread, reports, measured = in_the_background(station, job())
    assert measured.wait(WAIT_S)
    assert (thread.is_alive(), reports) == (True, [])
    simulation.release()
    thread.join(WAIT_S)
    (report,) = reports
    assert [each.rate_rps for each in report.measurements] == [1000.0, 2000.0]
    assert report.measurements == carried_out(station, job()).measurements


def test_hold_of_no_trial_in_particular_holds_each(station, simulation, job):
    """Whatever its number."""
    simulation.hold(rate=2)
    thread, reports, measured = in_the_background(station, job(), number=17)
    assert measured.wait(WAIT_S)
    station.stop()
    thread.join(WAIT_S)
    assert [len(report.measurements) for report in reports] == [1]


def test_trial_that_is_stopped_while_it_is_held_is_aborted(station, simulation, job):
    """With what it had measured."""
    simulation.hold(trial=1, rate=2)
    thread, reports, measured = in_the_background(station, job())
    assert measured.wait(WAIT_S)
    station.stop()
    thread.join(WAIT_S)
    (report,) = reports
    assert (report.verdict, len(report.measurements)) == (Verdict.ABORTED, 1)


def test_trial_that_is_stopped_in_its_pace_is_aborted(station, simulation, job):
    """Nobody waits for the rest of it."""
    simulation.change(pace_s=10.0)
    driving, reports = threading.Event(), []
    listener = JobListener(load_progress=lambda _rate, _line: driving.set())
    thread = threading.Thread(target=lambda: reports.append(carried_out(station, job(), listener=listener)))
    thread.start()
    assert driving.wait(WAIT_S)
    station.stop()
    thread.join(WAIT_S)
    assert [report.verdict for report in reports] == [Verdict.ABORTED]


def test_station_that_is_lost_comes_back_when_the_scenario_says_so(station, simulation, job):
    """The trial has no report then; the next one has."""
    simulation.happens("lost", trials=(1,), rate=2)
    with pytest.raises(StationLost, match="the scenario wants it lost"):
        carried_out(station, job())
    assert not station.ready()
    simulation.change(incidents=())
    assert station.ready()
    assert carried_out(station, job(), number=2).verdict is Verdict.VERIFIED


def test_calibration_ends_near_what_the_server_can_answer(station, simulation: Simulation, job):
    """It climbs past the capacity of the default, here 9,000 requests per second for each of two CPUs."""
    simulation.change(noise_within=0.0, noise_between=0.0)
    report = carried_out(station, job({"workers": 2}, calibrate_from_rps=1000.0))
    rates = [each.rate_rps for each in report.measurements]
    followed = [each.rate_rps for each in report.measurements if each.reply_rate_rps >= 0.98 * each.rate_rps]
    assert max(followed) <= 18_000 < max(rates)
    assert max(followed) > 18_000 / 2


def test_scenario_that_makes_no_sense_ends_the_trial_with_its_sentence(station, simulation, job):
    """As of any machine on which something is not as it must be."""
    simulation.file.write_text("{")
    with pytest.raises(HostError, match="the scenario "):
        carried_out(station, job())
