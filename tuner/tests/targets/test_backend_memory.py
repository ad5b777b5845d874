"""How many processes of a program behind the server fit the memory, from what was counted."""

import pytest
from trimtab_trials.measurement import Measurement
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, with_backend
from trimtab_tuner.targets.backends.memory import memory_of_children

GIB = 1 << 30


def rate(**groups):
    """A rate with these counters."""
    return Measurement(
        rate_rps=100.0, duration_s=5.0, goodput_mbps=1.0, reply_rate_rps=100.0, counters=groups
    )


def configuration(name, children):
    """nginx in front of that program, which may have so many processes."""
    backend = BACKENDS[name]
    return {**with_backend(TARGETS["nginx"].space(), backend).default(), backend.children: children}


@pytest.mark.parametrize("name", BACKENDS)
def test_room_is_what_is_free_with_what_the_processes_hold(name):
    """At the rate at which one took most."""
    rates = (
        rate(
            backend={"children": 2, "memory_per_child_bytes": 20 << 20}, memory={"available_bytes": 9 * GIB}
        ),
        rate(
            backend={"children": 8, "memory_per_child_bytes": 64 << 20}, memory={"available_bytes": 2 * GIB}
        ),
    )
    found = memory_of_children(configuration(name, 16), rates)
    assert (found.knob, found.fit) == (BACKENDS[name].children, 40)
    assert found.sentence == (
        "Each process behind the server took 64.0 MiB, so that 16 processes take 1,024 MiB; there were 2,560 "
        "MiB for them, enough for 40."
    )
    assert not found.outgrown


def test_each_replica_has_a_pool_of_its_own():
    """What one pool is allowed, all of them are."""
    chosen = configuration("php", 16) | {"replicas": 4}
    counted = {"children": 8, "memory_per_child_bytes": 64 << 20}
    found = memory_of_children(chosen, (rate(backend=counted, memory={"available_bytes": 2 * GIB}),))
    assert (found.allowed, found.fit, found.outgrown) == (64, 40, True)


def test_room_in_a_memory_group_is_that_of_the_group():
    """Whatever the machine has; its cached files give way."""
    group = {"limit_bytes": GIB, "usage_bytes": GIB, "file_bytes": GIB // 2}
    found = memory_of_children(
        configuration("php", 5),
        (
            rate(
                backend={"children": 4, "memory_per_child_bytes": 32 << 20},
                memory={"available_bytes": 99 * GIB},
                memory_group=group,
            ),
        ),
    )
    assert found.fit == 20


@pytest.mark.parametrize(
    ("chosen", "rates"),
    [
        (configuration("php", 5), ()),
        (configuration("php", 5), (rate(backend={"children": 4}, memory={"available_bytes": GIB}),)),
        (configuration("php", 5), (rate(backend={"children": 4, "memory_per_child_bytes": 1}),)),
        (TARGETS["nginx"].space().default(), (rate(memory={"available_bytes": GIB}),)),
    ],
)
def test_nothing_is_said_where_something_is_not_known(chosen, rates):
    """No trial, no size, no memory, no program."""
    assert memory_of_children(chosen, rates) is None
