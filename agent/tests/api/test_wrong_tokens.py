"""Guessing a token: slowed down for the address that guesses, and logged."""

import logging

import pytest
from trimtab_agent.api.wrong_tokens import (
    ADDRESSES_KEPT,
    FORGOTTEN_S,
    FREE_TRIES,
    LONGEST_WAIT_S,
    WrongTokens,
)

TOKEN = "0123456789abcdef" * 2


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The time in seconds."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Stands still until it is moved."""
    return Clock()


def test_a_few_wrong_tokens_cost_nothing_and_each_further_one_twice_as_much(clock):
    """Whoever mistypes goes on at once; whoever guesses soon waits a minute for each try."""
    wrong = WrongTokens(clock)
    for _ in range(FREE_TRIES - 1):
        wrong.note("192.0.2.7")
        assert wrong.wait_s("192.0.2.7") == 0
    waits = []
    for _ in range(8):
        wrong.note("192.0.2.7")
        waits.append(wrong.wait_s("192.0.2.7"))
        clock.now += waits[-1]
        assert wrong.wait_s("192.0.2.7") == 0
    assert waits == [1, 2, 4, 8, 16, 32, LONGEST_WAIT_S, LONGEST_WAIT_S]


def test_others_do_not_wait_and_a_right_token_or_time_makes_up_for_wrong_ones(clock):
    """The keeper of the daemon is not kept out by somebody who guesses elsewhere."""
    wrong = WrongTokens(clock)
    for _ in range(FREE_TRIES + 3):
        wrong.note("192.0.2.7")
    assert wrong.wait_s("192.0.2.7") > 0
    assert wrong.wait_s("192.0.2.8") == 0
    clock.now += FORGOTTEN_S
    wrong.note("192.0.2.7")
    assert wrong.wait_s("192.0.2.7") == 0
    for _ in range(FREE_TRIES + 3):
        wrong.note("192.0.2.7")
    wrong.forget("192.0.2.7")
    assert wrong.wait_s("192.0.2.7") == 0


def test_guesses_from_many_addresses_take_no_more_memory(clock):
    """The oldest are forgotten."""
    wrong = WrongTokens(clock)
    for number in range(ADDRESSES_KEPT + 50):
        for _ in range(FREE_TRIES):
            wrong.note(f"host-{number}")
    assert wrong.wait_s("host-0") == 0
    assert wrong.wait_s(f"host-{ADDRESSES_KEPT + 49}") > 0
    assert len(wrong._tries) == ADDRESSES_KEPT


def test_daemon_slows_guesses_down_at_both_doors_and_logs_them(start_daemon, caplog):
    """Session and bearer alike; then even the right token has to wait."""
    daemon = start_daemon(token=TOKEN)
    with caplog.at_level(logging.WARNING, "trimtab_agent.api.wrong_tokens"):
        for number in range(FREE_TRIES - 1):
            reply = daemon.client.post("/api/v1/session", json={"token": f"guess {number}"})
            assert reply.status_code == 401
        headers = {"Authorization": "Bearer guess"}
        for _ in range(4):  # a slow machine may let the first seconds pass
            last = daemon.client.get("/api/v1/runs", headers=headers)
    assert "wrong token from 127.0.0.1, attempt 5" in caplog.text
    access = daemon.context.access
    for _ in range(20):
        access._wrong.note("127.0.0.1")
    reply = daemon.client.post("/api/v1/session", json={"token": TOKEN})
    assert (reply.status_code, reply.json()["error"]["code"]) == (429, "too-many-tries")
    assert 0 < int(reply.headers["retry-after"]) <= LONGEST_WAIT_S
    assert last.status_code in (401, 429)
