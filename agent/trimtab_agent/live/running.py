"""The web servers that run on this machine: found, named, and whether their connections can be shared.

Nothing is touched. A server is known by the name of its program; its main process is the one whose parent is
another program, or the starter that holds its sockets and starts it anew at a reload (h2o). Where it listens,
the kernel says; which file it was started with, its command line does, or the usual place of its kind.
"""

import itertools
import os
import re
import socket
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import Target

from trimtab_agent.live.listening import Listener, listeners_of, take
from trimtab_agent.live.surroundings import as_its_user
from trimtab_agent.station.processes import guard

# Names under which a program runs elsewhere than on Debian.
OTHER_NAMES = {"httpd": "apache"}
# How a server is told which file to use, where that is not -c. Apache's -c is a directive.
FILE_OPTIONS = {"apache": ("-f",), "lighttpd": ("-f",), "h2o": ("-c", "--conf")}
PROC = Path("/proc")
GUARD = guard.__file__  # a word of its command line
# Of the kernel's rules for looking into a process (ptrace(2)) and what containers leave out.
WHO_MAY = "root may do that and its own user, in a container with the capability SYS_PTRACE"
OTHER_RIGHTS = "It runs with rights that whoever has started it does not have (setuid)."
# Of the system's units alone: those of a user's own manager have the names that the user gives them.
UNIT = re.compile(r"^(?!.*/user@\d+\.service/).*/([^/\n]+\.service)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class RunningServer:
    """A server that runs: its main process, how many there are in all, where it listens, and with which file.

    `program` is what it runs. `file` is None where that is not known, or lies in a container; `unit` is empty
    for a process that systemd has not started. `obstacles` are sentences about why a share of its connections
    cannot go to another server; `no_reload` is one about why it cannot take up a changed file.
    """

    target: Target
    pid: int
    program: Path
    processes: int
    user: str
    listeners: tuple[Listener, ...]
    file: Path | None
    unit: str
    obstacles: tuple[str, ...]
    no_reload: str = ""

    def answers_to(self, word: str) -> bool:
        """Whether a person may mean it: by the name of its kind or program, its unit, pid, or a port."""
        names = {self.target.name, self.target.program, self.unit, self.unit.removesuffix(".service")}
        numbers = {self.pid, *(listener.port for listener in self.listeners)}
        return bool(word) and (word in names or (word.isdigit() and int(word) in numbers))


def running_servers() -> tuple[RunningServer, ...]:
    """Every web server of a kind that Trimtab knows and that this user may see, in the order of pids."""
    by_name = {target.program: target for target in TARGETS.values() if target.protocol == "http"}
    by_name |= {name: TARGETS[target] for name, target in OTHER_NAMES.items()}
    families: dict[psutil.Process, list[psutil.Process]] = {}
    processes = {p.pid: p for p in psutil.process_iter(["name", "ppid"]) if p.info["name"] in by_name}
    for process in processes.values():
        main = process
        while (parent := processes.get(main.info["ppid"])) and parent.info["name"] == main.info["name"]:
            main = parent
        starter = _starter_of(by_name[main.info["name"]], main.info["ppid"])
        families.setdefault(starter or main, []).append(process)
    found = (
        _described(by_name[families[main][0].info["name"]], main, families[main])
        for main in sorted(families, key=lambda each: each.pid)
    )
    return tuple(server for server in found if server is not None)


def production_servers() -> tuple[RunningServer, ...]:
    """Those of them that no Trimtab of this machine has started to measure them."""
    return tuple(server for server in running_servers() if not is_measured(server.pid))


def is_measured(pid: int) -> bool:
    """Whether that process stands under the guard that a Trimtab puts over each server of its trials.

    Of a process whose parents may not be looked at, that is not known: then it is not.
    """
    with suppress(psutil.Error):
        return any(GUARD in each.cmdline() for each in psutil.Process(pid).parents())
    return False


def _starter_of(target: Target, parent: int) -> psutil.Process | None:
    """The parent of a server if it is the starter of its kind."""
    if target.beside is None or not target.beside.starter:
        return None
    with suppress(psutil.Error):
        process = psutil.Process(parent)
        if any(Path(word).name == target.beside.starter for word in process.cmdline()):
            return process
    return None


def _described(
    target: Target, main: psutil.Process, family: Sequence[psutil.Process]
) -> RunningServer | None:
    """None for a process that has ended meanwhile."""
    try:
        try:
            program = _program(main, family)
        except PermissionError:
            return _hidden(target, main, family, f"Its process may not be looked into: {WHO_MAY}.")
        users = main.uids()
        if users.real not in (0, users.effective):
            return _hidden(target, main, family, OTHER_RIGHTS)
        listeners = listeners_of(main.pid)
        unit = UNIT.findall((PROC / str(main.pid) / "cgroup").read_text())
        return RunningServer(
            target=target,
            pid=main.pid,
            program=program,
            processes=len(family),
            user=main.username(),
            listeners=listeners,
            file=_file_as_its_user(target, main),
            unit=unit[0] if unit else "",
            obstacles=tuple(_obstacles(main.pid, listeners)),
            no_reload=_no_reload(target, main, is_starter=main.pid not in {each.pid for each in family}),
        )
    except (OSError, psutil.Error):
        return None


def _program(main: psutil.Process, family: Sequence[psutil.Process]) -> Path:
    """What they run, the main process before its workers, who may have been taken over; raises OSError.

    Some may have ended meanwhile, as at a reload. A starter is not of the family.
    """
    *others, last = sorted(family, key=lambda process: process != main)
    for process in others:
        with suppress(FileNotFoundError, ProcessLookupError):
            return Path(os.readlink(PROC / str(process.pid) / "exe"))  # noqa: PTH115 - not followed
    return Path(os.readlink(PROC / str(last.pid) / "exe"))  # noqa: PTH115


def _hidden(
    target: Target, main: psutil.Process, family: Sequence[psutil.Process], why: str
) -> RunningServer:
    """A server that is not looked into: another user's, or one with capabilities that Trimtab lacks, or with
    rights that whoever has started it has not.
    """
    return RunningServer(
        target=target,
        pid=main.pid,
        program=Path(target.program),
        processes=len(family),
        user=main.username(),
        listeners=(),
        file=None,
        unit="",
        obstacles=(why,),
        no_reload="Which file it was started with is not looked at.",
    )


def _no_reload(target: Target, main: psutil.Process, *, is_starter: bool) -> str:
    """The sentence about why that server cannot take up a changed file; empty where it can."""
    if target.beside is None:
        return f"Trimtab does not know how {target.name} is reloaded."
    if target.beside.starter and not is_starter:
        return (
            f"It runs without its starter ({target.beside.starter}): only a restart takes up a changed file."
        )
    if os.geteuid() not in (0, main.uids().real):
        return "Only root and its own user may reload it."
    return ""


def _file_as_its_user(target: Target, main: psutil.Process) -> Path | None:
    """Its file; None where that is not known, in a container, and where its user may not get at it.

    Raises OSError and psutil.Error for a process that has ended.
    """
    if not _is_ours(main.pid, "mnt"):
        return None
    command, directory = main.cmdline(), Path(main.cwd())
    with suppress(PermissionError), as_its_user(main.pid):
        return _file(target, command, directory)
    return None


def _file(target: Target, command: Iterable[str], directory: Path) -> Path | None:
    """The configuration file of that command line, or the one that is used where it names none.

    None where the name leads to no file: a relative one may mean another directory than the one in which the
    server works now. nginx writes its command line over with one of a single word: `nginx: master process
    nginx -c FILE`.
    """
    words = " ".join(command).split()
    for option, value in itertools.pairwise(words):
        if option in FILE_OPTIONS.get(target.name, ("-c",)):
            named = directory / value
            return named if os.path.isfile(named) else None  # noqa: PTH113 - Path.is_file() may raise
    return next((Path(path) for path in target.usual_files if os.path.isfile(path)), None)  # noqa: PTH113


def _obstacles(pid: int, listeners: Sequence[Listener]) -> Iterable[str]:
    """Sentences about why the connections of that process cannot be shared."""
    if not listeners:
        yield "It listens on no TCP port."
        return
    if not _is_ours(pid, "net"):
        yield "It runs in another network namespace (a container): Trimtab has to run in the same."
        return
    for address, sockets in Counter(listener.address for listener in listeners).items():
        if sockets > 1:
            yield f"{address}: its workers have {sockets} sockets of their own (reuseport); expected one."
    try:
        with take(pid, listeners[0].descriptor) as taken:
            owner = os.fstat(taken.fileno()).st_uid
            kind = taken.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)
    except OSError as error:
        yield f"Its sockets cannot be looked at ({error.strerror}): {WHO_MAY}."
        return
    if os.geteuid() not in (0, owner):
        yield f"Its sockets belong to user {owner}: only root and that user can share them."
    if kind != socket.IPPROTO_TCP:
        yield "Its sockets speak another protocol than TCP (MPTCP)."


def _is_ours(pid: int, namespace: str) -> bool:
    """Whether a process is in the same namespace of that kind as this one; raises OSError."""
    ours, its = ((PROC / str(each) / "ns" / namespace).stat().st_ino for each in (os.getpid(), pid))
    return ours == its
