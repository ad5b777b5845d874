"""Which CPUs serve and which generate load."""

import os

import pytest
from trimtab_agent.host.cpu_layout import (
    divide_cpus,
    format_cpus,
    process_layout,
    redivide,
    usable_cpus,
)
from trimtab_agent.host.topology import Cpu


def machine(sockets, cores, threads=1):
    """So many sockets, each a NUMA node, of so many cores; numbered as Linux does on most machines: the first
    threads of all cores, socket after socket, and then the second ones.
    """
    every = sockets * cores
    return tuple(
        Cpu(
            cpu=thread * every + core,
            core=core % cores,
            socket=core // cores,
            node=core // cores,
            siblings=tuple(core + other * every for other in range(threads)),
        )
        for thread in range(threads)
        for core in range(every)
    )


def numbers(topology):
    """All CPUs of a machine."""
    return tuple(cpu.cpu for cpu in topology)


ONE = machine(1, 1)
TWO = machine(1, 2)
THREADS_OF_ONE = machine(1, 1, threads=2)
FOUR = machine(1, 4)
EIGHT_THREADS = machine(1, 4, threads=2)
TWO_SOCKETS = machine(2, 16, threads=2)
HUNDRED = machine(1, 100)
MACHINES = (ONE, TWO, THREADS_OF_ONE, FOUR, EIGHT_THREADS, TWO_SOCKETS, HUNDRED)


@pytest.mark.parametrize(
    ("topology", "server", "generator"),
    [
        (ONE, "0", "0"),
        (TWO, "0", "1"),
        (THREADS_OF_ONE, "0", "1"),
        (machine(1, 3), "0", "1-2"),
        (FOUR, "0-1", "2-3"),
        (EIGHT_THREADS, "0-1,4-5", "2-3,6-7"),
        (machine(1, 8), "0-3", "4-7"),
        (TWO_SOCKETS, "0-15,32-47", "16-31,48-63"),
        (HUNDRED, "0-49", "50-99"),
    ],
)
def test_generator_gets_half_of_the_cores_rounded_up(topology, server, generator):
    """What it needs is not known yet, and one that gives out would measure itself."""
    layout = divide_cpus(numbers(topology), topology)
    assert (format_cpus(layout.server), format_cpus(layout.generator)) == (server, generator)
    assert layout.shared == (len(topology) == 1)


@pytest.mark.parametrize("topology", MACHINES)
def test_nothing_is_lost_and_no_core_divided(topology):
    """Each CPU has one of the two uses, and all threads of a core the same where there are two cores."""
    layout = divide_cpus(numbers(topology), topology)
    assert {*layout.server, *layout.generator} == {*numbers(topology)}
    if len({cpu.siblings for cpu in topology}) > 1:
        assert not layout.shared
        for cpu in topology:
            assert {*cpu.siblings} <= {*layout.server} or {*cpu.siblings} <= {*layout.generator}


def test_server_has_one_node_to_itself_before_it_gets_any_of_another():
    """The node of which most may be used comes first, whatever its number."""
    topology = machine(2, 8)
    layout = divide_cpus((0, 1, *range(8, 16)), topology)
    assert (layout.server, layout.generator) == (tuple(range(8, 13)), (0, 1, 13, 14, 15))


def test_cpus_that_the_topology_does_not_know_are_cores_of_their_own():
    """A container may hide it."""
    layout = divide_cpus((2, 5, 7), ())
    assert (layout.server, layout.generator) == ((2,), (5, 7))


def test_layout_tells_a_quota_from_a_single_cpu():
    """Half a CPU of two is another matter than a machine with one: it is lifted elsewhere."""
    limit = "the quota of its control group pays for 0.5 CPUs of 2 (/sys/fs/cgroup/cpu.max)"
    assert divide_cpus((0,), TWO, limit).reason == f"{limit}: server and generator share one CPU"
    assert divide_cpus((0, 1), FOUR, "this process may run on 2 of 4 CPUs").reason.startswith(
        "this process may run on 2 of 4 CPUs; the generator has 1 of 2 cores"
    )


def test_layout_says_why():
    """How many cores, what is assumed, and where they are."""
    assert divide_cpus((0,), ONE).reason == "there is a single CPU, so that server and generator share it"
    assert "hardware threads, which share its time" in divide_cpus((0, 1), THREADS_OF_ONE).reason
    assert divide_cpus((2, 5), ()).reason == "the generator has 1 of 2 cores"
    reason = divide_cpus(numbers(TWO_SOCKETS), TWO_SOCKETS).reason
    assert reason == (
        "the generator has 16 of 32 cores until the calibration has shown how many it needs; "
        "the hardware threads of a core stay together; "
        "the server's are in NUMA node 0, the generator's in 1"
    )


@pytest.mark.parametrize(
    ("topology", "generator_share", "server_share", "generator"),
    [
        # As much as the server, and a fifth for better configurations: 0.6 of the cores.
        (FOUR, 1.0, 1.0, "1-3"),
        (EIGHT_THREADS, 1.0, 1.0, "1-3,5-7"),
        (machine(1, 8), 1.0, 0.9, "2-7"),
        (TWO_SOCKETS, 1.0, 1.0, "12-31,44-63"),
        (HUNDRED, 0.98, 0.98, "40-99"),
        # However much it needs, the server keeps a core.
        (FOUR, 1.0, 0.01, "1-3"),
        # A server with much to do gets what the generator does not need, but for one core.
        (FOUR, 0.1, 1.0, "3"),
        (TWO_SOCKETS, 0.3, 1.0, "23-31,55-63"),
        (HUNDRED, 0.05, 1.0, "94-99"),
    ],
)
def test_generator_gets_what_it_used_and_a_fifth_more(topology, generator_share, server_share, generator):
    """Both used whole cores of what they had; no core is divided here either."""
    layout = redivide(divide_cpus(numbers(topology), topology), topology, generator_share, server_share)
    assert format_cpus(layout.generator) == generator
    assert {*layout.server} == {*numbers(topology)} - {*layout.generator}
    assert "and it shall have a fifth more" in layout.reason


@pytest.mark.parametrize(
    ("topology", "generator_share", "server_share"),
    [
        (ONE, 1.0, 0.5),
        (TWO, 1.0, 0.5),
        (THREADS_OF_ONE, 1.0, 0.5),
        (FOUR, 0.5, 0.9),
        (FOUR, 0.0, 0.0),
        (HUNDRED, 0.714, 1.0),
    ],
)
def test_layout_stays_where_no_core_can_help(topology, generator_share, server_share):
    """None that could move, or each has what it needs already."""
    layout = divide_cpus(numbers(topology), topology)
    assert redivide(layout, topology, generator_share, server_share) is None


def test_layout_that_was_divided_anew_stays_for_the_same_need():
    """Otherwise the calibration would be repeated for ever."""
    eight = machine(1, 8)
    layout = redivide(divide_cpus(numbers(eight), eight), eight, 1.0, 0.9)
    # The same 4 and 3.6 CPUs, as shares of the six and the two that they have now.
    assert redivide(layout, eight, 4 / 6, 3.6 / 2) is None


@pytest.mark.parametrize(
    ("quota", "expected"),
    [(None, (0, 1, 2, 3)), (2.0, (0, 1)), (2.9, (0, 1)), (0.5, (0,)), (64.0, (0, 1, 2, 3))],
)
def test_no_more_cpus_are_used_than_the_quota_pays_for(quota, expected):
    """More would only be throttled; one CPU is always used."""
    assert usable_cpus({3, 1, 0, 2}, quota, FOUR) == expected


def test_quota_pays_for_cores_before_it_pays_for_their_second_threads():
    """Where threads of a core are numbered one after the other; CPUs 1 and 3 would be half a core each."""
    topology = tuple(
        Cpu(cpu=cpu, core=cpu // 2, socket=0, node=0, siblings=(cpu // 2 * 2, cpu // 2 * 2 + 1))
        for cpu in range(8)
    )
    assert usable_cpus(range(8), 3.0, topology) == (0, 2, 4)
    assert usable_cpus(range(8), 6.0, topology) == (0, 1, 2, 3, 4, 6)


def test_layout_of_this_process_stays_within_its_mask():
    """A container's cpuset is respected."""
    layout = process_layout()
    assert set(layout.server) | set(layout.generator) <= os.sched_getaffinity(0)


def test_cpu_lists_are_written_as_the_kernel_does():
    """Ranges are joined."""
    assert format_cpus((0, 1, 2, 5, 7, 8)) == "0-2,5,7-8"
    assert divide_cpus((0, 1), TWO).sentence().startswith("server on CPU 0, generator")
    assert divide_cpus((4,), ()).sentence() == "server and generator share CPU 4"
