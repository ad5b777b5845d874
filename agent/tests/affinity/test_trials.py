"""Affinity plans in a run: in force during a trial, put back after it, and drift spoils it."""

import os
from pathlib import Path

import pytest
from live_support import start_calibrated
from trimtab_agent.study.run_spec import KnobSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose

STEERING = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
pytestmark = [
    pytest.mark.live,
    pytest.mark.kernel,
    pytest.mark.skipif(
        not os.access(STEERING, os.W_OK), reason=f"{STEERING} cannot be written here: it needs root"
    ),
]
STEERED = {"affinity": KnobSpec(fixed="interrupt")}


def searched(runtime, run_id):
    """The trials of the search."""
    return [t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]


def steered():
    """Whether the loopback device is steered to the server's CPU, which is CPU 0 here."""
    return int(STEERING.read_text().replace(",", ""), 16) == 1


def test_a_plan_is_in_force_during_a_trial_and_put_back_after_the_run(runtime, listener):
    """Seen from outside, in the kernel's own file; the journal knows which run it was."""
    before = STEERING.read_text()
    run_id = start_calibrated(
        runtime, rate_duration_s=1.2, budget_trials=1, confirmation_repeats=0, knobs=STEERED
    )
    listener.wait_for("progress", lambda data: data["load"] is not None)
    assert steered()
    assert runtime.affinity.journal.in_force()[0].run_id == run_id
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    assert runtime.affinity.journal.in_force() == ()
    assert STEERING.read_text() == before


@pytest.mark.live
@pytest.mark.kernel
def test_a_mask_that_somebody_else_moves_makes_the_trial_disturbed_and_stays(runtime, listener):
    """As irqbalance would; the reason names the file, and what somebody else wants is not overwritten."""
    before = STEERING.read_text()
    try:
        run_id = start_calibrated(
            runtime, rate_duration_s=3.0, budget_trials=1, confirmation_repeats=0, knobs=STEERED
        )
        listener.wait_for("progress", lambda data: data["load"] is not None and data["phase"] == "searching")
        STEERING.write_text("2")
        runtime.service.wait()
        first = searched(runtime, run_id)[0]
        assert first.verdict == "disturbed"
        assert str(STEERING) in first.reason
        assert int(STEERING.read_text(), 16) == 2
        assert runtime.affinity.journal.in_force() == ()
    finally:
        STEERING.write_text(before)
