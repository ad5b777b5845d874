"""The access log: a line in the combined format for every request, whoever served it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

COMBINED = re.compile(
    r'(?P<peer>\S+) - - \[(?P<time>\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000)\] "(?P<request>[^"]*)" '
    r'(?P<status>\d{3}) (?P<bytes>\d+) "(?P<referer>[^"]*)" "(?P<agent>[^"]*)"'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the log is to be."""
    return tmp_path / "access.log"


def lines_of(log: Path) -> list[dict[str, str]]:
    """Take the log apart, as far as it has been written; every line must be in the combined format."""
    text = log.read_text() if log.exists() else ""
    text = text[: text.rfind("\n") + 1]
    matches = [COMBINED.fullmatch(line) for line in text.splitlines()]
    assert all(matches), text
    return [match.groupdict() for match in matches if match]


def test_every_request_has_a_line(
    start: Callable[..., Any],
    architecture: dict[str, str],
    log: Path,
    await_state: Callable[..., Any],
) -> None:
    """Of whichever architecture: what was asked, what came of it, and the bytes of the body."""
    server = start(**architecture, access_log=log)
    server.write("file", bytes(5000))
    connection = server.connect()
    connection.get("/file?x=1", "Referer: http://h/", "User-Agent: test/1")
    connection.get("/file", method="HEAD")
    connection.get("/none")
    connection.get("/file", "Range: bytes=0-9")
    await_state(lambda: len(lines_of(log)) == 4)
    whole, head, none, part = lines_of(log)
    assert whole["peer"] == "127.0.0.1"
    assert (whole["request"], whole["status"], whole["bytes"]) == ("GET /file?x=1 HTTP/1.1", "200", "5000")
    assert (whole["referer"], whole["agent"]) == ("http://h/", "test/1")
    assert (head["request"], head["status"], head["bytes"]) == ("HEAD /file HTTP/1.1", "200", "0")
    assert (none["status"], none["bytes"], none["referer"], none["agent"]) == ("404", "14", "-", "-")
    assert (part["status"], part["bytes"]) == ("206", "10")


def test_thousands_of_lines_are_complete_and_the_last_is_written_at_the_end(
    start: Callable[..., Any], log: Path
) -> None:
    """More than the ring holds, from several workers; the stop loses nothing."""
    server = start(workers=2, access_log=log)
    server.write("f", b"x")
    connections = [server.connect() for _ in range(4)]
    for _ in range(40):
        for connection in connections:
            connection.send(b"GET /f HTTP/1.1\r\nHost: t\r\n\r\n" * 50)
        for connection in connections:
            for _ in range(50):
                assert connection.reply().body == b"x"
    server.await_total(replies_200=8000)
    server.disconnect_clients()
    server.await_total(connections_open=0)  # so the last line has been written, or dropped
    dropped = server.total()["access_log_dropped"]
    server.stop()
    assert len(lines_of(log)) + dropped == 8000


def test_lines_that_a_full_disk_does_not_take_are_counted(start: Callable[..., Any]) -> None:
    """Each of them, whichever worker it came from; and the log says once that lines are lost."""
    server = start(workers=2, access_log="/dev/full")
    server.write("file", b"contents")
    for _ in range(20):
        assert server.connect().get("/file").body == b"contents"
    server.await_total(access_log_dropped=20)
    assert server.log().count("cannot write the access log /dev/full: lines are lost") == 1


def test_lines_that_nobody_reads_from_a_pipe_wait_and_the_server_does_not(
    start: Callable[..., Any], log: Path, await_state: Callable[..., Any]
) -> None:
    """It answers and serves; whoever reads on finds whole lines, and those that are missing are counted."""
    os.mkfifo(log)
    with os.fdopen(os.open(log, os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
        server = start(workers=2, access_log=log)
        connections = [server.connect() for _ in range(4)]
        path = "/" + "x" * 1900
        for connection in connections:
            for _ in range(100):  # more than the pipe and the rings hold
                assert connection.get(path).status == 404
        server.await_total(replies_404=400)
        assert server.total()["access_log_dropped"] > 0
        text = b""

        def is_all_there() -> bool:
            nonlocal text
            text += pipe.read() or b""
            return text.count(b"\n") + server.total()["access_log_dropped"] == 400

        await_state(is_all_there)
    assert all(COMBINED.fullmatch(line) for line in text.decode().splitlines())


def test_what_a_client_sends_cannot_forge_a_line(
    start: Callable[..., Any], log: Path, await_state: Callable[..., Any]
) -> None:
    """Quotation marks, backslashes and bytes beyond ASCII are escaped."""
    server = start(access_log=log)
    connection = server.connect()
    connection.send(b'GET / HTTP/1.1\r\nHost: t\r\nUser-Agent: a" 200 \\ \xe9\r\n\r\n')
    connection.reply()
    await_state(lambda: len(lines_of(log)) == 1)
    assert lines_of(log)[0]["agent"] == r"a\x22 200 \x5C \xE9"


def test_body_is_not_searched_for_headers(
    start: Callable[..., Any], log: Path, await_state: Callable[..., Any]
) -> None:
    """It may be anything, and is thrown away."""
    server = start(access_log=log)
    body = "Referer: http://body/\r\nUser-Agent: body\r\n"
    connection = server.connect()
    connection.send(f"GET / HTTP/1.1\r\nHost: t\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    connection.reply()
    await_state(lambda: len(lines_of(log)) == 1)
    assert (lines_of(log)[0]["referer"], lines_of(log)[0]["agent"]) == ("-", "-")


def test_only_the_master_has_the_file_open(
    start: Callable[..., Any],
    architecture: dict[str, str],
    log: Path,
    await_state: Callable[..., Any],
    open_files: Callable[[int], list[Path]],
) -> None:
    """Who serves cannot write it, nor keep the space of one that was rotated away."""
    if architecture["architecture"] == "shared-symped":
        pytest.skip("its processes have the descriptors of the master")
    server = start(**architecture, access_log=log)
    assert log in open_files(server.process.pid)
    for pid in server.worker_pids():  # which may have just been forked
        await_state(lambda: log not in open_files(pid))  # noqa: B023 - it is called at once


def test_bad_and_abandoned_requests_are_logged(
    start: Callable[..., Any], log: Path, await_state: Callable[..., Any]
) -> None:
    """A malformed line as it came, a timeout as 408, a reply that was given up with what was sent of it."""
    server = start(access_log=log, request_timeout=3, sndbuf=16384)
    os.truncate(server.write("big", b""), 20_000_000)
    bad, slow, stalled = server.connect(), server.connect(), server.connect(receive_buffer=4096)
    bad.send(b"NONSENSE\r\n\r\n")
    slow.send(b"GET / HT")
    stalled.ask("/big")
    await_state(lambda: len(lines_of(log)) == 3)
    by_status = {line["status"]: line for line in lines_of(log)}
    assert by_status["400"]["request"] == "NONSENSE"
    assert by_status["408"]["request"] == "-"
    assert 0 < int(by_status["200"]["bytes"]) < 20_000_000


def test_sighup_opens_a_log_that_was_moved_away_anew(
    start: Callable[..., Any], log: Path, await_state: Callable[..., Any]
) -> None:
    """As logrotate does it: the old file is complete, the new one goes on."""
    server = start(access_log=log)
    connection = server.connect()
    connection.get("/old")
    await_state(lambda: lines_of(log))
    moved = log.with_suffix(".1")
    log.rename(moved)
    os.kill(server.process.pid, signal.SIGHUP)
    await_state(log.exists)
    connection.get("/new")
    await_state(lambda: lines_of(log))
    assert [line["request"] for line in lines_of(moved)] == ["GET /old HTTP/1.1"]
    assert [line["request"] for line in lines_of(log)] == ["GET /new HTTP/1.1"]


def test_log_that_cannot_be_opened_is_said(binary: str, tmp_path: Path) -> None:
    """The server does not start without a log that it was asked to write."""
    (tmp_path / "root").mkdir()
    settings = [f"root={tmp_path}/root", "listen=127.0.0.1:0", f"access_log={tmp_path}/none/log"]
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    finished = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False, timeout=30)
    assert finished.returncode == 1
    assert f"cannot open the access log {tmp_path}/none/log: No such file or directory" in finished.stderr
