"""Rules about what the kernel grants: descriptors, accept queues, CPUs."""

from collections.abc import Iterator, Mapping

from trimtab_tuner.checking.contradiction import Contradiction, contradiction
from trimtab_tuner.checking.machine import Machine
from trimtab_tuner.checking.statements import ServerFile, Statement
from trimtab_tuner.wording import counted

# Connections of one process and how many descriptors each of them can need: its socket, and the file that is
# sent or the connection to an upstream.
CONNECTIONS: Mapping[str, tuple[str, int]] = {
    "nginx": ("worker_connections", 512),
    "lighttpd": ("server.max-connections", 0),
    "h2o": ("max-connections", 1024),
    "core": ("max_connections", 4096),
}
# What raises the limit of its own processes, where the server has such a setting.
RAISING: Mapping[str, str] = {
    "nginx": "worker_rlimit_nofile",
    "lighttpd": "server.max-fds",
    "mariadb": "open_files_limit",
}
RAISES_TO_HARD = {"core", "h2o"}  # without being told
DEFAULT_QUEUES: Mapping[str, tuple[str, int]] = {
    "nginx": ("backlog", 511),
    "apache": ("listenbacklog", 511),
    "lighttpd": ("server.listen-backlog", 1024),
    "core": ("backlog", 1024),
    "mariadb": ("back_log", 0),
}
WORKERS: Mapping[str, str] = {
    "nginx": "worker_processes",
    "lighttpd": "server.max-worker",
    "h2o": "num-threads",
    "core": "workers",
}


def descriptors(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """More open files than each process may have."""
    limits, name = machine.descriptors, file.target.name
    evidence = limits.evidence
    raising = file.last(RAISING.get(name, ""))
    allowed = limits.hard if name in RAISES_TO_HARD else limits.soft
    if raising is not None and raising.number is not None:
        if raising.number > limits.ceiling:
            yield contradiction(
                "descriptors-above-hard-limit",
                "error",
                raising,
                f"{raising.said} is above the hard limit of {limits.hard:,}, so the system refuses it and "
                f"the workers keep {limits.soft:,}.",
                evidence,
                suggestion=(
                    f"Raise the limit (LimitNOFILE={raising.number} of {file.target.unit}.service, or ulimit "
                    f"-Hn), or lower it to {limits.hard:,}."
                ),
            )
        else:
            allowed = raising.number
    by = evidence if raising is None or allowed != raising.number else raising.said
    setting, default = CONNECTIONS.get(name, ("", 0))
    connections = file.last(setting)
    wanted = default if connections is None or connections.number is None else connections.number
    if wanted > allowed:
        told = setting if connections is None else connections.said
        yield contradiction(
            "connections-above-descriptors",
            "error",
            connections or raising,
            f"{told} needs a descriptor for each connection, and a process may have {allowed:,}: beyond that "
            "clients are kept waiting, and the log fills with “too many open files”.",
            by,
            suggestion=_more_descriptors(file, 2 * wanted),
        )
    elif 2 * wanted > allowed and wanted > default:
        told = setting if connections is None else connections.said
        yield contradiction(
            "files-above-descriptors",
            "note",
            connections,
            f"{told} takes up to {2 * wanted:,} descriptors, one for the client and one for the file or the "
            f"upstream, and a process may have {allowed:,}.",
            by,
            suggestion=_more_descriptors(file, 2 * wanted),
        )


def _more_descriptors(file: ServerFile, needed: int) -> str:
    setting = RAISING.get(file.target.name)
    unit = f"LimitNOFILE={needed} of {file.target.unit}.service"
    return f"Allow {needed:,}: {f'{setting} {needed}, with ' if setting else ''}{unit}."


def accept_queue(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """A queue that is longer than the kernel grants."""
    longest = machine.longest_queue
    for told, length in _queues(file):
        if length <= longest:
            continue
        named = f"{'An' if told is None else f'{told.said}: an'} accept queue of {length:,}"
        yield contradiction(
            "backlog-above-somaxconn",
            "warning" if told is not None else "note",
            told,
            f"{named} is cut to {machine.somaxconn:,}, the most that this kernel grants.",
            f"net.core.somaxconn = {machine.somaxconn}",
            suggestion=f"sysctl net.core.somaxconn={length}, kept in /etc/sysctl.d, or a shorter queue.",
        )


def _queues(file: ServerFile) -> Iterator[tuple[Statement | None, int]]:
    """The accept queues that the file asks for, with where; the server's own where it says nothing."""
    setting, default = DEFAULT_QUEUES.get(file.target.name, ("", 0))
    told = False
    if file.target.name == "nginx":
        for listen in file.named("listen"):
            for argument in listen.arguments[1:]:
                option, _, length = argument.partition("=")
                if option == setting and length.isdecimal():
                    told = True
                    yield listen, int(length)
    elif (found := file.last(setting)) is not None and found.number is not None:
        told = True
        yield found, found.number
    if not told:
        yield None, default


def workers(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """As many workers as the host has CPUs, where fewer may be used; and CPUs that may not be used at all."""
    name = file.target.name
    told = file.last(WORKERS.get(name, ""))
    online, usable = len(machine.online), max(1, -int(-machine.cpus // 1))
    if name == "nginx" and told is not None and told.first == "auto" and usable < online:
        yield contradiction(
            "workers-above-quota",
            "warning",
            told,
            f"{told.said} starts {counted(online, 'worker')}, one for each CPU that is online, and only "
            f"{machine.cpus:.3g} of them may be used: all of them stand still when the time is used up.",
            machine.cpu_limit,
            suggestion=f"worker_processes {usable}.",
        )
    elif told is not None and told.number is not None and told.number > online:
        yield contradiction(
            "more-workers-than-cpus",
            "note",
            told,
            f"{told.said} is more than the {counted(online, 'CPU')} there are: where files come from memory, "
            "that only adds switches.",
            f"{online} online" + (f"; {machine.cpu_limit}" if machine.cpu_limit else ""),
            suggestion=f"Try {usable}: trimtab tune --target {name} measures it.",
        )
    elif told is not None and told.number is not None and told.number > usable:
        yield contradiction(
            "workers-above-quota",
            "warning",
            told,
            f"{told.said} is more than the {machine.cpus:.3g} CPUs that may be used.",
            machine.cpu_limit,
            suggestion=f"{WORKERS[name]} {usable}.",
        )
    yield from _masks(file, machine)


def _masks(file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """CPUs by number that the server may not run on."""
    pinned = file.last("worker_cpu_affinity") if file.target.name == "nginx" else None
    masks = [] if pinned is None else [word for word in pinned.arguments if not set(word) - {"0", "1"}]
    named = {cpu for mask in masks for cpu, bit in enumerate(reversed(mask)) if bit == "1"}
    missing = sorted(named - {*machine.allowed})
    if missing:
        yield contradiction(
            "pinned-to-other-cpus",
            "error",
            pinned,
            f"{pinned.said if pinned else ''} names CPU {', '.join(map(str, missing))}, where the server may "
            "not run: its workers stay where they are, and the log has an alert for each.",
            f"CPUs that may be used: {', '.join(map(str, machine.allowed))}",
            suggestion="worker_cpu_affinity auto, or masks of the CPUs that there are.",
        )
