"""Conditional and range requests (RFC 9110 §13 and §14)."""

from __future__ import annotations

import os
import re
import time
from email.utils import formatdate, parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

MODIFIED = 784_111_777  # Sun, 06 Nov 1994 08:49:37 GMT
CONTENTS = bytes(range(256)) * 40


@pytest.fixture
def ask(start: Callable[..., Any]) -> Callable[..., Any]:
    """Ask a server for a file from 1994 with the given headers; {etag} stands for its tag."""
    server = start()
    path = server.write("file.txt", CONTENTS)
    os.utime(path, (MODIFIED, MODIFIED))
    connection = server.connect()
    etag = connection.get("/file.txt").headers["etag"]

    def get(*headers: str, method: str = "GET") -> Any:
        return connection.get("/file.txt", *(h.replace("{etag}", etag) for h in headers), method=method)

    return get


def test_reply_has_validators(ask: Callable[..., Any]) -> None:
    """A strong tag and the time of the last change."""
    headers = ask().headers
    assert re.fullmatch(r'"[0-9a-f]+-[0-9a-f]+"', headers["etag"])
    assert headers["last-modified"] == "Sun, 06 Nov 1994 08:49:37 GMT"
    assert headers["accept-ranges"] == "bytes"


def test_file_from_the_future_was_not_modified_after_the_reply(server: Any) -> None:
    """RFC 9110 §8.8.2.1: in a whole reply, and in a part of it."""
    path = server.write("future", b"contents")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    connection = server.connect()
    whole = connection.get("/future")
    part = connection.get("/future", "Range: bytes=0-1")
    assert [reply.status for reply in (whole, part)] == [200, 206]
    for reply in (whole, part):
        modified, date = (parsedate_to_datetime(reply.headers[name]) for name in ("last-modified", "date"))
        assert modified <= date


BEFORE = "Sun, 06 Nov 1994 08:49:36 GMT"
SAME = "Sun, 06 Nov 1994 08:49:37 GMT"
AFTER = "Sunday, 06-Nov-94 08:49:38 GMT"
ASCTIME = "Sun Nov  6 08:49:38 1994"

PRECONDITIONS = [
    (["If-None-Match: {etag}"], 304),
    (["If-None-Match: W/{etag}"], 304),
    (["If-None-Match: *"], 304),
    (['If-None-Match: "a", {etag}'], 304),
    (['If-None-Match: "a,b",W/"c",  {etag} '], 304),
    (['If-None-Match: "a"', "If-None-Match: {etag}"], 304),
    (['If-None-Match: "a"'], 200),
    (["If-None-Match: nonsense"], 200),
    (['If-None-Match: "open'], 200),
    (["If-Modified-Since: " + SAME], 304),
    (["If-Modified-Since: " + AFTER], 304),
    (["If-Modified-Since: " + ASCTIME], 304),
    (["If-Modified-Since: " + BEFORE], 200),
    (["If-Modified-Since: yesterday"], 200),
    (["If-Modified-Since: " + SAME, "If-Modified-Since: " + SAME], 200),
    (['If-None-Match: "a"', "If-Modified-Since: " + AFTER], 200),  # the tag decides
    (["If-None-Match: {etag}", "If-Modified-Since: " + BEFORE], 304),
    (["If-Match: {etag}"], 200),
    (["If-Match: *"], 200),
    (['If-Match: "a", {etag}'], 200),
    (['If-Match: "a"'], 412),
    (["If-Match: W/{etag}"], 412),  # only strong tags
    (["If-Unmodified-Since: " + SAME], 200),
    (["If-Unmodified-Since: " + AFTER], 200),
    (["If-Unmodified-Since: " + BEFORE], 412),
    (["If-Unmodified-Since: yesterday"], 200),
    (["If-Match: {etag}", "If-Unmodified-Since: " + BEFORE], 200),  # the tag decides
    (['If-Match: "a"', "If-None-Match: {etag}"], 412),  # in this order
    (["if-none-match: {etag}"], 304),
]


@pytest.mark.parametrize(("headers", "status"), PRECONDITIONS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_precondition_decides(ask: Callable[..., Any], headers: list[str], status: int, method: str) -> None:
    """For GET and HEAD alike, and the connection goes on."""
    reply = ask(*headers, method=method)
    assert reply.status == status
    assert reply.body == (CONTENTS if (status, method) == (200, "GET") else reply.body)
    if status == 304:  # RFC 9110 §15.4.5: nothing else is told of a file whose tag is
        assert set(reply.headers) == {"date", "etag", "server"}
    assert ask().body == CONTENTS


RANGES = [
    ("bytes=0-0", 0, 1),
    ("bytes=100-199", 100, 200),
    ("bytes=10000-", 10000, 10240),
    ("bytes=-240", 10000, 10240),
    ("bytes=-20000", 0, 10240),
    ("bytes=10239-99999", 10239, 10240),
]


@pytest.mark.parametrize(("value", "first", "end"), RANGES)
def test_range_is_sent_alone(ask: Callable[..., Any], value: str, first: int, end: int) -> None:
    """206 with the bytes asked for and where they are."""
    reply = ask(f"Range: {value}")
    assert reply.status == 206
    assert reply.headers["content-range"] == f"bytes {first}-{end - 1}/{len(CONTENTS)}"
    assert reply.headers["content-type"] == "text/plain"
    assert reply.body == CONTENTS[first:end]


def test_several_ranges_come_as_parts_in_the_order_asked_for(ask: Callable[..., Any], parts: Any) -> None:
    """multipart/byteranges; each part says where it belongs."""
    reply = ask("Range: bytes=5000-5009, 0-0, -1")
    assert reply.status == 206
    assert reply.headers["content-type"].startswith("multipart/byteranges; boundary=")
    assert "content-range" not in reply.headers
    assert parts(reply) == [
        ("bytes 5000-5009/10240", CONTENTS[5000:5010]),
        ("bytes 0-0/10240", CONTENTS[:1]),
        ("bytes 10239-10239/10240", CONTENTS[-1:]),
    ]
    assert ask().body == CONTENTS


@pytest.mark.parametrize(
    "value",
    ["bytes=9-0", "items=0-1", "bytes=x", "bytes=" + ",".join(f"{i}-{i}" for i in range(0, 100, 2))],
    ids=["backwards", "other-unit", "nonsense", "bomb"],
)
def test_range_that_means_nothing_or_too_much_is_ignored(ask: Callable[..., Any], value: str) -> None:
    """The whole file is always right."""
    reply = ask(f"Range: {value}")
    assert (reply.status, reply.body) == (200, CONTENTS)


def test_ranges_that_overlap_are_sent_once(ask: Callable[..., Any]) -> None:
    """A request cannot multiply what is sent."""
    reply = ask("Range: bytes=" + ",".join(["0-9999"] * 16))
    assert (reply.status, reply.body) == (206, CONTENTS[:10000])


def test_range_behind_the_end_yields_416_with_the_size(ask: Callable[..., Any]) -> None:
    """The client learns how long the file is."""
    reply = ask("Range: bytes=10240-")
    assert reply.status == 416
    assert reply.headers["content-range"] == "bytes */10240"


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("{etag}", 206),
        (SAME, 206),
        ('"other"', 200),
        ("W/{etag}", 200),
        ("*", 200),
        (BEFORE, 200),
        (AFTER, 200),
        ("nonsense", 200),
    ],
)
def test_if_range_sends_the_part_only_of_the_same_version(
    ask: Callable[..., Any], condition: str, status: int
) -> None:
    """Otherwise the whole, so that a download is never put together from two versions."""
    assert ask("Range: bytes=0-9", f"If-Range: {condition}").status == status


def test_if_range_by_date_does_not_trust_a_file_that_has_just_changed(start: Callable[..., Any]) -> None:
    """A date tells seconds apart, and a second is not over yet."""
    server = start()
    now = int(time.time()) + 600
    os.utime(server.write("file", CONTENTS), (now, now))
    headers = ("Range: bytes=0-9", f"If-Range: {formatdate(now, usegmt=True)}")
    assert server.connect().get("/file", *headers).status == 200


def test_head_ignores_ranges(ask: Callable[..., Any]) -> None:
    """Range is defined for GET only (RFC 9110 §14.2)."""
    reply = ask("Range: bytes=0-9", method="HEAD")
    assert (reply.status, reply.headers["content-length"]) == (200, str(len(CONTENTS)))


def test_precondition_comes_before_the_range(ask: Callable[..., Any]) -> None:
    """A part of what the client has already is not sent."""
    assert ask("Range: bytes=0-9", "If-None-Match: {etag}").status == 304


def test_large_parts_arrive_whole_at_a_slow_reader(server: Any, parts: Any) -> None:
    """Parts that block in the middle go on where they stopped, with either way of sending."""
    contents = os.urandom(3_000_000)
    server.write("big", contents)
    connection = server.connect(receive_buffer=4096)
    reply = connection.get("/big", "Range: bytes=0-999999,2000000-")
    assert [body for _range, body in parts(reply)] == [contents[:1_000_000], contents[2_000_000:]]
    assert connection.get("/big", "Range: bytes=-5").body == contents[-5:]


def test_http_1_0_client_may_ask_for_a_range(server: Any) -> None:
    """And the connection closes behind it, as it said."""
    server.write("file", CONTENTS)
    connection = server.connect()
    reply = connection.get("/file", "Range: bytes=1-2", version="1.0")
    assert (reply.status, reply.headers["connection"], reply.body) == (206, "close", CONTENTS[1:3])
    assert connection.is_closed_by_server()


def test_replaced_file_has_another_tag(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """A client that asks by the old tag gets the new contents."""
    server = start()
    server.write("file", b"old contents")
    connection = server.connect()
    etag = connection.get("/file").headers["etag"]
    server.write("other", b"new contents").rename(server.root / "file")
    await_state(lambda: connection.get("/file", f"If-None-Match: {etag}").body == b"new contents")
