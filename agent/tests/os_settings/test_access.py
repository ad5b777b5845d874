"""Each setting has its form, is read as it is written, and nothing else can be touched."""

import pytest
from trimtab_agent.os_settings.access import (
    KERNEL_FILES,
    DirectAccess,
    SettingGone,
    SettingRefused,
    check_value,
    form_of,
)
from trimtab_tuner.targets.kernel import KERNEL_KNOBS

GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
RMEM = "/proc/sys/net/ipv4/tcp_rmem"


@pytest.fixture
def access(tmp_path):
    """Files with contents as the kernel prints them."""
    for path, text in {
        RMEM: "4096\t131072\t33554432\n",
        HUGE_PAGES: "always [madvise] never\n",
        GOVERNOR: "powersave\n",
    }.items():
        file = tmp_path / path.removeprefix("/")
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return DirectAccess(tmp_path)


def test_a_setting_is_read_as_it_is_written(access):
    """Sizes with single spaces, of several words the one that holds."""
    assert [access.read(path) for path in (RMEM, HUGE_PAGES, GOVERNOR)] == [
        "4096 131072 33554432",
        "madvise",
        "powersave",
    ]


def test_a_probe_writes_nothing_and_tells_what_cannot_be_written(access, tmp_path):
    """So that a run knows before its first trial."""
    before = (tmp_path / RMEM.removeprefix("/")).read_bytes()
    assert access.probe(RMEM) == "4096 131072 33554432"
    assert (tmp_path / RMEM.removeprefix("/")).read_bytes() == before
    with pytest.raises(SettingGone, match="not there"):
        access.probe("/proc/sys/net/core/busy_poll")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (RMEM, "4096 131072"),
        (RMEM, "4096\t131072\t33554432"),
        ("/proc/sys/vm/swappiness", "-1"),
        ("/proc/sys/vm/swappiness", "60\n"),
        ("/proc/sys/net/core/somaxconn", "99999999999"),
        (HUGE_PAGES, "always madvise"),
        (GOVERNOR, "../x"),
        ("/proc/sys/net/ipv4/tcp_congestion_control", "Cubic"),
    ],
)
def test_only_values_of_a_settings_form_are_written(path, value):
    """Whatever the kernel would make of others."""
    with pytest.raises(SettingRefused, match="expected"):
        check_value(path, value)


@pytest.mark.parametrize(
    "path",
    [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/net/core/somaxconn/",
        "/proc/sys/net/core/../core/somaxconn",
        "/sys/devices/system/cpu/cpufreq/policy0/../policy1/scaling_governor",
        "/sys/devices/system/cpu/cpufreq/policy٠/scaling_governor",
        "/sys/kernel/mm/transparent_hugepage/defrag",
    ],
)
def test_no_other_knob_of_the_kernel_is_a_setting(path):
    """The list is the list."""
    with pytest.raises(SettingRefused, match="none of the settings"):
        form_of(path)


def test_the_files_of_all_kernel_knobs_may_be_touched_and_no_others():
    """The tuner's knobs and the helper's list say the same."""
    named = {knob.path.replace("policy*", "policy0") for knob in KERNEL_KNOBS}
    assert named == {*KERNEL_FILES, GOVERNOR}
