"""Rules about where CPU time goes: a quota, interrupts, locks, context switches, migration."""

from collections.abc import Mapping, Sequence
from functools import partial

from trimtab_trials.measurement import Measurement

from trimtab_tuner.diagnosis.chart import over_rates
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding, finding
from trimtab_tuner.roles import Role
from trimtab_tuner.wording import counted, in_percent

WORKERS_BUSY = 85.0  # percent of the CPUs that the workers can use at once
# A group that now and then wants all at once runs out in one period of many without being slower for it.
THROTTLED = 5.0
INTERRUPTS_BUSY = 40.0
OTHERS_IDLE = 20.0
LOCK_IDLE = 10.0
LOCK_WAITS_PER_REQUEST = 0.05
SWITCHES_PER_REPLY = 4.0
SYSTEM_BUSY = 40.0
# Of the share of moves that processes without any attachment to a CPU would show: half of them on two CPUs,
# for they may end where they began.
MOVED_SHARE = 0.5
MOST_CPUS_SHOWN = 4


def too_few_workers(run: RunEvidence) -> Finding | None:
    """There are fewer workers than CPUs, and each keeps one busy, while the others idle."""
    rate, cpus = run.saturated_rate, len(run.server_cpus)
    workers, busy = run.meaning(Role.WORKERS, run.best), run.workers_busy(rate)
    if run.protocol != "http" or workers is None or busy is None or not run.saturated(rate):
        return None
    idle = run.server_cpu_mean(rate, "idle") or 0.0
    if not 0 < workers < cpus or busy < WORKERS_BUSY or idle < OTHERS_IDLE:
        return None
    return finding(
        "too-few-workers",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} {counted(workers, 'worker')} can use no more than "
            f"{counted(workers, 'CPU')} of the server's {cpus}, which idle {idle:.0f} % of the time."
        ),
        facts={
            "workers": (float(workers), ""),
            "CPUs of the server": (float(cpus), ""),
            "CPUs that its workers use: busy": (busy, "%"),
            "CPUs of the server: idle": (idle, "%"),
        },
        chart=over_rates(
            run.clients,
            "CPUs that its workers use",
            "%",
            {"busy": (run.best, run.workers_busy)},
            threshold=WORKERS_BUSY,
        ),
        suggestion=f"{run.called('Use a worker for each CPU', Role.WORKERS)}.",
        knob=run.knob_of(Role.WORKERS),
        source="nginx documentation, ngx_core_module, worker_processes: as many as there are CPUs.",
    )


def quota_is_used_up(run: RunEvidence) -> Finding | None:
    """The control group's CPU time is used up before a period is over, and everything in it stands still."""
    worst = max(run.best.measurements, key=lambda rate: _throttled(rate) or 0.0)
    throttled, quota = _throttled(worst), worst.counter("cpu_quota", "cpus")
    if throttled is None or quota is None or throttled < THROTTLED:
        return None
    stood_still = worst.counter("cpu_quota", "throttled_cpu") or 0.0
    return finding(
        "quota-is-used-up",
        run.best,
        worst,
        sentence=(
            f"At {run.level(worst)} the quota of {quota:.3g} CPUs was used up in {throttled:.0f} % of its "
            "periods, and the group throttled: server and generator then stand still until the next one "
            "begins."
        ),
        facts={
            "CPU quota": (quota, "CPUs"),
            "throttled periods (nr_throttled of nr_periods)": (throttled, "%"),
            "time that CPUs stood still": (stood_still, "% of a CPU"),
        },
        chart=over_rates(
            run.clients,
            "periods in which the quota was used up",
            "%",
            {"throttled": (run.best, _throttled)},
            threshold=THROTTLED,
        ),
        suggestion=(
            "Raise the quota of the control group, or measure where there is none: no configuration has more "
            f"CPU time than it pays for. {run.called('More workers', Role.WORKERS)} only use it up sooner."
        ),
        knob=run.knob_of(Role.WORKERS),
        source="Linux kernel documentation, scheduler/sched-bwc.rst (nr_throttled, throttled_time).",
    )


def interrupts_on_one_cpu(run: RunEvidence) -> Finding | None:
    """One CPU is busy with interrupts while the others have time."""
    rate = run.top
    cpus = rate.cpus(range(4096))
    if len(cpus) < 2:
        return None
    load = [_interrupts(cpu) for cpu in cpus]
    busiest = max(range(len(cpus)), key=lambda i: load[i])
    others = [i for i in range(len(cpus)) if i != busiest]
    rest = sum(load[i] for i in others) / len(others)
    idle = sum(float(cpus[i].get("idle", 0.0)) for i in others) / len(others)
    if load[busiest] < INTERRUPTS_BUSY or load[busiest] < 3 * rest or idle < OTHERS_IDLE:
        return None
    number = int(cpus[busiest]["cpu"])
    return finding(
        "interrupts-on-one-cpu",
        run.best,
        rate,
        sentence=(
            f"CPU {number} spends {load[busiest]:.0f} % of its time on interrupts, the others {rest:.0f} %, "
            f"while they idle {idle:.0f} %."
        ),
        facts={
            f"CPU {number}: irq + softirq": (load[busiest], "%"),
            "other CPUs: irq + softirq": (rest, "%"),
            "other CPUs: idle": (idle, "%"),
        },
        chart=over_rates(
            run.clients,
            "irq + softirq",
            "%",
            {
                f"CPU {number}": (run.best, partial(_interrupts_of, number))
                for number in (int(cpu["cpu"]) for cpu in _busiest(cpus))
            },
            threshold=INTERRUPTS_BUSY,
        ),
        suggestion="Spread the interrupts over the CPUs, each with the process it serves (affinity plan).",
        knob=run.knob_of(Role.PLACEMENT),
        source=(
            "Harji 2010, section 4.4: aligned affinity 6202 Mbps, none 2375; Hashemian 2013, table 1: +45 %."
        ),
    )


def lock_contention(run: RunEvidence) -> Finding | None:
    """CPUs idle at saturation although work is waiting, and locks had to be waited for."""
    rate = run.top
    idle, iowait = run.server_cpu_mean(rate, "idle"), run.server_cpu_mean(rate, "iowait") or 0.0
    waits = _lock_waits_per_request(rate)
    if waits is None or idle is None or not run.saturated(rate) or iowait >= LOCK_IDLE:
        return None
    if idle < LOCK_IDLE or waits < LOCK_WAITS_PER_REQUEST:
        return None
    return finding(
        "lock-contention",
        run.best,
        rate,
        sentence=(
            f"At saturation the server's CPUs idle {idle:.0f} % while locks were waited for "
            f"{waits:.2f} times per request."
        ),
        facts={
            "idle": (idle, "%"),
            "lock waits per request": (waits, ""),
            "replies": (rate.reply_rate_rps, "1/s"),
        },
        chart=over_rates(
            run.clients,
            "lock waits per request",
            "",
            {"lock waits": (run.best, _lock_waits_per_request)},
            threshold=LOCK_WAITS_PER_REQUEST,
        ),
        suggestion=_against_locks(run),
        knob=run.knob_of(Role.CACHE_LOCK, Role.WORKERS),
        source=(
            "Harji 2010, section 4.6.1: 26 % idle with a mutex cache; readers-writer locks "
            "gave 5 % more peak."
        ),
    )


def context_switch_overhead(run: RunEvidence) -> Finding | None:
    """Several context switches for every reply, and the kernel busy, where the server cannot keep up.

    They are counted for the whole host: while there is time left, generator and server wake each other for
    every single reply, and that takes as many.
    """
    rate = run.top
    per_reply, system = _switches_per_reply(rate), run.server_cpu_mean(rate, "system")
    if per_reply is None or system is None or not run.saturated(rate):
        return None
    if per_reply < SWITCHES_PER_REPLY or system < SYSTEM_BUSY:
        return None
    return finding(
        "context-switch-overhead",
        run.best,
        rate,
        sentence=(
            f"{per_reply:.1f} context switches per reply, and {system:.0f} % of the server's "
            "CPUs go to the kernel."
        ),
        facts={"context switches per reply": (per_reply, ""), "system time": (system, "%")},
        chart=over_rates(
            run.clients,
            "context switches per reply",
            "",
            {"switches": (run.best, _switches_per_reply)},
            threshold=SWITCHES_PER_REPLY,
        ),
        suggestion=_against_switches(run),
        knob=run.knob_of(Role.WORKERS),
        source=(
            "Chanda 2003 (ServLib), chapter 4: one kernel thread per connection makes "
            "about 140 times the wake-ups."
        ),
    )


def process_migration(run: RunEvidence) -> Finding | None:
    """Server processes that keep turning up on other CPUs although there is one for each that works."""
    cpus, plan = len(run.server_cpus), run.space.of_role(Role.PLACEMENT)
    if cpus < 2 or (plan is not None and run.value(plan) not in (None, "none")):
        return None
    moved, seen = 0.0, 0.0
    for rate in run.best.measurements:
        busy = rate.counter("server_processes", "busy") or 0.0
        if 0 < busy <= cpus:
            moved += rate.counter("server_processes", "moved") or 0.0
            seen += busy
    least = MOVED_SHARE * (cpus - 1) / cpus
    if seen < 4 or moved < least * seen:
        return None
    return finding(
        "process-migration",
        run.best,
        run.top,
        sentence=(
            f"Between the beginning and the end of a rate {in_percent(moved / seen)} of the server processes "
            "had changed their CPU."
        ),
        facts={"processes that had moved": (100 * moved / seen, "%")},
        chart=over_rates(
            run.clients,
            "server processes that had moved",
            "%",
            {"moved": (run.best, _percent_moved)},
            threshold=100 * least,
        ),
        suggestion="Pin each worker to a CPU" + (f" ({plan.name} = process)." if plan else "."),
        knob=run.knob_of(Role.PLACEMENT),
        source="Hashemian 2013, table 1: core affinity gave 9 to 10 %.",
    )


def _throttled(rate: Measurement) -> float | None:
    return rate.counter("cpu_quota", "throttled_percent")


def _against_locks(run: RunEvidence) -> str:
    lock, fewer = run.knob_of(Role.CACHE_LOCK), run.called("fewer workers", Role.WORKERS)
    if lock is None:
        return f"Use {fewer}."
    return f"Use readers-writer locks for the cache ({lock} = rw), or {fewer} sharing it."


def _against_switches(run: RunEvidence) -> str:
    fewer, architecture = run.called("Use fewer workers", Role.WORKERS), run.architecture
    if architecture is None:
        return f"{fewer}."
    return f"{fewer}, or an event-driven {architecture} with several connections per thread."


def _interrupts(cpu: Mapping[str, float]) -> float:
    """Time on interrupts, in percent of the CPU."""
    return float(cpu.get("softirq", 0.0)) + float(cpu.get("irq", 0.0))


def _interrupts_of(number: int, rate: Measurement) -> float | None:
    return next((_interrupts(cpu) for cpu in rate.cpus((number,))), None)


def _busiest(cpus: Sequence[Mapping[str, float]]) -> list[Mapping[str, float]]:
    """The CPUs with the most interrupts, as many as a chart can tell apart."""
    return sorted(cpus, key=_interrupts, reverse=True)[:MOST_CPUS_SHOWN]


def _lock_waits_per_request(rate: Measurement) -> float | None:
    waits, requests = rate.server_stats.get("lock_waits"), rate.server_stats.get("requests", 0.0)
    return None if waits is None or not requests else waits / requests


def _switches_per_reply(rate: Measurement) -> float | None:
    switches = rate.counter("cpu", "context_switches_per_s")
    return None if switches is None or rate.reply_rate_rps <= 0 else switches / rate.reply_rate_rps


def _percent_moved(rate: Measurement) -> float | None:
    busy = rate.counter("server_processes", "busy")
    return 100 * (rate.counter("server_processes", "moved") or 0.0) / busy if busy else None
