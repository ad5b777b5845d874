"""The topology from recorded sysfs trees of two machines, and of this one."""

from pathlib import Path

import psutil
import pytest
from trimtab_agent.host.topology import parse_cpu_list, read_topology

# A server with two threads a core, and a NIC of two queues that names its interrupts `eth0-TxRx-N`.
SERVER = {
    **{
        f"sys/devices/system/cpu/cpu{cpu}/topology/{name}": text
        for cpu, core in ((0, 0), (1, 1), (2, 0), (3, 1))
        for name, text in (
            ("core_id", str(core)),
            ("physical_package_id", "0"),
            ("thread_siblings_list", f"{core},{core + 2}"),
        )
    },
    "sys/devices/system/cpu/cpu0/cache/index0/level": "1",
    "sys/devices/system/cpu/cpu0/cache/index0/type": "Data",
    "sys/devices/system/cpu/cpu0/cache/index0/size": "32K",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list": "0,2",
    "sys/devices/system/cpu/cpu2/cache/index0/level": "1",
    "sys/devices/system/cpu/cpu2/cache/index0/type": "Data",
    "sys/devices/system/cpu/cpu2/cache/index0/size": "32K",
    "sys/devices/system/cpu/cpu2/cache/index0/shared_cpu_list": "0,2",
    "sys/class/net/eth0/queues/rx-0/rps_cpus": "0",
    "sys/class/net/eth0/queues/rx-1/rps_cpus": "3",
    "sys/class/net/eth0/queues/tx-0/xps_cpus": "1",
    "sys/class/net/eth0/speed": "10000",
    "sys/class/net/eth0/operstate": "up",
    "sys/class/net/eth0/device/numa_node": "-1",
    "sys/class/net/eth0/device/msi_irqs/64": "msix",
    "sys/class/net/eth0/device/msi_irqs/65": "msix",
    "sys/class/net/eth0/device/msi_irqs/66": "msix",
    "proc/interrupts": """            CPU0       CPU1       CPU2       CPU3
  0:         40          0          0          0  IR-IO-APIC    2-edge      timer
 64:          1          2          3          4  IR-PCI-MSI 524288-edge      eth0
 65:       1000          0          0          7  IR-PCI-MSI 524289-edge      eth0-TxRx-0
 66:          0       2000          0          0  IR-PCI-MSI 524290-edge      eth0-TxRx-1
NMI:          1          1          1          1   Non-maskable interrupts
""",
    "proc/irq/65/smp_affinity": "1",
    "proc/irq/65/effective_affinity": "1",
}


@pytest.fixture
def server(tmp_path: Path):
    """The recorded server."""
    for name, text in SERVER.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return read_topology(tmp_path / "sys", tmp_path / "proc")


def test_siblings_share_a_core_and_a_cache_is_told_once(server):
    """Four CPUs, two cores, and the cache of CPUs 0 and 2 is one cache."""
    assert [(cpu.cpu, cpu.core, cpu.siblings) for cpu in server.cpus] == [
        (0, 0, (0, 2)),
        (1, 1, (1, 3)),
        (2, 0, (0, 2)),
        (3, 1, (1, 3)),
    ]
    (cache,) = server.caches
    assert (cache.level, cache.kind, cache.size_bytes, cache.cpus) == (1, "Data", 32_768, (0, 2))


def test_each_receive_queue_has_its_interrupt(server):
    """By the names that the driver gave them; the device's own interrupt is no queue's."""
    (nic,) = server.devices
    receiving = [(q.index, q.irq, q.steering_cpus) for q in nic.queues if q.direction == "rx"]
    assert receiving == [(0, 65, ()), (1, 66, (0, 1))]
    assert (nic.speed_mbps, nic.node, nic.up) == (10_000, 0, True)
    assert [queue.irq for queue in server.receive_queues("eth0")] == [65, 66]


def test_interrupts_have_counts_per_cpu_and_their_affinity(server):
    """What cannot be read is None and not an empty set of CPUs."""
    by_number = {interrupt.irq: interrupt for interrupt in server.interrupts}
    assert by_number[65].counts == {0: 1000, 1: 0, 2: 0, 3: 7}
    assert (by_number[65].cpus, by_number[66].cpus) == ((0,), None)
    assert (by_number[0].device, by_number[66].device) == (None, "eth0")


def test_an_empty_machine_has_an_empty_topology(tmp_path):
    """As in a container that hides everything."""
    found = read_topology(tmp_path, tmp_path)
    assert (found.cpus, found.caches, found.devices, found.interrupts) == ((), (), (), ())


def test_this_machine_has_its_cpus_and_its_loopback_device():
    """Read from the real sysfs."""
    found = read_topology()
    assert len(found.cpus) == psutil.cpu_count()
    assert "lo" in [device.name for device in found.devices]


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3,8", (0, 1, 2, 3, 8)), ("5", (5,)), ("", ()), ("0,2\n", (0, 2))]
)
def test_lists_of_cpus_are_the_kernels(text, cpus):
    """Ranges and single numbers."""
    assert parse_cpu_list(text) == cpus
