"""The operating-system settings that Trimtab may touch: three kinds of CPU masks, and nothing else.

    /proc/irq/N/smp_affinity                    where an interrupt may go  (core-api/irq/irq-affinity.rst)
    /sys/class/net/DEV/queues/rx-N/rps_cpus     receive packet steering    (networking/scaling.rst)
    /sys/class/net/DEV/queues/tx-N/xps_cpus     transmit packet steering

Who reads and writes them is one of two: this process itself (`DirectAccess`, which needs root), or the
privileged helper (`trimtab_agent.helper`). Both take their rules from here, so that neither can be talked
into touching another file.
"""

import errno
import os
import re
from pathlib import Path
from typing import Protocol

from trimtab_tuner.affinity import parse_mask

MASK_PATH = re.compile(
    r"/proc/irq/\d{1,6}/smp_affinity"
    r"|/sys/class/net/(?!\.\.?/)[\w.-]{1,15}/queues/(?:rx-\d{1,4}/rps_cpus|tx-\d{1,4}/xps_cpus)",
    re.ASCII,
)
MASK = re.compile(r"[0-9a-f]{1,8}(?:,[0-9a-f]{8}){0,255}", re.ASCII)


class SettingRefused(Exception):
    """A setting cannot be read or written; the message is the reason, without the path."""


class SettingGone(SettingRefused):
    """The setting does not exist (any more): the device or the interrupt has gone."""


class SettingAccess(Protocol):
    """Reads and writes settings. Both raise SettingRefused with the reason."""

    def read(self, path: str) -> str:
        """The mask as the kernel prints it."""
        ...

    def write(self, path: str, mask: str) -> None:
        """Writes a mask of hexadecimal groups."""
        ...


def check_path(path: str) -> None:
    """Raises SettingRefused unless `path` is one of the settings above."""
    if not MASK_PATH.fullmatch(path):
        raise SettingRefused("is none of the settings that Trimtab touches")


def check_mask(mask: str) -> None:
    """Raises SettingRefused unless `mask` is a CPU mask as the kernel writes it."""
    if not MASK.fullmatch(mask):
        raise SettingRefused(f"{mask[:40]!r} is no CPU mask: expected hexadecimal groups such as 00000003")


def same_mask(one: str, other: str) -> bool:
    """Whether two masks name the same CPUs, however many zeros they are written with."""
    return parse_mask(one) == parse_mask(other)


class DirectAccess:
    """Reads and writes the files itself. `root` stands before every path (tests use a directory)."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def read(self, path: str) -> str:
        """The mask as the kernel prints it."""
        check_path(path)
        try:
            return self._file(path).read_text().strip()
        except OSError as error:
            raise _refusal(error) from error

    def write(self, path: str, mask: str) -> None:
        """Writes a mask; the kernel answers a mask that it does not want with an error."""
        check_path(path)
        check_mask(mask)
        try:
            # Without O_CREAT: a file that is not there is no setting.
            descriptor = os.open(self._file(path), os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(descriptor, mask.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _refusal(error) from error

    def _file(self, path: str) -> Path:
        return self._root / path.removeprefix("/")


REASONS = {
    errno.EIO: "the kernel refuses it: the interrupt cannot be moved (per-CPU, or managed by its driver)",
    errno.EPERM: "the kernel refuses it: the interrupt is managed, or this is a container",
    errno.EACCES: "not permitted: it needs root, or the helper (docs/affinity.md)",
    errno.EROFS: "read-only here: a container hides it",
    errno.ENOENT: "there is no such setting: the device or interrupt is not there",
    errno.ENOSPC: "no interrupt vector is left on those CPUs",
    errno.EINVAL: "the kernel refuses this mask: none of its CPUs is online",
}


def _refusal(error: OSError) -> SettingRefused:
    kind = SettingGone if error.errno in (errno.ENOENT, errno.ENODEV) else SettingRefused
    return kind(REASONS.get(error.errno or 0, error.strerror or str(error)))
