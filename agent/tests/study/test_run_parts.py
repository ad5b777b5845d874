"""Parts of a run that need no server: calibration, progress, quiet, the evidence of exports."""

import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from recorded_trials import DEFAULT, NOW, PLAN, confirmation, history_of, measured, trial, with_tail
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.cpu import CpuReading
from trimtab_agent.results.exporting import tail_gain
from trimtab_agent.station.disturbance import busy_percent
from trimtab_agent.station.server.checking import check_file
from trimtab_agent.study.calibration import calibration_sentence, new_calibration, recorded_calibration
from trimtab_agent.study.progress import RunProgress
from trimtab_db.records import RunPhase, RunState
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.clients import Clients
from trimtab_tuner.exports import Check


@pytest.mark.parametrize(("cpu_share", "limited"), [(0.97, True), (0.93, False)])
def test_full_generator_is_not_taken_for_a_saturated_server(cpu_share, limited):
    """It offered 85,899 requests/s at 99 % of a CPU, was not late, and half of them were answered."""
    calibrated = trial(1, TrialPurpose.CALIBRATION, DEFAULT, None)
    both = (measured(2_000.0, 2_000.0), measured(3_200.0, 1_500.0, cpu_share=cpu_share))
    calibration = recorded_calibration(PLAN.settings, history_of([replace(calibrated, measurements=both)]))
    assert calibration.generator_limited is limited
    assert (calibration.next_rate() is None) is limited


def test_calibration_that_met_no_rate_too_high_does_not_speak_of_saturation():
    """A server that follows everything has not been seen at its limit."""
    calibration = new_calibration(PLAN.settings, 2_000.0)
    while (rate_rps := calibration.next_rate()) is not None:
        calibration.tell(measured(rate_rps, rate_rps))
    told = calibration_sentence(calibration, (12_000.0, 36_000.0), Clients())
    assert told.startswith("The default configuration kept up with every rate of the calibration")
    assert "saturates" not in told


def test_large_rates_are_told_with_separators():
    """As everywhere else: 36,231 and not 36231."""
    calibrated = trial(1, TrialPurpose.CALIBRATION, DEFAULT, None)
    both = (measured(20_000.0, 20_000.0), measured(40_000.0, 36_231.0))
    calibration = recorded_calibration(PLAN.settings, history_of([replace(calibrated, measurements=both)]))
    told = calibration_sentence(calibration, (12_000.0, 36_000.0), Clients())
    assert f"{calibration.saturation_rps:,.0f} requests/s" in told
    assert "12,000, 36,000 requests/s" in told


def test_progress_counts_down_and_never_back():
    """ETA follows the trials left; the fraction only grows; the end is 1."""
    progress = RunProgress(Broadcaster(), 1, PLAN.estimate(), [])
    fractions, etas = [], []

    def note():
        fractions.append(progress.data["fraction"])
        etas.append(progress.data["eta_s"])

    for phase in (RunPhase.PREPARING, RunPhase.CALIBRATING, RunPhase.SEARCHING):
        progress.enter_phase(phase)
        note()
    progress.expect(RunPhase.SEARCHING, 10)
    progress.trial_started(2, DEFAULT, 4)
    progress.rate_started(2, 100.0)
    progress.rate_started(2, 200.0)
    progress.rate_started(1, 900.0)  # of another station, which began earlier
    assert (progress.data["rate_index"], progress.data["rates"]) == (1, 4)
    progress.expect(RunPhase.SEARCHING, 20)
    note()
    progress.trial_finished(trial(2, TrialPurpose.SEARCH, DEFAULT, 80.0))
    note()
    progress.enter_phase(RunPhase.CONFIRMING)
    progress.enter_phase(RunPhase.DONE)
    progress.end(RunState.FINISHED)
    note()
    assert fractions == sorted(fractions)
    assert (fractions[-1], etas[-1]) == (1.0, 0.0)
    assert etas[0] > etas[1] > etas[2]


def test_remaining_time_expects_trials_to_be_measured_again_as_often_as_the_latest_were():
    """So it does not promise what is never kept; no trial is measured more than twice in its place."""

    def told(verdicts):
        recorded = [
            replace(
                trial(number, TrialPurpose.SEARCH, DEFAULT, None, verdict=verdict),
                finished_at=NOW + timedelta(seconds=10),
            )
            for number, verdict in enumerate(verdicts, start=1)
        ]
        progress = RunProgress(Broadcaster(), 1, PLAN.estimate(), recorded)
        for phase in (RunPhase.ELIMINATING, RunPhase.CONFIRMING, RunPhase.EXPORTING):
            progress.expect(phase, 0)
        progress.enter_phase(RunPhase.SEARCHING)
        progress.expect(RunPhase.SEARCHING, 12)
        return progress.data["eta_s"], progress.data["trials_expected"] - len(recorded)

    assert told(10 * ["verified"]) == (120.0, 12)
    assert told(6 * ["verified"] + 4 * ["disturbed"]) == (200.0, 20)
    assert told(10 * ["disturbed"]) == (240.0, 24)
    assert told(10 * ["disturbed"] + 10 * ["verified"]) == (120.0, 12)  # the programs have ended


def test_stopped_run_still_lacks_the_trials_that_were_left():
    """It is not told as one that has come to its end."""
    progress = RunProgress(Broadcaster(), 1, PLAN.estimate(), [])
    progress.enter_phase(RunPhase.SEARCHING)
    expected = progress.data["trials_expected"]
    progress.end(RunState.STOPPED)
    assert (progress.data["trials_expected"], progress.data["fraction"] < 1) == (expected, True)
    progress.end(RunState.FINISHED)
    assert progress.data["trials_expected"] == 0


def test_remaining_time_goes_by_what_such_trials_have_taken():
    """Most of the search is stopped up the ladder, and nothing of the confirmation; also after a resume."""

    def taken(number, duration_s, verdict, purpose=TrialPurpose.SEARCH):
        score = 80.0 if verdict == "verified" else None
        made = trial(number, purpose, DEFAULT, score, verdict=verdict)
        return replace(made, finished_at=NOW + timedelta(seconds=duration_s))

    recorded = [
        taken(1, 99.0, "verified", TrialPurpose.CALIBRATION),
        taken(2, 40.0, "verified"),
        taken(3, 10.0, "stopped-early"),
        taken(4, 1.0, "aborted"),
        taken(5, 30.0, "failed-verification", TrialPurpose.CONFIRMATION),
        taken(6, 50.0, "verified", TrialPurpose.CONFIRMATION),
    ]
    progress = RunProgress(Broadcaster(), 1, PLAN.estimate(), recorded)
    progress.enter_phase(RunPhase.CALIBRATING)
    progress.trial_started(5, DEFAULT, 0)  # a calibration is no trial of the ladder
    progress.enter_phase(RunPhase.SEARCHING)
    progress.expect(RunPhase.ELIMINATING, 0)
    progress.expect(RunPhase.CONFIRMING, 4)
    progress.expect(RunPhase.EXPORTING, 1)
    progress.expect(RunPhase.SEARCHING, 6)
    assert progress.data["eta_s"] == 6 * 25.0 + 5 * 40.0
    progress.trial_started(5, DEFAULT, 4)
    progress.trial_finished(taken(5, 10.0, "stopped-early"))
    assert progress.data["eta_s"] == 5 * 20.0 + 5 * 40.0
    assert progress.data["elapsed_s"] >= 150.0
    unmeasured = RunProgress(Broadcaster(), 1, PLAN.estimate(), recorded[:1])
    assert unmeasured.data["eta_s"] == pytest.approx(PLAN.estimate().duration_s, abs=1.5)


def test_busy_share_is_that_of_the_cpus_asked_for():
    """Other CPUs do not matter."""
    before = CpuReading({0: (0,) * 8, 1: (0,) * 8}, {})
    after = CpuReading({0: (3, 0, 1, 6, 0, 0, 0, 0), 1: (0, 0, 0, 10, 0, 0, 0, 0)}, {})
    assert busy_percent(before, after, (0,)) == 40.0
    assert busy_percent(before, after, (0, 1)) == 20.0
    assert busy_percent(before, before, (0,)) == 0.0


def test_tail_is_compared_over_the_trials_of_the_gain_alone():
    """Not over repeats that somebody asked for, nor over what was disturbed."""
    other = {**DEFAULT, "workers": 4}
    trials = [
        with_tail(t, 2000.0 if t.configuration == DEFAULT else 1000.0)
        for t in confirmation([(80, 100), (81, 101), (80, 99), (79, 100)], other)
    ]
    expected = tail_gain(DEFAULT, other, trials, 100.0)
    assert (expected.gain, expected.blocks) == (pytest.approx(-0.5), 4)
    again = [
        trial(20, TrialPurpose.CONFIRMATION, DEFAULT, 80.0),
        trial(21, TrialPurpose.CONFIRMATION, other, 100.0),
        trial(22, TrialPurpose.CONFIRMATION, other, None, verdict="disturbed", block=2),
    ]
    assert tail_gain(DEFAULT, other, [*trials, *(with_tail(t, 9e6) for t in again)], 100.0) == expected


def test_history_keeps_of_a_trial_what_became_of_it(monkeypatch):
    """A run of thousands of trials would fill the memory with what nobody asks for."""
    recorded = []
    history = history_of([])
    monkeypatch.setattr(history._repository, "record_trial", recorded.append, raising=False)
    curve = Measurement(rate_rps=1000.0, goodput_mbps=90.0, reply_rate_rps=1000.0)
    measured = replace(curve, counters={"cpu": {}}, server_stats={"replies": 1}, bytes_received=1)
    whole = replace(trial(1, TrialPurpose.SEARCH, DEFAULT, 90.0), measurements=(measured,), server_config="x")
    history.record(whole)
    assert recorded == [whole]
    assert [(kept.measurements, kept.server_config) for kept in history.trials] == [((), "")]
    assert history._measured == {1: (curve,)}
    assert history.leader().highest_mbps[1000.0] == 90.0


def test_check_of_an_export_makes_nothing_outside_its_directory(tmp_path):
    """So a kill in the middle leaves nothing elsewhere, and the next check takes away what it left there."""
    file, left = tmp_path / "exports" / "server.conf", tmp_path / "exports" / ".check-server.conf"
    file.parent.mkdir()
    file.write_text("of production")
    left.write_text("of a check that was killed")
    look = f"ls -A {tempfile.gettempdir()}; cat"
    own = Check("sh", lambda checked, sh: (str(sh), "-c", f"{look} {checked}"), text="private instance")
    before = [path.name for path in Path(tempfile.gettempdir()).iterdir()]
    _, ok, output = check_file(own, file, Path("trimtab-httpd"))
    assert ok
    assert set(output.splitlines()) == {*before, "private instance"}
    assert [path.name for path in file.parent.iterdir()] == [file.name]
