"""Affinity plans for any number of CPUs, workers and queues."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.affinity import (
    PLANS,
    ReceiveQueue,
    cpus_of_replicas,
    format_mask,
    make_plan,
    parse_mask,
    place_queues_of_replicas,
)

QUEUES = tuple(ReceiveQueue(device="eth0", index=i, irq=40 + i) for i in range(2))


def cpus_of_queues(name: str, cpus: tuple[int, ...] = (0, 1)) -> tuple[int, ...]:
    """The CPU of each queue under a plan."""
    return tuple(placement.cpu for placement in make_plan(name, cpus, 2, QUEUES).queues)


def test_each_plan_places_what_its_name_says():
    """Workers are pinned by process, aligned and misaligned; queues by interrupt, aligned, misaligned."""
    pinned = {name: make_plan(name, (0, 1), 2, QUEUES).worker_cpus for name in PLANS}
    assert pinned == {
        "none": (),
        "process": (0, 1),
        "interrupt": (),
        "aligned": (0, 1),
        "misaligned": (0, 1),
    }
    assert {name: cpus_of_queues(name) for name in PLANS} == {
        "none": (),
        "process": (),
        "interrupt": (0, 1),
        "aligned": (0, 1),
        "misaligned": (1, 0),
    }


def test_misaligned_on_a_single_cpu_is_aligned():
    """There is no other CPU to go to."""
    assert cpus_of_queues("misaligned", (3,)) == (3, 3)


@pytest.mark.parametrize(
    ("name", "cpus", "workers", "words"),
    [("diagonal", (0,), 1, "expected one of none"), ("none", (), 1, "CPU"), ("none", (0,), 0, "worker")],
)
def test_a_senseless_plan_is_refused_with_a_sentence(name, cpus, workers, words):
    """The sentence names what was expected."""
    with pytest.raises(ValueError, match=words):
        make_plan(name, cpus, workers, QUEUES)


@given(
    cpus=st.lists(st.integers(0, 300), min_size=1, max_size=100, unique=True),
    workers=st.integers(1, 200),
    queues=st.integers(0, 64),
    name=st.sampled_from(PLANS),
)
def test_work_is_dealt_out_evenly_over_the_servers_cpus(cpus, workers, queues, name):
    """No CPU gets two more workers or queues than another, and none outside of the server's is used."""
    plan = make_plan(name, cpus, workers, [ReceiveQueue(device="d", index=i) for i in range(queues)])
    for used in (plan.worker_cpus, tuple(p.cpu for p in plan.queues)):
        assert set(used) <= set(cpus)
        shares = [used.count(cpu) for cpu in cpus]
        assert max(shares) - min(shares) <= 1


@given(cpus=st.sets(st.integers(0, 200)), width=st.integers(1, 256))
def test_a_mask_reads_back_as_the_cpus_it_was_made_from(cpus, width):
    """Also over several groups of 32."""
    assert set(parse_mask(format_mask(tuple(cpus), width))) == cpus


def test_masks_have_the_kernels_form():
    """Groups of 32 bits with eight digits, highest first."""
    assert format_mask((0, 1), 2) == "00000003"
    assert format_mask((0, 33), 64) == "00000002,00000001"


@given(cpus=st.lists(st.integers(0, 300), min_size=1, max_size=100, unique=True), data=st.data())
def test_replicas_share_all_cpus_evenly_and_neighbours_stay_together(cpus, data):
    """No CPU is left out or given twice; shares differ by one at most."""
    shares = cpus_of_replicas(cpus, data.draw(st.integers(1, len(cpus))))
    assert [cpu for share in shares for cpu in share] == cpus
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_more_replicas_than_cpus_are_refused():
    """Each wants one of its own."""
    with pytest.raises(ValueError, match="replicas = 3: expected 1 to 2"):
        cpus_of_replicas((0, 1), 3)


def test_queues_go_to_the_cpus_of_their_replica_or_of_the_next():
    """The devices belong to the replicas in turn; several queues are dealt out over the replica's CPUs."""
    devices = [[ReceiveQueue(device=f"eth{d}", index=q) for q in range(2)] for d in range(4)]
    shares = ((0, 1), (2, 3))

    def cpus(placement):
        return [p.cpu for p in place_queues_of_replicas(placement, shares, devices)]

    assert cpus("none") == []
    assert cpus("direct") == [0, 1, 2, 3] * 2
    assert cpus("indirect") == [2, 3, 0, 1] * 2
    with pytest.raises(ValueError, match="3 network devices for 2 replicas; expected as many, or a multiple"):
        place_queues_of_replicas("direct", shares, devices[:3])
