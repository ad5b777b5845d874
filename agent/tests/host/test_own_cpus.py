"""What this process was given of the CPUs, and what it keeps to itself."""

import os
import threading

import pytest
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.host.cpu_quota import cpu_allowance
from trimtab_agent.host.own_cpus import given_cpus, pinned_to
from trimtab_agent.runtime import open_runtime

CPUS = tuple(sorted(os.sched_getaffinity(0)))


def test_own_pinning_is_no_limit_of_the_machine():
    """What is allowed and how CPUs are divided stay as they were, also where one pinning is in another."""
    allowance, layout = cpu_allowance(), process_layout()
    with pinned_to(CPUS[-1:]), pinned_to(CPUS[-1:]):
        assert os.sched_getaffinity(0) == {*CPUS[-1:]}
        assert (given_cpus(), cpu_allowance(), process_layout()) == (CPUS, allowance, layout)
    assert os.sched_getaffinity(0) == {*CPUS}
    assert given_cpus() == CPUS


@pytest.mark.skipif(len(CPUS) == 1, reason="there is a single CPU, which nobody can take away")
def test_who_takes_cpus_away_meanwhile_has_the_last_word():
    """Somebody with taskset, or a cpuset that has changed: then the mask is not our own any more."""
    with pinned_to(CPUS[-1:]):
        os.sched_setaffinity(0, CPUS[:1])
        assert given_cpus() == CPUS[:1]


def test_every_thread_is_pinned_and_gets_its_cpus_back():
    """Those that were there before as well as this one."""
    ends = threading.Event()
    thread = threading.Thread(target=ends.wait)
    thread.start()
    try:
        with pinned_to(CPUS[:1]):
            assert os.sched_getaffinity(thread.native_id) == {*CPUS[:1]}
        assert os.sched_getaffinity(thread.native_id) == {*CPUS}
    finally:
        ends.set()
        thread.join()


def test_daemon_knows_the_cpus_that_it_was_given(settings):
    """It keeps to those of the generator, and takes none of the others for missing."""
    allowance, layout = cpu_allowance(), process_layout()
    with open_runtime(settings):
        assert os.sched_getaffinity(0) == {*layout.generator}
        assert cpu_allowance() == allowance
