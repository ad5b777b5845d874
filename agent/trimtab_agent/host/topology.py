"""The topology of this host, from sysfs: CPUs, caches, NUMA nodes, network devices, queues, interrupts.

    /sys/devices/system/cpu/cpuN/topology   core, socket, SMT siblings   (kernel: admin-guide/cputopology.rst)
    /sys/devices/system/cpu/cpuN/cache      caches and who shares them   (ABI/…/sysfs-devices-system-cpu)
    /sys/devices/system/node                NUMA nodes
    /sys/class/net/DEV                      devices, queues, driver, NUMA node
    /sys/class/net/DEV/device/msi_irqs      a device's interrupts; on virtio they belong to its parent
    /proc/interrupts                        the name of each interrupt, which tells the queue
    /proc/irq/N/smp_affinity                where it may go

Everything is read anew each time: devices come and go. What a container hides is left out.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from trimtab_tuner.affinity import ReceiveQueue, parse_mask

SYS = Path("/sys")
PROC = Path("/proc")
# `eth0-rx-1`, `mlx5_comp3@pci…`, `virtio2-input.0`, `ena0-Tx-Rx-2`: the number that ends the queue's name.
QUEUE_NUMBER = re.compile(r"(?:rx|input|comp|queue|tx-?rx|[-.])[-._]?(\d+)(?:@.*)?$", re.IGNORECASE)
NOT_RECEIVING = re.compile(r"output|config|async|mgmnt|event|(?<!tx-)(?<!tx)tx(?![-_]?rx)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Cpu:
    """One logical CPU that is online; `siblings` share its core, itself included."""

    cpu: int
    core: int
    socket: int
    node: int
    siblings: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Cache:
    """One cache; `cpus` share it. `kind` is `Data`, `Instruction` or `Unified`."""

    level: int
    kind: str
    size_bytes: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Interrupt:
    """One interrupt: its name, deliveries so far per CPU, the CPUs where it may go and where it goes now.

    `cpus` is None where the kernel does not show an affinity (per-CPU and legacy interrupts).
    """

    irq: int
    name: str
    counts: dict[int, int]
    cpus: tuple[int, ...] | None
    effective_cpus: tuple[int, ...] | None
    device: str | None


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue of a network device; `direction` is `rx` or `tx`. `steering_cpus`: its RPS or XPS mask."""

    direction: str
    index: int
    irq: int | None
    steering_cpus: tuple[int, ...] | None


@dataclass(frozen=True, kw_only=True)
class NetworkDevice:
    """A network device; `speed_mbps` and `driver` are None where it has none to tell."""

    name: str
    driver: str | None
    speed_mbps: int | None
    node: int
    up: bool
    queues: tuple[Queue, ...]


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The host as sysfs shows it."""

    cpus: tuple[Cpu, ...]
    caches: tuple[Cache, ...]
    devices: tuple[NetworkDevice, ...]
    interrupts: tuple[Interrupt, ...]

    def receive_queues(self, device: str) -> tuple[ReceiveQueue, ...]:
        """The receive queues of a device, for a plan; empty when there is no such device."""
        return tuple(
            ReceiveQueue(device=device, index=queue.index, irq=queue.irq)
            for nic in self.devices
            if nic.name == device
            for queue in nic.queues
            if queue.direction == "rx"
        )


def read_topology(sys: Path = SYS, proc: Path = PROC) -> Topology:
    """The topology as it is now."""
    cpus = read_cpus(sys)
    owners = _interrupt_owners(sys / "class/net")
    interrupts = _interrupts(proc, owners)
    return Topology(
        cpus=cpus,
        caches=_caches(sys / "devices/system/cpu", cpus),
        devices=_devices(sys / "class/net", interrupts),
        interrupts=interrupts,
    )


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """CPU numbers from a list as the kernel prints it: `0-3,8`."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        if part:
            low, _, high = part.partition("-")
            numbers.extend(range(int(low), int(high or low) + 1))
    return tuple(numbers)


def _text(path: Path) -> str | None:
    """A file's content without its line end; None where it is not there or will not be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _number(path: Path, otherwise: int) -> int:
    text = _text(path)
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else otherwise


def _numbered(directory: Path, prefix: str) -> list[tuple[int, Path]]:
    """Entries such as cpu0, cpu1 in the order of their numbers."""
    found = ((re.fullmatch(rf"{prefix}(\d+)", path.name), path) for path in directory.glob(f"{prefix}*"))
    return sorted((int(match[1]), path) for match, path in found if match)


def read_cpus(sys: Path = SYS) -> tuple[Cpu, ...]:
    """The CPUs that are online, with core, socket and node, in the order of their numbers."""
    cpus = []
    for number, path in _numbered(sys / "devices/system/cpu", "cpu"):
        siblings = _text(path / "topology/thread_siblings_list")
        if siblings is None:
            continue  # offline: the kernel takes the directory away
        nodes = _numbered(path, "node")
        cpus.append(
            Cpu(
                cpu=number,
                core=_number(path / "topology/core_id", number),
                socket=max(0, _number(path / "topology/physical_package_id", 0)),
                node=nodes[0][0] if nodes else 0,
                siblings=parse_cpu_list(siblings),
            )
        )
    return tuple(cpus)


def _caches(directory: Path, cpus: tuple[Cpu, ...]) -> tuple[Cache, ...]:
    caches: dict[Cache, None] = {}  # in order, each once, however many CPUs share it
    for cpu in cpus:
        for _, path in _numbered(directory / f"cpu{cpu.cpu}/cache", "index"):
            size = _text(path / "size") or "0K"
            caches[
                Cache(
                    level=_number(path / "level", 0),
                    kind=_text(path / "type") or "Unified",
                    size_bytes=int(size.rstrip("KM") or 0) * (2**20 if size.endswith("M") else 2**10),
                    cpus=parse_cpu_list(_text(path / "shared_cpu_list") or str(cpu.cpu)),
                )
            ] = None
    return tuple(sorted(caches, key=lambda cache: (cache.level, cache.kind, cache.cpus)))


def _interrupt_owners(directory: Path) -> dict[int, str]:
    """Which network device an interrupt belongs to; virtio's belong to the PCI device above."""
    owners: dict[int, str] = {}
    for device in sorted(directory.glob("*")):
        base = device / "device"
        if not base.exists():
            continue
        for folder in (base / "msi_irqs", base.resolve().parent / "msi_irqs"):
            if folder.is_dir():
                owners.update({int(entry.name): device.name for entry in folder.iterdir()})
                break
    return owners


def _interrupts(proc: Path, owners: dict[int, str]) -> tuple[Interrupt, ...]:
    lines = (_text(proc / "interrupts") or "").splitlines()
    if not lines:
        return ()
    columns = [int(word[3:]) for word in lines[0].split()]
    interrupts = []
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        if not label.strip().isdigit():
            continue  # NMI, LOC …: no affinity, no device
        irq, words = int(label), rest.split()
        masks = [_text(proc / f"irq/{irq}/{name}") for name in ("smp_affinity", "effective_affinity")]
        allowed, effective = (parse_mask(mask) if mask is not None else None for mask in masks)
        interrupts.append(
            Interrupt(
                irq=irq,
                name=words[-1] if len(words) > len(columns) else "",
                counts=dict(zip(columns, map(int, words[: len(columns)]), strict=False)),
                cpus=allowed,
                effective_cpus=effective,
                device=owners.get(irq),
            )
        )
    return tuple(interrupts)


def _devices(directory: Path, interrupts: tuple[Interrupt, ...]) -> tuple[NetworkDevice, ...]:
    devices = []
    for path in sorted(directory.glob("*")):
        if not (path / "queues").is_dir():
            continue
        by_queue = _queue_interrupts(interrupts, path.name)
        queues = [
            Queue(
                direction=direction,
                index=index,
                irq=by_queue.get(index) if direction == "rx" else None,
                steering_cpus=_mask(queue / mask),
            )
            for direction, mask in (("rx", "rps_cpus"), ("tx", "xps_cpus"))
            for index, queue in _numbered(path / "queues", f"{direction}-")
        ]
        driver = path / "device/driver"
        speed = _number(path / "speed", -1)
        devices.append(
            NetworkDevice(
                name=path.name,
                driver=driver.resolve().name if driver.exists() else None,
                speed_mbps=speed if speed > 0 else None,
                node=max(0, _number(path / "device/numa_node", 0)),
                up=_text(path / "operstate") in ("up", "unknown"),
                queues=tuple(queues),
            )
        )
    return tuple(devices)


def _queue_interrupts(interrupts: tuple[Interrupt, ...], device: str) -> dict[int, int]:
    """The interrupt of each receive queue, by the names that drivers give them."""
    found: dict[int, int] = {}
    for interrupt in interrupts:
        if interrupt.device != device or NOT_RECEIVING.search(interrupt.name):
            continue
        number = QUEUE_NUMBER.search(interrupt.name.removeprefix(device))
        if number:
            found.setdefault(int(number[1]), interrupt.irq)
    whole = next((line.irq for line in interrupts if line.name == device), None)
    # A device with a single interrupt for everything gives it its own name.
    return found if found or whole is None else {0: whole}


def _mask(path: Path) -> tuple[int, ...] | None:
    """The CPUs of a mask file; None where there is none (XPS of a single queue cannot be read)."""
    text = _text(path)
    return None if text is None else parse_mask(text)
