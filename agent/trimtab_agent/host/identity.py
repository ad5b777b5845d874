"""The machine as it is recorded with whatever was measured on it: which one it is, CPUs, memory, kernel.

A machine is known by an id that stays the same when it is called otherwise. It is made from /etc/machine-id,
which machine-id(5) asks to be kept from others: so what is recorded is a keyed hash of it, as that page
recommends for an application. Where there is none (a container, an image that is yet to be booted), one is
drawn once and kept in `var/machine-id`.
"""

import hashlib
import hmac
import os
import platform
import re
import secrets
from pathlib import Path
from typing import Any

import psutil
from trimtab_trials.host import Host

from trimtab_agent.errors import HostError

CPU_DIRECTORY = Path("/sys/devices/system/cpu")
MACHINE_ID = Path("/etc/machine-id")
APPLICATION = b"trimtab"
ID = re.compile("[0-9a-f]{32}")


def describe_host(var: Path, *, keep_id: bool = True) -> Host:
    """This machine; `var` is where its id is kept if it has none of its own. Who only looks draws none
    (`keep_id`): then it is empty. Raises HostError.
    """
    return Host(
        machine_id=machine_id(var, MACHINE_ID, keep=keep_id),
        name=platform.node(),
        kernel=platform.release(),
        cpu_model=_cpu_model(Path("/proc/cpuinfo").read_text()),
        cpus=psutil.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        topology=_topology(CPU_DIRECTORY),
    )


def machine_id(var: Path, file: Path = MACHINE_ID, *, keep: bool = True) -> str:
    """32 hexadecimal digits that tell this machine from others; none where they would have to be drawn, and
    may not be kept. Raises HostError.
    """
    try:
        own = file.read_text().strip()
    except OSError:
        own = ""
    # During the first boot the file says "uninitialized".
    if ID.fullmatch(own):
        return hmac.new(bytes.fromhex(own), APPLICATION, hashlib.sha256).hexdigest()[:32]
    kept = var / "machine-id"
    return _kept_id(kept) if keep or kept.exists() else ""


def _kept_id(path: Path) -> str:
    """The id in this file, drawn and written if it is not there yet; whoever comes second takes the
    first's.
    """
    drawn = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            drawn.write_text(secrets.token_hex(16) + "\n")
            try:
                path.hardlink_to(drawn)
            except FileExistsError:
                pass
            finally:
                drawn.unlink()
        kept = path.read_text().strip()
    except OSError as error:
        raise HostError(f"the id of this machine cannot be kept in {path}: {error.strerror}") from error
    if not ID.fullmatch(kept):
        raise HostError(f"{path}: expected 32 hexadecimal digits; remove it, and another id is drawn")
    return kept


def _cpu_model(cpuinfo: str) -> str:
    """The first `model name` of /proc/cpuinfo; the architecture's name where there is none (ARM)."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _topology(directory: Path) -> dict[str, Any]:
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
