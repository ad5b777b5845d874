"""Clients of the server under test, which speak raw bytes, and the patience of the tests."""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TIMEOUT_S = 60.0


def eventually(predicate: Callable[[], Any], what: str | Callable[[], str] = "") -> Any:
    """Await a state: return the first true value of the predicate. `what` may be made when it has failed."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (value := predicate()):
        if time.monotonic() > deadline:
            pytest.fail(f"never came true: {(what() if callable(what) else what) or predicate}")
        time.sleep(0.01)
    return value


@dataclass(frozen=True)
class Reply:
    """A reply as it came over the wire; header names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes
    raw_head: bytes


class Connection:
    """One client connection, speaking raw bytes."""

    def __init__(self, address: tuple[str, int], receive_buffer: int = 0) -> None:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.socket = socket.socket(family)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(address)
        self.stream = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def ask(self, target: str, *headers: str, method: str = "GET", version: str = "1.1") -> None:
        """Send a request with Host and the given headers."""
        lines = [f"{method} {target} HTTP/{version}", "Host: test", *headers, "", ""]
        self.send("\r\n".join(lines).encode())

    def reply(self, method: str = "GET") -> Reply:
        """Read one reply."""
        line = self.stream.readline()
        if not line:
            pytest.fail("the server closed the connection instead of replying")
        version, status, _reason = line.decode().split(" ", 2)
        assert version == "HTTP/1.1"
        headers: dict[str, str] = {}
        raw_head = line
        while True:
            line = self.stream.readline()
            raw_head += line
            if line == b"\r\n":
                break
            name, value = line.decode().rstrip("\r\n").split(": ", 1)
            assert name.lower() not in headers
            headers[name.lower()] = value
        bodiless = method == "HEAD" or status == "304"
        length = 0 if bodiless else int(headers["content-length"])
        body = self.stream.read(length)
        assert len(body) == length
        return Reply(int(status), headers, body, raw_head)

    def get(self, target: str, *headers: str, method: str = "GET", version: str = "1.1") -> Reply:
        """Ask and read the reply."""
        self.ask(target, *headers, method=method, version=version)
        return self.reply(method)

    def is_closed_by_server(self) -> bool:
        """Await the next byte or the end of the stream; say whether it is the end."""
        return self.stream.read(1) == b""

    def close(self) -> None:
        """Close both ways."""
        self.stream.close()
        self.socket.close()


class StatsClient:
    """A client of the stats socket."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT_S)
        directory = os.open(
            path.parent, os.O_PATH | os.O_DIRECTORY
        )  # the path may be too long for an address
        try:
            self.socket.connect(f"/proc/self/fd/{directory}/{path.name}")
        except OSError:
            self.socket.close()
            raise
        finally:
            os.close(directory)
        self.stream = self.socket.makefile("rb")

    def command(self, line: str) -> Any:
        """Send one command and return its document."""
        self.socket.sendall(line.encode() + b"\n")
        return json.loads(self.stream.readline())

    def close(self) -> None:
        """Disconnect."""
        self.stream.close()
        self.socket.close()


def parts_of(reply: Reply) -> list[tuple[str, bytes]]:
    """Take a multipart/byteranges body apart: the Content-Range and the bytes of each part."""
    boundary = b"--" + reply.headers["content-type"].partition("boundary=")[2].encode()
    first, *parts, last = reply.body.split(boundary)
    assert (first, last) == (b"", b"--\r\n")
    found = []
    for part in parts:
        head, _, body = part.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().strip().split("\r\n"))
        assert set(lines) == {"Content-Type", "Content-Range"}
        assert body.endswith(b"\r\n")
        found.append((lines["Content-Range"], body[:-2]))
    return found
