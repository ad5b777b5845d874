"""The controllers of the pipeline's stages: threads by queue, batches by throughput, admission by waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = bytes(16 << 20)  # more than the buffers of a socket that nobody reads from (tcp_wmem: 4 MiB)
WRITERS = 6


def stage(server: Any, role: str) -> dict[str, Any]:
    """The row of counters of what controls a stage: `read` or `write`."""
    rows = server.command("show stats")["workers"]
    (row,) = [row for row in rows if row["role"] == f"{role}-controller"]
    return dict(row)


def hold_writers(server: Any, count: int) -> list[Any]:
    """As many clients ask for a large file and do not read it: with blocking sendfile each holds a writer."""
    server.write("large", LARGE)
    slow = [server.connect(receive_buffer=4096) for _ in range(count)]
    for client in slow:
        client.ask("/large")
    return slow


def status_of_a_request(server: Any) -> int:
    """The status of a request for a small file on a connection of its own."""
    connection = server.connect()
    connection.ask("/small", "Connection: close")
    status: int = connection.reply().status
    connection.close()
    return status


def test_fixed_stages_have_all_their_threads_and_the_largest_batch(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Without controllers nothing is controlled, and the counters say so."""
    server = start(architecture="pipeline", workers=WRITERS, readers=2)
    await_state(lambda: stage(server, "write")["stage_threads"])
    write, read = stage(server, "write"), stage(server, "read")
    assert (read["stage_threads"], read["stage_batch"], read["admission_rps"]) == (2, 256, 0)
    assert (write["stage_threads"], write["stage_batch"], write["admission_rps"]) == (WRITERS, 64, 0)


def test_writers_come_with_the_queue_and_go_when_they_are_idle(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Held writers get others beside them as replies wait; when the load is gone one is left."""
    server = start(architecture="pipeline", sendfile="blocking", workers=WRITERS, stage_threads="adaptive")
    server.write("small", b"contents")
    await_state(lambda: stage(server, "write")["stage_threads"] == 1)
    slow = hold_writers(server, WRITERS - 1)
    server.await_total(requests=WRITERS - 1)
    waiting = [server.connect() for _ in range(20)]
    for client in waiting:
        client.ask("/small")
    await_state(lambda: stage(server, "write")["stage_threads"] == WRITERS)
    for client in waiting:
        assert client.reply().body == b"contents"
    for client in slow:
        assert client.reply().body == LARGE
    await_state(lambda: stage(server, "write")["stage_threads"] == 1)
    assert status_of_a_request(server) == 200


def test_the_modes_can_be_set_while_the_server_runs(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """From fixed to adaptive and back, with requests in between."""
    server = start(architecture="pipeline", workers=WRITERS, readers=4)
    server.write("small", b"contents")
    for knob in ("stage_threads", "stage_batch"):
        assert server.command(f"set {knob} adaptive") == {"knob": knob, "value": "adaptive"}
    assert server.command("set admission_p90_ms 60000") == {"knob": "admission_p90_ms", "value": 60000}
    await_state(lambda: [stage(server, role)["stage_threads"] for role in ("read", "write")] == [1, 1])
    await_state(lambda: stage(server, "write")["admission_rps"] > 0)
    assert [status_of_a_request(server) for _ in range(50)] == [200] * 50
    assert server.command("set stage_threads fixed")["value"] == "fixed"
    assert server.command("set admission_p90_ms off")["value"] == "off"
    await_state(lambda: [stage(server, role)["stage_threads"] for role in ("read", "write")] == [4, WRITERS])
    await_state(lambda: stage(server, "write")["admission_rps"] == 0)
    assert [status_of_a_request(server) for _ in range(50)] == [200] * 50


def test_a_steady_load_shrinks_the_batch(start: Callable[..., Any], await_state: Callable[..., Any]) -> None:
    """Clients that ask one after the other need no batches; without a load the largest is back."""
    server = start(architecture="pipeline", stage_batch="adaptive")
    server.write("small", b"contents")
    connection = server.connect()

    def is_smaller_after_a_request() -> bool:
        assert connection.get("/small").body == b"contents"
        return bool(stage(server, "write")["stage_batch"] < 64)

    await_state(is_smaller_after_a_request)
    await_state(lambda: stage(server, "write")["stage_batch"] == 64)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_requests_that_would_wait_too_long_are_refused_and_later_served_again(
    start: Callable[..., Any], await_state: Callable[..., Any], method: str
) -> None:
    """With its only writer held a stage stops admitting: 503, at once. Then it recovers."""
    server = start(architecture="pipeline", sendfile="blocking", workers=1, admission_p90_ms=50)
    server.write("small", b"contents")
    (slow,) = hold_writers(server, 1)
    server.await_total(requests=1)
    waiting = server.connect()
    waiting.ask("/small")
    await_state(lambda: stage(server, "write")["admission_rps"] == 1)
    for number in range(2, 50):  # a token may be there still, or has come while this was held up
        other = server.connect()
        other.ask("/small", method=method)
        server.await_total(requests=number + 1)
        if server.total()["requests_refused"]:
            break
    reply = other.reply(method)
    assert reply.status == 503
    assert reply.headers["retry-after"] == "1"
    assert reply.headers["connection"] == "close"
    assert other.is_closed_by_server()
    assert slow.reply().body == LARGE
    assert waiting.reply().status == 200
    await_state(lambda: status_of_a_request(server) == 200)
    server.await_total(requests_aborted=0)
    total = server.total()
    assert total["requests_refused"] == total["replies_503"]


def test_admission_outside_its_range_is_refused(refusal: Callable[..., str]) -> None:
    """The target is milliseconds, or off."""
    said = refusal("architecture=pipeline", "admission_p90_ms=0")
    assert "expected an integer from 1 to 60000, or off" in said


def test_other_architectures_have_no_stages_to_control(refusal: Callable[..., str]) -> None:
    """What would do nothing is refused."""
    assert "stage_threads" in refusal("architecture=symped", "stage_threads=adaptive")
