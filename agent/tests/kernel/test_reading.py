"""What this machine's kernel has, what it is set to, and what it lacks: each with its reason."""

import shutil
import subprocess
from types import SimpleNamespace

import pytest
from trimtab_agent.kernel.reading import read_kernel
from trimtab_agent.os_settings.access import DirectAccess, SettingRefused
from trimtab_tuner.targets.kernel import NAMES

FILES = {
    "/proc/sys/net/core/somaxconn": "4096",
    "/proc/sys/net/core/busy_poll": "0",
    "/proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304",
    "/proc/sys/net/ipv4/tcp_congestion_control": "cubic",
    "/proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic bbr",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "/sys/kernel/debug/sched/base_slice_ns": "2800000",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors": "performance powersave",
    "/sys/devices/system/cpu/cpufreq/policy4/scaling_governor": "powersave",
    "/sys/devices/system/cpu/cpufreq/policy4/scaling_available_governors": "schedutil performance powersave",
}


@pytest.fixture
def root(tmp_path):
    """A directory that looks like the kernel's."""
    for path, text in FILES.items():
        file = tmp_path / path.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return tmp_path


def read(root, **options):
    """The kernel in that directory."""
    return read_kernel(DirectAccess(root), root=root, **options)


def test_what_is_there_is_told_with_its_value_and_choices(root):
    """Choices come from the kernel; of several policies those that all of them have."""
    here = {each.knob.name: each for each in read(root).here}
    assert here["somaxconn"].knob.default == 4096
    assert [here[f"tcp_wmem_{part}"].knob.default for part in ("min", "default", "max")] == [
        4096,
        16_384,
        4_194_304,
    ]
    assert here["tcp_congestion_control"].knob.choices == ("reno", "cubic", "bbr")
    assert here["transparent_hugepage"].knob.default == "madvise"
    assert here["sched_base_slice_ns"].knob.default == 2_800_000
    governor = here["scaling_governor"]
    assert governor.knob.choices == ("performance", "powersave")
    assert [path.split("/")[-2] for path in governor.files] == ["policy0", "policy4"]


def test_every_knob_is_either_here_or_lacking_with_a_reason(root):
    """None is passed over without a word."""
    kernel = read(root)
    here, lacking = {each.knob.name for each in kernel.here}, {each.name for each in kernel.lacking}
    assert here | lacking == NAMES
    assert not here & lacking
    assert kernel.reason("swappiness") == "there is no /proc/sys/vm/swappiness"
    assert "is debugfs mounted?" in kernel.reason("sched_min_granularity_ns")
    assert kernel.reason("somaxconn") == ""


@pytest.fixture
def network(root, monkeypatch):
    """Devices of that machine by what lies below them: a card, one made of it, and one of neither."""
    addresses = {}
    for number, (name, below) in enumerate(
        {"eth0": "device", "bond0": "lower_eth0", "veth0": "queues"}.items(), start=1
    ):
        (root / "sys/class/net" / name / below).mkdir(parents=True)
        addresses[name] = [
            SimpleNamespace(address="52:54:00:12:34:56"),
            SimpleNamespace(address=f"fe80::{number}%{name}"),
            SimpleNamespace(address=f"10.0.0.{number}"),
        ]
    monkeypatch.setattr("psutil.net_if_addrs", lambda: addresses)


@pytest.mark.parametrize(
    ("loaded_at", "why"),
    [
        (None, "the load comes from this machine itself"),
        ("10.0.0.1", ""),
        ("fe80::1", ""),
        ("10.0.0.2", ""),
        ("10.0.0.3", "the load arrives by veth0, which is a virtual device and has no queue to poll"),
        ("10.0.0.9", "the generators load 10.0.0.9, and no network device of this machine has that address"),
    ],
)
def test_busy_polling_is_there_only_where_the_load_arrives_by_a_network_card(root, network, loaded_at, why):
    """The loopback has no queue of its own, and nor have virtual devices."""
    kernel = read(root, loaded_at=loaded_at)
    assert kernel.reason("busy_poll").startswith(why)
    assert ("busy_poll" in {each.knob.name for each in kernel.here}) == (why == "")


@pytest.mark.parametrize(
    ("over_tcp", "why"),
    [
        ("espintcp mptcp tls", ""),
        ("mptcp", "this kernel has no TLS, or has not loaded it (modprobe tls): "),
        (None, "there is no /proc/sys/net/ipv4/tcp_available_ulp"),
    ],
)
def test_kernel_encrypts_for_servers_where_its_module_is_loaded(root, over_tcp, why):
    """No worker of a server has the right to load it."""
    if over_tcp is not None:
        (root / "proc/sys/net/ipv4/tcp_available_ulp").write_text(f"{over_tcp}\n")
    told = read(root).no_tls
    assert told.startswith(why)
    assert bool(told) == bool(why)


def test_a_knob_that_differs_from_cpu_to_cpu_is_left_alone(root):
    """One default could not put both back."""
    (root / "sys/devices/system/cpu/cpufreq/policy4/scaling_governor").write_text("performance\n")
    assert read(root).reason("scaling_governor") == "it differs from CPU to CPU (performance, powersave)"


class ReadOnly(DirectAccess):
    """As in a container."""

    def probe(self, path):
        """Refuses."""
        raise SettingRefused("read-only here: a container hides it")


def test_where_nothing_may_be_written_everything_is_lacking(root):
    """Said before a run, and not by its first trial."""
    kernel = read_kernel(ReadOnly(root), root=root)
    assert kernel.here == ()
    assert kernel.reason("somaxconn") == "read-only here: a container hides it"


class Elsewhere(DirectAccess):
    """As a helper whose container has another network."""

    def namespace(self):
        """Another one."""
        return "1"


def test_helper_in_another_network_namespace_sets_only_what_counts_for_the_machine(root):
    """Otherwise it would set knobs that the server does not run under, and nobody would notice."""
    kernel = read_kernel(Elsewhere(root), root=root)
    assert {each.knob.scope for each in kernel.here} == {"host"}
    assert "another network namespace" in kernel.reason("tcp_wmem_max")


def test_other_programs_that_set_the_kernel_are_named(root, tmp_path):
    """By the names of their processes: here one that is called so."""
    program = tmp_path / "bpftune"
    shutil.copy(shutil.which("sleep"), program)
    with subprocess.Popen((program, "60")) as process:
        try:
            (found,) = [each for each in read(root).tuners if each.pid == process.pid]
        finally:
            process.kill()
    assert str(found) == (
        f"bpftune runs (process {process.pid}): it sets buffers, congestion control and queues of TCP as the "
        "traffic changes"
    )
