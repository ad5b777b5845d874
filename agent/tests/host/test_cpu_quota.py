"""What this process may use of the CPUs: quotas of control groups, cpusets, what is online."""

import os
from pathlib import Path

import pytest
from trimtab_agent.counters.cpu_quota import CpuQuotaSource
from trimtab_agent.host.cpu_layout import process_cpus
from trimtab_agent.host.cpu_quota import CpuAllowance, Quota, cpu_allowance, tightest_quota

FIRST = "4:memory:/x\n3:cpu,cpuacct:/box/inner\n0::/\n"
SECOND = "0::/box/inner\n"
BOTH_LIMITS = (
    "this process may run on 2 of 4 CPUs (cpuset, taskset), and the quota of its control group pays for "
    "1 CPU ({}/cpu.cfs_quota_us)"
)
BOTH = "5:cpu:/box/inner\n0::/other\n"


def machine(directory: Path, groups: str, files: dict[str, str]) -> tuple[Path, Path]:
    """The directories of processes and of control groups, with these files in the latter."""
    (directory / "proc/self").mkdir(parents=True)
    (directory / "proc/self/cgroup").write_text(groups)
    root = directory / "cgroup"
    root.mkdir()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return directory / "proc", root


def first(path: str, quota: str, period: str = "100000") -> dict[str, str]:
    """The two files of version 1."""
    return {f"{path}/cpu.cfs_quota_us": f"{quota}\n", f"{path}/cpu.cfs_period_us": f"{period}\n"}


@pytest.mark.parametrize(
    ("groups", "files", "cpus"),
    [
        (SECOND, {"box/inner/cpu.max": "max 100000\n"}, None),
        (SECOND, {"box/inner/cpu.max": "50000 100000\n"}, 0.5),
        (SECOND, {"box/inner/cpu.max": "150000 100000\n", "box/cpu.max": "max 100000\n"}, 1.5),
        # A parent's limit holds for its children, whichever is the tighter.
        (SECOND, {"box/inner/cpu.max": "max 100000\n", "box/cpu.max": "20000 10000\n"}, 2.0),
        (SECOND, {"box/inner/cpu.max": "10000 100000\n", "box/cpu.max": "200000 100000\n"}, 0.1),
        # In a namespace of its own the container sees its group as the root, which has the file too.
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 2.5),
        ("0::/../../outside\n", {"cpu.max": "250000 100000\n"}, 2.5),
        (FIRST, first("cpu,cpuacct/box/inner", "-1"), None),
        (FIRST, first("cpu,cpuacct/box/inner", "300000"), 3.0),
        (FIRST, first("cpu/box/inner", "-1") | first("cpu/box", "5000", "20000"), 0.25),
        # Docker with version 1: the path is the host's, the mount is the container's.
        (FIRST, first("cpu,cpuacct", "50000"), 0.5),
        # Both versions at once: the CPU controller is in the first, the second has no such file.
        (BOTH, first("cpu/box/inner", "150000"), 1.5),
        (SECOND, {"box/inner/cpu.max": "nonsense\n"}, None),
        (SECOND, {"box/inner/cpu.max": "0 100000\n"}, None),
        ("", {}, None),
    ],
)
def test_quota_is_the_tightest_up_the_tree(tmp_path, groups, files, cpus):
    """Of both versions, nested, in fractions; -1 and max are none, and so is what makes no sense."""
    found = tightest_quota(*machine(tmp_path, groups, files))
    assert (None if found is None else found.cpus) == cpus
    if found is not None:
        assert found.file.read_text().split()[0] in "".join(files.values())


def test_kernel_without_control_groups_has_no_quota(tmp_path):
    """There is no file to read."""
    assert tightest_quota(tmp_path, tmp_path) is None


@pytest.mark.parametrize(
    ("online", "allowed", "quota", "said"),
    [
        (4, 4, None, ""),
        (4, 4, 4.0, ""),
        (4, 4, 8.0, ""),
        (4, 2, None, "this process may run on 2 of 4 CPUs (cpuset, taskset)"),
        (4, 2, 2.0, "this process may run on 2 of 4 CPUs (cpuset, taskset)"),
        (2, 2, 0.5, "the quota of its control group pays for 0.5 CPUs of 2 ({}/cpu.cfs_quota_us)"),
        (
            4,
            2,
            1.0,
            BOTH_LIMITS,
        ),
    ],
)
def test_what_takes_cpus_away_is_told_apart(tmp_path, online, allowed, quota, said):
    """Each is lifted elsewhere."""
    allowance = CpuAllowance(
        tuple(range(online)), tuple(range(allowed)), None if quota is None else Quota(quota, tmp_path)
    )
    assert allowance.limit == said.format(tmp_path)


def test_a_fraction_of_a_cpu_is_still_one_to_work_on(tmp_path, monkeypatch):
    """Never none at all, and never the host's count."""
    monkeypatch.setattr(
        "trimtab_agent.host.cpu_layout.cpu_allowance",
        lambda: CpuAllowance((0, 1, 2, 3), (0, 1, 2, 3), Quota(0.5, tmp_path)),
    )
    assert process_cpus() == (0,)


def test_this_process_may_use_what_the_kernel_says():
    """No CPU that is not online, and none outside of its mask."""
    allowance = cpu_allowance()
    assert {*allowance.allowed} == os.sched_getaffinity(0)
    assert {*allowance.allowed} <= {*allowance.online}


STATS = {
    "v1": (FIRST, first("cpu,cpuacct/box/inner", "50000"), "cpu,cpuacct/box/inner", "throttled_time", 1000),
    "v2": (SECOND, {"box/inner/cpu.max": "50000 100000\n"}, "box/inner", "throttled_usec", 1),
}


@pytest.mark.parametrize("version", STATS)
def test_throttling_is_a_counter_of_either_version(tmp_path, version):
    """The share of the periods, and for how long CPUs stood still; versions differ in names and units."""
    groups, files, group, name, unit = STATS[version]
    proc, root = machine(tmp_path, groups, files)
    stat = root / group / "cpu.stat"
    stat.write_text(f"nr_periods 30\nnr_throttled 7\n{name} {1_000 * unit}\n")
    source = CpuQuotaSource(proc, root)
    earlier = source.read()
    stat.write_text(f"nr_periods 400\nnr_throttled 170\n{name} {20_001_000 * unit}\n")
    values = source.values(earlier, source.read(), 40.0)
    assert values == {"cpus": 0.5, "throttled_percent": 44.05, "throttled_cpu": 50.0}


def test_without_a_quota_there_is_nothing_to_count(tmp_path):
    """It is left out, and not zero; so is what was counted by another group."""
    proc, root = machine(tmp_path, SECOND, {"box/inner/cpu.max": "max 100000\n"})
    source = CpuQuotaSource(proc, root)
    assert source.read() is None
    for group, throttled in (("box/inner", 5), ("box", 900)):
        (root / group / "cpu.max").write_text("50000 100000\n" if group == "box/inner" else "10000 100000\n")
        (root / group / "cpu.stat").write_text(
            f"nr_periods 900\nnr_throttled {throttled}\nthrottled_usec 1\n"
        )
    later = source.read()
    (root / "box/cpu.max").unlink()
    assert source.values(source.read(), later, 1.0) == {"cpus": 0.1}
