"""Knobs of the kernel in trials: in force while a server is measured, put back after it, and told."""

import subprocess
from pathlib import Path

import pytest
from live_support import TINY, start_calibrated
from trimtab_agent.runtime import open_station
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

pytestmark = pytest.mark.kernel

LOWAT = "/proc/sys/net/ipv4/tcp_notsent_lowat"
WMEM = "/proc/sys/net/ipv4/tcp_wmem"
SWAPPINESS = "/proc/sys/vm/swappiness"
KERNEL = {
    "tcp_notsent_lowat": KnobSpec(fixed=16_384),
    "tcp_wmem_default": KnobSpec(fixed=32_768),
    "swappiness": KnobSpec(fixed=7),
}


@pytest.mark.live
def test_knobs_are_in_force_during_trials_and_put_back_after_the_run(runtime, listener, kernel_now):
    """Seen from outside, in the kernel's own files; the sizes that no knob sets stay."""
    before = kernel_now()
    run_id = start_calibrated(
        runtime, rate_duration_s=1.2, budget_trials=1, confirmation_repeats=0, knobs=KERNEL
    )
    listener.wait_for("progress", lambda data: data["load"] is not None)
    least, _, largest = before[WMEM].split()
    meant = {LOWAT: "16384", WMEM: f"{least} 32768 {largest}", SWAPPINESS: "7"}
    assert kernel_now() == {**before, **meant}
    assert {line.run_id for line in runtime.affinity.journal.in_force()} == {run_id}
    runtime.service.wait()
    assert runtime.repository.run(run_id).state is RunState.FINISHED
    assert runtime.affinity.journal.in_force() == ()
    assert kernel_now() == before


@pytest.mark.live
def test_what_an_administrator_sets_meanwhile_spoils_the_trial_and_stays(runtime, listener, kernel_now):
    """The trial did not measure what it says; and what somebody wants is not overwritten."""
    run_id = start_calibrated(
        runtime, rate_duration_s=3.0, budget_trials=1, confirmation_repeats=0, knobs=KERNEL
    )
    listener.wait_for("progress", lambda data: data["load"] is not None and data["phase"] == "searching")
    Path(SWAPPINESS).write_text("33")
    runtime.service.wait()
    first = next(t for t in runtime.repository.whole_trials(run_id) if t.purpose is TrialPurpose.SEARCH)
    assert first.verdict is Verdict.DISTURBED
    assert f"{SWAPPINESS} was set to 7 and is 33 now" in first.reason
    assert kernel_now()[SWAPPINESS] == "33"
    assert runtime.affinity.journal.in_force() == ()


def job(**changes):
    """A job of a second."""
    fields = {
        "target": "core",
        "configuration": {**TARGETS["core"].space().default(), "max_connections": 16},
        "workload": parameters(WORKLOADS["specweb99"].sized(1), 0.02),
        "ladder": (200.0,),
        "rate_duration_s": 0.6,
        "timeout_s": 0.5,
        "thresholds": TINY["thresholds"],
    }
    return TrialJob(**{**fields, **changes})


def test_a_value_that_the_kernel_refuses_rejects_the_configuration(settings, kernel_now):
    """With the kernel's reason, and with what was set before it put back."""
    before = kernel_now()
    of_kernel = {"swappiness": 7, "tcp_congestion_control": "nosuch"}
    with open_station(settings) as station:
        report = station.carry_out(job(configuration={**job().configuration, **of_kernel}))
    assert report.verdict is Verdict.REJECTED
    assert "tcp_congestion_control: the kernel knows no nosuch" in report.reason
    assert kernel_now() == before


def test_a_value_that_moves_under_a_trial_voids_it_even_where_no_knob_of_the_kernel_is_tuned(
    settings, kernel_now
):
    """Server and clients met two kernels; and what somebody has set stays."""

    def set_by_somebody(_measurement):
        Path(SWAPPINESS).write_text("33" if kernel_now()[SWAPPINESS] != "33" else "34")

    with open_station(settings) as station:
        report = station.carry_out(job(), JobListener(measured=set_by_somebody))
    assert report.verdict is Verdict.DISTURBED
    assert f"{SWAPPINESS} was " in report.reason
    assert kernel_now()[SWAPPINESS] in ("33", "34")


@pytest.mark.live
def test_clients_behind_a_link_keep_their_own_kernel(settings, links, kernel_now):
    """Knobs that belong to a network namespace are set in the server's; the clients have one of their own."""
    seen = {}

    def look(_measurement):
        for name in Path("/run/netns").glob("trimtab-*"):
            inside = subprocess.run(
                ("nsenter", f"--net={name}", "cat", LOWAT), capture_output=True, text=True, check=True
            )
            seen[name.name] = (inside.stdout.strip(), kernel_now()[LOWAT])

    workload = parameters(WORKLOADS["specweb99"].sized(1), 0.02)
    conditions = workload.definition.conditions.model_copy(update={"link": "gigabit"})
    definition = workload.definition.model_copy(update={"conditions": conditions})
    asked = job(
        workload=workload.model_copy(update={"definition": definition}),
        configuration={**job().configuration, "tcp_notsent_lowat": 16_384},
    )
    before = kernel_now()
    with open_station(settings) as station:
        station.carry_out(asked, JobListener(measured=look))
    assert list(seen.values()) == [(before[LOWAT], "16384")]
    assert kernel_now() == before


@pytest.mark.timeout(300)
@pytest.mark.live
def test_a_search_over_server_and_kernel_tells_what_each_gains(runtime, kernel_now):
    """The halves of the best take part in the confirmation, and nothing stays behind."""
    before = kernel_now()
    # A default of two connections is far behind, so the search's best is the one other configuration.
    knobs = {
        "max_connections": KnobSpec(low=64, high=64),
        "tcp_notsent_lowat": KnobSpec(low=16_384, high=16_384),
    }
    settings = {**TINY, "ladder": (300.0, 600.0), "budget_trials": 2, "confirmation_repeats": 2}
    run_id = runtime.service.start(RunSpec(defaults={"max_connections": 2}, knobs=knobs, settings=settings))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    assert kernel_now() == before
    confirmed = [t for t in runtime.repository.trials(run_id) if t.in_block]
    cells = {(t.configuration["max_connections"], t.configuration["tcp_notsent_lowat"]) for t in confirmed}
    now = int(before[LOWAT])
    assert cells == {(2, now), (64, now), (2, 16_384), (64, 16_384)}
    told = run.outcome["factorial"]
    assert told["sentence"] in run.outcome["sentence"]
    assert told["server"]["gain"]["gain"] > 0.1
    # The kernel adds nothing that could be told here, so it is left as it is.
    assert run.outcome["best"]["max_connections"] == 64


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--knob=busy_poll=50"], "busy_poll cannot be set on this machine: the load comes from"),
        (["--knob=tcp_congestion_control=nosuch"], "expected one of"),
        (["--knob=tcp_wmem_max=65536", "--knob=tcp_wmem_default=1048576"], "tcp_wmem_default = 1048576"),
    ],
)
def test_knobs_that_cannot_be_set_are_refused_before_the_run(command, kernel_now, options, said):
    """With the reason."""
    code, _, errors = command("tune", *options)
    assert code == 2
    assert said in errors


def test_host_kernel_tells_what_is_here_and_what_is_lacking(command, kernel_now):
    """In text and in JSON."""
    code, output, _ = command("host", "kernel")
    assert code == 0
    assert "tcp_notsent_lowat = " in output
    assert "busy_poll: cannot be set here" in output
    code, output, _ = command("host", "kernel", "--json")
    assert '"lacking"' in output
