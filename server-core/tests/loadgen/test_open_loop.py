"""The open loop: the rate is kept whatever the server does, and waiting is not left out of the latencies."""

import math
import signal
import threading
from time import monotonic

import pytest

from .conftest import patiently


def always_replies(connection):
    """Ten bytes for every request."""
    while True:
        connection.read_request()
        connection.reply()


def test_offered_requests_match_rate_and_duration(load, serve):
    """Within 0.5 % of rate x duration."""
    result = load(
        serve(always_replies).url, "--rate", "600", "--duration", "1.5", "--session-requests", "3"
    ).result
    assert abs(result["requests"]["offered"] - 900) <= 4.5
    assert result["requests"]["offered"] == result["requests"]["replied"]


def test_both_edges_of_the_goodput_window_are_told_when_they_come(load, serve):
    """Whoever counts CPU or memory in the same window as the replies goes by them."""
    window = load(serve(always_replies).url, "--rate", "200", "--duration", "0.9", "--warmup", "0.4").window
    assert [line["edge"] for line in window] == ["begin", "end"]
    begin_s, end_s = (line["elapsed_s"] for line in window)
    assert 0.4 <= begin_s <= end_s
    assert end_s >= 0.9 - 1 / 200  # with the last session a run is over


def test_the_window_ends_before_the_drain(load, serve):
    """A server that never replies keeps the run for its timeout; the window ends with the duration."""
    outcome = load(
        serve(lambda connection: connection.stall()).url,
        *("--rate", "20", "--duration", "0.5", "--timeout", "4"),
    )
    assert outcome.window[1]["elapsed_s"] < outcome.result["elapsed_s"] - 0.5


def test_requests_are_due_when_their_pauses_say_whatever_the_server_does(load, serve, write_log):
    """A session begins every 0.2 s, and asks again after 0.7 s: of each row two fall into the half second."""
    log = write_log("/a think=0.7\n/b\n")
    for script in (always_replies, lambda connection: connection.stall()):
        outcome = load(
            serve(script).url,
            *("--rate", "10", "--duration", "1", "--warmup", "0.5", "--timeout", "1", "--sessions", log),
        )
        assert outcome.result["window"]["due"] == 4


def test_interrupted_run_tells_no_edge_that_did_not_come(begin, serve):
    """The window of a run that was ended early has no end."""
    child = begin(serve(always_replies).url, "--rate", "50", "--duration", "60", "--warmup", "30")
    child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    stdout, _ = child.communicate(timeout=60)
    assert '"type":"result"' in stdout
    assert '"type":"window"' not in stdout


def test_session_rate_follows_from_the_mean_session_length(load, serve, write_log):
    """A log of 1, 2 and 3 requests has mean length 2: 200 requests a second are 100 sessions a second."""
    log = write_log("/a\n\n/b\n/b\n\n/c\n/c\n/c\n")
    result = load(serve(always_replies).url, "--sessions", log, "--rate", "200", "--duration", "0.9").result
    assert result["sessions"]["offered"] == 90
    assert result["requests"]["offered"] == 180


def test_server_that_never_replies_does_not_slow_arrivals(load, serve):
    """With a closed loop a stalled server would get one request per connection; here all of them come."""
    result = load(
        serve(lambda connection: connection.stall()).url,
        *("--rate", "300", "--duration", "1", "--timeout", "0.5", "--connect-timeout", "60"),
    ).result
    assert result["sessions"]["offered"] == 300
    assert result["requests"]["timed_out_before_read"] == 300


def test_poisson_arrivals_keep_the_mean_rate(load, serve):
    """Within five standard deviations of a Poisson variable."""
    result = load(
        serve(always_replies).url,
        *("--rate", "400", "--duration", "1", "--arrivals", "poisson", "--seed", "3"),
    ).result
    assert abs(result["sessions"]["offered"] - 400) < 5 * math.sqrt(400)


def test_seed_repeats_poisson_arrivals(load, serve):
    """The same seed offers the same number of sessions; this pair of seeds does not."""
    server = serve(always_replies)
    arguments = ("--rate", "200", "--duration", "0.5", "--arrivals", "poisson", "--seed")
    offered = [load(server.url, *arguments, seed).result["sessions"]["offered"] for seed in "114"]
    assert offered[0] == offered[1] != offered[2]


def test_stall_of_the_server_shows_in_the_latency(load, serve):
    """While the server pauses for 0.3 s, 60 of 400 arrivals wait: their wait is in the percentiles.

    The pause begins with the 100th request, so that it falls inside the run on any machine.
    """
    running = threading.Event()
    running.set()
    lock = threading.Lock()
    asked = 0

    def resume(server):
        server.over.wait(0.3)
        running.set()

    def script(connection):
        nonlocal asked
        connection.read_request()
        with lock:
            asked += 1
            if asked == 100:
                running.clear()
                threading.Thread(target=resume, args=(connection.server,)).start()
        running.wait()
        connection.reply()

    result = load(serve(script).url, "--rate", "200", "--duration", "2", "--timeout", "30").result
    assert result["requests"]["replied"] == 400
    assert result["latency_us"]["reply"]["p99"] >= 150_000
    assert result["latency_us"]["reply"]["max"] >= 280_000


@pytest.mark.live
def test_p99_shows_a_server_that_stalls_now_and_then(load, serve):
    """No coordinated omission: a server that stalls for 200 ms every 2 s delays a tenth of the arrivals.

    Of those, nine in ten wait for more than 20 ms: so the 99th percentile lies near 180 ms, where a generator
    that waits for replies would have met each stall with only one request per connection.
    """
    begun = monotonic()

    def script(connection):
        connection.read_request()
        phase_s = (monotonic() - begun) % 2
        if phase_s < 0.2:
            connection.server.over.wait(0.2 - phase_s)
        connection.reply()

    result = load(serve(script).url, "--rate", "100", "--duration", "4", "--timeout", "30").result
    assert result["requests"]["replied"] == 400
    assert result["latency_us"]["reply"]["p99"] >= 120_000
    waiting = sum(count for value, count in result["histograms"]["reply"] if value >= 20_000)
    assert waiting >= 30


def test_warmup_is_left_out_of_latencies_and_kept_in_classes(load, serve):
    """Of 100 arrivals the 50 from the end of the warm-up on have latencies; the classes have all."""
    result = load(
        serve(always_replies).url, "--rate", "100", "--duration", "1", "--warmup", "0.5", "--timeout", "30"
    ).result
    assert result["latency_us"]["reply"]["count"] == 50
    assert result["latency_us"]["connect"]["count"] == 50
    assert sum(size_class["asked"] for size_class in result["size_classes"]) == 100


def test_goodput_counts_completed_replies_inside_the_window(load, serve):
    """Replies that take longer than the run are no goodput, though they are replied to."""

    def script(connection):
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        connection.server.over.wait(1)
        connection.send(bytes(1000))

    result = load(serve(script).url, "--rate", "20", "--duration", "0.5", "--timeout", "30").result
    assert result["requests"]["replied"] == 10
    assert result["goodput_mbps"] == 0
    assert result["reply_rate_rps"] == 0
    assert result["bytes_received"] == 10 * (1000 + 41)


def test_goodput_is_heads_and_bodies_per_second(load, serve):
    """Goodput and reply rate describe the same replies."""

    def run(duration_s):
        return load(serve(always_replies).url, "--rate", "100", "--duration", str(duration_s)).result

    result = patiently(run, lambda result: result["reply_rate_rps"] > 0)
    reply_bytes = result["bytes_received"] / result["requests"]["replied"]
    assert math.isclose(result["goodput_mbps"], result["reply_rate_rps"] * reply_bytes * 8 / 1e6)
    assert result["goodput_mbps"] > 0


def test_progress_adds_up_to_the_result(load, serve):
    """One line a second; its counts never exceed those of the result."""

    def run(duration_s):
        return load(serve(always_replies).url, "--rate", "100", "--duration", str(5 * duration_s))

    outcome = patiently(run, lambda ran: sum(line["reply_rate_rps"] > 0 for line in ran.progress) >= 2)
    assert len(outcome.progress) >= 2
    elapsed = [line["elapsed_s"] for line in outcome.progress]
    assert elapsed == sorted(elapsed)
    assert elapsed[0] >= 1
    assert outcome.progress[-1]["requests_replied"] <= outcome.result["requests"]["replied"]
    assert sum(line["reply_rate_rps"] > 0 for line in outcome.progress) >= 2


@pytest.mark.live
def test_progress_shows_the_tail_of_the_second_before_it(load, serve):
    """With every fifth reply late and every fiftieth very late, each percentile covers its share."""
    late_s, very_late_s = 0.1, 0.2

    def script(connection):
        while True:
            connection.read_request()
            if connection.number % 50 == 0:
                connection.server.over.wait(very_late_s)
            elif connection.number % 5 == 0:
                connection.server.over.wait(late_s)
            connection.reply()

    outcome = load(serve(script).url, "--rate", "200", "--duration", "2.5")
    for line in outcome.progress:
        assert line["reply_p50_us"] < line["reply_p90_us"]
        assert line["reply_p90_us"] >= late_s * 1e6
        assert line["reply_p99_us"] >= very_late_s * 1e6
        assert line["reply_p999_us"] >= line["reply_p99_us"]
