"""Which trial on which host: what the rule asks for, and in what order."""

from collections import Counter

import numpy as np
import pytest
from trimtab_tuner.fleet.allocation import DEFAULT_EVERY, Allocation, Tried
from trimtab_tuner.fleet.effects import Effects

HOSTS = [f"host{number}" for number in range(6)]


def measured(configuration, hosts, score=100.0, block=1):
    """A configuration measured on these hosts."""
    return [Tried(configuration, host, block, score) for host in hosts]


def started(*others):
    """Every host has measured the default, and these trials were carried out beside."""
    return [*measured("default", HOSTS), *(trial for trials in others for trial in trials)]


def test_every_host_measures_the_default_first_and_then_again_and_again():
    """Each time a block begins."""
    assert Allocation(HOSTS, "default", []).next_task("host0").kind == "default"
    many = started(measured_many("host0", DEFAULT_EVERY))
    task = Allocation(HOSTS, "default", many).next_task("host0")
    assert (task.kind, task.block) == ("default", 2)
    assert Allocation(HOSTS, "default", many).next_task("host1").kind == "new"
    few = started(measured_many("host0", DEFAULT_EVERY - 1))
    waiting = [("host0", "another")]
    assert Allocation(HOSTS, "default", few, waiting).next_task("host0").kind == "default"


def measured_many(host, count):
    """So many poor configurations on one host."""
    return [trial for number in range(count) for trial in measured(f"poor{number}", [host], 50.0)]


def test_promising_configuration_goes_to_three_hosts_and_then_to_all():
    """A poor one goes nowhere."""
    poor = [measured(f"poor{number}", [HOSTS[number]], 60.0) for number in range(5)]
    once = started(measured("good", ["host5"], 150.0), *poor)
    allocation = Allocation(HOSTS, "default", once)
    task = allocation.next_task("host0")
    assert (task.kind, task.configuration, task.block) == ("promoted", "good", 1)
    assert task.reason.startswith("1.5")
    assert allocation.next_task("host5").kind == "new"
    two = [("host0", "good"), ("host1", "good")]
    assert Allocation(HOSTS, "default", once, two).next_task("host2").kind == "new"
    thrice = started(measured("good", HOSTS[:3], 150.0), *poor)
    assert Allocation(HOSTS, "default", thrice).next_task("host4").configuration == "good"


def test_single_host_goes_on_with_something_new_and_its_best_is_recommended():
    """There is no other host that anything could go on to."""
    alone = HOSTS[:1]
    trials = [*measured("default", alone), *measured("good", alone, 150.0), *measured("poor", alone, 60.0)]
    allocation = Allocation(alone, "default", trials, recommended="good")
    assert allocation.next_task("host0").kind == "new"
    assert allocation.best() == "good"


def test_configuration_that_failed_anywhere_is_not_promoted_nor_recommended():
    """However good it was elsewhere."""
    trials = started(measured("good", HOSTS[:5], 150.0), measured("good", ["host5"], None))
    allocation = Allocation(HOSTS, "default", trials)
    assert allocation.next_task("host0").kind == "new"
    assert allocation.best() == "default"


def test_only_what_all_hosts_have_measured_is_recommended():
    """And only if it is better than the default by its lower bound."""
    trials = started(
        measured("everywhere", HOSTS, 120.0), measured("nowhere", HOSTS[:5], 200.0), measured("same", HOSTS)
    )
    allocation = Allocation(HOSTS, "default", trials)
    assert allocation.best() == "everywhere"
    assert allocation.best_so_far() == "nowhere"
    assert Allocation(HOSTS, "default", started(measured("same", HOSTS))).best() == "default"
    assert Allocation(HOSTS, "default", []).best() is None


def test_what_hosts_disagree_on_is_trusted_less():
    """A mean of 130 that loses a half on two hosts is passed over for a steady 120."""
    unsteady = [*measured("unsteady", HOSTS[:4], 170.0), *measured("unsteady", HOSTS[4:], 50.0)]
    others = [measured(f"c{n}", HOSTS, 90.0 + n) for n in range(6)]
    allocation = Allocation(HOSTS, "default", started(measured("steady", HOSTS, 120.0), unsteady, *others))
    assert allocation.best() == "steady"
    assert allocation.standing()["unsteady"].instability.share > 0.3


def test_last_stage_is_left_when_there_is_nothing_more_to_gain():
    """A configuration that cannot be better than the leader any more is measured no further."""
    trials = started(measured("leader", HOSTS, 150.0), measured("second", HOSTS[:3], 100.0))
    assert Allocation(HOSTS, "default", trials).next_task("host5").kind == "new"


def test_every_class_of_hosts_takes_part_in_the_second_stage():
    """Two large hosts have measured it: the third is a small one."""
    strata = {name: int(name in HOSTS[4:]) for name in HOSTS}
    trials = started(
        measured("good", HOSTS[:2], 150.0), *(measured(f"p{n}", [HOSTS[n]], 60.0) for n in range(4))
    )
    allocation = Allocation(HOSTS, "default", trials, strata=strata)
    assert allocation.next_task("host3").kind == "new"
    assert allocation.next_task("host4").configuration == "good"


def test_what_the_strategy_recommends_goes_on_first():
    """It knows what neighbours say."""
    trials = started(measured("lucky", ["host0"], 125.0), measured("pooled", ["host1"], 120.0))
    allocation = Allocation(HOSTS, "default", trials, recommended="pooled")
    assert allocation.next_task("host2").configuration == "pooled"


def test_trial_that_was_taken_in_decides_like_any_other():
    """Of what, and of when the default is due, without a new fit."""
    poor = [measured(f"poor{number}", [HOSTS[number]], 60.0) for number in range(5)]
    allocation = Allocation(HOSTS, "default", started(*poor))
    assert allocation.next_task("host0").kind == "new"
    for trial in measured("good", ["host5"], 150.0):
        allocation.take_in(trial)
    task = allocation.next_task("host0")
    assert (task.kind, task.configuration, task.block) == ("promoted", "good", 1)
    assert allocation.next_task("host5").kind == "new"
    for trial in measured_many("host5", DEFAULT_EVERY - 1):
        allocation.take_in(trial)
    assert allocation.next_task("host5").kind == "default"
    allocation.take_in(Tried("default", "host5", 2, 100.0))
    assert allocation.next_task("host5").block == 2
    for trial in measured("good", HOSTS[:5], 150.0):
        allocation.take_in(trial)
    assert allocation.best() == "good"
    allocation.take_in(Tried("good", "elsewhere", 1, None))
    assert allocation.best() == "good"


def test_configuration_that_fails_between_two_fits_is_promoted_and_recommended_no_more():
    """Not even if it is verified again afterwards."""
    allocation = Allocation(HOSTS, "default", started(measured("good", HOSTS[:3], 150.0)))
    assert allocation.next_task("host4").configuration == "good"
    allocation.take_in(Tried("good", "host3", 1, None))
    allocation.take_in(Tried("good", "host4", 1, 150.0))
    assert allocation.next_task("host5").kind == "new"
    assert (allocation.best(), allocation.best_so_far()) == ("default", None)
    assert not allocation.standing()


def looked_at(trials, monkeypatch):
    """How many configurations are looked at for one more trial, and the next of every host."""
    generator = np.random.default_rng(1)
    before = [
        Tried(f"c{number}", HOSTS[number % len(HOSTS)], 1 + number // 30, float(generator.uniform(60, 110)))
        for number in range(trials)
    ]
    allocation, seen = Allocation(HOSTS, "default", started(before)), Counter()
    for owner, name in ((Effects, "of"), (Allocation, "_is_new_on")):
        count(owner, name, seen, monkeypatch)
    allocation.take_in(Tried("another", "host0", 1 + trials // 30, 100.0))
    for host in HOSTS:
        allocation.next_task(host)
    return seen


def count(owner, name, seen, monkeypatch):
    """Has the calls of a method counted."""
    method = getattr(owner, name)

    def counted(*arguments):
        seen[name] += 1
        return method(*arguments)

    monkeypatch.setattr(owner, name, counted)


def test_one_more_trial_has_no_more_looked_at_after_thousands(monkeypatch):
    """Its own configuration is worked out, and the next task is among the first that may be it."""
    for trials in (300, 3000):
        with monkeypatch.context() as patch:
            seen = looked_at(trials, patch)
        assert seen["of"] == 1
        assert seen["_is_new_on"] <= 4 * len(HOSTS)


@pytest.mark.parametrize("seed", range(3))
def test_hosts_are_never_without_something_to_do(seed):
    """Whatever has been measured and is in flight: a task for every host, and none twice on one."""
    generator = np.random.default_rng(seed)
    trials, known = [], 0
    for _ in range(120):
        flight = []
        for host in HOSTS:
            pairs = [(other, name) for other, name, _ in flight]
            task = Allocation(HOSTS, "default", trials, pairs).next_task(host)
            name = task.configuration
            if task.kind == "new":
                known += 1
                name = f"c{known}"
            measured_here = {t.configuration for t in trials if t.host == host}
            assert task.kind == "default" or name not in measured_here
            flight.append((host, name, task.block))
        trials += [
            Tried(name, host, block, float(100 * np.exp(generator.normal(0, 0.2))))
            for host, name, block in flight
        ]
        if len(trials) > 200:
            break
