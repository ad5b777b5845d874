"""The command line and the configuration file: what is taken, what is refused, and in which words."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def run(binary: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the program on a configuration text, in a directory that has `root`."""
    (tmp_path / "root").mkdir()

    def run_program(text: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
        if text is not None:
            (tmp_path / "f.ini").write_text(text)
            arguments = ("-c", "f.ini", *arguments)
        return subprocess.run(
            [binary, *arguments], capture_output=True, text=True, check=False, timeout=30, cwd=tmp_path
        )

    return run_program


GOOD = "[server]\nroot = root\nlisten = 127.0.0.1:8000\n"

BAD = {
    "integer-out-of-range": (
        GOOD + "workers = 0\n",
        "f.ini:4: workers = 0: expected an integer from 1 to 1024",
    ),
    "no-integer": (
        GOOD + "workers = two\n",
        "f.ini:4: workers = two: expected an integer from 1 to 1024",
    ),
    "no-choice": (
        GOOD + "sendfile = maybe\n",
        "f.ini:4: sendfile = maybe: expected one of nonblocking, blocking, off",
    ),
    "no-architecture": (
        GOOD + "architecture = prefork\n",
        "f.ini:4: architecture = prefork: expected one of sped, symped",
    ),
    "no-address": (
        "[server]\nroot = root\nlisten = localhost:80\n",
        "f.ini:3: listen = localhost:80: expected comma-separated addresses such as 127.0.0.1:8000",
    ),
    "no-seconds": (
        GOOD + "keepalive_timeout = 0\n",
        "f.ini:4: keepalive_timeout = 0: expected seconds, more than 0 and at most 86400",
    ),
    "unknown-key": (GOOD + "wrokers = 1\n", "f.ini:4: unknown key wrokers: expected one of root, listen, "),
    "given-twice": (
        GOOD + "workers = 1\nworkers = 2\n",
        "f.ini:5: workers: given already in line 4",
    ),
    "no-section": ("root = root\n", "f.ini:1: root: expected in section [server]"),
    "other-section": (GOOD + "[client]\n", "f.ini:4: [client]: expected a section [server]"),
    "no-pair": (GOOD + "workers\n", "f.ini:4: workers: expected key = value"),
    "no-root": (
        "[server]\nlisten = 127.0.0.1:80\n",
        "root is not set: expected directory whose files are served",
    ),
    "no-listen": ("[server]\nroot = root\n", "listen is not set: expected addresses to listen at"),
    "sped-with-workers": (
        GOOD + "architecture = sped\nworkers = 2\n",
        "f.ini:5: workers = 2: architecture sped knows no such knob: expected 1",
    ),
    "fewer-connections-than-workers": (
        GOOD + "workers = 8\nmax_connections = 7\n",
        "f.ini:5: max_connections = 7: expected at least one for each of the 8 workers",
    ),
    "fewer-places-than-listeners": (
        GOOD + "architecture = mp\nworkers = 8\nreuseport = on\nmax_connections = 2\n",
        "f.ini:7: max_connections = 2: expected at least one for each of the 8 workers, as with reuseport",
    ),
    "long-socket-name": (
        GOOD + f"stats_socket = {'s' * 108}\n",
        "expected a file name of at most 80 bytes",
    ),
    "byte-0": (GOOD + "access_log = /a\0b\n", "f.ini:4: access_log = /a: expected text, there is a byte 0"),
    "empty": ("", "root is not set"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("check", [[], ["-t"]], ids=["run", "check"])
def test_bad_configuration_is_refused_with_file_line_and_key(run: Any, what: str, check: list[str]) -> None:
    """Exit code 2, the sentence on stderr, nothing on stdout, whether checked or started."""
    text, message = BAD[what]
    finished = run(text, *check)
    assert finished.returncode == 2
    assert finished.stderr.startswith("trimtab-httpd: ")
    assert message in finished.stderr
    assert finished.stdout == ""


def test_every_mistake_is_reported_at_once(run: Any) -> None:
    """Nobody has to start the server three times to find three mistakes."""
    finished = run("[server]\nworkers = 0\nbacklog = x\nspeed = high\n", "-t")
    assert finished.returncode == 2
    for line in (2, 3, 4):
        assert f"f.ini:{line}: " in finished.stderr


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("root=missing", "root = missing: expected a directory: No such file or directory"),
        ("root=f.ini", "root = f.ini: expected a directory, this is something else"),
        ("affinity=1023", "affinity = 1023: CPU 1023 does not exist or is not ours to use"),
        ("max_connections=1000000", "max_connections = 1000000: 1000000 connections a worker do not fit in"),
    ],
)
def test_what_this_machine_cannot_do_ends_with_1(run: Any, setting: str, message: str) -> None:
    """The configuration is well-formed, but not here."""
    finished = run(GOOD, "--set", setting)
    assert finished.returncode == 1
    assert f"trimtab-httpd: --set: {message}" in finished.stderr


def test_check_prints_a_configuration_that_is_taken_again(run: Any) -> None:
    """The effective configuration has every knob and means itself."""
    cpu = min(os.sched_getaffinity(0))
    text = GOOD + f"workers = 3\naffinity = {cpu}, {cpu}\naccept_limit = 7\nkeepalive_timeout = 1.5\n"
    first = run(text, "-t", "--set", "workers=2", "--set", "stats_socket=/tmp/s")
    assert first.returncode == 0, first.stderr
    assert "workers = 2\n" in first.stdout
    assert f"affinity = {cpu},{cpu}\n" in first.stdout
    assert "keepalive_timeout = 1.5\n" in first.stdout
    assert "backlog = 1024\n" in first.stdout
    second = run(first.stdout, "-t")
    assert second.stdout == first.stdout


@pytest.mark.parametrize("between", ["a", "a ", " ", "é", "#a", "a;"])
@pytest.mark.parametrize("times", [70, 200, 1500])
def test_long_value_is_taken_whole(run: Any, between: str, times: int) -> None:
    """Whatever it is made of, and whatever stands before it."""
    path = f"/var/{between * times}/log"
    finished = run(f"{GOOD}access_log {' ' * 300}= {path} ; a comment\n", "-t")
    assert finished.returncode == 0, finished.stderr
    assert f"\naccess_log = {path}\n" in finished.stdout


def test_comments_marks_and_white_space_do_not_count(run: Any) -> None:
    """As editors of several systems leave them."""
    text = "\ufeff; one\r\n [server] ; two\r\n\t# three\r\n  root:root\r\nlisten=[::1]:80 ;four\r\n"
    finished = run(text, "-t")
    assert finished.returncode == 0, finished.stderr
    assert "\nroot = root\nlisten = [::1]:80\n" in finished.stdout


def test_cache_is_capped_to_the_descriptors_that_are_left(run: Any) -> None:
    """The checked configuration shows what will be used and what it takes."""
    finished = run(GOOD, "-t", "--set", "cache_entries=1000000")
    (entries,) = [line for line in finished.stdout.splitlines() if line.startswith("cache_entries")]
    assert int(entries.split(" = ")[1]) < 1_000_000
    assert "a worker needs up to" in finished.stdout.splitlines()[0]


def test_missing_file_is_named(run: Any) -> None:
    """A configuration that cannot be read is a bad configuration."""
    finished = run(None, "-c", "missing.ini")
    assert finished.returncode == 2
    assert finished.stderr == "trimtab-httpd: missing.ini: cannot be read: No such file or directory\n"


@pytest.mark.parametrize(
    "arguments", [["--set", "workers"], ["--set", "wrokers=1"], ["--set", "workers=0"], ["-x"], ["surplus"]]
)
def test_bad_command_line_ends_with_2(run: Any, arguments: list[str]) -> None:
    """Usage errors have the code of bad configuration and say what is wrong."""
    finished = run(GOOD, *arguments)
    assert finished.returncode == 2
    assert finished.stderr


def test_version_names_architectures_and_event_mechanisms(run: Any) -> None:
    """What this build can do."""
    finished = run(None, "-V")
    assert finished.returncode == 0
    assert re.fullmatch(
        r"trimtab-httpd 0\.1\.0\n"
        r"architectures: sped symped[a-z -]*\n"
        r"events: select poll epoll epoll-et io_uring\n",
        finished.stdout,
    )


def test_version_as_json_has_every_mode_that_is_allowed(run: Any) -> None:
    """What the document allows passes the check; each knob it names for an architecture is a key."""
    document = json.loads(run(None, "-V", "--json").stdout)
    assert document["version"] == "0.1.0"
    symped = next(row for row in document["architectures"] if row["name"] == "symped")
    assert {"workers", "max_connections", "events", "reuseport"} <= set(symped["knobs"])
    assert {"events": "poll", "sendfile": "blocking"} in symped["modes"]
    for architecture in document["architectures"]:
        assert architecture["modes"], architecture["name"]


@pytest.mark.parametrize("events", ["select", "poll", "epoll", "epoll-et", "io_uring"])
def test_every_event_mechanism_is_there(run: Any, events: str) -> None:
    """On this kernel all can be used; select by less than FD_SETSIZE descriptors."""
    finished = run(GOOD, "-t", "--set", f"events={events}", "--set", "max_connections=400")
    assert finished.returncode == 0, finished.stderr
    entries = int(re.search(r"cache_entries = (\d+)", finished.stdout)[1])  # type: ignore[index]
    assert (entries == 1024 - 400 - 64) == (events == "select")


def test_select_refuses_more_connections_than_it_can_watch(run: Any) -> None:
    """The sentence has the limit and where it comes from."""
    finished = run(GOOD, "-t", "--set", "events=select", "--set", "max_connections=960")
    assert finished.returncode == 1
    assert (
        "max_connections = 960: 960 connections a worker do not fit in 1024 descriptors "
        "(all that select can watch) less 64 for other uses" in finished.stderr
    )


def test_unknown_option_is_told_where_the_usage_is(run: Any) -> None:
    """getopt's own sentence does not help on its own."""
    assert run(None, "-x").stderr.endswith("trimtab-httpd: -h explains the usage\n")


def test_help_explains_every_key(run: Any) -> None:
    """The keys are those of the effective configuration."""
    usage = run(None, "-h").stdout
    effective = run(GOOD, "-t").stdout
    for line in effective.splitlines():
        if " = " in line:
            assert f"  {line.split(' = ')[0]} " in usage
