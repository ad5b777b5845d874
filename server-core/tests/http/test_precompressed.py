"""Files compressed beside the plain ones are sent to who accepts them, each as its own representation."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = b"plain contents\n" * 1000
CODED = {
    "br": (".br", b"as if by brotli" * 9),
    "zstd": (".zst", b"as if by zstd" * 8),
    "gzip": (".gz", gzip.compress(PLAIN)),
}


@pytest.fixture
def compressed(start: Callable[..., Any], architecture: dict[str, str]) -> Any:
    """A server in each architecture, with a file in all codings."""
    server = start(**architecture, precompressed="on", sections="[path /]\nheader = X-Own: 1\n")
    server.write("file.txt", PLAIN)
    for suffix, contents in CODED.values():
        server.write(f"file.txt{suffix}", contents)
    server.write("other.txt", PLAIN)
    return server


@pytest.mark.parametrize("coding", CODED)
def test_each_coding_is_a_representation_of_its_own(compressed: Any, coding: str) -> None:
    """Its bytes, its tag, its ranges, with the type and the lines of the plain file."""
    connection = compressed.connect()
    accept = f"Accept-Encoding: {coding}, deflate"
    contents = CODED[coding][1]
    for _ in range(2):  # from the disk, and from the cache
        plain, whole = connection.get("/file.txt"), connection.get("/file.txt", accept)
        assert (whole.status, whole.body) == (200, contents)
        assert whole.headers["content-encoding"] == coding
        assert whole.headers["content-type"] == plain.headers["content-type"]
        assert whole.headers["x-own"] == "1"
        assert whole.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
        assert (plain.body, "content-encoding" in plain.headers) == (PLAIN, False)
        tag = whole.headers["etag"]
        assert tag != plain.headers["etag"]
        assert tag.endswith(f'-{coding}"')
        head = connection.get("/file.txt", accept, method="HEAD")
        assert int(head.headers["content-length"]) == len(contents)
        part = connection.get("/file.txt", accept, "Range: bytes=2-5", f"If-Range: {tag}")
        assert (part.status, part.body) == (206, contents[2:6])
        assert part.headers["content-range"] == f"bytes 2-5/{len(contents)}"
        assert part.headers["content-encoding"] == coding
        unchanged = connection.get("/file.txt", accept, f"If-None-Match: {tag}")
        assert (unchanged.status, unchanged.headers["vary"]) == (304, "Accept-Encoding")
        assert set(unchanged.headers) == {"date", "etag", "server", "vary", "x-own"}
        assert connection.get("/file.txt", f"If-None-Match: {tag}").status == 200


def test_file_without_compressed_ones_is_as_ever(compressed: Any) -> None:
    """No Vary; and a compressed file that is asked for by its own name is a file like others."""
    connection = compressed.connect()
    other = connection.get("/other.txt", "Accept-Encoding: br, gzip")
    assert (other.body, "vary" in other.headers, "content-encoding" in other.headers) == (PLAIN, False, False)
    itself = connection.get("/file.txt.gz", "Accept-Encoding: gzip")
    assert (itself.body, "content-encoding" in itself.headers) == (CODED["gzip"][1], False)
    assert itself.headers["content-type"] == "application/gzip"


def test_compressed_file_comes_goes_and_is_never_stale(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """A second later at the latest; one that is older than the plain file is of another version."""
    server = start(precompressed="on")
    plain = server.write("file.txt", PLAIN)
    connection = server.connect()

    def is_coded() -> bool:
        reply = connection.get("/file.txt", "Accept-Encoding: gzip")
        assert reply.body == (CODED["gzip"][1] if "content-encoding" in reply.headers else PLAIN)
        assert ("vary" in reply.headers) == ("content-encoding" in reply.headers)
        return "content-encoding" in reply.headers

    assert not is_coded()
    beside = server.write("file.txt.gz", CODED["gzip"][1])
    await_state(is_coded)
    old = plain.stat().st_mtime - 10
    os.utime(beside, (old, old))
    await_state(lambda: not is_coded())
    beside.write_bytes(CODED["gzip"][1])
    await_state(is_coded)
    beside.unlink()
    await_state(lambda: not is_coded())


def test_nothing_is_compressed_unless_it_is_asked_for(start: Callable[..., Any]) -> None:
    """Off by default, as in nginx."""
    server = start()
    server.write("file.txt", PLAIN)
    server.write("file.txt.gz", CODED["gzip"][1])
    reply = server.connect().get("/file.txt", "Accept-Encoding: gzip")
    assert (reply.body, "vary" in reply.headers) == (PLAIN, False)
