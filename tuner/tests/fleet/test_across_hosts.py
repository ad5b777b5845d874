"""What is said of a configuration over hosts, and of hosts that behave unlike the others."""

import math

import numpy as np
import pytest
from trimtab_tuner.fleet.across_hosts import across_hosts, unlike_others
from trimtab_tuner.fleet.classes import HostClass, held_back, share_of_stage, strata_of


def gains(*shares, blocks=2):
    """Hosts with these gains in each of their blocks."""
    return {f"host{n}": [math.log1p(share)] * blocks for n, share in enumerate(shares, start=1)}


def test_gain_is_the_mean_over_hosts_with_an_interval_that_sees_how_they_differ():
    """And where a new host lies, which is wider."""
    found = across_hosts(gains(0.10, 0.12, 0.08, 0.11), {})
    assert found.gain == pytest.approx(0.1024, abs=0.001)
    assert 0 < found.low < 0.10 < found.high
    assert found.expected_low < found.low < found.high < found.expected_high
    assert found.spread.low < found.spread.share < found.spread.high
    assert [each.blocks for each in found.hosts] == [2, 2, 2, 2]
    assert found.by_stratum == {}


def test_two_hosts_say_nothing_about_others():
    """There is a mean, and neither interval nor spread."""
    found = across_hosts(gains(0.1, 0.2), {})
    assert found.gain > 0.1
    assert (found.low, found.expected_low, found.spread) == (None, None, None)
    assert across_hosts({"host1": []}, {}) is None


def test_hosts_that_differ_too_much_leave_no_figure_of_what_to_expect():
    """Of a new host already where the mean can still be told; then of that neither."""
    mean_only, neither = across_hosts(gains(0.1, 0.3, -0.1), {}), across_hosts(gains(0.1, 5.0, -0.8), {})
    assert (mean_only.expected_low, mean_only.says_nothing) == (None, False)
    assert (neither.expected_low, neither.says_nothing) == (None, True)


def test_interval_for_a_new_host_holds_as_often_as_it_says():
    """95 % of 400 draws of six hosts, each with one more."""
    generator = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        values = generator.normal(0.1, 0.05, 7)
        found = across_hosts({f"h{n}": [float(v)] for n, v in enumerate(values[:6])}, {})
        inside += found.expected_low <= math.expm1(values[6]) <= found.expected_high
    assert 0.92 <= inside / 400 <= 0.98


def test_host_unlike_the_others_is_named():
    """The others alone say what is usual."""
    found = across_hosts(gains(0.10, 0.11, 0.09, 0.10, 0.105, -0.3), {})
    assert found.unlike == ("host6",)
    assert across_hosts(gains(0.10, 0.11, 0.09, 0.10, 0.105, 0.098), {}).unlike == ()
    assert across_hosts(gains(0.10, 0.11, 0.09, -0.3), {}).unlike == ()  # too few to say


def test_equal_hosts_are_rarely_named():
    """In at most one of ten fleets of ten equal hosts."""
    generator = np.random.default_rng(2)
    named = sum(
        bool(unlike_others({f"h{n}": float(v) for n, v in enumerate(generator.normal(0, 1, 10))}))
        for _ in range(300)
    )
    assert named / 300 <= 0.1


def test_classes_of_hosts_are_told_apart():
    """Each with its own mean."""
    found = across_hosts(gains(0.2, 0.2, 0.2, 0.0, 0.0), {"host4": 1, "host5": 1})
    assert found.by_stratum == pytest.approx({0: 0.2, 1: 0.0})
    assert [each.stratum for each in found.hosts] == [0, 0, 0, 1, 1]


def host_class(cpus):
    """A class by its number of CPUs."""
    return HostClass(cpu_model="any", cpus=cpus, kernel="6.1", network_cards=("ixgbe",), server="1.22.1")


def test_a_third_is_held_back_but_never_a_whole_class():
    """Of eight large hosts and one small one two or three large ones; of five hosts none."""
    classes = {f"large{n}": host_class(32) for n in range(8)} | {"small": host_class(4)}
    kept = held_back(classes, seed=1)
    assert len(kept) == 3
    assert "small" not in kept
    assert held_back(classes, seed=1) == kept
    assert held_back({f"large{n}": host_class(32) for n in range(5)}, seed=1) == ()
    assert strata_of(classes)["small"] == 1


def test_every_class_takes_part_in_a_stage():
    """Of three hosts one is a small one, where a third of all are."""
    hosts = [f"large{n}" for n in range(6)] + [f"small{n}" for n in range(3)]
    strata = {name: int(name.startswith("small")) for name in hosts}
    assert share_of_stage("large0", hosts, strata, 3) == 2
    assert share_of_stage("small0", hosts, strata, 3) == 1
    assert share_of_stage("small0", hosts, strata, 9) == 3
