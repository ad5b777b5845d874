"""`trimtab check`: what in a server's file contradicts the machine, without a load.

A rule is a function from what the file says and what the machine allows to contradictions, each with the line
and the evidence. To add one, write it in the file of its subject and add it to `RULES`; each has a test that
fires it and one that does not.
"""

from collections.abc import Callable, Iterator

from trimtab_tuner.checking import apache, files, kernel, language, limits, tls, upstreams
from trimtab_tuner.checking.contradiction import Contradiction
from trimtab_tuner.checking.machine import Machine
from trimtab_tuner.checking.statements import ServerFile

Rule = Callable[[ServerFile, Machine], Iterator[Contradiction]]

RULES: tuple[Rule, ...] = (
    language.without_events,
    language.misplaced,
    language.no_number,
    language.word_for_number,
    language.set_twice,
    limits.descriptors,
    limits.accept_queue,
    limits.workers,
    apache.processes,
    upstreams.kept_connections,
    upstreams.unanswered,
    files.sendfile,
    files.kept_open,
    files.logs,
    files.caches,
    tls.by_kernel,
    tls.files_there,
    kernel.duplicate_tuning,
)
_SEVERITIES = ("error", "warning", "note")


def check(file: ServerFile, machine: Machine) -> tuple[Contradiction, ...]:
    """What contradicts the machine, errors first, then in the order of the lines."""
    found = [each for rule in RULES for each in rule(file, machine)]
    return tuple(sorted(found, key=lambda each: (_SEVERITIES.index(each.severity), each.line or 0)))
