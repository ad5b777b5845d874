"""What is said beside a file: its media type, own header lines by path, and how long it stays fresh."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECTIONS = """\
[path /]
header = X-Frame-Options: DENY
[path /assets/]
expires_s = 3600
header = Access-Control-Allow-Origin: *
header = X-More: a: b
"""


def test_types_come_from_the_file_that_is_named(start: Callable[..., Any], tmp_path: Path) -> None:
    """Our own table knows what it does not; texts get the charset."""
    types = tmp_path / "types"
    types.write_text("text/x-own own\napplication/x-js js\n")
    server = start(mime_types=types, charset="utf-8")
    expected = {
        "a.own": "text/x-own; charset=utf-8",
        "a.js": "application/x-js",
        "a.html": "text/html; charset=utf-8",
        "a.png": "image/png",
        "a": "application/octet-stream",
    }
    for name in expected:
        server.write(name, b"contents")
    connection = server.connect()
    assert {name: connection.get(f"/{name}").headers["content-type"] for name in expected} == expected
    part = connection.get("/a.own", "Range: bytes=0-1")
    assert (part.status, part.headers["content-type"]) == (206, expected["a.own"])


def test_missing_file_of_types_is_refused_only_if_it_was_given(binary: str, tmp_path: Path) -> None:
    """The default is read where a system has it."""
    command = [binary, "-t", "--set", f"root={tmp_path}", "--set", "listen=127.0.0.1:0"]
    assert subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0
    for path, reason in (("/none", "No such file"), (tmp_path, "Is a directory")):
        refused = subprocess.run(
            [*command, "--set", f"mime_types={path}"], capture_output=True, text=True, check=False, timeout=30
        )
        assert refused.returncode == 1
        assert f"--set: mime_types = {path}: {reason}" in refused.stderr


def test_own_headers_go_with_whatever_is_said_of_a_file(
    start: Callable[..., Any], architecture: dict[str, str]
) -> None:
    """Whole, in part, to HEAD, unchanged; of the section with the longest prefix alone, and of no error."""
    server = start(**architecture, sections=SECTIONS)
    server.write("file", b"contents")
    server.write("assets/file", b"contents")
    connection = server.connect()
    for _ in range(2):  # from the disk, and from the cache
        whole = connection.get("/assets/file")
        assert whole.body == b"contents"
        replies = [
            whole,
            connection.get("/assets/../assets/file", "Range: bytes=0-1"),
            connection.get("/assets/file", "Range: bytes=0-1,4-5"),
            connection.get("/assets/file", method="HEAD"),
            connection.get("/assets/file", f"If-None-Match: {whole.headers['etag']}"),
        ]
        assert [reply.status for reply in replies] == [200, 206, 206, 200, 304]
        for reply in replies:
            assert reply.headers["access-control-allow-origin"] == "*"
            assert reply.headers["x-more"] == "a: b"
            assert reply.headers["cache-control"] == "max-age=3600"
            dates = [parsedate_to_datetime(reply.headers[name]) for name in ("date", "expires")]
            assert (dates[1] - dates[0]).total_seconds() == 3600
            assert "x-frame-options" not in reply.headers
        plain = connection.get("/file").headers
        assert (plain["x-frame-options"], "expires" in plain, "x-more" in plain) == ("DENY", False, False)
        assert "x-frame-options" not in connection.get("/none").headers


def test_expires_moves_on_with_the_clock(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """The head in the cache is an old one."""
    server = start(sections="[path /]\nexpires_s = 60\n")
    server.write("file", b"contents")
    connection = server.connect()
    first = connection.get("/file").headers["expires"]
    later = await_state(
        lambda: next((e for e in [connection.get("/file").headers["expires"]] if e != first), "")
    )
    assert parsedate_to_datetime(later) > parsedate_to_datetime(first)


def test_reload_takes_sections_and_types_up(
    start: Callable[..., Any], await_state: Callable[..., Any], tmp_path: Path
) -> None:
    """A section with a mistake changes nothing."""
    server = start(sections="[path /]\nheader = A: 1\n")
    server.write("file.html", b"contents")
    text = server.configuration.read_text()
    server.configuration.write_text(text.replace("A: 1", "Date: now"))
    os.kill(server.process.pid, signal.SIGHUP)
    await_state(lambda: "not taken up" in server.log())
    assert re.search(r"server.ini:\d+: header = Date: now: the server itself says that", server.log())
    assert server.connect().get("/file.html").headers["a"] == "1"
    server.configuration.write_text(text.replace("A: 1", "B: 2").replace("[path", "charset = utf-8\n[path"))
    os.kill(server.process.pid, signal.SIGHUP)

    def is_new() -> bool:  # whoever waits to be accepted may still come to the old worker
        headers = server.connect().get("/file.html").headers
        wanted = ("2", "text/html; charset=utf-8")
        return (headers.get("b"), headers["content-type"]) == wanted and "a" not in headers

    await_state(is_new)


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ("[path assets]", "f.ini:4: [path assets]: expected a path that begins with one slash"),
        ("[path //1/a/]", "f.ini:4: [path //1/a/]: expected a path that begins with one slash"),
        ("[path /a]\n[path /a]", "f.ini:5: [path /a]: given already"),
        ("[path /a]\nroot = /b", "f.ini:5: unknown key root in a section [path]: expected one of header"),
        ("[path /a]\nheader = B", "f.ini:5: header = B: expected Name: value"),
        ("[path /a]\nexpires_s = 1\nexpires_s = 2", "f.ini:6: expires_s = 2: expected, once, seconds"),
        ("[path /a", "f.ini:4: [path /a: expected a section [server], [host NAME…] or [path PREFIX]"),
        ("[paths]", "f.ini:4: [paths]: expected a section [server], [host NAME…] or [path PREFIX]"),
    ],
)
def test_mistake_in_a_section_is_refused(binary: str, tmp_path: Path, section: str, sentence: str) -> None:
    """With its line."""
    file = tmp_path / "f.ini"
    file.write_text(f"[server]\nroot = {tmp_path}\nlisten = 127.0.0.1:0\n{section}\n")
    checked = subprocess.run(
        [binary, "-t", "-c", "f.ini"], capture_output=True, text=True, check=False, timeout=30, cwd=tmp_path
    )
    assert checked.returncode == 2
    assert sentence in checked.stderr


def test_check_prints_sections_that_it_takes_again(binary: str, tmp_path: Path) -> None:
    """What is effective is a configuration."""
    file = tmp_path / "f.ini"
    file.write_text(f"[server]\nroot = {tmp_path}\nlisten = 127.0.0.1:0\n{SECTIONS}")

    def check() -> str:
        command = [binary, "-t", "-c", file]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout

    said = check()
    assert said.endswith(SECTIONS)
    file.write_text(said)
    assert check() == said
