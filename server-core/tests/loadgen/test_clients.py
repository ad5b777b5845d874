"""What clients are like: arrivals from a trace, drawn pauses, slow readers."""

from itertools import pairwise

import pytest

from .conftest import patiently


def always_replies(connection):
    """Ten bytes for every request."""
    while True:
        connection.read_request()
        connection.reply()


def replies_with_much(connection):
    """20,000 bytes for every request."""
    while True:
        connection.read_request()
        connection.reply(20_000)


def test_trace_sets_moments_and_rate(load, serve, tmp_path):
    """Without --rate the sessions begin when the trace says; the result names the rate that makes."""

    def run(length_s):
        (tmp_path / "trace").write_text(f"0\n{length_s / 5}\n{length_s}\n")
        server = serve(always_replies)
        arguments = ("--arrivals", "trace", "--trace", str(tmp_path / "trace"))
        result = load(server.url, *arguments, "--duration", str(1.4 * length_s)).result
        assert result["sessions"]["offered"] == 3
        assert result["rate_rps"] == pytest.approx(2 / length_s)  # three moments, repeated after half as much
        moments = sorted(request.received_s for request in server.requests)
        return (moments[2] - moments[0]) / length_s

    assert patiently(run, lambda share: share > 0.6) > 0.6


def test_trace_is_stretched_to_the_rate(load, serve, tmp_path):
    """The same trace at 40 a second, four times within a period of 75 ms."""
    (tmp_path / "trace").write_text("0\n0.1\n0.5\n")
    result = load(
        serve(always_replies).url,
        *("--arrivals", "trace", "--trace", str(tmp_path / "trace"), "--rate", "40", "--duration", "0.3"),
    ).result
    assert result["sessions"]["offered"] == 12


def gaps_of(server):
    """The times between the requests of each connection, in seconds."""
    moments = {}
    for request in server.requests:
        moments.setdefault(request.connection, []).append(request.received_s)
    return [[after - before for before, after in pairwise(one)] for one in moments.values()]


def test_pauses_between_bursts_are_drawn_where_the_log_is_silent(load, serve, write_log):
    """A Pareto pause of at least 1 s between bursts; none within them; think= of the log is kept."""
    server = serve(always_replies)
    log = write_log("/a\n /b\n/c think=0.01\n/d\n")
    load(
        server.url,
        *("--sessions", log, "--rate", "80", "--duration", "0.2", "--inactive-off", "5,1"),
        *("--timeout", "60"),
    )
    gaps = gaps_of(server)
    assert min(between for _, between, _ in gaps) >= 1
    assert min(given for _, _, given in gaps) >= 0.01
    assert min(within for within, _, _ in gaps) < 1


def test_pauses_within_bursts_are_drawn(load, serve):
    """A Weibull distribution of so large a shape is nearly constant."""
    server = serve(always_replies)
    load(
        server.url,
        *("--rate", "40", "--duration", "0.18", "--session-requests", "2", "--active-off", "200,0.3"),
        *("--timeout", "60"),
    )
    gaps = [gap for gaps in gaps_of(server) for gap in gaps]
    assert len(gaps) == 4
    assert min(gaps) >= 0.25


def test_slow_sessions_read_at_their_pace(load, serve):
    """20,000 bytes at 50,000 a second take 0.4 s, but for the last read; bytes and contents are all there."""
    result = load(
        serve(replies_with_much).url,
        *("--rate", "40", "--duration", "0.09", "--slow-share", "1", "--slow-pace", "50000"),
        *("--session-requests", "2", "--timeout", "60"),
    ).result
    assert result["sessions"]["slow"] == result["sessions"]["completed"] == 2
    assert result["requests"]["replied"] == 4
    assert result["bytes_received"] > 4 * 20_000
    assert result["latency_us"]["reply"]["p50"] >= 300_000


def test_share_of_slow_sessions_is_kept(load, serve):
    """One in four of 200 sessions, within five standard deviations; the others are not slowed."""
    result = load(
        serve(replies_with_much).url,
        *("--rate", "200", "--duration", "1", "--slow-share", "0.25", "--slow-pace", "100000"),
        *("--timeout", "60"),
    ).result
    assert abs(result["sessions"]["slow"] - 50) < 5 * (200 * 0.25 * 0.75) ** 0.5
    assert result["requests"]["replied"] == 200


def test_slow_session_runs_into_its_timeout(load, serve):
    """A pace at which the reply takes longer than the timeout: it was read, and timed out."""
    result = load(
        serve(replies_with_much).url,
        *("--rate", "20", "--duration", "0.09", "--slow-share", "1", "--slow-pace", "1000"),
        *("--timeout", "4", "--connect-timeout", "60"),
    ).result
    assert result["requests"]["timed_out_after_read"] == result["sessions"]["timed_out"] == 2


def test_slow_session_sees_the_end_of_the_connection(load, serve):
    """Half a body, then the end: closed early, though the session reads later than that."""

    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + bytes(2000))

    result = load(
        serve(script).url,
        *("--rate", "20", "--duration", "0.09", "--slow-share", "1", "--slow-pace", "10000"),
        *("--timeout", "60"),
    ).result
    assert result["failures"] == {"closed-early": 2}
