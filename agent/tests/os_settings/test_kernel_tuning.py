"""Knobs of the kernel for the time of a trial: what is set is put back, and what moves under it is told."""

import pytest
from trimtab_agent.kernel.tuning import KernelTuning

SWAPPINESS, RMEM, WMEM = (
    "/proc/sys/vm/swappiness",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/net/ipv4/tcp_wmem",
)
SET = {"swappiness": 10}  # as long as 60: a file of the test is not cut off as the kernel's are


@pytest.fixture
def tuning(journal, kernel):
    """Of a machine with three of the kernel's files."""
    for path, text in {SWAPPINESS: "60", RMEM: "4096\t131072\t6291456", WMEM: "4096\t16384\t4194304"}.items():
        file = kernel / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return KernelTuning(journal, kernel)


def now(kernel, path):
    """What a file holds."""
    return " ".join((kernel / path[1:]).read_text().split())


def test_what_is_set_for_a_trial_is_put_back_and_is_no_drift(tuning, kernel):
    """Nobody else did anything."""
    with tuning.for_configuration(SET) as drift:
        assert now(kernel, SWAPPINESS) == "10"
        assert drift() == ()
    assert now(kernel, SWAPPINESS) == "60"


def test_a_value_that_the_trial_set_and_somebody_else_changed_is_told_and_stays(tuning, kernel):
    """What somebody wants is not overwritten."""
    with tuning.for_configuration(SET) as drift:
        (kernel / SWAPPINESS[1:]).write_text("33\n")
        assert f"{SWAPPINESS} was set to 10 and is 33 now" in drift()
    assert now(kernel, SWAPPINESS) == "33"


@pytest.mark.parametrize("configuration", [SET, {}])
def test_a_value_that_nobody_of_ours_has_set_and_that_moves_is_told(tuning, kernel, configuration):
    """As bpftune does with TCP's buffers: the trial ran under two kernels, whether it tunes them or not."""
    with tuning.for_configuration(configuration) as drift:
        (kernel / RMEM[1:]).write_text("4096 131072 33554432\n")
        said = f"{RMEM} was 4096 131072 6291456 when the trial began and is 4096 131072 33554432 now"
        assert said in drift()
    assert now(kernel, RMEM) == "4096 131072 33554432"
