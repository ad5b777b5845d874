"""Processes: start, stop, death and replacement."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def is_running(pid: int) -> bool:
    """Say whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_killed_worker_is_replaced_and_counted(
    start: Callable[..., Any], mode: dict[str, str], await_state: Callable[..., Any]
) -> None:
    """The replacement serves, goes on counting, and the lost connection is accounted for."""
    server = start(**mode)
    server.write("file", b"contents")
    lost = server.connect()
    assert lost.get("/file").status == 200
    server.await_total(requests=1, connections_open=1)
    (pid,) = server.worker_pids()
    os.kill(pid, signal.SIGKILL)
    await_state(lambda: server.command("show info")["worker_restarts"] == 1)
    assert server.connect().get("/file").body == b"contents"
    assert server.worker_pids() != [pid]
    server.await_total(requests=2, connections_accepted=2, connections_open=1, connections_closed_by_server=1)
    assert "worker 0 was killed by signal 9 (Killed)" in server.log()


def test_worker_that_dies_again_and_again_is_replaced_after_a_growing_delay(
    start: Callable[..., Any],
    await_state: Callable[..., Any],
    unless_stalled: Callable[[float, Callable[[], None]], None],
) -> None:
    """The second death soon after the first is not answered at once."""

    def kill_three_times() -> None:
        server = start()
        for restarts in (1, 2, 3):
            await_state(lambda: server.worker_pids() != [0])
            os.kill(server.worker_pids()[0], signal.SIGKILL)
            await_state(lambda: server.command("show info")["worker_restarts"] == restarts)  # noqa: B023
        delays = [float(delay) for delay in re.findall(r"replaced in ([\d.]+) s", server.log())]
        assert delays == [0.0, 0.1, 0.2]

    unless_stalled(10, kill_three_times)  # after which a worker has settled


def test_worker_processes_do_not_outlive_a_killed_master(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Whatever becomes of the master, no worker keeps the port."""
    server = start(workers=3, max_connections=30)
    pids = server.worker_pids()
    assert len(set(pids)) == 3
    server.process.kill()
    server.process.wait()
    await_state(lambda: not any(is_running(pid) for pid in pids))


@pytest.mark.parametrize("architecture", ["symped", "shared-symped", "co-amped", "uring"])
def test_workers_are_pinned_as_the_affinity_says(
    start: Callable[..., Any], await_state: Callable[..., Any], architecture: str
) -> None:
    """Worker i runs on element i modulo the number of elements."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    server = start(architecture=architecture, workers=3, affinity=",".join(map(str, cpus)))
    workers = [each for each in server.command("show info")["workers"] if each["role"] == "worker"]
    assert len(workers) == 3
    for worker in workers:
        assert worker["cpu"] == cpus[worker["worker"] % len(cpus)]
        await_state(lambda: os.sched_getaffinity(worker["pid"]) == {worker["cpu"]})  # noqa: B023


def test_workers_are_pinned_to_all_cpus_in_turns_without_a_list(start: Callable[..., Any]) -> None:
    """`auto` is every CPU that the server may use."""
    cpus = sorted(os.sched_getaffinity(0))
    server = start(workers=3, affinity="auto")
    rows = server.command("show info")["workers"]
    assert [row["cpu"] for row in rows] == [cpus[row["worker"] % len(cpus)] for row in rows]


@pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGINT])
def test_stopping_ends_idle_connections_and_leaves_nothing_behind(
    start: Callable[..., Any], stop_signal: int
) -> None:
    """Exit code 0, no process, no socket."""
    server = start(workers=2)
    server.write("file", b"contents")
    idle, fresh = server.connect(), server.connect()
    assert idle.get("/file").status == 200
    server.await_total(connections_open=2)
    pids = server.worker_pids()
    server.process.send_signal(stop_signal)
    assert idle.is_closed_by_server()
    assert fresh.is_closed_by_server()
    assert server.process.wait(60) == 0
    assert not any(is_running(pid) for pid in pids)
    assert not server.stats_path.exists()


def test_graceful_shutdown_finishes_the_reply_under_way(
    start: Callable[..., Any],
    mode: dict[str, str],
    unless_stalled: Callable[[float, Callable[[], None]], None],
) -> None:
    """A client that is being served when the server is told to stop gets all its bytes."""

    def stop_while_serving() -> None:
        server = start(**mode, sndbuf=16384)
        contents = os.urandom(4_000_000)
        server.write("big", contents)
        connection = server.connect(receive_buffer=65536)
        connection.ask("/big")
        server.await_total(connections_open=1, requests=1)
        assert server.command("shutdown graceful") == {"shutdown": "graceful"}
        assert connection.reply().body == contents
        assert connection.is_closed_by_server()
        assert server.process.wait(60) == 0

    unless_stalled(2, stop_while_serving)


def test_request_begun_before_the_stop_is_answered_and_the_connection_closed(
    start: Callable[..., Any],
    mode: dict[str, str],
    await_state: Callable[..., Any],
    unless_stalled: Callable[[float, Callable[[], None]], None],
) -> None:
    """The reply says that the connection closes."""

    def stop_within_a_request() -> None:
        server = start(**mode)
        server.write("file", b"contents")
        connection = server.connect()
        assert connection.get("/file").status == 200
        events = server.total()["events_returned"]
        connection.send(b"GET /file HT")
        await_state(lambda: server.total()["events_returned"] > events)
        server.process.send_signal(signal.SIGTERM)
        server.total()  # the signal came first, so the master has told its workers before it answers
        connection.send(b"TP/1.1\r\nHost: t\r\n\r\n")
        reply = connection.reply()
        assert reply.body == b"contents"
        assert reply.headers["connection"] == "close"
        assert server.process.wait(60) == 0

    unless_stalled(2, stop_within_a_request)


def test_client_that_takes_nothing_cannot_delay_the_stop(
    start: Callable[..., Any],
    mode: dict[str, str],
    await_state: Callable[..., Any],
    unless_stalled: Callable[[float, Callable[[], None]], None],
) -> None:
    """New clients are refused at once; after two seconds what still runs is killed."""

    def is_refused(address: tuple[str, int]) -> bool:
        with socket.socket() as newcomer:
            return newcomer.connect_ex(address) == errno.ECONNREFUSED

    def stop_while_nothing_is_taken() -> None:
        server = start(**mode)
        os.truncate(server.write("big", b""), 50_000_000)
        connection = server.connect(receive_buffer=4096)
        connection.ask("/big")
        server.await_total(requests=1)
        server.process.send_signal(signal.SIGTERM)
        await_state(lambda: is_refused(server.address))
        assert server.process.poll() is None
        assert server.process.wait(60) == 0

    unless_stalled(2, stop_while_nothing_is_taken)


def start_again(server: Any, binary: str, *settings: str) -> subprocess.CompletedProcess[str]:
    """Start a second server with the configuration of a running one."""
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    return subprocess.run(
        [binary, "-c", server.configuration, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_port_in_use_is_said_and_ends_with_1(start: Callable[..., Any], binary: str, tmp_path: Path) -> None:
    """The message names the address; like all of a server that is to serve it has a time and a level."""
    server = start()
    address = f"127.0.0.1:{server.address[1]}"
    again = start_again(server, binary, f"listen={address}", f"stats_socket={tmp_path}/other")
    assert again.returncode == 1
    moment, message = again.stderr.split(" ", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moment)
    assert message == (
        f"trimtab-httpd: error: cannot listen at {address}: the port is in use by another server\n"
    )
    assert server.command("show info")["pid"] == server.process.pid


def test_stats_socket_of_a_live_server_is_not_taken(start: Callable[..., Any], binary: str) -> None:
    """The second server refuses to start and the first one keeps its socket."""
    server = start()
    again = start_again(server, binary)
    assert again.returncode == 1
    assert "another server answers there" in again.stderr
    assert server.connect_stats().command("show info")["pid"] == server.process.pid


def test_stats_socket_of_a_dead_server_is_replaced(start: Callable[..., Any], tmp_path: Path) -> None:
    """What a killed server left behind is in nobody's way."""
    path = tmp_path / "stale"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    server = start(stats_socket=path)
    assert server.command("show info")["pid"] == server.process.pid


def test_stats_socket_may_lie_deeper_than_an_address_reaches(
    start: Callable[..., Any], binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unix(7) allows 107 bytes. A dead one is replaced, a live one not taken, and what was made goes."""
    path = tmp_path / ("directory-" * 12) / "stats"
    path.parent.mkdir()
    monkeypatch.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind("stats")
    server = start(stats_socket=path)
    assert path.stat().st_mode & 0o777 == 0o600
    again = start_again(server, binary)
    assert (again.returncode, "another server answers there" in again.stderr) == (1, True)
    assert server.command("show info")["pid"] == server.process.pid
    server.process.terminate()
    assert server.process.wait() == 0
    assert not path.exists()


def test_other_file_in_the_place_of_the_stats_socket_is_left_alone(
    start: Callable[..., Any], binary: str, tmp_path: Path
) -> None:
    """The server does not delete what it did not make."""
    path = tmp_path / "precious"
    path.write_text("data")
    again = start_again(start(), binary, f"stats_socket={path}")
    assert again.returncode == 1
    assert "something else has this name" in again.stderr
    assert path.read_text() == "data"


def test_stats_socket_is_for_its_owner_only(start: Callable[..., Any]) -> None:
    """Mode 0600."""
    assert stat.S_IMODE(start().stats_path.stat().st_mode) == 0o600


def test_reuseport_gives_each_worker_a_listener_of_its_own(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """The kernel divides connections over as many listening sockets as there are workers."""
    server = start(workers=4, reuseport="on")
    server.write("file", b"contents")
    for _ in range(64):
        connection = server.connect()
        assert connection.get("/file").body == b"contents"
        connection.close()
    server.await_total(connections_accepted=64, connections_open=0)
    accepted = [worker["connections_accepted"] for worker in server.command("show stats")["workers"]]
    assert len(accepted) == 4
    assert sum(count > 0 for count in accepted) > 1
    # The kernel's list may miss some while others come and go.
    listening = f":{server.address[1]:04X} 00000000:0000 0A"
    await_state(lambda: Path("/proc/net/tcp").read_text().count(listening) == 4)


@pytest.mark.parametrize("name", ["mp", "symped"])
def test_idle_connection_gives_way_to_who_came_to_the_same_listener(
    start: Callable[..., Any], name: str
) -> None:
    """Where each worker has a listener of its own nobody else can take the client, though he has a place."""
    server = start(architecture=name, workers=2, max_connections=2, reuseport="on")
    server.write("file", b"contents")
    idle = server.connect()
    assert idle.get("/file").body == b"contents"
    for _ in range(20):  # of which the kernel sends some to the same worker
        connection = server.connect()
        assert connection.get("/file").body == b"contents"
        connection.close()
    assert idle.is_closed_by_server()


def test_reuseport_does_not_join_another_server(start: Callable[..., Any], binary: str) -> None:
    """A port that another server of ours shares with nobody but itself is in use."""
    server = start(workers=2, reuseport="on")
    listen = f"listen={server.address[0]}:{server.address[1]}"
    command = [binary, "-c", server.configuration, "--set", listen, "--set", "stats_socket=/tmp/none"]
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert second.returncode == 1
    assert "the port is in use by another server" in second.stderr
