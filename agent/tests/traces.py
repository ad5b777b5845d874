"""What a test suite may leave behind on the host, and what of it is there: for the look at the end.

Everything is told apart from what others do on the same machine: processes by a word in their environment,
temporary files by a folder of the suite's own, control groups and namespaces by the process id in their names
(whose owner is dead), settings by their value before. Where a suite changes no settings of the machine,
groups, namespaces and settings are those of others.
"""

import glob
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil
from trimtab_agent.os_settings.access import KERNEL_FILES

MARK = "TRIMTAB_TEST_SUITE"
SETTINGS = (
    "proc/irq/*/smp_affinity",
    "sys/class/net/*/queues/*/[rx]ps_cpus",
    *(path.removeprefix("/") for path in KERNEL_FILES),
)
NAMED = ("run/netns", "sys/fs/cgroup")


@dataclass(frozen=True)
class Traces:
    """What is there now that a suite could have left: settings by path, files by path, processes by id."""

    settings: dict[str, str]
    allowed_cpus: frozenset[int]
    named: frozenset[str]
    files: frozenset[str]
    processes: dict[int, str]


def look(mark: str, temporary: Path, root: Path = Path("/")) -> Traces:
    """Looks at the host; `mark` is the word of the suite, `temporary` its folder of temporary files."""
    return Traces(
        settings=dict(_settings(root)),
        allowed_cpus=frozenset(os.sched_getaffinity(0)),
        named=frozenset(_named(root)),
        files=frozenset(str(path) for path in temporary.iterdir()),
        processes=dict(_processes(mark)),
    )


def left_behind(before: Traces, after: Traces, may_be_ours: Callable[[str], bool]) -> list[str]:
    """A sentence for each thing that is there after and was not before.

    Of groups, namespaces and masks only what may be the suite's own, by its path.
    """
    said = [f"process {pid} still runs: {command}" for pid, command in after.processes.items()]
    said += [f"{path} is still there" for path in sorted(after.files - before.files)]
    said += [
        f"{path} is still there"
        for path in sorted(after.named - before.named)
        if may_be_ours(path) and _ownerless(path)
    ]
    said += [
        f"{path} was {value} and is {after.settings[path]}"
        for path, value in before.settings.items()
        if after.settings.get(path, value) != value
        and may_be_ours(path)
        and not _steers_nothing(path, after.settings[path])
    ]
    if after.allowed_cpus != before.allowed_cpus:
        said.append(f"this process was allowed {before.allowed_cpus} and is now {after.allowed_cpus}")
    return said


def _named(root: Path) -> Iterable[str]:
    """Unlike a pattern, a walk does not mind what goes while it looks."""
    for start in NAMED:
        for directory, directories, files in os.walk(root / start):
            yield from (f"{directory}/{name}" for name in directories + files if name.startswith("trimtab-"))


def _settings(root: Path) -> Iterable[tuple[str, str]]:
    for pattern in SETTINGS:
        # Unlike Path.glob it does not mind a device that goes meanwhile.
        for name in glob.iglob(pattern, root_dir=root):  # noqa: PTH207
            path = root / name
            try:
                yield str(path), path.read_text().strip()
            except OSError:
                continue  # a queue without such a setting, or a device that has just gone


def _processes(mark: str) -> Iterable[tuple[int, str]]:
    for process in psutil.process_iter():
        try:
            marked = process.environ().get(MARK) == mark
            if marked and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                yield process.pid, " ".join(process.cmdline())
        except psutil.Error:
            continue  # it has ended meanwhile, or is another user's


def _steers_nothing(path: str, mask: str) -> bool:
    """Whether receive or transmit steering is off, as the kernel begins with it: nobody left that."""
    return path.endswith("ps_cpus") and not mask.replace(",", "").strip("0")


def _ownerless(path: str) -> bool:
    """Whether no process lives that has made it, by the process ids in its name."""
    numbers = [int(word) for word in Path(path).name.split("-") if word.isdecimal()]
    return not any(psutil.pid_exists(number) for number in numbers)
