"""Replicas switched on and off by the mix of the traffic, on a simulated server."""

import numpy as np
import pytest
from trimtab_tuner.live.replicas_policy import (
    BLOCK_S,
    CHANGED_S,
    FORGOTTEN_S,
    MOST_PAIRS,
    ReplicasPolicy,
    Second,
)

NOISE = 0.03
LONGEST_S = 2 * BLOCK_S * MOST_PAIRS + CHANGED_S


class Server:
    """Answers more files and fewer pages of a program with replicas, or by `gains` what a class gains."""

    def __init__(self, gains, *, saturated=True):
        self.gains, self.saturated = gains, saturated
        self.rng = np.random.default_rng(3)

    def second(self, dynamic, on):
        """What it does in one second of that share of dynamic requests."""
        gain = self.gains(dynamic) if on else 1.0
        noise = float(self.rng.lognormal(0, NOISE))
        requests = int(1000 * (gain if self.saturated else 1.0) * noise)
        cpu_s = 2.0 if self.saturated else 0.001 * requests / gain
        return Second(requests=requests, dynamic=int(dynamic * requests), cpu_s=cpu_s)


def run(policy, server, dynamic, seconds):
    """So many seconds of that traffic; whether replicas were on in each."""
    was = []
    for _ in range(seconds):
        was.append(policy.on)
        policy.told(server.second(dynamic, policy.on))
    return was


def files_gain(dynamic):
    """Half as much again with files, a tenth less with a program."""
    return 1.5 if dynamic < 0.2 else 0.9


def test_replicas_are_on_for_files_and_off_for_programs():
    """Found out once for each, and done at once when that traffic comes back."""
    policy, server = ReplicasPolicy(seed=1), Server(files_gain)
    assert not policy.on
    run(policy, server, 0.0, LONGEST_S)
    assert policy.on
    assert "0 % to 5 % dynamic: replicas on, more requests" in policy.said
    run(policy, server, 0.7, LONGEST_S)
    assert not policy.on
    assert "fewer requests" in policy.said
    for dynamic, expected in ((0.0, True), (0.7, False), (0.0, True)):
        was = run(policy, server, dynamic, 60)
        assert was[CHANGED_S:] == [expected] * (60 - CHANGED_S)
        assert not policy.is_trying


def test_it_is_found_out_within_four_minutes():
    """With a gain of half."""
    policy, server = ReplicasPolicy(seed=2), Server(files_gain)
    run(policy, server, 0.0, 240)
    assert policy.on
    assert not policy.is_trying


def test_where_everybody_is_answered_less_cpu_time_counts():
    """A server that is not short of anything."""
    policy, server = ReplicasPolicy(seed=1), Server(lambda _: 1.2, saturated=False)
    run(policy, server, 0.0, LONGEST_S)
    assert policy.on
    assert "less CPU time" in policy.said


def test_where_nothing_differs_there_are_no_replicas():
    """They would take memory for nothing."""
    policy, server = ReplicasPolicy(seed=1), Server(lambda _: 1.0)
    run(policy, server, 0.0, LONGEST_S)
    assert not policy.on
    assert "no difference was shown in 12 pairs" in policy.said


@pytest.mark.parametrize("seed", range(5))
def test_a_few_requests_of_another_kind_change_nothing(seed):
    """A class changes when all of five seconds are of another."""
    policy, server = ReplicasPolicy(seed=seed), Server(files_gain)
    run(policy, server, 0.0, LONGEST_S)
    for _ in range(10):
        run(policy, server, 0.9, CHANGED_S - 1)
        assert all(run(policy, server, 0.0, 3))


def test_no_traffic_is_no_kind_of_it():
    """What was found stays known."""
    policy, server = ReplicasPolicy(seed=1), Server(files_gain)
    run(policy, server, 0.0, LONGEST_S)
    for _ in range(100):
        assert policy.told(Second(requests=0, dynamic=0, cpu_s=0.01))


def test_what_was_found_is_asked_again_after_hours():
    """The machine may be another one by then."""
    policy, server = ReplicasPolicy(seed=1), Server(files_gain)
    run(policy, server, 0.0, LONGEST_S)
    assert not policy.is_trying
    run(policy, server, 0.0, FORGOTTEN_S)
    assert policy.is_trying
