"""Several machines that load one server together (`--machines`): they offer what one would."""

import time

import pytest

NS_PER_S = 1_000_000_000
SOON_S = 0.5


def always_replies(connection):
    """Ten bytes, which the path names."""
    while True:
        connection.reply(int(connection.read_request().target.split("-")[-1]))


@pytest.fixture
def paths_log(write_log):
    """A session log in which each session asks for a path of its own."""
    return write_log("\n".join(f"/{number}-10 size=10\n" for number in range(40)))


def asked(*servers):
    """What the servers were asked for, in no order."""
    return sorted(request.target for server in servers for request in server.requests)


def counts(result):
    """What both offered."""
    return result["requests"]["offered"], result["sessions"]["offered"], result["window"]["due"]


@pytest.mark.parametrize("arrivals", ["deterministic", "poisson"])
def test_machines_offer_together_exactly_what_one_does(load, merge, serve, paths_log, tmp_path, arrivals):
    """The sessions of three machines, of two processes and of one, are those of a single machine."""
    options = ("--sessions", paths_log, "--rate", "60", "--duration", "0.5", "--arrivals", arrivals)
    one, several = serve(always_replies), [serve(always_replies) for _ in range(3)]
    alone = load(one.url, *options).result
    files = []
    for machine, processes in enumerate((2, 1, 1)):
        share = ("--machines", "3", "--machine", str(machine), "--processes", str(processes))
        outcome = load(several[machine].url, *options, *share)
        assert outcome.result["rate_rps"] == pytest.approx(20)
        files.append(tmp_path / f"{machine}.jsonl")
        files[-1].write_text(outcome.stdout)
    together = merge(*files).result
    assert counts(together) == counts(alone)
    assert asked(*several) == asked(one)
    assert together["rate_rps"] == pytest.approx(60)


def test_connections_of_a_closed_loop_are_divided(load, merge, serve, tmp_path):
    """Five connections on two machines are three and two."""
    results = []
    for machine in range(2):
        outcome = load(
            serve(always_replies).url + "/a-10",
            *("--connections", "5", "--duration", "0.2", "--machines", "2", "--machine", str(machine)),
            mode="closed",
        )
        results.append(outcome.result["connections"])
    assert results == [3, 2]


@pytest.mark.live
def test_load_begins_at_the_moment_that_was_asked_for(load, serve):
    """All sessions start in the duration that begins then."""
    server, begin_ns = serve(always_replies), time.monotonic_ns() + int(SOON_S * NS_PER_S)
    outcome = load(server.url + "/a-10", "--rate", "50", "--duration", "0.2", "--start-at", str(begin_ns))
    assert min(request.received_s for request in server.requests) >= begin_ns / NS_PER_S
    assert outcome.result["requests"]["replied"] == 10
    assert outcome.result["elapsed_s"] < SOON_S


def test_moment_that_has_passed_is_refused(load, serve):
    """Who is late does not begin at all: the others have begun without it."""
    late = str(time.monotonic_ns() - NS_PER_S)
    outcome = load(
        serve(always_replies).url, "--rate", "5", "--duration", "0.2", "--start-at", late, expect_status=1
    )
    assert "--start-at" in outcome.stderr
    assert "ms off" in outcome.stderr


def test_machine_that_is_none_of_them_is_refused(load, serve):
    """Machines count from 0."""
    outcome = load(
        serve(None).url,
        *("--rate", "5", "--duration", "0.2", "--machines", "2", "--machine", "2"),
        expect_status=2,
    )
    assert "--machine" in outcome.stderr
