"""Whether a calibration divides the CPUs anew."""

from contextlib import nullcontext

import pytest
from live_support import TINY, tiny_spec
from trimtab_agent import runtime as runtime_module
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.host.topology import Cpu
from trimtab_agent.study import study as study_module
from trimtab_agent.study.dividing import divided_anew, following_cpus
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_db.records import RunState
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import TrialPurpose, Verdict
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_values

FOUR = tuple(Cpu(cpu=cpu, core=cpu, socket=0, node=0, siblings=(cpu,)) for cpu in range(4))
ONE_GENERATES = CpuLayout(server=(0, 1, 2), generator=(3,))
TWO_GENERATE = CpuLayout(server=(0, 1), generator=(2, 3))


def measured(rate_rps, *, replies_rps, generator_share, server_percent):
    """A rate at which the server's processes used so much of one CPU."""
    return Measurement(
        rate_rps=rate_rps,
        goodput_mbps=1.0,
        reply_rate_rps=replies_rps,
        health={} if generator_share is None else {"cpu_share": generator_share},
        counters={"server_processes": {"user": 0.25 * server_percent, "system": 0.75 * server_percent}},
    )


LOW = measured(1000, replies_rps=1000, generator_share=0.1, server_percent=15)
KNEE = measured(9000, replies_rps=9000, generator_share=0.9, server_percent=150)
FULL = measured(20000, replies_rps=9500, generator_share=1.0, server_percent=160)
HEAVY = measured(900, replies_rps=900, generator_share=0.1, server_percent=200)
OVERLOADED = measured(1400, replies_rps=950, generator_share=0.15, server_percent=200)


def test_generator_that_was_the_limit_gets_what_it_needed_at_the_highest_rate_that_was_followed():
    """0.9 of one CPU beside one and a half of three: with a fifth more that is two of four cores."""
    layout = divided_anew(ONE_GENERATES, FOUR, [LOW, KNEE, FULL], limited=True)
    assert (layout.server, layout.generator) == ((0, 1), (2, 3))
    assert "used 0.9 CPUs while the server used 1.5" in layout.reason


def test_calibration_that_followed_no_rate_goes_by_its_highest():
    """The generator gave out at the first one."""
    assert divided_anew(ONE_GENERATES, FOUR, [FULL], limited=True).generator == (2, 3)


def test_generator_that_was_the_limit_for_another_reason_keeps_what_it_has():
    """It came late, or had no ports, though its CPUs were idle."""
    assert divided_anew(TWO_GENERATE, FOUR, [HEAVY, OVERLOADED], limited=True) is None


def test_spare_cores_of_the_generator_go_back_to_the_server():
    """It used 0.2 of a CPU beside two of the server's: one of four cores is enough for it."""
    easy = measured(900, replies_rps=900, generator_share=0.1, server_percent=200)
    layout = divided_anew(TWO_GENERATE, FOUR, [easy], limited=False)
    assert (layout.server, layout.generator) == ((0, 1, 2), (3,))
    assert divided_anew(ONE_GENERATES, FOUR, [easy], limited=False) is None


def test_generator_that_needs_what_it_has_keeps_it():
    """And one that needs more is given it only where it was the limit."""
    even = measured(9000, replies_rps=9000, generator_share=0.9, server_percent=200)
    assert divided_anew(TWO_GENERATE, FOUR, [even], limited=False) is None
    assert divided_anew(ONE_GENERATES, FOUR, [KNEE], limited=False) is None


def test_defaults_that_follow_the_cpus_do_so_and_others_stay():
    """h2o counts them itself, a file may say auto; what the user fixed, or wrote as a number, stays."""
    h2o, nginx = TARGETS["h2o"], TARGETS["nginx"]
    space, changed = following_cpus(h2o.space(cpus=2), h2o, None, 2, 3)
    assert changed == {"num-threads": 3}
    assert space.default() == h2o.space(cpus=3).default()
    fixed = h2o.space(cpus=2).fix("num-threads", 2)
    assert following_cpus(fixed, h2o, None, 2, 3) == (fixed, {})
    for said, expected in (("auto", {"worker_processes": 3}), ("2", {})):
        text = f"worker_processes {said};\nevents {{\n}}\nhttp {{\n}}\n"
        own = nginx.space(cpus=2).with_defaults(own_values(nginx, text, 2))
        assert following_cpus(own, nginx, text, 2, 3)[1] == expected
    assert following_cpus(nginx.space(cpus=2), nginx, None, 2, 3)[1] == {}
    values = nginx.space(cpus=2).with_defaults({"worker_processes": 2})
    assert following_cpus(values, nginx, None, 2, 3)[1] == {}
    auto = values.with_each_cpu({"worker_processes"})
    assert following_cpus(auto, nginx, None, 2, 3)[1] == {"worker_processes": 3}


@pytest.mark.parametrize(
    "measurements",
    [
        (),
        (measured(9000, replies_rps=9000, generator_share=None, server_percent=150),),
        (Measurement(rate_rps=1.0, goodput_mbps=1.0, reply_rate_rps=1.0, health={"cpu_share": 1.0}),),
    ],
)
def test_nothing_is_divided_by_what_was_not_counted(measurements):
    """No measurement at all, no share of the generator, or no processes of the server."""
    assert divided_anew(ONE_GENERATES, FOUR, measurements, limited=True) is None


@pytest.fixture
def eight_cpus(monkeypatch):
    """A machine of eight cores, half of them the generator's; nothing is pinned to what is not there."""
    layout = CpuLayout(server=(0, 1, 2, 3), generator=(4, 5, 6, 7), reason="half for each")
    monkeypatch.setattr(runtime_module, "process_layout", lambda: layout)
    monkeypatch.setattr(runtime_module, "pinned_to", lambda _cpus: nullcontext())
    monkeypatch.setattr(study_module, "read_cpus", lambda _sysfs: ())


def calibrations_of(runtime, run_id):
    """The run's calibrations that came to their end."""
    return [
        trial
        for trial in runtime.repository.whole_trials(run_id)
        if trial.purpose is TrialPurpose.CALIBRATION and trial.verdict is not Verdict.ABORTED
    ]


def stopped_at(trial, runtime, listener, run_id):
    """Stops a run when it has come to that trial, in which it is held."""
    listener.wait_for("progress", lambda data: data["trial"] == trial)
    runtime.service.stop(run_id)
    runtime.service.wait()


def test_run_gives_spare_cores_back_before_its_search(simulated, eight_cpus, runtime):
    """The calibration is repeated on what the server has then; it is told, and recorded with the run."""
    simulated.change(default_share=0.9, generator_rps=200_000.0)
    run_id = runtime.service.start(tiny_spec())
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    server, generator = run.layout["server"], run.layout["generator"]
    assert len(server) > 4
    assert sorted([*server, *generator]) == list(range(8))
    first, second = calibrations_of(runtime, run_id)
    followed_rps = max(m.rate_rps for m in first.measurements if m.followed)
    assert second.measurements[0].rate_rps == followed_rps  # what was followed is not climbed to again
    assert len(second.measurements) < len(first.measurements)
    told = [event.message for event in runtime.repository.events(run_id)]
    (divided,) = [line for line in told if line.startswith("The CPUs are divided anew: ")]
    assert "in the calibration with 4 it used" in divided
    assert "Ranges of knobs are those made for 4 CPUs of the server." in divided


def test_calibration_is_kept_for_the_cpus_that_it_was_made_on(simulated, eight_cpus, runtime, listener):
    """Stopped in the second one, a run repeats only that; stopped after it, it repeats none."""
    simulated.change(default_share=0.9, generator_rps=200_000.0)
    simulated.hold(trial=2, rate=2)
    run_id = runtime.service.start(tiny_spec())
    stopped_at(2, runtime, listener, run_id)
    divided = runtime.repository.run(run_id).layout
    assert len(divided["server"]) > 4
    simulated.hold(trial=4)
    runtime.service.resume(run_id)
    stopped_at(4, runtime, listener, run_id)
    first, second = calibrations_of(runtime, run_id)
    assert (first.number, second.number) == (1, 3)
    assert second.measurements[0].rate_rps == max(m.rate_rps for m in first.measurements if m.followed)
    run = runtime.repository.run(run_id)
    assert run.layout == divided
    runtime.repository.set_run_ladder(run_id, ())  # as a kill right after the calibration leaves it
    simulated.hold(trial=5)
    runtime.service.resume(run_id)
    stopped_at(5, runtime, listener, run_id)
    assert [trial.number for trial in calibrations_of(runtime, run_id)] == [1, 3]
    again = runtime.repository.run(run_id)
    assert (again.layout, again.ladder) == (divided, run.ladder)


FAST = {"max_connections": KnobSpec(low=16, high=16_384)}


def test_search_begins_anew_with_other_cpus_where_the_generator_gives_out(simulated, eight_cpus, runtime):
    """The default is short of connections, and what the search finds is faster than the generator."""
    simulated.change(default_share=0.45, generator_rps=55_000.0)
    run_id = runtime.service.start(tiny_spec(FAST, budget_trials=8))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    trials = runtime.repository.trials(run_id)
    divided_after = run.layout["divided_after_trial"]
    before, after = (
        [t for t in trials if t.purpose is TrialPurpose.SEARCH and (t.number <= divided_after) is first]
        for first in (True, False)
    )
    assert before[-1].configuration == run.layout["driven_again"]
    assert {(t.verdict, t.score) for t in before} == {(Verdict.ABORTED, None)}
    assert before[0].reason == "Measured with the server on CPU 0-3, which it does not have any more."
    assert any(t.configuration == before[-1].configuration for t in after)
    assert len(after) == 8
    assert len(run.layout["generator"]) > 4
    first, second = calibrations_of(runtime, run_id)
    assert first.number < divided_after < second.number
    told = [event.message for event in runtime.repository.events(run_id)]
    assert sum(line.startswith("The CPUs are divided anew: ") for line in told) == 1


def test_run_stopped_after_its_search_began_anew_goes_on_with_the_new_one(
    simulated, eight_cpus, runtime, listener
):
    """What was measured before stays taken back, and the CPUs are divided once."""
    simulated.change(default_share=0.45, generator_rps=55_000.0)
    whole = runtime.service.start(tiny_spec(FAST, budget_trials=8))
    runtime.service.wait()
    expected = runtime.repository.run(whole)
    held = expected.layout["divided_after_trial"] + 3
    simulated.hold(trial=held)
    run_id = runtime.service.start(tiny_spec(FAST, budget_trials=8))
    listener.wait_for("progress", lambda data: data["run_id"] == run_id and data["trial"] == held)
    runtime.service.stop(run_id)
    runtime.service.wait()
    simulated.release()
    runtime.service.resume(run_id)
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    assert run.layout == expected.layout
    searched = [t for t in runtime.repository.trials(run_id) if t.purpose is TrialPurpose.SEARCH]
    assert sum(t.verdict is not Verdict.ABORTED for t in searched) == 8
    assert len(calibrations_of(runtime, run_id)) == 2


def test_default_that_follows_the_cpus_stays_the_reference(simulated, eight_cpus, runtime):
    """Noise is told by its trials with as many threads as the server has CPUs by then."""
    simulated.change(default_share=0.9, generator_rps=400_000.0)
    settings = {**TINY, "budget_trials": 8}
    run_id = runtime.service.start(RunSpec(target="h2o", settings=settings))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    assert len(run.layout["server"]) > 4
    assert run.outcome["default"]["num-threads"] == len(run.layout["server"])
    told = [event.message for event in runtime.repository.events(run_id)]
    (noise,) = [line for line in told if line.startswith("Trials on this host are taken to differ by ")]
    assert "2 measurements of the default" in noise
