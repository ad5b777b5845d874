"""Rules about a database: who is let in, what threads cost, and whether the tables fit into memory.

They ask for what only a database counts, so they keep silent about every other server.
"""

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.diagnosis.chart import over_rates
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding, finding
from trimtab_tuner.roles import Role
from trimtab_tuner.targets.servers.mariadb.knobs import HANDLING, POOL
from trimtab_tuner.wording import in_percent

REFUSED = "error-1040"
REFUSED_SHARE = 0.01
LOST_SHARE = 0.2
MADE_SHARE = 0.5
FEWEST_MADE_PER_S = 10.0
MISSED_SHARE = 0.01


def clients_refused(run: RunEvidence) -> Finding | None:
    """The server has as many clients as it may have, and sends the others away."""
    for rate in reversed(run.best.measurements):
        share = _refused_percent(rate)
        if share is None or share < 100 * REFUSED_SHARE:
            continue
        limit = run.connections(run.best)
        return finding(
            "clients-refused",
            run.best,
            rate,
            sentence=(
                f"At {run.level(rate)} {share:.0f} % of the clients were refused: the server had all the "
                f"{limit} connections that it allows."
            ),
            facts={
                "refused": (float(rate.failures[REFUSED]), "clients"),
                "allowed": (float(limit or 0), "connections"),
            },
            chart=over_rates(
                run.clients,
                "clients refused",
                "%",
                {"refused": (run.best, _refused_percent)},
                threshold=100 * REFUSED_SHARE,
            ),
            suggestion=(
                f"{run.called('Allow more connections', Role.CONNECTIONS)}, best with a pool of threads "
                f"({HANDLING} = {POOL}), so that they cost little while they wait."
            ),
            knob=run.knob_of(Role.CONNECTIONS),
            source="MariaDB, Server System Variables: beyond max_connections a client gets error 1040.",
        )
    return None


def threads_lose_throughput(run: RunEvidence) -> Finding | None:
    """With a thread for each connection, overload takes away what the server had reached below it."""
    trial = _threaded(run)
    if trial is None or run.clients.loop == "closed" or len(trial.measurements) < 2:
        return None
    top, peak = trial.measurements[-1], max(trial.measurements, key=lambda rate: rate.goodput_mbps)
    fall = 1 - top.goodput_mbps / peak.goodput_mbps if peak.goodput_mbps > 0 else 0.0
    if fall < LOST_SHARE:
        return None
    return finding(
        "threads-lose-throughput",
        trial,
        top,
        sentence=(
            f"With a thread for each connection goodput falls by {in_percent(fall)} from its peak at "
            f"{run.level(peak)}: more threads want the CPUs than get anything done."
        ),
        facts={
            "peak goodput": (peak.goodput_mbps, "Mbps"),
            "goodput at the highest rate": (top.goodput_mbps, "Mbps"),
        },
        chart=over_rates(
            run.clients,
            "goodput",
            "Mbps",
            {"goodput": (trial, lambda rate: rate.goodput_mbps)},
            threshold=(1 - LOST_SHARE) * peak.goodput_mbps,
            fires="below",
        ),
        suggestion=f"Use a pool of threads ({HANDLING} = {POOL}), or allow fewer connections.",
        knob=HANDLING,
        source=(
            "Welsh, Culler and Brewer (SEDA, SOSP 2001), section 2.1: throughput of a threaded server falls "
            "as threads are added."
        ),
    )


def threads_made_anew(run: RunEvidence) -> Finding | None:
    """Threads are not kept for the next connection: each one makes its own."""
    rate = run.saturated_rate
    share = _made_percent(rate)
    made_per_s = rate.server_stats.get("threads_created", 0.0) / max(rate.duration_s, 1e-9)
    if share is None or share < 100 * MADE_SHARE or made_per_s < FEWEST_MADE_PER_S or not _threads(run.best):
        return None
    return finding(
        "threads-made-anew",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} {made_per_s:,.0f} threads a second were made, for {share:.0f} % of the "
            "connections: those of earlier ones had not been kept."
        ),
        facts={"threads made": (made_per_s, "1/s"), "of the connections": (share, "%")},
        chart=over_rates(
            run.clients,
            "connections for which a thread was made",
            "%",
            {"made anew": (run.best, _made_percent)},
            threshold=100 * MADE_SHARE,
        ),
        suggestion=f"Keep more threads (thread_cache_size), or use a pool of threads ({HANDLING} = {POOL}).",
        knob="thread_cache_size",
        source="MariaDB, Server System Variables: thread_cache_size, Threads_created.",
    )


def buffer_pool_misses(run: RunEvidence) -> Finding | None:
    """Tables do not fit into the buffer pool: pages are read from disk again and again."""
    rate = run.saturated_rate
    share = _missed_percent(rate)
    if share is None or share < 100 * MISSED_SHARE:
        return None
    per_s = rate.server_stats["page_reads_from_disk"] / max(rate.duration_s, 1e-9)
    return finding(
        "buffer-pool-misses",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} {share:.1f} % of the pages asked for were not in memory, "
            f"{per_s:,.0f} a second."
        ),
        facts={"pages read from disk": (per_s, "1/s"), "of those asked for": (share, "%")},
        chart=over_rates(
            run.clients,
            "pages that were not in memory",
            "%",
            {"missed": (run.best, _missed_percent)},
            threshold=100 * MISSED_SHARE,
        ),
        suggestion=f"{run.called('Give the tables more memory', Role.CONTENT_CACHE)}.",
        knob=run.knob_of(Role.CONTENT_CACHE),
        source="MariaDB, InnoDB Buffer Pool: Innodb_buffer_pool_reads against read requests.",
    )


def _threads(trial: Trial) -> bool:
    """Whether each connection has a thread of its own."""
    return HANDLING in trial.configuration and trial.configuration[HANDLING] != POOL


def _threaded(run: RunEvidence) -> Trial | None:
    """The best trial if its connections have threads, else the latest with threads that was not verified."""
    if _threads(run.best):
        return run.best
    failed = [t for t in run.trials if t.verdict is Verdict.FAILED_VERIFICATION and _threads(t)]
    return failed[-1] if failed else None


def _refused_percent(rate: Measurement) -> float | None:
    refused = rate.failures.get(REFUSED)
    return None if not refused or not rate.sessions.started else 100 * refused / rate.sessions.started


def _made_percent(rate: Measurement) -> float | None:
    made, connections = (rate.server_stats.get(name) for name in ("threads_created", "connections_accepted"))
    return None if made is None or not connections else min(100.0, 100 * made / connections)


def _missed_percent(rate: Measurement) -> float | None:
    missed, asked = (rate.server_stats.get(name) for name in ("page_reads_from_disk", "page_reads"))
    return None if missed is None or not asked else 100 * missed / asked
