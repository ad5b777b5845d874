"""`sendfile = off`: contents are kept in memory and written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def private_kb(pid: int) -> int:
    """What a process has in memory for itself alone."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


def test_small_reply_leaves_in_one_call_and_is_read_once(start: Callable[..., Any]) -> None:
    """Head and body together; the second reply finds the contents in memory."""
    server = start(sendfile="off")
    contents = os.urandom(9000)  # a smaller one may come to lie in memory with its head
    server.write("file", contents)
    connection = server.connect()
    for _ in range(3):
        assert connection.get("/file").body == contents
    server.await_total(contents_misses=1, contents_hits=2, write_calls=3, sendfile_calls=0)


def test_contents_used_longest_ago_give_way(start: Callable[..., Any]) -> None:
    """Three files of 400 KB do not fit in 1 MiB: the one not used lately is dropped."""
    server = start(sendfile="off", cache_mb=1)
    bodies = [os.urandom(400_000) for _ in range(3)]
    for i, body in enumerate(bodies):
        server.write(str(i), body)
    connection = server.connect()
    for i in (0, 1, 0, 2, 0, 1):  # 2 drops 1, and 1 then drops 2
        assert connection.get(f"/{i}").body == bodies[i]
    server.await_total(contents_hits=2, contents_misses=4, contents_evictions=2)


def test_file_larger_than_the_cache_is_sent_piece_by_piece(start: Callable[..., Any]) -> None:
    """It drops nothing, and a part of it can be asked for."""
    server = start(sendfile="off", cache_mb=1)
    contents, small = os.urandom(3_000_000), os.urandom(9000)
    server.write("large", contents)
    server.write("small", small)
    connection = server.connect(receive_buffer=4096)
    assert connection.get("/small").body == small
    assert connection.get("/large").body == contents
    assert connection.get("/large", "Range: bytes=1000000-1999999").body == contents[1_000_000:2_000_000]
    assert connection.get("/small").body == small
    server.await_total(contents_hits=1, contents_misses=3, contents_evictions=0)


def test_slow_readers_do_not_hold_more_than_the_cache_may_have(start: Callable[..., Any]) -> None:
    """What does not fit beside the contents that are being sent is sent piece by piece, and arrives whole."""
    server = start(sendfile="off", cache_mb=2, sndbuf=16384)
    (pid,) = server.worker_pids()
    before_kb = private_kb(pid)
    bodies = [os.urandom(1_900_000) for _ in range(16)]
    readers = []
    for i, body in enumerate(bodies):
        server.write(str(i), body)
        readers.append(server.connect(receive_buffer=4096))
        readers[-1].ask(f"/{i}")
    server.await_total(requests=16)
    assert private_kb(pid) - before_kb < 16_000
    for reader, body in zip(readers, bodies, strict=True):
        assert reader.reply().body == body


def test_replaced_file_is_read_anew(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """Contents belong to one version of a file; the other is never sent in its place."""
    server = start(sendfile="off")
    server.write("file", b"old contents")
    connection = server.connect()
    assert connection.get("/file").body == b"old contents"
    server.write("other", b"new contents").rename(server.root / "file")
    await_state(lambda: connection.get("/file").body == b"new contents")


def test_file_that_was_written_in_its_place_is_read_anew_though_its_time_was_set_back(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """As `rsync --inplace --times` and reproducible builds leave it: as long and as old as before."""
    server = start(sendfile="off")
    path = server.write("file", b"a" * 9000)
    os.utime(path, (1e9, 1e9))
    connection = server.connect()
    assert connection.get("/file").body == b"a" * 9000
    server.write("file", b"b" * 9000)
    os.utime(path, (1e9, 1e9))
    await_state(lambda: connection.get("/file").body == b"b" * 9000)


def test_file_that_changes_while_it_is_sent_arrives_as_it_was(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """A reply from memory is of one version, whatever happens to the file."""
    server = start(sendfile="off", sndbuf=16384)
    contents = os.urandom(5_000_000)
    path = server.write("file", contents)
    connection = server.connect(receive_buffer=4096)
    connection.ask("/file")
    await_state(lambda: server.total()["bytes_sent"] > 0)
    os.truncate(path, 10)
    assert connection.reply().body == contents
