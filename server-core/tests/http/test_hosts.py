"""Virtual hosts: what a request names decides which root it is served from, in every architecture."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def sections(tmp_path: Path) -> str:
    """Two hosts with roots of their own, one of which has header lines for a path."""
    for name in ("one", "two"):
        root = tmp_path / name
        (root / "directory").mkdir(parents=True)
        (root / "file").write_text(name)
        (root / "file.gz").write_text(f"compressed {name}")
        (root / "directory" / "index.html").write_text(f"index of {name}")
        (root / "outside").symlink_to(
            tmp_path / "one" / "file" if name == "two" else tmp_path / "two" / "file"
        )
    (tmp_path / "one" / "only").write_text("only in one")
    return (
        f"[path /]\nheader = X-Of: own\n[host one.example www.one.example]\nroot = {tmp_path}/one\n"
        f"[path /directory/]\nheader = X-Of: one\n[host two.example]\nroot = {tmp_path}/two\n"
    )


def get(connection: Any, host: str, target: str, *headers: str, method: str = "GET") -> Any:
    """The reply to a request for a host."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers, "", ""]
    connection.send("\r\n".join(lines).encode())
    return connection.reply(method)


def test_each_host_has_its_own_files(
    start: Callable[..., Any], architecture: dict[str, str], sections: str
) -> None:
    """Under the same path, on one connection, from the disk and from the cache."""
    server = start(**architecture, sections=sections, precompressed="on")
    server.write("file", b"own")
    connection = server.connect()
    for _ in range(3):
        assert get(connection, "one.example", "/file").body == b"one"
        assert get(connection, "WWW.One.Example:8000", "/file").body == b"one"
        assert get(connection, "two.example", "/file").body == b"two"
        assert get(connection, "elsewhere.example", "/file").body == b"own"
        assert get(connection, "elsewhere.example", "http://two.example/file").body == b"two"
        assert get(connection, "two.example", "/directory/").body == b"index of two"
        assert get(connection, "one.example", "/only").body == b"only in one"
        assert get(connection, "two.example", "/only").status == 404
        assert get(connection, "two.example", "/file", "Accept-Encoding: gzip").body == b"compressed two"
        assert get(connection, "two.example", "/file", "Range: bytes=1-").body == b"wo"
        moved = get(connection, "two.example", "/directory")
        assert (moved.status, moved.headers["location"]) == (301, "/directory/")
        for host in ("one.example", "two.example"):
            assert get(connection, host, "/outside").status == 403


def test_header_lines_are_of_the_host_whose_section_they_follow(
    start: Callable[..., Any], sections: str
) -> None:
    """What is said before the first host is about the server's own root."""
    server = start(sections=sections)
    server.write("file", b"own")
    connection = server.connect()
    assert get(connection, "own", "/file").headers["x-of"] == "own"
    assert get(connection, "one.example", "/directory/").headers["x-of"] == "one"
    assert "x-of" not in get(connection, "one.example", "/file").headers
    assert "x-of" not in get(connection, "two.example", "/directory/").headers


def test_changed_file_of_a_host_is_seen(
    start: Callable[..., Any], sections: str, tmp_path: Path, await_state: Callable[..., Any]
) -> None:
    """A second later at the latest."""
    server = start(sections=sections)
    connection = server.connect()
    assert get(connection, "two.example", "/file").body == b"two"
    (tmp_path / "two" / "file").write_text("changed")
    await_state(lambda: get(connection, "two.example", "/file").body == b"changed")


def test_hosts_come_and_go_with_a_reload(
    start: Callable[..., Any], sections: str, tmp_path: Path, await_state: Callable[..., Any]
) -> None:
    """A root that is missing changes nothing."""
    server = start(sections=sections)
    server.write("file", b"own")
    text = server.configuration.read_text()
    server.configuration.write_text(text.replace(f"{tmp_path}/two", f"{tmp_path}/none"))
    os.kill(server.process.pid, signal.SIGHUP)
    await_state(lambda: "not taken up" in server.log())
    assert f"[host two.example]: root = {tmp_path}/none: No such file or directory" in server.log()
    assert get(server.connect(), "two.example", "/file").body == b"two"
    server.configuration.write_text(text.replace("[host two.example]", "[host three.example]"))
    os.kill(server.process.pid, signal.SIGHUP)
    # Whoever waits to be accepted may still come to the old worker.
    await_state(lambda: get(server.connect(), "three.example", "/file").body == b"two")
    await_state(lambda: get(server.connect(), "two.example", "/file").body == b"own")


def test_new_workers_have_only_the_roots_of_their_own_configuration(
    start: Callable[..., Any],
    sections: str,
    tmp_path: Path,
    await_state: Callable[..., Any],
    open_files: Callable[[int], list[Path]],
) -> None:
    """Those that a client keeps from ending have theirs still."""
    server = start(sections=sections)
    stays = server.connect()
    get(stays, "one.example", "/file")
    os.kill(server.process.pid, signal.SIGHUP)
    await_state(lambda: server.log().count("ready: ") == 2)
    (pid,) = server.worker_pids()
    await_state(lambda: get(server.connect(), "one.example", "/file").headers.get("connection") != "close")
    assert open_files(pid).count(tmp_path / "one") == 1


def test_file_of_a_host_that_shrinks_is_logged_by_its_name(
    start: Callable[..., Any], sections: str, tmp_path: Path, await_state: Callable[..., Any]
) -> None:
    """Not by the key of the cache."""
    server = start(sections=sections, sndbuf=16384, cache_mb=1)
    path = tmp_path / "one" / "big"
    path.write_bytes(bytes(30_000_000))
    connection = server.connect(receive_buffer=4096)
    connection.send(b"GET /big HTTP/1.1\r\nHost: one.example\r\n\r\n")
    await_state(lambda: server.total()["bytes_sent"] > 0)
    os.truncate(path, 1_000_000)
    connection.stream.read()
    await_state(lambda: " /big became shorter while it was being sent" in server.log())


@pytest.mark.parametrize(
    ("section", "code", "sentence"),
    [
        ("[host]\nroot = /", 2, "f.ini:4: [host]: expected a section [server], [host NAME…]"),
        ("[host a]", 2, "f.ini:4: [host a]: root is not set"),
        ("[host a]\nroot = /\n[host b a]\nroot = /", 2, "f.ini:6: [host a]: given already"),
        (
            "[host a]\nlisten = 127.0.0.1:1",
            2,
            "f.ini:5: unknown key listen in a section [host]: expected root",
        ),
        ("[host a]\nroot = /none", 1, "f.ini:4: [host a]: root = /none: No such file or directory"),
    ],
)
def test_mistake_in_a_section_is_refused(
    binary: str, tmp_path: Path, section: str, code: int, sentence: str
) -> None:
    """With its line."""
    (tmp_path / "f.ini").write_text(f"[server]\nroot = {tmp_path}\nlisten = 127.0.0.1:0\n{section}\n")
    checked = subprocess.run(
        [binary, "-t", "-c", "f.ini"], capture_output=True, text=True, check=False, timeout=30, cwd=tmp_path
    )
    assert sentence in checked.stderr
    assert checked.returncode == code
