"""Rules about the files that set the kernel's variables at boot: two that say different things."""

from collections.abc import Iterator

from trimtab_tuner.checking.contradiction import Contradiction
from trimtab_tuner.checking.machine import Machine, SysctlLine
from trimtab_tuner.checking.statements import ServerFile

# What tunes; how much is protected from whom is another matter.
_OURS = (
    "net.core.",
    "net.ipv4.tcp_",
    "net.ipv4.ip_local_port_range",
    "net.netfilter.",
    "fs.file-max",
    "fs.nr_open",
    "vm.",
    "kernel.sched",
)


def duplicate_tuning(_file: ServerFile, machine: Machine) -> Iterator[Contradiction]:
    """A variable that several files set to different values: the last one counts, whatever the others say."""
    by_key: dict[str, list[SysctlLine]] = {}
    for line in machine.sysctl:
        if line.key.startswith(_OURS):
            by_key.setdefault(line.key, []).append(line)
    for key, lines in sorted(by_key.items()):
        last = lines[-1]
        other = next((line for line in lines if line.value.split() != last.value.split()), None)
        if other is not None:
            yield Contradiction(
                rule="sysctl-set-twice",
                severity="warning",
                sentence=(
                    f"{key} is set to {other.value} here and to {last.value} in {last.file}, line "
                    f"{last.line}, which is read later and counts."
                ),
                evidence=tuple(f"{line.file}:{line.line}: {line.key} = {line.value}" for line in lines),
                suggestion="Keep one of the lines.",
                file=other.file,
                line=other.line,
            )
        in_force = machine.in_force.get(key)
        if in_force is not None and in_force.split() != last.value.split():
            yield Contradiction(
                rule="sysctl-not-in-force",
                severity="warning",
                sentence=f"{key} is {in_force} now, and {last.value} after the next boot.",
                evidence=(f"{last.file}:{last.line}: {key} = {last.value}", f"sysctl {key}: {in_force}"),
                suggestion="sysctl --system if the file is right, else correct the file.",
                file=last.file,
                line=last.line,
            )
