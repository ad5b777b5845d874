"""What this machine allows a server: what `trimtab check` holds a file against.

    /proc/PID/limits, status     open files of a server that runs, and whether it may raise its limit
    /proc/sys                    the longest accept queue, the most open files, whether the kernel speaks TLS,
                                 variables that are in force
    /proc/self/mountinfo         in which file system a path lies
    the files themselves         whether certificates and keys can be read
    /etc/sysctl.d and others     what is set at boot, in the order of sysctl.d(5)

Without a process of the server, the limits are those of this one.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import psutil
from trimtab_tuner.checking.machine import UNSEEN, Descriptors, Machine, SysctlLine
from trimtab_tuner.targets.behind import Upstream

from trimtab_agent.host.answering import troubles
from trimtab_agent.host.cpu_quota import cpu_allowance

ROOT = Path("/")
CAP_SYS_RESOURCE = 24  # linux/capability.h
_OPEN_FILES = re.compile(r"^Max open files +(\d+|unlimited) +(\d+|unlimited)", re.MULTILINE)
_CAPABILITIES = re.compile(r"^CapEff:\s*([0-9a-f]+)$", re.MULTILINE)
_SETTING = re.compile(r"\s*-?\s*([\w./-]+)\s*=\s*(.*?)\s*")
_OCTAL = re.compile(r"\\([0-7]{3})")
# A file of an earlier directory takes the place of one of the same name in a later one.
_SYSCTL = ("etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d")


def machine_for(
    program: str,
    paths: Collection[str],
    upstreams: Collection[Upstream] = (),
    named: Collection[str] = (),
    root: Path = ROOT,
) -> Machine:
    """This machine for the server of that name; `paths` are those whose file systems count, `upstreams` what
    its file hands requests on to, `named` the files that the server reads as it starts.
    """
    allowance = cpu_allowance()
    quota = allowance.quota
    usable = float(len(allowance.allowed))
    somaxconn = _variable(root, "net.core.somaxconn")
    over_tcp = _variable(root, "net.ipv4.tcp_available_ulp")
    lines = tuple(sysctl_lines(root))
    return Machine(
        cpus=usable if quota is None else min(usable, quota.cpus),
        online=allowance.online,
        allowed=allowance.allowed,
        cpu_limit=allowance.limit,
        descriptors=descriptors_of(program, root),
        somaxconn=int(somaxconn) if somaxconn is not None else None,
        paths=file_systems(paths, root),
        protocols_over_tcp=None if over_tcp is None else frozenset(over_tcp.split()),
        sysctl=lines,
        unanswered=troubles(upstreams),
        unreadable=unreadable(named),
        in_force={
            key: value for key in {line.key for line in lines} if (value := _variable(root, key)) is not None
        },
    )


def descriptors_of(program: str, root: Path = ROOT) -> Descriptors:
    """The limits of the oldest process of that name; of this one where none may be read."""
    running = sorted(
        (process.info["create_time"] or 0.0, process.pid)
        for process in psutil.process_iter(["name", "create_time"])
        if process.info["name"] == program
    )
    most = int(_variable(root, "fs.nr_open") or 1_048_576)
    for _, pid in running[:1]:
        try:
            return _limits(root / f"proc/{pid}", f"{program} (process {pid})", most)
        except (OSError, ValueError):
            continue
    return _limits(root / "proc/self", f"this process, as no {program} runs", most)


def open_files_of(pid: int, root: Path = ROOT) -> int | None:
    """How many files a process may open (the soft limit); None where that is not known."""
    try:
        found = _OPEN_FILES.search((root / f"proc/{pid}/limits").read_text())
    except OSError:
        return None
    return None if found is None or found[1] == "unlimited" else int(found[1])


def _limits(process: Path, of: str, most: int) -> Descriptors:
    """Raises OSError, ValueError."""
    found = _OPEN_FILES.search((process / "limits").read_text())
    able = _CAPABILITIES.search((process / "status").read_text())
    if found is None:
        raise ValueError(f"{process}/limits: expected a line on open files")
    soft, hard = (most if said == "unlimited" else int(said) for said in found.groups())
    may_raise = able is not None and bool(int(able[1], 16) >> CAP_SYS_RESOURCE & 1)
    return Descriptors(soft, hard, of, may_raise, most)


def file_systems(paths: Collection[str], root: Path = ROOT) -> dict[str, str | None]:
    """The kind of file system that each path lies in; None where there is no such path."""
    try:
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
    except OSError:
        mounts = []
    kinds: dict[str, str] = {}
    for line in mounts:  # of two at one point the later one is on top
        before, _, after = line.partition(" - ")
        kinds[_OCTAL.sub(lambda code: chr(int(code[1], 8)), before.split(" ")[4])] = after.split(" ")[0]
    return {path: _kind_of(path, kinds) for path in paths}


def _kind_of(path: str, kinds: Mapping[str, str]) -> str | None:
    try:
        real = Path(os.path.realpath(path, strict=True))
    except OSError:
        return None
    return next((kinds[str(point)] for point in (real, *real.parents) if str(point) in kinds), None)


def unreadable(paths: Collection[str]) -> dict[str, str]:
    """Why a server that root starts cannot read each of these files; those that it can are left out."""
    return {path: why for path in paths if (why := _why_unreadable(path))}


def _why_unreadable(path: str) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116 - of thousands of certificates
    except PermissionError:
        return UNSEEN
    except FileNotFoundError:
        return "there is no such file"
    except (OSError, ValueError) as error:
        return f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    if not stat.S_ISREG(found.st_mode):
        return "it is no file" + (" but a directory" if stat.S_ISDIR(found.st_mode) else "")
    if found.st_size == 0:
        return "it is empty"
    # For root who may not: a file of a network share, or root without its capabilities.
    return "it may not be read" if os.geteuid() == 0 and not os.access(path, os.R_OK) else ""


def sysctl_lines(root: Path = ROOT) -> Iterator[SysctlLine]:
    """What the files of sysctl.d(5) set, in the order in which they are read; each file once."""
    files: dict[str, Path] = {}
    for directory in _SYSCTL:
        for file in sorted((root / directory).glob("*.conf")):
            files.setdefault(file.name, file)
    in_order = [files[name] for name in sorted(files)]
    own = root / "etc/sysctl.conf"
    # Debian has a link to it among them, which is read in its place.
    if all(file.resolve() != own.resolve() for file in in_order):
        in_order.append(own)
    for file in in_order:
        try:
            text = file.read_text(errors="replace")
        except OSError:
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found = None if line.lstrip()[:1] in ("#", ";") else _SETTING.fullmatch(line)
            if found is not None:
                yield SysctlLine(str(file), number, _dotted(found[1]), found[2])


def _dotted(key: str) -> str:
    """A name as `net.core.somaxconn`; it may be written with slashes."""
    first = re.search(r"[./]", key)
    return key.replace("/", ".") if first is not None and first[0] == "/" else key


def _variable(root: Path, key: str) -> str | None:
    """What a kernel variable is; None where there is none, or it may not be read."""
    try:
        return (root / "proc/sys" / key.replace(".", "/")).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
