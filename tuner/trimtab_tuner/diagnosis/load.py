"""Rules about the load itself: when not the server but what drives it, or what lies between, is the limit."""

from statistics import median, median_low

from trimtab_trials.measurement import GENERATOR_LATE_US, Measurement

from trimtab_tuner.diagnosis.chart import EvidenceChart, over_rates
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding, finding
from trimtab_tuner.wording import in_digits, in_mbps

GENERATOR_BUSY = 90.0
# Headers from Ethernet to HTTP and what is sent again take the rest: on a profile of 100 Mbit/s, overloaded
# many times over, goodput peaked at 79 to 91 in measurements of one and a half seconds.
LINK_FULL = 0.78
STOLEN = 5.0
# Beside programs that took the rest of both CPUs single rates differed by 10 to 25 %; Trimtab's own agent and
# the kernel's threads stay below 4 %.
FOREIGN = 10.0


def generator_is_the_bottleneck(run: RunEvidence) -> Finding | None:
    """The generator's CPU is all but used up, or it could not offer what it should have.

    It may be late with time to spare: then it is not the CPU that it lacks, and its own words count. A rate
    below one that was followed, by whichever configuration, is no limit.
    """
    most = _highest_followed(run)
    for rate in reversed(run.best.measurements):
        if rate.rate_rps < most:
            break
        busy = _generator_percent(rate)
        full = busy is not None and busy >= GENERATOR_BUSY
        if not rate.generator_limited and not full:
            continue
        facts = {"offered": (rate.rate_rps, run.clients.level_unit)}
        if busy is not None:
            facts = {"generator CPU": (busy, "%"), **facts}
        lateness = over_rates(
            run.clients,
            "99th percentile of the arrivals' lateness",
            "us",
            {"arrivals": (run.best, _lateness_us)},
            threshold=GENERATOR_LATE_US,
        )
        used = over_rates(
            run.clients,
            "CPU of the generator",
            "%",
            {"generator": (run.best, _generator_percent)},
            threshold=GENERATOR_BUSY,
        )
        return finding(
            "generator-is-the-bottleneck",
            run.best,
            rate,
            sentence=(
                f"At {run.level(rate)} the load generator is at its limit ({busy:.0f} % of a CPU): faster "
                "configurations cannot show."
                if full
                else f"At {run.level(rate)} the load generator could not offer what it should have, so "
                f"faster configurations cannot show. {_own_words(rate)}"
            ),
            facts=facts,
            chart=used if full or not _known(lateness) else lateness,
            suggestion="Give the generator more CPUs or further machines, or tune for fewer server CPUs."
            if full
            else "Stop what else runs on the generator's CPUs, or give it further machines.",
            knob=None,
            source="Harji 2010, section 3.2: clients must never be the limit; the generator's own verdict.",
        )
    return None


def _highest_followed(run: RunEvidence) -> float:
    """The highest rate that the generator has offered and the server followed, as far as trials tell; 0 in a
    closed loop, which offers what is answered.
    """
    if run.clients.loop == "closed":
        return 0.0
    rates = (m for trial in (run.best, *run.trials) for m in trial.measurements)
    return max((m.rate_rps for m in rates if m.followed and not m.generator_limited), default=0.0)


def link_is_the_bottleneck(run: RunEvidence) -> Finding | None:
    """Goodput is what the network link can carry."""
    if run.link_mbps is None:
        return None
    peak = max(run.best.measurements, key=lambda rate: rate.goodput_mbps)
    if peak.goodput_mbps < LINK_FULL * run.link_mbps:
        return None
    return finding(
        "link-is-the-bottleneck",
        run.best,
        peak,
        sentence=f"Goodput reaches {in_digits(peak.goodput_mbps)} of the link's {in_mbps(run.link_mbps)}.",
        facts={"peak goodput": (peak.goodput_mbps, "Mbps"), "link": (run.link_mbps, "Mbps")},
        chart=over_rates(
            run.clients,
            "goodput",
            "Mbps",
            {"goodput": (run.best, lambda rate: rate.goodput_mbps)},
            threshold=LINK_FULL * run.link_mbps,
        ),
        suggestion="Add links or use smaller files; no configuration can gain more on this link.",
        knob=None,
        source="Harji 2010, section 3.1: four 1 GbE links so that the network is never the limit.",
    )


def stolen_time(run: RunEvidence) -> Finding | None:
    """The hypervisor gives the server's CPUs to somebody else."""
    rate = run.top
    stolen = run.server_cpu_mean(rate, "steal")
    if stolen is None or stolen < STOLEN:
        return None
    return finding(
        "stolen-time",
        run.best,
        rate,
        sentence=f"The hypervisor takes {stolen:.0f} % of the server's CPU time.",
        facts={"steal": (stolen, "%")},
        chart=over_rates(
            run.clients,
            "steal on the server's CPUs",
            "%",
            {"steal": (run.best, lambda rate: run.server_cpu_mean(rate, "steal"))},
            threshold=STOLEN,
        ),
        suggestion=(
            "Measure on a quieter or a dedicated host; trust differences only where they were repeated."
        ),
        knob=None,
        source="Linux kernel documentation, filesystems/proc.rst §1.7 (steal: involuntary wait).",
    )


def other_processes(run: RunEvidence) -> Finding | None:
    """Other programs run on the server's CPUs all the time, so no single rate stands out as disturbed."""

    def foreign(rate: Measurement) -> float | None:
        return rate.percent_taken_by_others(run.server_cpus)

    taken = [percent for rate in run.best.measurements if (percent := foreign(rate)) is not None]
    if not taken or median(taken) < FOREIGN:
        return None
    usual = median_low(taken)
    return finding(
        "other-processes",
        run.best,
        next(rate for rate in run.best.measurements if foreign(rate) == usual),
        sentence=f"Other processes had {usual:.0f} % of the server's CPUs in the median rate.",
        facts={"other processes": (usual, "%")},
        chart=over_rates(
            run.clients,
            "other processes on the server's CPUs",
            "%",
            {"other processes": (run.best, foreign)},
            threshold=FOREIGN,
        ),
        suggestion=(
            "Stop them, or start Trimtab on other CPUs (taskset -c CPUS trimtab tune). What is announced is "
            "what the server does beside them, and is less certain."
        ),
        knob=None,
        source="TUNA, arXiv 2503.01801: what a noisy neighbour takes decides which configuration looks best.",
    )


def _own_words(rate: Measurement) -> str:
    """Why the generator says that it was the limit, in its own sentences."""
    reasons = rate.health.get("reasons") or ["It says no more about it."]
    return " ".join(f"{str(reason).rstrip('.')}." for reason in reasons)


def _lateness_us(rate: Measurement) -> float | None:
    late = rate.health.get("lateness_p99_us")
    return float(late) if isinstance(late, int | float) else None


def _known(chart: EvidenceChart) -> bool:
    return any(series.points for series in chart.series)


def _generator_percent(rate: Measurement) -> float | None:
    """What the generator used of a CPU."""
    return None if rate.generator_cpu_share is None else 100 * rate.generator_cpu_share
