"""`trimtab capacity`: the load that a configuration follows."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_support import Tune
from simulation import Simulation
from trimtab_agent.terminal.climb import climb_lines
from trimtab_trials.measurement import Measurement
from trimtab_tuner.telling.capacity import capacity_of

# A climb of seconds, whatever else the machine is doing; 16 connections saturate on the clients' pauses.
CLIMB = (
    "--set=directories=1",
    "--set=time_scale=0.02",
    "--set=timeout_s=0.5",
    "--set=calibration_start_rps=600",
    "--set=calibration_step_s=0.5",
    "--set=calibration_halvings=1",
    '--set=thresholds={"all_files_limit":1,"size_limit":1,"size_over_mean_limit":1,"failures_limit":1}',
)
OWN_FILE = """\
worker_processes 1;
events { worker_connections 64; }
http { server { listen 80; root /srv; } }
"""


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    """A configuration of nginx that somebody has written."""
    path = tmp_path / "own.conf"
    path.write_text(OWN_FILE)
    return path


def test_own_nginx_is_climbed_and_its_capacity_drawn(simulated, command, own_file):
    """The sentence, a bar for each rate, of which the highest that was followed is marked, and no search."""
    code, output, errors = command("capacity", "--target", "nginx", "--base", str(own_file), *CLIMB)
    assert code == 0, errors
    assert "The configuration follows " in output
    assert output.count("◀ followed") == 1
    assert "offered/s" in output
    assert "trial 2" not in output
    shown = json.loads(command("show", "1", "--json")[1])
    assert (shown["run"]["preset"], shown["run"]["target"]) == ("capacity", "nginx")
    assert shown["trials"][0]["configuration"]["worker_connections"] == 64
    assert shown["exports"] == []


def test_fully_given_configuration_is_climbed_and_told_as_a_document_with_what_limits(simulated, command):
    """No knob is free. Standard output has one JSON document; what is shown on the way goes to the other."""
    given = ("--knob=max_connections=16", "--knob=workers=1", "--knob=sendfile=blocking")
    code, output, errors = command("capacity", "--json", *given, *CLIMB)
    document = json.loads(output)
    assert (code, "The configuration follows" in errors) == (0, True)
    assert document["run"]["outcome"]["capacity"]["capacity_rps"]["mean"] > 0
    assert [trial["purpose"] for trial in document["trials"]] == ["calibration"]
    assert isinstance(document["findings"], list)


def test_climb_that_is_stopped_can_be_resumed(simulated: Simulation, trimtab: Callable[..., Tune]):
    """Exit code 130, as of `trimtab tune`."""
    simulated.hold(trial=1, rate=2)
    running: Tune = trimtab("capacity", *CLIMB)
    running.wait_for_line("calibrating, ETA")
    running.process.send_signal(signal.SIGINT)
    code, output = running.finish()
    assert code == 130
    assert "Resume with: trimtab tune --resume 1" in output


def test_climb_without_an_answer_says_who_is_to_blame_and_ends_with_1(simulated, command):
    """Not that all is done, nor that the configuration follows nothing."""
    simulated.happens("generator-starved")
    code, output, errors = command("capacity", *CLIMB)
    assert code == 1
    assert "Other programs took the load generator's CPU. Nothing was measured" in output + errors
    assert "follows none of the rates" not in output + errors
    assert not any(drawn in output + errors for drawn in ("█", "Limit: ", "before any configuration"))
    _, shown, _ = command("capacity", "--json", *CLIMB)
    assert json.loads(shown)["findings"] == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--target", "iis"), "target = 'iis': expected one of"),
        (("--knob", "workers"), "--knob workers: expected NAME=LOW:HIGH"),
        (("--set", "gap_s=0", "--set", "gap_s=1"), "--set gap_s: given more than once"),
        (("--strategy", "grid"), "No such option: --strategy"),
    ],
)
def test_bad_input_is_named_and_ends_with_2(command, options, sentence):
    """As with every command; there is no search whose options could be given."""
    code, _, errors = command("capacity", *options)
    assert code == 2
    assert sentence in errors


def measured(rate_rps: float, replies_rps: float, **changes: Any) -> Measurement:
    """A rate of which so much was answered."""
    return Measurement(rate_rps=rate_rps, goodput_mbps=1.0, reply_rate_rps=replies_rps, **changes)


def test_bars_show_what_was_answered_and_what_was_not():
    """A rate that was followed is one bar; behind one that was not is what was offered besides, cut off where
    that is far more.
    """
    rates = [measured(1000, 1000), measured(2000, 2000), measured(4000, 2000), measured(90_000, 1000)]
    head, low, highest, lost, far = climb_lines(rates, capacity_of(rates))
    assert head.split() == ["offered/s", "answered", "replies/s"]
    assert [(line.count("█"), line.count("░")) for line in (low, highest, lost, far)] == [
        (19, 0),
        (38, 0),
        (38, 9),
        (19, 28),
    ]
    assert highest.endswith("2,000  ◀ followed")
    assert len({len(line) for line in (head, low, lost, far)}) == 1


def test_bars_say_why_a_rate_does_not_count():
    """A broken rule and a generator that gave out are no capacity, however much was answered."""
    rates = [
        measured(1000, 1000),
        measured(2000, 2000, held=False),
        measured(3000, 2500, generator_limited=True),
    ]
    _, _, broken, limited = climb_lines(rates, capacity_of(rates))
    assert broken.endswith("a rule broken")
    assert limited.endswith("the load generator gave out")


def test_file_that_answers_with_errors_has_no_capacity_and_no_exit_code_of_success(
    simulated: Simulation, command, tmp_path
):
    """The status and the directive that probably causes it stand in the sentence."""
    file = tmp_path / "limits.conf"
    file.write_text(
        "events {}\nhttp { limit_req_zone $binary_remote_addr zone=a:1m rate=10r/s;\nlimit_req zone=a;\n"
        "server { listen 80; root /srv; } }\n"
    )
    simulated.happens("fails")
    code, output, errors = command("capacity", "--target", "nginx", "--base", str(file), *CLIMB)
    assert code == 1
    said = " ".join((output + errors).split())
    assert "answers had the status 503. Probably because of line" in said
    assert "limit_req zone=a" in said


def test_server_that_answers_nobody_is_told_with_what_was_seen_of_it(simulated: Simulation, command):
    """Not as a generator's limit, nor as a rule that broke; and nothing is drawn."""
    simulated.happens("hangs")
    code, output, errors = command("capacity", *CLIMB)
    assert code == 1
    said = " ".join((output + errors).split())
    assert "the server answered none of" in said
    assert "Its process is alive, it accepted no connection, and it is idle (0 % of a CPU)." in said
    assert not any(drawn in said for drawn in ("█", "Limit: "))
