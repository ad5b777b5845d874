"""Starting, pausing, stopping and resuming when two things happen at once, or a start fails half-way."""

import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pytest
from live_support import WAIT_S, start_calibrated, tiny_spec
from trimtab_agent.affinity.balancers import Balancer
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.errors import HostError, RunChanged, RunNotResumable, RunNotRunning, SpecError
from trimtab_agent.fleet.run_stations import Chosen, RunStations, Wanted
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.kernel.reading import Kernel, KnobHere, KnobLacking
from trimtab_agent.os_settings.tuners import KernelTuner
from trimtab_agent.simulated.station import SimulatedStation
from trimtab_agent.stopping import PauseSwitch, Stopped
from trimtab_agent.study import progress as progress_module
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.study.specification import check
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.targets.kernel import kernel_knob


@pytest.fixture(autouse=True)
def held(simulated):
    """Every run here is a simulated one that waits in its first trial: whoever stops it finds it there."""
    simulated.hold(trial=1, rate=2)
    return simulated


def open_descriptors():
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def stopped_run(runtime):
    """A run that was stopped at once."""
    run_id = runtime.service.start(tiny_spec())
    runtime.service.stop(run_id)
    runtime.service.wait()
    return run_id


def test_run_has_its_tags_from_its_beginning(runtime):
    """Also a run that is cut short is found again by them."""
    run_id = runtime.service.start(tiny_spec().model_copy(update={"tags": ("mine", "of two words")}))
    runtime.service.stop(run_id)
    assert runtime.repository.run(run_id).tags == ("mine", "of two words")
    runtime.service.wait()


KERNEL = Kernel(
    here=(
        KnobHere(
            knob=kernel_knob("tcp_autocorking").here(1),
            files=("/proc/sys/net/ipv4/tcp_autocorking",),
            needs="nothing",
        ),
    ),
    lacking=(
        KnobLacking(name="busy_poll", reason="no queue to poll"),
        KnobLacking(name="busy_read", reason="no queue to poll"),
        KnobLacking(name="scaling_governor", reason="there is none"),
    ),
    tuners=(KernelTuner(name="TuneD", pid=12, sets="sets values of the kernel"),),
)
AUTOCORKING = {"tcp_autocorking": KnobSpec(choices=(0, 1))}
IRQBALANCE = Balancer(name="irqbalance", pid=34, would_undo="moves every interrupt", can_ban=False)
TUNED = Balancer(name="TuneD", pid=12, would_undo="sets masks again", can_ban=False)
NOT_HERE = (
    "Knobs of the kernel that cannot be set here: busy_poll, busy_read (no queue to poll); scaling_governor "
    "(there is none)."
)
OTHERS = (
    (
        "TuneD runs (process 12): it sets values of the kernel. A trial under which a value moves does not "
        "count: stop it for the time of the run."
    ),
    "irqbalance runs (process 34): it moves every interrupt.",
)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"kernel": True}, (NOT_HERE, *OTHERS)),
        ({"knobs": AUTOCORKING}, OTHERS),
        ({}, ()),
    ],
    ids=["--kernel", "one knob of the kernel", "the server alone"],
)
def test_run_that_tunes_the_kernel_begins_with_who_else_does(runtime, listener, monkeypatch, asked, told):
    """Told live and recorded, before anything is measured; and of all its knobs which are not here."""
    monkeypatch.setattr(runtime.service, "kernel", lambda _loaded_at: KERNEL)
    monkeypatch.setattr("trimtab_agent.study.runs.balancers", lambda: (TUNED, IRQBALANCE))
    run_id = runtime.service.start(tiny_spec().model_copy(update=asked))
    listener.wait_for_rate(trial=1)
    runtime.service.stop(run_id)
    runtime.service.wait()
    said = [event.message for event in runtime.repository.events(run_id)]
    assert tuple(said[: len(told)]) == told
    assert told or not any("irqbalance" in sentence for sentence in said)


def test_run_that_tunes_the_kernel_says_again_who_else_does_when_it_goes_on(runtime, monkeypatch):
    """What was not there when it began may be there now."""
    monkeypatch.setattr(runtime.service, "kernel", lambda _loaded_at: KERNEL)
    monkeypatch.setattr("trimtab_agent.study.runs.balancers", lambda: ())
    run_id = runtime.service.start(tiny_spec().model_copy(update={"knobs": AUTOCORKING}))
    runtime.service.stop(run_id)
    runtime.service.wait()
    monkeypatch.setattr("trimtab_agent.study.runs.balancers", lambda: (IRQBALANCE,))
    runtime.service.resume(run_id)
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert OTHERS[1] in [event.message for event in runtime.repository.events(run_id)]


def test_kernel_is_read_for_where_generators_of_other_machines_load_this_one(runtime, monkeypatch):
    """Whether a card can be polled depends on which one the load arrives by."""
    asked = []
    monkeypatch.setattr(runtime.service, "kernel", lambda loaded_at: asked.append(loaded_at) or KERNEL)
    layout = runtime.layout
    chosen = Chosen(len(layout.server), layout.document(), loaded_at="10.0.0.1")
    monkeypatch.setattr(runtime.service, "_chosen", lambda _spec: chosen)
    runtime.service.estimate(tiny_spec().model_copy(update={"kernel": True, "generators": ("one",)}))
    assert asked == ["10.0.0.1"]


def test_generators_of_other_machines_load_this_one_at_its_address_on_the_way_to_them(runtime, monkeypatch):
    """Here they are on this machine too, so that is the loopback's."""
    fleet = MagicMock()
    fleet.return_value.__enter__.return_value.generators.return_value = (
        SimpleNamespace(name="one", address="tls://127.0.0.1:9"),
    )
    monkeypatch.setattr("trimtab_agent.fleet.controller.Fleet", fleet)
    stations = RunStations(runtime.settings, runtime.repository, runtime.layout, Mock())
    assert stations.choose(Wanted(generators=("one",)), "core", 1).loaded_at == "127.0.0.1"
    assert stations.choose(Wanted(), "core", 1).loaded_at is None


def test_host_that_records_in_another_database_is_named_before_a_run_begins(runtime, monkeypatch):
    """The engine knows it, and the database does not; it says what to look at."""
    there = SimpleNamespace(role="server", facts={"servers": {"core": "0.1.0"}})
    fleet = MagicMock()
    fleet.return_value.__enter__.return_value.present.return_value = {"web1": there}
    monkeypatch.setattr("trimtab_agent.fleet.controller.Fleet", fleet)
    repository = Mock(embedded=False, stations=lambda _role: ())
    stations = RunStations(runtime.settings, repository, runtime.layout, Mock())
    with pytest.raises(SpecError, match="hosts = web1: in the fleet, but not in this database"):
        stations.choose(Wanted(hosts=("web1",)), "core", 1)


def test_run_that_is_about_to_stop_cannot_be_paused(runtime, listener, monkeypatch):
    """A pause would only make it wait for a second stop."""
    refused, close = threading.Event(), SimulatedStation.close
    monkeypatch.setattr(SimulatedStation, "close", lambda station: (refused.wait(WAIT_S), close(station)))
    run_id = start_calibrated(runtime)
    listener.wait_for_rate(trial=1)
    runtime.service.stop(run_id)
    with pytest.raises(RunNotRunning, match=f"run {run_id} is about to stop, so it cannot be paused"):
        runtime.service.pause(run_id)
    refused.set()
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.STOPPED


def test_pause_is_told_before_the_run_can_begin_it(held, runtime, listener, monkeypatch):
    """Told afterwards, `requested` could take the place of the study's `yes`, and stay."""
    told = []
    request = PauseSwitch.request
    monkeypatch.setattr(
        PauseSwitch,
        "request",
        lambda switch: (told.append(runtime.service.progress()["pause"]), request(switch)),
    )
    run_id = start_calibrated(runtime)
    listener.wait_for_rate(trial=1)
    runtime.service.pause(run_id)
    assert told == ["requested"]
    held.release()
    listener.wait_for("progress", lambda data: data["pause"] == "yes")
    runtime.service.stop(run_id)
    runtime.service.wait()


def test_run_that_finishes_while_its_resume_is_asked_for_stays_finished(runtime, monkeypatch):
    """What counts is what it is once nobody else can change it."""
    run_id = stopped_run(runtime)

    def lock_when_it_has_finished(path, var):
        lock = MachineLock(path, var)
        runtime.repository.set_run_state(run_id, RunState.FINISHED)
        return lock

    monkeypatch.setattr("trimtab_agent.study.runs.MachineLock", lock_when_it_has_finished)
    with pytest.raises(RunNotResumable, match=f"run {run_id} is finished"):
        runtime.service.resume(run_id)
    assert runtime.repository.run(run_id).state is RunState.FINISHED


def test_run_that_cannot_be_started_has_failed_and_says_why(runtime, monkeypatch):
    """It neither seems to run nor keeps anybody from running, nor leaves a descriptor open."""
    runtime.sampler.stop()  # which opens files of its own, once a second
    with monkeypatch.context() as broken:
        broken.setattr("trimtab_agent.study.runs.Study", Mock(side_effect=HostError("no room for a run")))
        with pytest.raises(HostError):
            runtime.service.start(tiny_spec())  # opens what the database keeps open
        before = open_descriptors()
        with pytest.raises(HostError, match="no room for a run"):
            runtime.service.start(tiny_spec())
        assert open_descriptors() == before
    run = runtime.repository.runs()[0].run
    assert (run.state, run.error) == (RunState.FAILED, "no room for a run")
    stopped_run(runtime)


def test_run_without_a_thread_has_failed_and_leaves_the_service_free(runtime, monkeypatch):
    """The kernel's limit of threads is a sentence; the next run starts."""
    run_id = stopped_run(runtime)
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        with pytest.raises(HostError, match=f"run {run_id} gets no thread to run in"):
            runtime.service.resume(run_id)
    assert runtime.repository.run(run_id).state is RunState.FAILED
    assert runtime.service.progress() is None
    stopped_run(runtime)


def test_dead_run_does_not_seem_to_run_beside_the_next_one(runtime):
    """Whoever holds the lock is alone: what the database calls running is dead."""
    run_id = stopped_run(runtime)
    runtime.repository.set_run_state(run_id, RunState.RUNNING)  # as a database that was full leaves it
    stopped_run(runtime)
    assert runtime.repository.run(run_id).state is RunState.INTERRUPTED


def test_pause_that_two_threads_end_at_once_is_taken_off_once(monkeypatch):
    """Its time would otherwise count twice, and the run seem shorter than it was."""
    progress = RunProgress(Broadcaster(), 1, check(RunSpec()).estimate(), [])
    progress.pause_changed("yes")
    started = progress._started
    both = threading.Barrier(2)
    now = time.monotonic()

    def meet_there():
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return now + 100.0

    monkeypatch.setattr(progress_module.time, "monotonic", meet_there)
    threads = [threading.Thread(target=progress.pause_changed, args=("no",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert progress._started - started == pytest.approx(100.0, abs=50.0)  # twice would be 200


def test_calibration_that_was_recorded_is_not_carried_out_again(held, runtime, listener):
    """A kill between the calibration and its ladder costs nothing that was measured."""
    held.hold(trial=2)
    run_id = runtime.service.start(tiny_spec())
    listener.wait_for("progress", lambda data: data["trial"] == 2)
    runtime.service.stop(run_id)
    runtime.service.wait()
    ladder = runtime.repository.run(run_id).ladder
    runtime.repository.set_run_ladder(run_id, ())
    held.hold(trial=4)
    runtime.service.resume(run_id)
    listener.wait_for("progress", lambda data: data["trial"] == 4)
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).ladder == ladder
    trials = runtime.repository.whole_trials(run_id)
    assert [t.purpose for t in trials].count(TrialPurpose.CALIBRATION) == 1


def test_end_that_cannot_be_summed_up_is_a_failure_with_a_sentence(runtime, listener, monkeypatch):
    """Whatever goes wrong at the end, whoever waits for the run hears of it."""
    monkeypatch.setattr(
        "trimtab_agent.study.study.early_outcome", Mock(side_effect=ValueError("no such thing"))
    )
    run_id = start_calibrated(runtime)
    listener.wait_for_rate(trial=1)
    runtime.service.stop(run_id)
    runtime.service.wait()
    end = runtime.service.last_end
    assert (end.run_id, end.state) == (run_id, RunState.FAILED)
    assert end.error == "internal error: ValueError: no such thing"


def test_run_whose_file_was_taken_to_another_machine_goes_on_there(runtime, listener):
    """It seems to go on where it came from, and belongs to the machine that goes on with it."""
    elsewhere = replace(runtime.repository.host(runtime.host_id), machine_id="f" * 32)
    run_id = runtime.service.start(tiny_spec())
    runtime.service.stop(run_id)
    runtime.service.wait()
    there = runtime.repository.register_host(elsewhere)
    runtime.repository.set_run_state(run_id, RunState.RUNNING, host_id=there)
    runtime.service.resume(run_id, even_if_changed=True)
    assert runtime.repository.run(run_id).host_id == runtime.host_id
    runtime.service.stop(run_id)
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.STOPPED


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"machine_id": "f" * 32},
            "it began on the host {name} (ffffffff), this is {name} ({machine_id:.8})",
        ),
        ({"kernel": "2.6.32"}, "the kernel: was 2.6.32, is {kernel}"),
        ({"cpus": 99}, "the CPUs: was 99 x {cpu_model}, is {cpus} x {cpu_model}"),
    ],
    ids=["host", "kernel", "cpus"],
)
def test_resume_under_other_conditions_is_refused_unless_asked_for(runtime, monkeypatch, changed, said):
    """Trials of another machine or kernel do not compare; whoever wants them all the same says so."""

    def prepare_until_stopped(station, *_):
        assert station._stop.wait(WAIT_S)
        raise Stopped

    # Without a trial: else what counts is where the first was measured.
    monkeypatch.setattr(SimulatedStation, "prepare", prepare_until_stopped)
    here = runtime.repository.host(runtime.host_id)
    run_id = stopped_run(runtime)
    began = runtime.repository.register_host(replace(here, **changed))
    assert runtime.repository.trials(run_id) == ()
    runtime.repository.set_run_state(run_id, RunState.STOPPED, host_id=began)
    with pytest.raises(RunChanged) as refusal:
        runtime.service.resume(run_id)
    assert said.format(**vars(here)) in str(refusal.value)
    assert "or --even-if-changed" in str(refusal.value)
    assert runtime.repository.run(run_id).state is RunState.STOPPED
    runtime.service.resume(run_id, even_if_changed=True)
    runtime.service.stop(run_id)
    runtime.service.wait()
    told = [event.message for event in runtime.repository.events(run_id)]
    assert f"Resumed all the same: {said.format(**vars(here))}." in told


def test_resume_with_another_version_of_the_server_is_refused(runtime, monkeypatch):
    """An upgrade between two stretches of a run changes what is measured."""
    run_id = stopped_run(runtime)
    version = runtime.repository.run(run_id).target_version
    monkeypatch.setattr("trimtab_agent.study.runs.require", lambda *_: "9.9.9")
    with pytest.raises(RunChanged, match=f"the version of core: was {version}, is 9.9.9"):
        runtime.service.resume(run_id)
