"""The command line: what is refused, signals, the text report, and that the documentation is complete."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import PROGRAM, patiently

PAGES = Path(__file__).parents[3] / "docs" / "internals"
DOCUMENTATION = "\n".join((PAGES / name).read_text() for name in ("load-generator.md", "load-protocols.md"))
URL = "http://127.0.0.1:1/"


def always_replies(connection):
    """Ten bytes for every request."""
    while True:
        connection.read_request()
        connection.reply()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--rate", "0", "--duration", "1"], "--rate 0: expected requests per second, more than 0"),
        (["--rate", "1x", "--duration", "1"], "--rate 1x: expected requests per second"),
        (["--rate", "nan", "--duration", "1"], "--rate nan: expected requests per second"),
        (["--rate", "1", "--duration", "-1"], "--duration -1: expected seconds, more than 0"),
        (["--rate", "1"], "--duration is missing: expected seconds"),
        (["--duration", "1"], "--rate is missing: expected requests per second"),
        (["--rate", "1", "--duration", "1", "--warmup", "1"], "--warmup: expected less than --duration"),
        (["--rate", "1", "--duration", "1", "--timeout", "0"], "--timeout 0: expected seconds, more than 0"),
        (
            ["--rate", "1", "--duration", "1", "--session-requests", "0"],
            "--session-requests 0: expected an integer from 1 to 1,000,000",
        ),
        (
            ["--rate", "1", "--duration", "1", "--arrivals", "uniform"],
            "--arrivals uniform: expected deterministic or poisson or trace",
        ),
        (["--rate", "1", "--duration", "1", "--seed", "x"], "--seed x: expected an integer"),
        (["--rate", "1", "--duration", "1", "--frobnicate"], "--frobnicate: unknown option"),
        (["--rate", "1", "--duration"], "--duration: unknown option, or a value is missing"),
        (["--rate", "1", "--duration", "1", "now"], "now: expected one mode, open, closed or merge"),
        (
            ["--rate", "1", "--duration", "1", "--source", "localhost"],
            "--source localhost: expected an IPv4 address",
        ),
        (
            ["--rate", "1", "--duration", "1", "--source", "192.0.2.1"],
            "--source 192.0.2.1: is not an address of this host",
        ),
        (
            ["--rate", "1", "--duration", "1", "--sessions", "/does/not/exist"],
            "--sessions /does/not/exist: cannot be opened: No such file or directory",
        ),
        (["--rate", "1", "--duration", "1", "--connections", "5"], "--connections: is not an option of"),
        (["--rate", "1", "--duration", "1", "--processes", "0"], "--processes 0: expected an integer"),
        (["--rate", "1", "--duration", "1", "--cpus", "0-"], "--cpus 0-: expected CPUs that this process"),
        (["--rate", "1", "--duration", "1", "--cpus", "1023"], "--cpus 1023: expected CPUs that this"),
        (["--rate", "1", "--duration", "1", "--verify", "much"], "--verify much: expected none or sample or"),
        (["--rate", "1", "--duration", "1", "--conditional-share", "2"], "--conditional-share 2: expected a"),
        (["--duration", "1", "--arrivals", "trace"], "--trace: goes with --arrivals trace"),
        (["--rate", "1", "--duration", "1", "--trace", "x"], "--trace: goes with --arrivals trace"),
        (["--duration", "1", "--arrivals", "trace", "--trace", "/no"], "--trace /no: cannot be opened"),
        (["--rate", "1", "--duration", "1", "--active-off", "1"], "--active-off 1: expected two numbers"),
        (["--rate", "9" * 5000, "--duration", "1"], f"--rate {'9' * 100}: expected requests per second"),
        (["--rate", "1", "--duration", "1", "--close", "x" * 491], f"--close {'x' * 100}: expected fin or"),
        (
            ["--rate", "1", "--duration", "1", "--burst", "1." + "0" * 40 + "e9,1"],
            f"--burst 1.{'0' * 40}e9,1: expected two numbers",
        ),
        (["--rate", "1", "--duration", "1", "--active-off", "1,0"], "--active-off 1,0: expected two numbers"),
        (["--rate", "1", "--duration", "1", "--slow-pace", "0"], "--slow-pace 0: expected bytes per second"),
        (["--rate", "1", "--duration", "1", "--http", "3"], "--http 3: expected 1.1 or 1.0 or 2"),
        (
            ["--rate", "1", "--duration", "1", "--sessions", "x", "--session-requests", "2"],
            "--session-requests: a session log says itself",
        ),
    ],
)
def test_bad_option_is_refused_by_name(load, arguments, complaint):
    """One sentence that names the option and what was expected, exit status 2, no output."""
    outcome = load(URL, *arguments, expect_status=2)
    assert outcome.stderr.startswith(f"trimtab-load: {complaint}")
    assert outcome.stderr.count("\n") == 1
    assert outcome.stdout == ""


@pytest.mark.parametrize("character", ["9", "x", "1,"])
def test_long_values_are_refused_with_a_short_sentence(character):
    """Whatever the option: no more than the beginning of the value is repeated."""
    usage = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    options = sorted(set(re.findall(r"^  (--[a-z-]+) [A-Z]", usage, re.MULTILINE)))
    assert len(options) > 30
    for option in options:
        command = [PROGRAM, "open", "--url", URL, "--rate", "1", "--duration", "1", option, character * 5000]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2, option
        assert done.stderr.startswith("trimtab-load: "), option
        assert done.stderr.count("\n") == 1, option
        assert len(done.stderr) < 600, option
        assert done.stdout == "", option


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--duration", "1"], "--connections is missing: expected an integer"),
        (["--duration", "1", "--connections", "0"], "--connections 0: expected an integer from 1"),
        (["--duration", "1", "--connections", "2", "--rate", "1"], "--rate: is not an option of"),
        (["--duration", "1", "--connections", "2", "--processes", "3"], "--processes: expected at most"),
    ],
)
def test_bad_option_of_the_closed_loop_is_refused_by_name(load, arguments, complaint):
    """As for the open loop."""
    outcome = load(URL, *arguments, mode="closed", expect_status=2)
    assert outcome.stderr.startswith(f"trimtab-load: {complaint}")
    assert outcome.stdout == ""


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("ftp://127.0.0.1/", "--url ftp://127.0.0.1/: expected http://HOST[:PORT][/PATH]"),
        ("http://127.0.0.1:99999/", "--url http://127.0.0.1:99999/: expected a port from 1 to 65535"),
        ("http://no..such..host/", "host no..such..host: no address was found"),
    ],
)
def test_bad_url_is_refused_by_name(load, url, complaint):
    """As for options."""
    outcome = load(url, "--rate", "1", "--duration", "1", expect_status=2)
    assert outcome.stderr.startswith(f"trimtab-load: {complaint}")
    assert outcome.stdout == ""


def test_path_beside_a_session_log_is_refused(load, write_log):
    """The log names what to ask for; a path in the URL would be ignored."""
    log = write_log("/a\n")
    outcome = load(URL + "x", "--rate", "1", "--duration", "1", "--sessions", log, expect_status=2)
    assert "expected no path" in outcome.stderr


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_the_run_with_an_interrupted_result(interrupt, serve, number, status):
    """What was measured is kept; open sessions count as interrupted and their requests as abandoned."""

    def script(connection):
        connection.read_request()
        connection.reply()
        connection.stall()

    outcome = interrupt(
        number, serve(script).url, "--rate", "20", "--duration", "60", "--session-requests", "2"
    )
    assert status == outcome.status
    result = outcome.result
    assert result["interrupted"] is True
    assert result["elapsed_s"] < 60
    assert result["sessions"]["interrupted"] > 0
    replied, abandoned = result["requests"]["replied"], result["requests"]["abandoned"]
    assert replied + abandoned == 2 * result["sessions"]["interrupted"]
    assert replied > 0


def test_text_report_shows_the_result_to_people(load, serve):
    """No JSON, the same facts."""

    def run(duration_s):
        arguments = ("--rate", "10", "--duration", str(2.2 * duration_s), "--text")
        outcome = load(serve(always_replies).url, *arguments)
        requests = round(22 * duration_s)
        assert f"requests: {requests} offered, {requests} replied" in outcome.stdout
        return outcome

    def progress_of(outcome):
        return re.search(r"^ +\d+\.\d s +\d+ sessions open", outcome.stdout, re.MULTILINE)

    outcome = patiently(run, progress_of)
    assert progress_of(outcome)
    assert "goodput" in outcome.stdout
    assert "{" not in outcome.stdout


def test_text_report_of_the_closed_loop(load, serve):
    """What there is to say of connections, and nothing of arrivals."""

    def run(duration_s):
        arguments = ("--connections", "2", "--duration", str(duration_s), "--connection", "close", "--text")
        outcome = load(serve(always_replies).url, *arguments, mode="closed")
        assert f"2 connections kept busy for {duration_s:g} s" in outcome.stdout
        return outcome

    outcome = patiently(run, lambda outcome: "further connections" in outcome.stdout)
    assert "0 had slow clients" in outcome.stdout
    assert "further connections were opened" in outcome.stdout
    assert "arrivals" not in outcome.stdout


def test_result_that_cannot_be_written_is_an_error(load, serve):
    """A full disk must not look like success."""
    with Path("/dev/full").open("w") as full:
        outcome = load(
            serve(always_replies).url, "--rate", "50", "--duration", "0.2", expect_status=1, stdout=full
        )
    assert outcome.stderr == "trimtab-load: the result could not be written to the standard output\n"


def member_names(document):
    """All names of members of objects, at any depth, save those that are data: statuses and reasons."""
    if isinstance(document, list):
        return {name for element in document for name in member_names(element)}
    if not isinstance(document, dict):
        return set()
    names = set(document)
    for name, value in document.items():
        if name not in ("by_status", "failures"):
            names |= member_names(value)
    return names


def test_every_field_is_documented(load, serve):
    """Each name in a real progress line and a real result stands in the documentation, as code."""
    outcome = load(serve(always_replies).url, "--rate", "20", "--duration", "1.2")
    closed = load(serve(always_replies).url, "--connections", "2", "--duration", "0.1", mode="closed")
    documented = set(re.findall(r"`([a-z0-9_]+)`", DOCUMENTATION))
    assert set() == member_names([outcome.result, closed.result, *outcome.progress]) - documented


def test_every_failure_reason_is_documented():
    """The names that the source gives to failures stand in the documentation."""
    folder = Path(__file__).parents[2] / "loadgen"
    names = re.findall(r'\[FAILURE_\w+\] = "([a-z0-9-]+)"', (folder / "accounting.c").read_text())
    reasons = re.findall(r"^    (FAILURE_\w+)", (folder / "accounting.h").read_text(), re.MULTILINE)
    assert len(names) == len(reasons) - 4  # but for those that are named by their detail
    assert [name for name in names if f"`{name}`" not in DOCUMENTATION] == []


def test_every_option_is_documented(load):
    """Each option of --help stands in the documentation."""
    options = set(re.findall(r"^  (--[a-z-]+)", load(URL, "--text", "--help").stdout, re.MULTILINE))
    assert len(options) >= 11
    assert set() == {option for option in options if f"`{option}" not in DOCUMENTATION}
