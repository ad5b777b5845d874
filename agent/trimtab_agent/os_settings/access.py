"""The operating-system settings that Trimtab may touch: CPU masks, knobs of the kernel, and nothing else.

    /proc/irq/N/smp_affinity                    where an interrupt may go  (core-api/irq/irq-affinity.rst)
    /sys/class/net/DEV/queues/rx-N/rps_cpus     receive packet steering    (networking/scaling.rst)
    /sys/class/net/DEV/queues/tx-N/xps_cpus     transmit packet steering
    KERNEL_FILES                                knobs of the kernel        (docs/kernel.md)

Who reads and writes them is one of two: this process itself (`DirectAccess`, which needs root), or the
privileged helper (`trimtab_agent.helper`). Both take their rules from here, so that neither can be talked
into touching another file.
"""

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trimtab_tuner.affinity import parse_mask

MASK_PATH = re.compile(
    r"/proc/irq/\d{1,6}/smp_affinity"
    r"|/sys/class/net/(?!\.\.?/)[\w.-]{1,15}/queues/(?:rx-\d{1,4}/rps_cpus|tx-\d{1,4}/xps_cpus)",
    re.ASCII,
)
POLICY_PATH = re.compile(r"/sys/devices/system/cpu/cpufreq/policy\d{1,4}/scaling_governor", re.ASCII)


@dataclass(frozen=True)
class Form:
    """What the value of a setting looks like; `expected` says so for messages."""

    pattern: re.Pattern[str]
    expected: str


MASK = Form(
    re.compile(r"[0-9a-f]{1,8}(?:,[0-9a-f]{8}){0,255}", re.ASCII),
    "no CPU mask: expected hexadecimal groups such as 00000003",
)
NUMBER = Form(re.compile(r"[0-9]{1,10}", re.ASCII), "no number: expected an integer such as 4096")
SIZES = Form(
    re.compile(r"[0-9]{1,10} [0-9]{1,10} [0-9]{1,10}", re.ASCII),
    "not three sizes: expected least, default and largest in bytes, such as 4096 16384 4194304",
)
WORD = Form(re.compile(r"[a-z][a-z0-9_-]{0,15}", re.ASCII), "no word: expected a name such as cubic")

KERNEL_FILES: dict[str, Form] = {
    "/proc/sys/net/core/somaxconn": NUMBER,
    "/proc/sys/net/core/busy_poll": NUMBER,
    "/proc/sys/net/core/busy_read": NUMBER,
    "/proc/sys/net/ipv4/tcp_autocorking": NUMBER,
    "/proc/sys/net/ipv4/tcp_congestion_control": WORD,
    "/proc/sys/net/ipv4/tcp_fin_timeout": NUMBER,
    "/proc/sys/net/ipv4/tcp_max_syn_backlog": NUMBER,
    "/proc/sys/net/ipv4/tcp_notsent_lowat": NUMBER,
    "/proc/sys/net/ipv4/tcp_rmem": SIZES,
    "/proc/sys/net/ipv4/tcp_tw_reuse": NUMBER,
    "/proc/sys/net/ipv4/tcp_wmem": SIZES,
    "/proc/sys/vm/swappiness": NUMBER,
    "/proc/sys/vm/vfs_cache_pressure": NUMBER,
    "/sys/kernel/debug/sched/base_slice_ns": NUMBER,
    "/sys/kernel/debug/sched/min_granularity_ns": NUMBER,
    "/sys/kernel/mm/transparent_hugepage/enabled": WORD,
}
NAMESPACE = Path("/proc/thread-self/ns/net")
CHOSEN = re.compile(r"\[([^\]]+)\]")  # of `always [madvise] never`, the word that holds


class SettingRefused(Exception):
    """A setting cannot be read or written; the message is the reason, without the path."""


class SettingGone(SettingRefused):
    """The setting does not exist (any more): device, interrupt or feature of the kernel are not there."""


class SettingAccess(Protocol):
    """Reads and writes settings. All raise SettingRefused with the reason."""

    def read(self, path: str) -> str:
        """The value, in the form in which it is written."""
        ...

    def probe(self, path: str) -> str:
        """The same, of a setting that can be written as well: it is opened for that, and nothing written."""
        ...

    def write(self, path: str, value: str) -> None:
        """Writes a value of the setting's form."""
        ...

    def namespace(self) -> str:
        """The network namespace that settings under /proc/sys/net are those of."""
        ...


def form_of(path: str) -> Form:
    """What the setting's value looks like; raises SettingRefused unless it is one of the settings above."""
    if MASK_PATH.fullmatch(path):
        return MASK
    if POLICY_PATH.fullmatch(path):
        return WORD
    if path not in KERNEL_FILES:
        raise SettingRefused("is none of the settings that Trimtab touches")
    return KERNEL_FILES[path]


def check_value(path: str, value: str) -> None:
    """Raises SettingRefused unless the setting is one of those above, and the value has its form."""
    form = form_of(path)
    if not form.pattern.fullmatch(value):
        raise SettingRefused(f"{value[:40]!r} is {form.expected}")


def same_value(path: str, one: str, other: str) -> bool:
    """Whether two values of a setting mean the same: masks may be written with any number of zeros."""
    if MASK_PATH.fullmatch(path):
        return parse_mask(one) == parse_mask(other)
    return one == other


class DirectAccess:
    """Reads and writes the files itself. `root` stands before every path (tests use a directory)."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def read(self, path: str) -> str:
        """The value, in the form in which it is written."""
        form_of(path)
        try:
            text = " ".join(self._file(path).read_text().split())
        except OSError as error:
            raise _refusal(error) from error
        chosen = CHOSEN.search(text)
        return text if chosen is None else chosen.group(1)

    def probe(self, path: str) -> str:
        """The same, of a setting that can be written as well."""
        value = self.read(path)
        try:
            os.close(self._opened(path))
        except OSError as error:
            raise _refusal(error) from error
        return value

    def write(self, path: str, value: str) -> None:
        """Writes a value; the kernel answers one that it does not want with an error."""
        check_value(path, value)
        try:
            descriptor = self._opened(path)
        except OSError as error:
            raise _refusal(error) from error
        try:
            os.write(descriptor, value.encode())
        except FileNotFoundError as error:  # of the value, as the setting itself is open
            raise SettingRefused(f"the kernel knows no {value}") from error
        except OSError as error:
            raise _refusal(error) from error
        finally:
            os.close(descriptor)

    def namespace(self) -> str:
        """The network namespace of this thread: the number by which namespaces(7) are told apart."""
        return str(NAMESPACE.stat().st_ino)

    def _opened(self, path: str) -> int:
        # Without O_CREAT: a file that is not there is no setting.
        return os.open(self._file(path), os.O_WRONLY | os.O_CLOEXEC)

    def _file(self, path: str) -> Path:
        return self._root / path.removeprefix("/")


REASONS = {
    errno.EIO: "the kernel refuses it: the interrupt cannot be moved (per-CPU, or managed by its driver)",
    errno.EPERM: "the kernel refuses it: the interrupt is managed, or this is a container",
    errno.EACCES: "not permitted: it needs root, or the helper (docs/affinity.md)",
    errno.EROFS: "read-only here: a container hides it",
    errno.ENOENT: "there is no such setting: the device, interrupt or feature of the kernel is not there",
    errno.ENOSPC: "no interrupt vector is left on those CPUs",
    errno.EINVAL: "the kernel refuses this value (of a mask: none of its CPUs is online)",
}


def _refusal(error: OSError) -> SettingRefused:
    kind = SettingGone if error.errno in (errno.ENOENT, errno.ENODEV) else SettingRefused
    return kind(REASONS.get(error.errno or 0, error.strerror or str(error)))
