"""`trimtab live`: servers that carry real traffic."""

import json
import re
import shlex

import pytest
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_agent.terminal.commands.live import EXAMPLES


@pytest.fixture
def nginx(server_order):
    """A server that runs."""
    with TargetServer(server_order("nginx", worker_processes=2), StopSignal()) as server:
        yield server


@pytest.mark.live
def test_server_that_runs_is_listed_with_what_its_file_sets(trimtab, nginx):
    """As a document for machines."""
    code, output = trimtab("live", "servers", str(nginx.port), "--json").finish()
    (found,) = json.loads(output)
    assert (code, found["target"], found["processes"]) == (0, "nginx", 3)
    assert f"127.0.0.1:{nginx.port}" in found["addresses"]
    assert found["values"]["worker_processes"] == 2
    assert (found["obstacles"], found["trouble"]) == ([], None)


@pytest.mark.live
def test_server_that_runs_is_shown_to_people(trimtab, nginx):
    """By itself with its knobs; the list leaves out a server that Trimtab itself has started."""
    code, output = trimtab("live", "servers", "--json").finish()
    assert (code, [each for each in json.loads(output) if each["pid"] in nginx.pids]) == (0, [])
    code, output = trimtab("live", "servers", str(nginx.port)).finish()
    assert code == 0
    assert "Connections can be shared: yes." in output
    assert "worker_connections" in output


def test_server_that_does_not_run_is_bad_input(trimtab):
    """The sentence says how to find those that do."""
    code, output = trimtab("live", "servers", "no-such-server").finish()
    assert code == 2
    assert "none of that name, unit, pid or port runs here" in " ".join(output.split())


@pytest.mark.live
def test_file_that_makes_no_sense_is_told_and_the_server_still_shown(trimtab, nginx, tmp_path):
    """Its administrator may be about to change it."""
    (file,) = tmp_path.rglob("*.conf")
    file.write_text("worker_processes {")
    code, output = trimtab("live", "servers", str(nginx.port), "--json").finish()
    (found,) = json.loads(output)
    assert (code, found["values"]) == (0, {})
    assert "It cannot be read" in found["trouble"]


def test_help_tells_the_commands_in_the_order_in_which_a_person_needs_them(trimtab_here):
    """What it does comes first, and that nothing is tried unless one says so."""
    code, output, _ = trimtab_here("live", "--help")
    assert code == 0
    said = " ".join(output.split())
    assert "Tune a server while it carries real traffic." in said
    assert "Unless you choose a mode, nothing is tried" in said
    (_, listed) = re.split(r"Commands", output, maxsplit=1)
    commands = ("servers", "attach", "status", "promote", "reject", "detach", "accept-limit", "replicas")
    assert re.findall(rf"^\W*({'|'.join(commands)})\b", listed, re.MULTILINE) == list(commands)
    assert [line for line in EXAMPLES.splitlines() if line not in output] == []


@pytest.mark.parametrize("example", [line for line in EXAMPLES.splitlines() if line.startswith("trimtab")])
def test_example_in_the_help_can_be_typed(trimtab_here, example):
    """The command and its options are there."""
    command, _, _ = example.partition("   ")
    _, *words = shlex.split(command)
    code, output, _ = trimtab_here(*words, "--help")
    assert (code, f" live {words[1]} [OPTIONS]" in output) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "server = 'no-such-server': none of that name, unit, pid or port runs here; "),
        (
            ("--guard", "p99 < 50ms"),
            "trimtab: --guard 'p99 < 50ms': expected STATISTIC <= NUMBER UNIT, for instance p99 <= 50ms",
        ),
        (("--guard", "p98 <= 50ms"), "--guard 'p98 <= 50ms': no such statistic; expected one of mean, p50"),
        (("--guard", "p99 <= 50"), "--guard 'p99 <= 50': p99 is given in us, ms, s, for instance"),
        (("--guard", "errors <= 200%"), "--guard 'errors <= 200%': expected at most 100%"),
        (
            ("--guard", "errors <= 1%", "--guard", "nonsense"),
            "--guard 'nonsense': expected STATISTIC <= NUMBER UNIT",
        ),
        (
            ("--quiet-hours", "8-20"),
            "trimtab: --quiet-hours '8-20': expected BEGIN-END of the local day, for instance 22:00-06:00",
        ),
        (("--quiet-hours", "22:00-22:00"), "22:00-06:00, two different times"),
        (("--mode", "reckless"), "'reckless' is not one of 'advise', 'canary', 'auto'"),
        (("--objective", "speed"), "'speed' is not one of 'cost', 'time'"),
        (("--reloads", "1"), "should be greater than or equal to 2"),
    ],
)
def test_senseless_attachment_is_bad_input_with_what_is_expected(trimtab_here, arguments, sentence):
    """In the words in which it was asked for."""
    code, output, errors = trimtab_here("live", "attach", "no-such-server", *arguments)
    assert (code, output) == (2, "")
    assert sentence in " ".join(errors.replace("│", " ").split())
