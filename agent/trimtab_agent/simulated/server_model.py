"""A small model of a server: what it answers at a rate, from what its knobs mean.

It is made for testing what decides, shows and keeps, and for looking round. It says nothing about any real
server, and no figure of it is ever published.

- CPU. `workers` up to the number of CPUs add up; beyond, each costs a little. `capacity_rps` is one CPU's.
- Connections. A client keeps its connection while it thinks, so a limit of L lets through L / `holding`
  requests per second; the default's limit lets through `default_share` of what the CPUs can do.
- Overload. What is asked beyond the capacity costs `overload_loss` of it, and never more than half.
- Effects. A knob with an effect gains it at its best value and half of it half-way there.
- Time. A reply takes the service time over what is left idle, as in M/M/1, and no longer than the clients'
  patience. What is not answered has timed out, before the server read it where connections are short.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from trimtab_trials.configuration import Configuration, Value
from trimtab_trials.measurement import Latency, Measurement, RequestCounts, SessionCounts, SizeClassCounts
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import space_of
from trimtab_tuner.targets.equivalents import equivalents_of

from trimtab_agent.simulated.scenario import Scenario
from trimtab_agent.station.requirements import for_workload

WORKER_COST = 0.01  # of the capacity, for each worker beyond the CPUs
BASE_BYTES, WORKER_BYTES, CONNECTION_BYTES = 6 << 20, 3 << 20, 2 << 10
FAILED_REPLIES = 0.9
USED_BY_OTHERS = 0.6
REQUESTS_PER_SESSION = 5
STARVED = 0.06  # of what it was to offer a generator offers that others keep from its CPU


@dataclass(frozen=True, kw_only=True)
class SimulatedServer:
    """A server with one configuration, in one trial; `sizes` are the workload's file sizes in bytes."""

    job: TrialJob
    scenario: Scenario
    trial: int
    sizes: tuple[int, ...]
    cpus: tuple[int, ...]
    generator_cpus: tuple[int, ...]

    def measure(self, number: int, rate_rps: float, incidents: frozenset[str]) -> Measurement:
        """What one rate would have measured; in a closed loop `rate_rps` is a number of connections."""
        job = self.job
        window_s = job.rate_duration_s - job.warmup_s
        closed = job.clients.loop == "closed"
        capacity_rps = self.capacity_rps * self._noise(number)
        offered_rps = min(capacity_rps, rate_rps / self.service_s) if closed else rate_rps
        starved = "generator-starved" in incidents
        limited = starved or "generator-limited" in incidents or offered_rps > self.scenario.generator_rps
        if limited:
            offered_rps = min(offered_rps, self.scenario.generator_rps) * (STARVED if starved else 0.8)
        if "disturbed" in incidents:
            capacity_rps *= 1 - USED_BY_OTHERS
        load = offered_rps / capacity_rps
        over = max(0.0, load - 1)
        replied_rps = min(offered_rps, capacity_rps) * (1 - min(0.5, self.scenario.overload_loss * over))
        hangs = "hangs" in incidents
        if hangs:
            replied_rps = 0.0
        classes = self._classes(offered_rps * window_s, replied_rps / offered_rps, incidents)
        asked, replied = sum(c.asked for c in classes), sum(c.replied for c in classes)
        read_in_vain = sum(c.timed_out_after_read for c in classes)
        unread = sum(c.timed_out_before_read for c in classes)
        failed = sum(c.failed for c in classes)
        received = sum(c.replied * c.size_bytes for c in classes)
        sessions = max(1, asked // REQUESTS_PER_SESSION)
        given_up = min(sessions, unread + read_in_vain)
        return Measurement(
            number=number,
            rate_rps=rate_rps,
            goodput_mbps=8 * received / window_s / 1e6,
            reply_rate_rps=replied / window_s,
            due_rate_rps=None if closed else asked / window_s,
            requests=RequestCounts(
                offered=asked,
                replied=replied,
                timed_out_before_read=unread,
                timed_out_after_read=read_in_vain,
                failed=failed,
            ),
            sessions=SessionCounts(
                offered=sessions,
                started=sessions,
                completed=sessions - given_up,
                timed_out=given_up,
            ),
            reply_latency=self._latency(load, 1.0),
            first_byte_latency=self._latency(load, 0.8),
            connect_latency=self._latency(load, 0.1),
            generator_limited=limited,
            duration_s=job.rate_duration_s,
            warmup_s=job.warmup_s,
            elapsed_s=job.rate_duration_s,
            bytes_received=received,
            failures={"status-503": failed} if failed else {},
            health={
                **self._health(offered_rps, limited=limited, starved=starved),
                "most_open": math.ceil(rate_rps if closed else offered_rps / self._rps_of_connection),
            },
            server_stats={
                "requests": float(replied + read_in_vain),
                "connections_accepted": float(0 if hangs else sessions),
            },
            counters=self._counters(load, replied_rps, window_s, incidents),
            size_classes=classes,
        )

    @property
    def service_s(self) -> float:
        """The CPU time of one request."""
        return 1 / (self.scenario.capacity_rps * self._gained)

    @cached_property
    def capacity_rps(self) -> float:
        """What it answers at most: as its CPUs or its limit of connections allow."""
        return min(self._cpu_rps(self.job.configuration), self._connections_rps(self.job.configuration))

    @cached_property
    def _space(self) -> Space:
        target = TARGETS[self.job.target]
        space = space_of(target, self.job.configuration, len(self.cpus))
        return for_workload(space, target, self.job.workload.definition)

    @cached_property
    def _gained(self) -> float:
        gained = 1.0
        for name, effect in self.scenario.effects.items():
            knob = next((knob for knob in self._space.knobs if knob.name == name), None)
            if knob is not None:
                value = self.job.configuration.get(name, knob.default)
                gained *= 1 + effect * self._nearness(knob, value)
        return gained

    def _nearness(self, knob: Knob, value: Value) -> float:
        """How near a value is to the knob's best: 1 there, 0 at the default."""
        best = self._best(knob)
        if value == best:
            return 1.0
        if value == knob.default or not isinstance(value, int) or not isinstance(best, int):
            return 0.0
        here, there, start = (knob.position(each) for each in (value, best, knob.default))
        return max(0.0, 1 - abs(here - there) / max(abs(start - there), 1e-9))

    def _best(self, knob: Knob) -> Value:
        """The knob's best value: drawn by the seed, another than the default."""
        digest = hashlib.sha256(f"{self.scenario.seed} {knob.name}".encode()).digest()
        for step in range(16):
            best = knob.at(digest[step] / 255)
            if best != knob.default:
                return best
        return knob.default

    def _workers(self, configuration: Configuration) -> int:
        knob = self._space.of_role(Role.WORKERS)
        value = None if knob is None else configuration.get(knob.name, knob.default)
        return value if isinstance(value, int) and value > 0 else len(self.cpus)

    def _cpu_rps(self, configuration: Configuration) -> float:
        workers, cpus = self._workers(configuration), len(self.cpus)
        spread = min(workers, cpus) / (1 + WORKER_COST * max(0, workers - cpus))
        return self.scenario.capacity_rps * self._gained * spread

    def _connections(self, configuration: Configuration) -> float:
        """Over all workers, as the server counts them."""
        whole = {**self._space.default(), **configuration}
        meanings = equivalents_of(TARGETS[self.job.target].equivalents, whole)
        return float(meanings[Role.CONNECTIONS].read(whole))

    def _connections_rps(self, configuration: Configuration) -> float:
        return self._connections(configuration) * self._rps_of_connection

    @cached_property
    def _rps_of_connection(self) -> float:
        default_rps = self.scenario.default_share * self.scenario.capacity_rps * len(self.cpus)
        return default_rps / self._connections(self._space.default())

    def _noise(self, number: int) -> float:
        """The factor of this trial and rate; the same for the same seed, trial and rate."""
        scenario = self.scenario
        between = np.random.default_rng([scenario.seed, self.trial]).normal(0, scenario.noise_between)
        within = np.random.default_rng([scenario.seed, self.trial, number]).normal(0, scenario.noise_within)
        return float(math.exp(between + within) * (1 - scenario.drift_per_trial) ** self.trial)

    def _classes(
        self, asked: float, answered: float, incidents: frozenset[str]
    ) -> tuple[SizeClassCounts, ...]:
        """What became of each size; large ones are asked for less often, though often enough to be judged."""
        weights = np.array([1 / math.sqrt(size) for size in self.sizes])
        counts = np.maximum(1, np.round(asked * weights / weights.sum())).astype(int)
        short = self.capacity_rps < self._cpu_rps(self.job.configuration)
        found = []
        for size, count in zip(self.sizes, counts.tolist(), strict=True):
            share = answered
            if "starves" in incidents and size == max(self.sizes):
                share = 0.0
            replied = round(count * share)
            failed = round(replied * (1 - FAILED_REPLIES)) if "fails" in incidents else 0
            late = count - replied
            # Short of connections the kernel lets clients wait; short of CPU the server has read them.
            unread = (
                late if short and "starves" not in incidents else round(late * 0.95 * (share == answered))
            )
            found.append(
                SizeClassCounts(
                    size_bytes=size,
                    asked=count,
                    replied=replied - failed,
                    timed_out_before_read=unread,
                    timed_out_after_read=late - unread,
                    failed=failed,
                    abandoned=0,
                )
            )
        return tuple(found)

    def _latency(self, load: float, share: float) -> Latency:
        patience_us = self.job.timeout_s * 1e6
        service_us = share * max(60.0, self.service_s * 1e6)
        mean_us = min(patience_us, service_us / max(1e-4, 1 - load)) if load < 1 else patience_us * 0.5

        def quantile(q: float) -> float:
            return round(min(patience_us, service_us + mean_us * -math.log(1 - q)), 1)

        return Latency(
            p50_us=quantile(0.5),
            p90_us=quantile(0.9),
            p99_us=quantile(0.99),
            p999_us=quantile(0.999),
            max_us=quantile(0.99999),
            mean_us=round(mean_us, 1),
        )

    def _health(self, offered_rps: float, *, limited: bool, starved: bool) -> dict[str, object]:
        if starved:
            reasons = ["More than one in a hundred arrivals were more than 10000 us late."]
            return {"cpu_share": STARVED, "reasons": reasons, "lateness_p99_us": 250_000}
        share = min(1.0, offered_rps / self.scenario.generator_rps)
        reasons = ["it used 100 % of its CPU and fell behind its plan"] if limited else []
        return {"cpu_share": round(1.0 if limited else share, 3), "reasons": reasons}

    def _counters(
        self, load: float, replied_rps: float, window_s: float, incidents: frozenset[str]
    ) -> dict[str, object]:
        used = 100.0 * min(1.0, replied_rps * self.service_s / len(self.cpus))
        others = 100.0 * USED_BY_OTHERS if "disturbed" in incidents else 0.5
        generator = min(100.0, 100.0 * replied_rps / self.scenario.generator_rps)
        workers = self._workers(self.job.configuration)
        working = min(workers, len(self.cpus))
        shares = [used * len(self.cpus) / working * (number < working) for number in range(len(self.cpus))]
        cpus = [
            _cpu(cpu, min(100.0, share + others)) for cpu, share in zip(self.cpus, shares, strict=True)
        ] + [_cpu(cpu, generator) for cpu in self.generator_cpus]
        memory = BASE_BYTES + workers * WORKER_BYTES
        connections = self._connections(self.job.configuration)
        memory += round(CONNECTION_BYTES * (0 if math.isinf(connections) else connections))
        waiting = load > 1 and self.capacity_rps < self._cpu_rps(self.job.configuration)
        return {
            "cpu": {
                "total": {
                    state: round(sum(cpu[state] for cpu in cpus) / len(cpus), 2)
                    for state in cpus[0]
                    if state != "cpu"
                },
                "cpus": sorted(cpus, key=lambda cpu: cpu["cpu"]),
                "context_switches_per_s": round(replied_rps * 0.8, 1),
                "run_queue": round(load * len(self.cpus), 1),
                "blocked": 0.0,
            },
            "server_processes": {
                "user": round(0.3 * used * len(self.cpus), 2),
                "system": round(0.7 * used * len(self.cpus), 2),
                "busy": round(used, 2),
                "cpu_s": round(used / 100 * len(self.cpus) * window_s, 4),
                "peak_memory_bytes": memory,
            },
            "server_workers": {"workers": [_worker(n, workers, replied_rps, used) for n in range(workers)]},
            "network": {
                "listen_overflows_per_s": round(replied_rps * 0.1, 1) if waiting else 0.0,
                "softnet": [],
            },
        }


def _worker(number: int, workers: int, replied_rps: float, used: float) -> dict[str, float]:
    """One of `workers`, among which the load is spread evenly; it is no process, so its number is 0."""
    return {
        "worker": number,
        "pid": 0,
        "requests_per_s": round(replied_rps / workers, 1),
        "cpu": round(used / workers, 2),
    }


def _cpu(cpu: int, busy: float) -> dict[str, float]:
    states = {"user": 0.3, "system": 0.5, "softirq": 0.2}
    return {
        "cpu": cpu,
        **{state: round(share * busy, 2) for state, share in states.items()},
        "nice": 0.0,
        "iowait": 0.0,
        "irq": 0.0,
        "steal": 0.0,
        "idle": round(100.0 - busy, 2),
    }
