"""Affinity plans for any number of CPUs, workers and queues."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.affinity import PLANS, ReceiveQueue, format_mask, make_plan, parse_mask

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
