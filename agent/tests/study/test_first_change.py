"""What the default's calibration points to is measured first, alone, and told as soon as it has been."""

from live_support import tiny_spec
from trimtab_agent.runtime import open_repository
from trimtab_agent.study.first_changes import first_changes_of
from trimtab_agent.study.history import History
from trimtab_agent.study.run_spec import KnobSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.space import Space

# Enough of a search that one of its trials can be spared.
BUDGET = 6
CONNECTIONS = {"max_connections": KnobSpec(low=16, high=16_384), "workers": KnobSpec(fixed=1)}


def start(runtime, knobs, **changes):
    """A run whose search has a few trials."""
    settings = {"ladder_points": 4, "calibration_start_rps": 2000.0, "budget_trials": BUDGET, **changes}
    return runtime.service.start(tiny_spec(knobs, **settings))


def run_of(runtime, knobs, **changes):
    """A finished run: the record, its trials, the events it told."""
    run_id = start(runtime, knobs, **changes)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    searched = [t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    return run, searched, [event.message for event in runtime.repository.events(run_id)]


def test_default_whose_connection_limit_gives_way_is_answered_by_the_first_trial(simulated, runtime):
    """More connections and nothing else, as many as the CPU has room for; it is told at once."""
    simulated.change(default_share=0.2)
    run, searched, told = run_of(runtime, CONNECTIONS)
    default = Space.model_validate(run.space).default()
    first, second = searched[:2]
    changed = {name: value for name, value in first.configuration.items() if default[name] != value}
    assert list(changed) == ["max_connections"]
    assert second.configuration == default
    so_far = [line for line in told if line.startswith("So far: ")]
    assert len(so_far) == 1
    assert so_far[0].startswith("So far: +")
    named = f"with max_connections={changed['max_connections']} alone"
    assert named in so_far[0]
    assert so_far[0].endswith("(one trial, not confirmed).")
    assert max(trial.score or 0.0 for trial in searched) <= 1.1 * (first.score or 0.0)


def test_default_that_lacks_nothing_begins_the_search(simulated, runtime):
    """Where the CPUs are what gave way no single change is pointed to."""
    simulated.change(default_share=2)
    run, searched, told = run_of(runtime, CONNECTIONS)
    assert searched[0].configuration == Space.model_validate(run.space).default()
    assert not [line for line in told if line.startswith("So far: ")]


def test_reference_comes_after_the_default_all_the_same(simulated, runtime):
    """Noise is measured as often as without a first change."""
    simulated.change(default_share=0.2)
    run, searched, _ = run_of(runtime, CONNECTIONS, budget_trials=12)
    default = Space.model_validate(run.space).default()
    of_default = [number for number, trial in enumerate(searched) if trial.configuration == default]
    assert of_default[:2] == [1, 2]
    assert [searched[number].proposal_number is None for number in of_default[:2]] == [False, True]


def test_run_that_goes_on_measures_the_first_change_once(simulated, runtime, listener):
    """It is told from the record, which the change was, and not told twice what it brings."""
    simulated.change(default_share=0.2)
    simulated.hold(trial=4)
    run_id = start(runtime, CONNECTIONS)
    before = listener.wait_for("progress", lambda data: data["trial"] == 4).data["so_far"]
    runtime.service.stop(run_id)
    runtime.service.wait()
    listener.wait_for("run", lambda data: data["state"] == "stopped")  # what comes now is of the second half
    runtime.service.resume(run_id)
    after = listener.wait_for("progress", lambda data: data["rate_index"] == 0 or data["so_far"]).data[
        "so_far"
    ]
    simulated.release()
    runtime.service.wait()
    with open_repository(runtime.settings) as repository:
        run = repository.run(run_id)
        space = Space.model_validate(run.space)
        first = first_changes_of(run, space, History(repository, run_id))
        events = [event.message for event in repository.events(run_id)]
    searched = [t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    assert [one.configuration for one in first] == [searched[0].configuration]
    assert [line for line in events if line.startswith("So far: ")] == [before] == [after]
    assert len([line for line in events if line.endswith("is tried first.")]) == 1


def test_noise_is_measured_where_the_default_fails_verification(simulated, runtime):
    """Its repeats are driven all the same, and tell by what they followed."""
    simulated.change(default_share=0.2)
    default = 1024
    simulated.happens("starves", where={"max_connections": default}, rate=3)
    _, searched, told = run_of(runtime, CONNECTIONS, budget_trials=12, thresholds={})
    of_default = [t for t in searched if t.configuration["max_connections"] == default]
    assert len(of_default) >= 2
    assert {t.verdict.value for t in of_default} == {"failed-verification"}
    (noise,) = [line for line in told if line.startswith("Trials on this host are taken to differ by ")]
    assert f"{len(of_default)} measurements of the default" in noise
    assert "from an assumed 3 % and " in noise
