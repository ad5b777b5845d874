"""The accept limit under simulated overload of a server that too many connections bring down."""

import math

import numpy as np
import pytest
from trimtab_tuner.live.accept_limit_policy import MOST_LIMIT, AcceptLimitPolicy, Second

STEP_S = 0.1
BACKLOG = 511
MOST_CONNECTIONS = 2000
PATIENCE_S = 10.0  # of clients
TURNS = 5  # of the event loop that a connection takes, if nothing else is said
FIXED_S = 500e-6  # of a turn, whatever it does
WORK_S = 100e-6  # of a turn, for each connection
CAPACITY_RPS = 1 / (TURNS * WORK_S)


class Server:
    """An event loop: a turn accepts up to the limit, and then works on every connection that is open.

    Up to `good` connections a turn works on each for WORK_S; beyond them each takes the longer, the more
    there are, as caches no longer hold them. Clients give up after PATIENCE_S on average. Throughput
    varies by `noise` from second to second.
    """

    def __init__(self, *, seed=0, good=100, noise=0.03, turns=TURNS):
        self.chance = np.random.default_rng(seed)
        self.good, self.noise, self.turns = good, noise, turns
        self.open, self.waiting = 0.0, 0.0

    def second(self, rate_rps, limit):
        """One second at an offered load, with a limit."""
        replies, mean_open = 0.0, 0.0
        speed = float(self.chance.lognormal(0, self.noise))
        for _ in range(round(1 / STEP_S)):
            self.waiting = min(self.waiting + rate_rps * STEP_S, BACKLOG)
            turn_s = (FIXED_S + self.open * WORK_S * max(1.0, self.open / self.good)) / speed
            inflow_rps = self.waiting / STEP_S
            if limit < MOST_LIMIT:
                inflow_rps = min(inflow_rps, limit / turn_s)
            # Connections come evenly, and end after so many turns on average or give up.
            ends, leaves = 1 / (self.turns * turn_s), 1 / PATIENCE_S
            steady, stays = inflow_rps / (ends + leaves), math.exp(-STEP_S * (ends + leaves))
            now_open = steady + (self.open - steady) * stays
            refused = max(0.0, now_open - MOST_CONNECTIONS)
            taken = inflow_rps * STEP_S - refused
            replies += (taken - (now_open - refused - self.open)) * ends / (ends + leaves)
            self.waiting -= taken
            self.open = now_open - refused
            mean_open += self.open * STEP_S
        return Second(
            open=round(mean_open),
            waiting=round(self.waiting),
            throughput_rps=replies,
            service_s=mean_open / max(replies, 1e-9),
        )


def fixed(limit, rate_rps, seconds=60, **server):
    """The mean throughput with a limit that stays."""
    served = Server(**server)
    rates = [served.second(rate_rps, limit).throughput_rps for _ in range(seconds)]
    return float(np.mean(rates[seconds // 2 :]))


def best_fixed(rate_rps, **server):
    """The best that any fixed limit reaches."""
    return max(fixed(limit, rate_rps, **server) for limit in (*range(1, 60), 80, 128, 256, MOST_LIMIT))


def drive(policy, server, rate_rps, seconds):
    """What the server does with the policy, second by second, and the limits."""
    shown, limits = [], []
    for _ in range(seconds):
        shown.append(server.second(rate_rps, policy.limit))
        limits.append(policy.told(shown[-1]))
    return shown, limits


def mean_rate(shown):
    """Throughput over those seconds."""
    return float(np.mean([second.throughput_rps for second in shown]))


def test_simulated_server_collapses_without_a_limit_and_not_with_a_good_one():
    """What there is to gain."""
    assert fixed(MOST_LIMIT, 2 * CAPACITY_RPS) < 0.2 * CAPACITY_RPS
    assert best_fixed(2 * CAPACITY_RPS) > 0.9 * CAPACITY_RPS


@pytest.mark.parametrize("seed", range(3))
def test_goodput_under_overload_is_within_a_twentieth_of_the_best_fixed_limit(seed):
    """From the second minute on, at twice the capacity."""
    best = best_fixed(2 * CAPACITY_RPS, noise=0.0)
    policy, server = AcceptLimitPolicy(seed=seed), Server(seed=seed + 10)
    drive(policy, server, 0.7 * CAPACITY_RPS, 30)
    shown, _ = drive(policy, server, 2 * CAPACITY_RPS, 300)
    assert mean_rate(shown[60:]) >= 0.95 * best
    assert min(mean_rate(shown[begin : begin + 30]) for begin in range(60, 300, 30)) >= 0.9 * best


def test_server_that_is_found_in_overload_is_brought_out_of_it():
    """Nothing is known of how it was before; a minute later it serves as well as it can."""
    best = best_fixed(2 * CAPACITY_RPS, noise=0.0)
    server = Server(seed=4)
    for _ in range(60):
        before = server.second(2 * CAPACITY_RPS, MOST_LIMIT)
    assert before.throughput_rps < 0.1 * best
    shown, _ = drive(AcceptLimitPolicy(seed=4), server, 2 * CAPACITY_RPS, 300)
    assert mean_rate(shown[120:]) >= 0.93 * best


def test_load_that_falls_is_served_whole_within_thirty_seconds():
    """Nobody waits for a limit that was made for the overload."""
    policy, server = AcceptLimitPolicy(seed=1), Server(seed=11)
    drive(policy, server, 2 * CAPACITY_RPS, 300)
    drive(policy, server, 0.7 * CAPACITY_RPS, 30)
    shown, _ = drive(policy, server, 0.7 * CAPACITY_RPS, 60)
    assert mean_rate(shown) == pytest.approx(0.7 * CAPACITY_RPS, rel=0.01)
    assert max(second.waiting for second in shown) == 0


def test_aim_does_not_drift_in_ten_hours_of_overload():
    """Hour by hour it serves as much, with about the same limit."""
    policy, server = AcceptLimitPolicy(seed=1), Server(seed=5)
    drive(policy, server, 1.5 * CAPACITY_RPS, 120)
    shown, limits = drive(policy, server, 1.5 * CAPACITY_RPS, 36_000)
    hours = range(0, 36_000, 3600)
    rates = [mean_rate(shown[begin : begin + 3600]) for begin in hours]
    middles = [float(np.mean(limits[begin : begin + 3600])) for begin in hours]
    assert min(rates) >= 0.98 * max(rates)
    assert max(middles) <= 1.25 * min(middles)


def test_light_load_is_left_alone_for_ten_hours():
    """There is no limit before there is an overload, and none is looked for."""
    policy, server = AcceptLimitPolicy(seed=1), Server(seed=5)
    _, limits = drive(policy, server, 0.8 * CAPACITY_RPS, 36_000)
    assert set(limits) == {MOST_LIMIT}


def test_server_that_becomes_able_to_serve_more_is_let_serve_more():
    """A limit that was right while its disk was slow is left behind within ten minutes of overload."""
    policy, server = AcceptLimitPolicy(seed=2), Server(seed=6, good=20)
    drive(policy, server, 2 * CAPACITY_RPS, 300)
    server.good = 100
    shown, _ = drive(policy, server, 2 * CAPACITY_RPS, 600)
    assert mean_rate(shown[540:]) >= 0.93 * best_fixed(2 * CAPACITY_RPS, noise=0.0)


def test_connections_that_bring_nothing_are_not_opened():
    """Where 100 to 2,000 serve as well but for a twentieth, the aim stays at the lower end for hours."""
    policy, server = AcceptLimitPolicy(seed=3), Server(seed=7, good=MOST_CONNECTIONS)
    drive(policy, server, 2 * CAPACITY_RPS, 1200)
    shown, _ = drive(policy, server, 2 * CAPACITY_RPS, 7200)
    assert float(np.mean([second.open for second in shown])) < 200
    assert mean_rate(shown) >= 0.95 * CAPACITY_RPS


@pytest.mark.parametrize("seed", range(4))
def test_limit_of_one_is_left_behind_where_more_is_served_with_two(seed):
    """Steps of a fifth are no steps there: 1 stays 1."""
    policy, server = AcceptLimitPolicy(seed=seed), Server(seed=8, good=15, turns=20)
    drive(policy, server, 2 * CAPACITY_RPS, 600)
    server.good = 200
    shown, _ = drive(policy, server, 2 * CAPACITY_RPS, 900)
    assert mean_rate(shown[600:]) >= 0.93 * best_fixed(2 * CAPACITY_RPS, good=200, turns=20, noise=0.0)


def test_target_that_even_a_limit_of_one_does_not_reach_is_given_up():
    """What is open then is the target; ten seconds show that it does not fall any more."""
    light, flood = seconds(20, open=2), seconds(1, open=50, throughput_rps=100.0, service_s=1.0, waiting=90)
    assert told(light, flood, seconds(8, open=50, waiting=90)) == 1
    assert told(light, flood, seconds(30, open=50, waiting=90)) > 1


def test_limit_grows_for_as_long_as_it_takes_to_reach_the_target():
    """It is no target that is out of reach."""
    light, flood = seconds(20, open=2), seconds(1, open=50, throughput_rps=100.0, service_s=1.0, waiting=90)
    assert told(light, flood, seconds(15, open=3, waiting=90)) == MOST_LIMIT


def seconds(count, **values):
    """So many equal seconds of a light load, or what the values say."""
    usual = {"open": 20, "waiting": 0, "throughput_rps": 1000.0, "service_s": 0.02}
    return [Second(**{**usual, **values})] * count


def told(*parts):
    """The limit after these seconds."""
    policy = AcceptLimitPolicy(seed=1)
    for part in parts:
        for second in part:
            policy.told(second)
    return policy.limit


def test_flood_brings_the_limit_down_at_once():
    """In its second second, below what was open in the seconds before; the first one may still serve well."""
    flood = seconds(1, open=900, waiting=500), seconds(1, open=950, throughput_rps=300.0, service_s=3.0)
    assert told(seconds(20), *flood) <= 40


@pytest.mark.parametrize(
    "values",
    [
        {"throughput_rps": 300.0, "open": 6},  # fewer requests
        {"throughput_rps": 300.0, "open": 200},  # idle connections that stay
        {"throughput_rps": 3000.0, "open": 200, "service_s": 0.06},  # more requests, served
        {"throughput_rps": 0.0, "open": 0, "service_s": 0.0},  # nobody
    ],
)
def test_load_that_merely_changes_is_no_overload(values):
    """The limit stays as it is."""
    assert told(seconds(20), seconds(20, **values)) == MOST_LIMIT


def test_limit_is_one_at_least_whatever_is_told():
    """A server that hangs has it neither at 0 nor endless."""
    hung = seconds(100, open=900, waiting=500, throughput_rps=0.0, service_s=0.0)
    assert 1 <= told(seconds(20), seconds(5, open=900, waiting=500), hung) <= MOST_LIMIT
