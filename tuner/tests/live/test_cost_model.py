"""What CPU time a mix of replies is expected to take."""

import numpy as np
import pytest
from trimtab_tuner.live.cost_model import LEAST_PERIODS, CostModel
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Served, cost_difference

OF_REQUEST_S, OF_BYTE_S = 40e-6, 1e-9


def period(requests, bytes_sent, factor=1.0):
    """A period whose CPU time is that of its requests and bytes, times something."""
    served = (Served(requests), *[Served()] * (CLASSES - 1))
    cpu_s = factor * (OF_REQUEST_S * requests + OF_BYTE_S * bytes_sent)
    return ArmPeriod(served, cpu_s=cpu_s, bytes_sent=bytes_sent)


def drawn(rng, factor=1.0, noise=0.05):
    """One with a mix of its own."""
    requests = int(rng.poisson(100))
    sizes = rng.pareto(1.5, requests) * 10_000
    return period(requests, int(sizes.sum()), factor * float(rng.lognormal(0, noise)))


def test_cost_is_learnt_from_periods_of_different_mixes():
    """Twice the bytes are expected to take what bytes take."""
    rng, model = np.random.default_rng(1), CostModel()
    for _ in range(400):
        model.tell(drawn(rng))
    ratio = model.expected_s(period(100, 40_000_000)) / model.expected_s(period(100, 1_000_000))
    expected = (100 * OF_REQUEST_S + 40_000_000 * OF_BYTE_S) / (100 * OF_REQUEST_S + 1_000_000 * OF_BYTE_S)
    assert ratio == pytest.approx(expected, rel=0.1)


def test_differences_of_equal_servers_become_much_smaller():
    """Most of them was the mix."""
    rng, model = np.random.default_rng(2), CostModel()
    plain, adjusted = [], []
    for number in range(400):
        one, other = drawn(rng), drawn(rng)
        if number > LEAST_PERIODS:
            plain.append(cost_difference(one, other))
            adjusted.append(cost_difference(one, other, model.expected_s))
        model.tell(one)
        model.tell(other)
    assert np.std(adjusted) < np.std(plain) / 2
    assert abs(np.mean(adjusted)) < 0.02


def test_candidate_that_costs_more_is_seen_to_cost_as_much_more():
    """Whatever its mix is."""
    rng, model = np.random.default_rng(3), CostModel()
    differences = []
    for number in range(400):
        one, other = drawn(rng), drawn(rng, factor=1.2)
        if number > LEAST_PERIODS:
            differences.append(cost_difference(one, other, model.expected_s))
        model.tell(one)
        model.tell(other)
    assert np.mean(differences) == pytest.approx(np.log(1.2), abs=0.02)


@pytest.mark.parametrize("sizes", [[10_000] * 50, [0] * 50])
def test_where_all_mixes_are_the_same_a_request_is_a_request(sizes):
    """As where no bytes are told."""
    model = CostModel()
    for number, size in enumerate(sizes):
        model.tell(period(50 + number, (50 + number) * size))
    assert model.expected_s(period(100, 5)) == pytest.approx(100)
