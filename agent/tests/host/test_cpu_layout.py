"""Which CPUs serve and which generate load."""

import os

import pytest
from trimtab_agent.host.cpu_layout import (
    CpuLayout,
    cgroup_quota_cpus,
    divide_cpus,
    format_cpus,
    process_layout,
    usable_cpus,
)


@pytest.mark.parametrize(
    ("cpus", "server", "generator"),
    [
        ((0, 1), (0,), (1,)),
        ((0, 1, 2), (0,), (1, 2)),
        ((0, 1, 2, 3), (0, 1), (2, 3)),
        ((2, 5), (2,), (5,)),
        ((3,), (3,), (3,)),
    ],
)
def test_first_half_serves_and_the_rest_generates(cpus, server, generator):
    """The two are disjoint wherever there are two CPUs."""
    layout = divide_cpus(cpus)
    assert layout == CpuLayout(server=server, generator=generator)
    assert layout.shared == (len(cpus) == 1)


@pytest.mark.parametrize(
    ("quota", "expected"),
    [(None, (0, 1, 2, 3)), (2.0, (0, 1)), (2.9, (0, 1)), (0.5, (0,)), (64.0, (0, 1, 2, 3))],
)
def test_no_more_cpus_are_used_than_the_quota_pays_for(quota, expected):
    """More would only be throttled; one CPU is always used."""
    assert usable_cpus({3, 1, 0, 2}, quota) == expected


def test_quota_of_cgroup_v2_is_the_tightest_up_the_tree(tmp_path):
    """A parent's limit holds for its children."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/outer/inner\n")
    (tmp_path / "cg/outer/inner").mkdir(parents=True)
    (tmp_path / "cg/outer/cpu.max").write_text("150000 100000\n")
    (tmp_path / "cg/outer/inner/cpu.max").write_text("max 100000\n")
    assert cgroup_quota_cpus(tmp_path / "proc", tmp_path / "cg") == 1.5


def test_quota_of_cgroup_v1_is_read_from_its_cpu_controller(tmp_path):
    """-1 means no limit."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:memory:/x\n3:cpu,cpuacct:/box\n0::/\n")
    (tmp_path / "cg/cpu,cpuacct/box").mkdir(parents=True)
    box = tmp_path / "cg/cpu,cpuacct/box"
    (box / "cpu.cfs_period_us").write_text("100000\n")
    (box / "cpu.cfs_quota_us").write_text("-1\n")
    assert cgroup_quota_cpus(tmp_path / "proc", tmp_path / "cg") is None
    (box / "cpu.cfs_quota_us").write_text("300000\n")
    assert cgroup_quota_cpus(tmp_path / "proc", tmp_path / "cg") == 3.0


def test_layout_of_this_process_stays_within_its_mask():
    """A container's cpuset is respected."""
    layout = process_layout()
    assert set(layout.server) | set(layout.generator) <= os.sched_getaffinity(0)


def test_cpu_lists_are_written_as_the_kernel_does():
    """Ranges are joined."""
    assert format_cpus((0, 1, 2, 5, 7, 8)) == "0-2,5,7-8"
    assert divide_cpus((0, 1)).sentence().startswith("server on CPU 0, generator")
    assert divide_cpus((4,)).sentence() == "server and generator share CPU 4"
