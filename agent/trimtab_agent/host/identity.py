"""The machine as it is recorded with every run: CPUs, memory, kernel, topology."""

import platform
from pathlib import Path

import psutil
from trimtab_db.records import Host, JsonObject

CPU_DIRECTORY = Path("/sys/devices/system/cpu")


def describe_host() -> Host:
    """This machine."""
    return Host(
        name=platform.node(),
        kernel=platform.release(),
        cpu_model=_cpu_model(Path("/proc/cpuinfo").read_text()),
        cpus=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        topology=_topology(CPU_DIRECTORY),
    )


def _cpu_model(cpuinfo: str) -> str:
    """The first `model name` of /proc/cpuinfo; the architecture's name where there is none (ARM)."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _topology(directory: Path) -> JsonObject:
    """Core and socket of each CPU that is online (kernel: admin-guide/cputopology.rst)."""
    cpus = []
    for cpu in sorted(directory.glob("cpu[0-9]*"), key=lambda path: int(path.name[3:])):
        try:
            core = int((cpu / "topology/core_id").read_text())
            socket = int((cpu / "topology/physical_package_id").read_text())
        except OSError:
            continue  # offline: the kernel takes the directory away
        cpus.append({"cpu": int(cpu.name[3:]), "core": core, "socket": socket})
    return {"cpus": cpus}
