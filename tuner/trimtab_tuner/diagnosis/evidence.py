"""What the rules of diagnosis look at: the trials of a run, with everything that was counted during each
rate.

Counters are averages over one rate as the agent's sources name them (`cpu.total.iowait` is reached as
`rate.counter("cpu", "total", "iowait")`), in percent of one CPU's time, or of all CPUs' in totals. What the
server itself counted is in `server_stats`. Anything may be missing: a rule whose evidence is not there stays
silent. Rules ask for knobs by role and name them as the server does, so they hold for every server.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from trimtab_trials.configuration import Value
from trimtab_trials.measurement import FOLLOWS, Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.clients import Clients
from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets.equivalents import Equivalent
from trimtab_tuner.telling.capacity import capacity_of

OPEN_LOOP = Clients()
LEAST_KIB_PER_S = 64.0  # the slowest disks do so little when they are busy: some 20 seeks, a few KiB each


@dataclass(frozen=True, kw_only=True)
class RunEvidence:
    """What is diagnosed: a run's trials, the one in question (`best`), the clients and the server's CPUs.

    `space` has the knobs, `equivalents` what they come to in numbers that all servers share. What it serves
    are files, unless its clients speak another `protocol`.

    The measurements of a trial are in ascending order; most trials have none, as few are looked at. Where
    `clients` are a closed loop, numbers of connections take the place of the rates.
    """

    space: Space
    equivalents: Mapping[Role, Equivalent]
    best: Trial
    trials: tuple[Trial, ...]
    clients: Clients = OPEN_LOOP
    server_cpus: tuple[int, ...] = ()
    link_mbps: float | None = None
    protocol: ProtocolName = "http"

    @property
    def top(self) -> Measurement:
        """The best trial's highest rate."""
        return self.best.measurements[-1]

    def level(self, rate: Measurement) -> str:
        """A rung of the ladder in words."""
        return self.clients.level(rate.rate_rps)

    def saturated(self, rate: Measurement) -> bool:
        """Whether the server could not keep up with what was offered to the best configuration.

        A closed loop offers no more than is answered; there the server is saturated where it replies hardly
        more often than to half as many connections. Without such a rung below that is not known.
        """
        if self.clients.loop == "open":
            return not rate.followed
        rungs = self.best.measurements
        below = [other.reply_rate_rps for other in rungs if 2 * other.rate_rps <= rate.rate_rps]
        return bool(below) and FOLLOWS * rate.reply_rate_rps < max(below)

    @property
    def saturated_rate(self) -> Measurement:
        """The lowest rate of the best trial at which the server was saturated, else the highest."""
        return next((rate for rate in self.best.measurements if self.saturated(rate)), self.top)

    @property
    def gives_way(self) -> Measurement | None:
        """The lowest rate of the best trial at which the server was saturated, or broke a rule although it
        answered; None where there is none.
        """
        rates = self.best.measurements
        return next((rate for rate in rates if self.saturated(rate) or not rate.held), None)

    def server_cpu_mean(self, rate: Measurement, state: str) -> float | None:
        """The mean share of time in a state over the server's CPUs (all, if they are not known), in
        percent.
        """
        own = rate.cpus(self.server_cpus)
        if own:
            return sum(float(entry.get(state, 0.0)) for entry in own) / len(own)
        return rate.counter("cpu", "total", state)

    def value(self, knob: Knob) -> Value | None:
        """The best trial's value of a knob."""
        return self.best.configuration.get(knob.name)

    def waits_for_disk(self, rate: Measurement) -> float:
        """How much of the server's CPUs' time goes by with waiting for the disk, in percent.

        The kernel calls it waiting for I/O too when a process waits for its ring (io_uring(7)), whatever
        that is for: without anything read or written it is not the disk.
        """
        moved = (rate.counter("paging", f"{what}_kib_per_s") for what in ("read", "written"))
        if sum(kib for kib in moved if kib is not None) < LEAST_KIB_PER_S:
            return 0.0
        return self.server_cpu_mean(rate, "iowait") or 0.0

    def workers_busy(self, rate: Measurement) -> float | None:
        """How busy the CPUs are that its workers can use, in percent: as many of the server's as it has
        workers, the busiest ones. None if not counted.
        """
        each = rate.cpus(self.server_cpus)
        busy = sorted(100 - sum(float(cpu.get(state, 0.0)) for state in ("idle", "iowait")) for cpu in each)
        workers = self.meaning(Role.WORKERS, self.best)
        used = busy if workers is None else busy[-max(1, workers) :]
        return sum(used) / len(used) if used else None

    def meaning(self, role: Role, trial: Trial) -> int | None:
        """What a trial's configuration comes to in a role, whatever the server calls it; None where that
        cannot be told.
        """
        equivalent = self.equivalents.get(role)
        try:
            return None if equivalent is None else equivalent.read(trial.configuration)
        except (KeyError, ValueError):  # of an earlier version's knobs, or a word
            return None

    def connections(self, trial: Trial) -> int | None:
        """How many connections a trial's configuration allows in all; None where that cannot be told."""
        return self.meaning(Role.CONNECTIONS, trial)

    def of_climb(self) -> "RunEvidence":
        """The evidence of one climb: of its one trial, up to the first rate that it did not follow.

        A climb overshoots. What shows far above the capacity is how the server fares under overload, and not
        what keeps it from following more.
        """
        rates = self.best.measurements
        capacity = capacity_of(rates)
        most = (None if capacity is None else capacity.lost_rps) or math.inf
        near = replace(self.best, measurements=tuple(m for m in rates if m.rate_rps <= most))
        return replace(self, best=near, trials=(near,))

    @property
    def architecture(self) -> str | None:
        """What the server calls the knob of its architecture; None where there is no choice of several."""
        knob = self.space.of_role(Role.ARCHITECTURE)
        return None if knob is None or knob.count < 2 else knob.name

    def called(self, words: str, *roles: Role) -> str:
        """The words with the name of the server's knob behind them, if it has one of the first of these
        roles.
        """
        knob = self.space.of_role(*roles)
        return words if knob is None else f"{words} ({knob.name})"

    def knob_of(self, *roles: Role) -> str | None:
        """What the server calls its knob of the first of these roles that it has; None if it has none."""
        knob = self.space.of_role(*roles)
        return None if knob is None else knob.name
