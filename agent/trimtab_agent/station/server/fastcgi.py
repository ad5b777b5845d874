"""Asks a FastCGI application for one page: the protocol's records, as far as that takes.

fastcgi-archives.github.io, FastCGI Specification, sections 3 to 6.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

VERSION = 1
BEGIN, END, PARAMETERS, STDIN, STDOUT = 1, 3, 4, 5, 6
RESPONDER = 1
HEADER = struct.Struct("!BBHHBx")  # version, type, request, length of the content, of the padding
LARGEST_REPLY_BYTES = 1 << 20


def ask(place: Path, path: str, query: str, timeout_s: float) -> str:
    """The body of the reply to a GET; raises OSError if the application does not answer."""
    parameters = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": path,
        "SCRIPT_FILENAME": path,
        "QUERY_STRING": query,
    }
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(timeout_s)
        asked.connect(str(place))
        asked.sendall(
            _record(BEGIN, struct.pack("!HB5x", RESPONDER, 0))
            + _record(PARAMETERS, b"".join(_pairs(parameters)))
            + _record(PARAMETERS, b"")
            + _record(STDIN, b"")
        )
        output = b"".join(_output(asked))
    return output.partition(b"\r\n\r\n")[2].decode(errors="replace")


def _record(kind: int, content: bytes) -> bytes:
    return HEADER.pack(VERSION, kind, 1, len(content), 0) + content


def _pairs(parameters: Mapping[str, str]) -> Iterator[bytes]:
    """Names and values, each shorter than 128 bytes, behind their lengths."""
    for name, value in parameters.items():
        yield bytes((len(name), len(value))) + name.encode() + value.encode()


def _output(asked: socket.socket) -> Iterator[bytes]:
    """What the application writes until its end."""
    total = 0
    while total <= LARGEST_REPLY_BYTES:
        _, kind, _, length, padding = HEADER.unpack(_exactly(asked, HEADER.size))
        content = _exactly(asked, length + padding)[:length]
        total += length
        if kind == END:
            return
        if kind == STDOUT:
            yield content
    raise OSError(f"the reply is longer than {LARGEST_REPLY_BYTES} bytes")


def _exactly(asked: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = asked.recv(count - len(data))
        if not part:
            raise OSError("the connection ended within a reply")
        data += part
    return data
