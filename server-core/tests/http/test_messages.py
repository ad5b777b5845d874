"""What becomes of the server when its messages or its access log cannot be written: nothing."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def fill(pipe: int) -> None:
    """Write into a pipe until it takes no more."""
    os.set_blocking(pipe, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(4096))
    os.set_blocking(pipe, True)


@pytest.mark.parametrize("reader", ["gone", "asleep"])
def test_server_whose_messages_nobody_reads_serves_on(
    start: Callable[..., Any], await_state: Callable[..., Any], reader: str
) -> None:
    """It has something to say, replaces a worker all the same, and can be stopped."""
    read_end, write_end = os.pipe()
    if reader == "asleep":
        fill(write_end)

    def launch(command: list[Any], **_: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stderr=write_end)

    with os.fdopen(read_end, "rb") as messages:
        server = start(launch)
        os.close(write_end)
        if reader == "gone":
            messages.close()
        server.write("file", b"contents")
        (pid,) = server.worker_pids()
        os.kill(pid, signal.SIGKILL)
        await_state(lambda: server.command("show info")["worker_restarts"] == 1)
        assert server.connect().get("/file").body == b"contents"
        server.stop()
    assert server.process.returncode == 0


def test_access_log_that_may_not_grow_loses_lines_and_nothing_else(
    start: Callable[..., Any], await_state: Callable[..., Any], tmp_path: Path
) -> None:
    """The limit of file sizes (`ulimit -f`) is a full disk like any other; lines are counted."""
    log = tmp_path / "access.log"
    server = start(access_log=log)
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (2000, hard))
    server.write("file", b"contents")
    connection = server.connect()
    for _ in range(100):
        assert connection.get("/file").body == b"contents"
    await_state(lambda: server.total()["access_log_dropped"] + log.read_bytes().count(b"\n") == 100)
    assert log.stat().st_size == 2000


def test_server_without_standard_descriptors_gives_their_numbers_to_nothing_else(
    start: Callable[..., Any],
) -> None:
    """Or its messages would go to whatever was opened first."""

    def launch(command: list[Any], **_: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command])

    server = start(launch)
    server.write("file", b"contents")
    assert server.connect().get("/file").body == b"contents"
    for pid in (server.process.pid, *server.worker_pids()):
        assert [Path(f"/proc/{pid}/fd/{number}").readlink() for number in range(3)] == [Path(os.devnull)] * 3
