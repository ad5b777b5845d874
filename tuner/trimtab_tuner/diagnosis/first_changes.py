"""What to try first: the changes that the default's own calibration points to, each alone.

A calibration ends where the default gives way, and what was counted there says at what: the connections that
are allowed, the workers, the kernel's queue, the disk. The remedy is known then, and so is about how much of
it is needed. It is measured before a model proposes anything, so that a user has the larger part of most
answers after the first trial; and whatever the search finds later, a change with evidence behind it is what
should be left of that when everything that brings nothing is taken away.

To add one, write a function from the evidence and the finding to meanings, and put it into `REMEDIES` under
the name of the rule that it answers.
"""

import math
from collections.abc import Callable, Iterator, Mapping

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.diagnosis import connections, diagnose
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob
from trimtab_tuner.targets.equivalents import Meanings

MOST = 2  # changes: each costs a trial of the search
SLACK = 4.0  # times what the CPUs seem to have room for: with more to choose from they do more at each waking
LEAST_BUSY = 5.0  # percent: a CPU that did less says only that there is much more room
LONGER_QUEUE = 8
WAITING_WORKERS = 8  # for each CPU, where workers wait for the disk


class FirstChange(Frozen):
    """A change of the default that the evidence of a finding points to: the values that it sets, and the
    whole configuration.
    """

    finding: Finding
    changed: Configuration
    configuration: Configuration


def first_changes(climb: RunEvidence) -> tuple[FirstChange, ...]:
    """The changes to try first, the most telling one first, by the default's calibration (`of_climb`).

    None where nothing gave way, or where no knob that is free is the remedy.
    """
    found: list[FirstChange] = []
    for finding in diagnose(climb):
        changed = next(_allowed(climb, finding), None)
        if changed is not None and all(changed != other.changed for other in found):
            whole = {**climb.space.default(), **changed}
            found.append(FirstChange(finding=finding, changed=changed, configuration=whole))
    return tuple(sorted(found, key=lambda change: list(REMEDIES).index(change.finding.rule))[:MOST])


def _more_connections(run: RunEvidence, finding: Finding) -> Iterator[Meanings]:
    """As many as the CPUs have room for, and some more."""
    facts = {fact.name: fact.value for fact in finding.facts}
    busy = max(LEAST_BUSY, facts[connections.BUSY_FACT])
    yield {Role.CONNECTIONS: math.ceil(SLACK * 100 / busy * facts[connections.ALLOWED_FACT])}


def _worker_for_each_cpu(run: RunEvidence, finding: Finding) -> Iterator[Meanings]:
    yield {Role.WORKERS: len(run.server_cpus)}


def _shorter_wait_in_queue(run: RunEvidence, finding: Finding) -> Iterator[Meanings]:
    """All that wait are taken at once; where they are, more may wait."""
    yield {Role.ACCEPT_BATCH: 0}
    queue = run.meaning(Role.ACCEPT_QUEUE, run.best)
    if queue:
        yield {Role.ACCEPT_QUEUE: LONGER_QUEUE * queue}


def _workers_that_wait(run: RunEvidence, finding: Finding) -> Iterator[Meanings]:
    yield {Role.WORKERS: WAITING_WORKERS * max(1, len(run.server_cpus))}


Remedy = Callable[[RunEvidence, Finding], Iterator[Meanings]]

REMEDIES: Mapping[str, Remedy] = {
    "connection-limit": _more_connections,
    "accept-queue-overflow": _shorter_wait_in_queue,
    "too-few-workers": _worker_for_each_cpu,
    "disk-wait": _workers_that_wait,
}
"""What helps against what a rule has found, the most telling rule first: a server that lets nobody in makes
the queue before it overflow, and the other way round that is not so.
"""


def _allowed(run: RunEvidence, finding: Finding) -> Iterator[Configuration]:
    """The remedies of a finding that this server has a free knob for, and does not have already."""
    remedy = REMEDIES.get(finding.rule)
    for wanted in () if remedy is None else remedy(run, finding):
        changed = _values(run, wanted)
        if changed and run.space.allows({**run.space.default(), **changed}):
            yield changed


def _values(run: RunEvidence, wanted: Meanings) -> Configuration:
    """The server's own values for one meaning, given what the rest of the default means; empty where it has
    no free knob for that, or would stay as it is.
    """
    ((role, meaning),) = wanted.items()
    equivalent, now = run.equivalents.get(role), run.meaning(role, run.best)
    free = {knob.name: knob for knob in run.space.free}
    if equivalent is None or now is None or now == meaning or equivalent.knob not in free:
        return {}
    known = {other: run.meaning(other, run.best) for other in run.equivalents}
    meanings = {other: value for other, value in known.items() if value is not None}
    value = _within(free[equivalent.knob], equivalent.write({**meanings, role: meaning}))
    changed = {equivalent.knob: value}
    descriptors = run.space.of_role(Role.DESCRIPTORS)
    if role is Role.CONNECTIONS and descriptors is not None and descriptors.name in free:
        changed |= _descriptors(descriptors, run.space.default()[descriptors.name], value)
    default = run.space.default()
    return {name: value for name, value in changed.items() if default[name] != value}


def _descriptors(knob: Knob, now: Value, connections: Value) -> Configuration:
    """Each connection may need two: its socket, and the file that is sent."""
    if not isinstance(now, int) or not isinstance(connections, int) or now >= 2 * connections:
        return {}
    return {knob.name: _within(knob, 2 * connections)}


def _within(knob: Knob, value: Value) -> Value:
    """The value that a knob can have which is nearest to what is wanted, in two digits."""
    if not isinstance(value, int):
        return value
    if knob.kind == "integer":
        return knob.at(knob.position(value))
    numbers = [choice for choice in knob.choices if isinstance(choice, int)]
    return min((n for n in numbers if n >= value), default=max(numbers, default=value))
