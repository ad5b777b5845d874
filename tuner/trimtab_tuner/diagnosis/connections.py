"""Rules about connections: how many are let in, and who gets served once inside."""

import math
from statistics import fmean

from trimtab_trials.measurement import Measurement, SizeClassCounts
from trimtab_trials.trial import Trial, TrialPurpose, Verdict

from trimtab_tuner.certainty.noise import noise_of
from trimtab_tuner.diagnosis.chart import ChartPoint, ChartSeries, EvidenceChart, over_rates
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding, finding
from trimtab_tuner.roles import BLOCKING, Role
from trimtab_tuner.space import Knob
from trimtab_tuner.wording import in_percent

CONNECTION_ROLES = (Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER)

NOT_BUSY = 85.0  # percent of the CPUs that its workers can use: then these are not what it lacks
WAITS_FOR_DISK = 15.0
UNREAD_SHARE = 0.01
SHUT_SHARE = 0.005  # of the requests
ALLOWED_FACT = "connections allowed"
BUSY_FACT = "CPUs that its workers can use: busy"
FULL_SHARE = 0.8  # some servers keep an eighth of their places free, or take an idle client's
CEILING_GAIN = 0.03
CEILING_ERRORS = 2.0  # standard deviations of the difference of the two means
STARVING_SHARE = 0.02
STARVING_FACTOR = 3.0
OVERFLOW_SHARE = 0.01
OWN_SHARE = 0.5
LARGE_SHARE = 0.25
TAIL_FALL = 0.2


def connection_limit(run: RunEvidence) -> Finding | None:
    """So few connections are allowed that no more gets in.

    Clients wait unread, or all places are taken, while the server's CPUs have time. Or the server closes
    connections that clients still use, to have their places for others, as nginx and Apache do: that is no
    less true while its CPUs are busy, for a server that has more connections to choose from does more for
    each waking.

    One trial shows it. A server that waits for its disk has time as well, and lacks something else.
    """
    rate, most = run.gives_way, run.connections(run.best)
    equivalent = run.equivalents.get(Role.CONNECTIONS)
    if run.protocol != "http" or equivalent is None or not most or rate is None:
        return None
    busy = run.workers_busy(rate)
    if busy is None:
        return None
    unread = rate.requests.timed_out_before_read / max(1, rate.requests.offered)
    taken = rate.counter("server", "connections_open")
    full = taken is not None and taken >= FULL_SHARE * most
    shut = _closed_to_make_room(run, rate)
    waits = busy <= NOT_BUSY and run.waits_for_disk(rate) < WAITS_FOR_DISK
    if not shut and not (waits and (full or unread >= UNREAD_SHARE)):
        return None
    facts = {
        ALLOWED_FACT: (float(most), ""),
        "requests that timed out unread": (100 * unread, "%"),
        BUSY_FACT: (busy, "%"),
    }
    if shut:
        facts["requests whose connection the server closed"] = (100 * shut, "%")
    if taken is not None:
        facts["connections open"] = (taken, "")
    allowed = f"the {most:,} connections that are allowed ({equivalent.knob})"
    return finding(
        "connection-limit",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} the server closed the connection under {in_percent(shut, 1)} of the "
            f"requests, and under hardly any while it kept up: {allowed} are taken, and it makes room."
            if shut
            else f"At {run.level(rate)} clients wait for one of {allowed}, while the CPUs that the server "
            f"uses are only {busy:.0f} % busy."
        ),
        facts=facts,
        chart=over_rates(
            run.clients,
            "requests whose connection the server closed",
            "%",
            {"closed": (run.best, lambda rate: 100 * _shut_by_server(rate))},
            threshold=100 * SHUT_SHARE,
        )
        if shut
        else over_rates(
            run.clients,
            "CPUs that its workers can use",
            "%",
            {"busy": (run.best, run.workers_busy)},
            threshold=NOT_BUSY,
            fires="below",
        ),
        suggestion=f"Allow more connections ({equivalent.knob}).",
        knob=equivalent.knob,
        source="Harji 2010, section 3.10: with too few connections more clients bring no more replies.",
    )


def _closed_to_make_room(run: RunEvidence, rate: Measurement) -> float:
    """The share of the requests whose connection the server closed to have its place; 0 where that is small,
    or where it closed some while it kept up, and so for another reason.
    """
    shut, below = _shut_by_server(rate), [m for m in run.best.measurements if m.rate_rps < rate.rate_rps]
    if shut < SHUT_SHARE or not below or any(_shut_by_server(m) >= SHUT_SHARE / 5 for m in below):
        return 0.0
    return shut


def _shut_by_server(rate: Measurement) -> float:
    """The share of the requests that failed because the server had closed their connection."""
    closed: int = sum(rate.failures.get(how, 0) for how in ("closed-early", "reset"))
    return closed / max(1, rate.requests.offered)


def connection_ceiling(run: RunEvidence) -> Finding | None:
    """More connections alone gained, up to the most that were tried: the limit itself is what was measured.

    Where the limit shows in a single trial (`connection_limit`), that says it better.
    """
    knob = run.space.of_role(*CONNECTION_ROLES)
    most = run.connections(run.best)
    if knob is None or most is None or connection_limit(run) is not None:
        return None
    tried = {n for t in run.trials if (n := run.connections(t)) is not None}
    scores = _scores_by_limit(run, knob)
    limits = sorted(scores)
    if len(limits) < 2 or limits[-1] != most or max(tried) > most:
        return None
    means = {limit: fmean(own) for limit, own in scores.items()}
    below = means[limits[-2]]
    # What was chosen as the best was also lucky: that it beats the other must not be that luck.
    searched = [trial for trial in run.trials if trial.purpose is TrialPurpose.SEARCH]
    noise = noise_of(searched, run.space.default()).share
    of_difference = noise * math.sqrt(sum(1 / len(scores[limit]) for limit in limits[-2:]))
    least = max(CEILING_GAIN, CEILING_ERRORS * of_difference)
    if means[most] < (1 + least) * below:
        return None
    return finding(
        "connection-ceiling",
        run.best,
        run.top,
        sentence=(
            f"The best has the most connections that were tried ({most:,}). With {limits[-2]:,}, and nothing "
            f"else changed, it scores less by more than noise explains ({in_percent(noise, 1)}): "
            "the connection maximum is the ceiling."
        ),
        facts={
            f"score at {most:,} connections": (means[most], "Mbps"),
            f"score at {limits[-2]:,} connections": (below, "Mbps"),
        },
        chart=EvidenceChart(
            x_name="connections",
            x_unit="connections",
            y_name="mean score",
            y_unit="Mbps",
            series=(
                ChartSeries(
                    name="mean score",
                    points=tuple(ChartPoint(x=limit, y=round(means[limit], 3)) for limit in limits),
                ),
            ),
            threshold=round((1 + least) * below, 3),
            fires="above",
        ),
        suggestion=f"Allow more connections: raise the upper bound of {_raised(run, knob)} and tune again.",
        knob=knob.name,
        source=(
            "Harji 2010, section 3.10: 10,000 connections cap the area near 1.82 whatever the concurrency."
        ),
    )


def _scores_by_limit(run: RunEvidence, knob: Knob) -> dict[int, list[float]]:
    """By connections in all, the scores of the best and of what differs from it in that knob alone.

    Two configurations that differ in more, such as the workers, say nothing of the connections.
    """
    scores: dict[int, list[float]] = {}
    for trial in run.trials:
        as_best = {**trial.configuration, knob.name: run.value(knob)} == run.best.configuration
        limit = run.connections(trial)
        if as_best and trial.verdict is Verdict.VERIFIED and trial.score is not None and limit is not None:
            scores.setdefault(limit, []).append(trial.score)
    return scores


def _raised(run: RunEvidence, knob: Knob) -> str:
    """What allows more connections: a knob for each worker does, and so do more workers."""
    workers = run.knob_of(Role.WORKERS)
    alone = knob.role is Role.CONNECTIONS or workers is None
    return knob.name if alone else f"{knob.name} or {workers}"


def large_file_starvation(run: RunEvidence) -> Finding | None:
    """Where nobody waits for a file to be sent, requests for large ones time out while small ones are
    served.
    """
    trial = _failed_or_best(run, blocking=False)
    if run.protocol != "http" or trial is None or not trial.measurements:
        return None
    for rate in reversed(trial.measurements):
        lost = _lost_by_size(rate)
        if lost is None:
            continue
        lost_large, lost_small = lost
        if lost_large < STARVING_SHARE or lost_large < STARVING_FACTOR * lost_small:
            continue
        return finding(
            "large-file-starvation",
            trial,
            rate,
            sentence=(
                f"{in_percent(lost_large, 1)} of the requests for the largest files timed out, "
                f"{in_percent(lost_small, 1)} of the others."
            ),
            facts={
                "timed out, largest quarter of sizes": (100 * lost_large, "%"),
                "timed out, other sizes": (100 * lost_small, "%"),
            },
            chart=over_rates(
                run.clients,
                "requests timed out",
                "%",
                {
                    "largest quarter of sizes": (trial, lambda rate: _percent_lost(rate, large=True)),
                    "other sizes": (trial, lambda rate: _percent_lost(rate, large=False)),
                },
                threshold=100 * STARVING_SHARE,
            ),
            suggestion=_against_starvation(run),
            knob=run.knob_of(*CONNECTION_ROLES),
            source="Harji 2010, section 3.10.2.1 and table 3.8 (large socket buffer).",
        )
    return None


def accept_queue_overflow(run: RunEvidence) -> Finding | None:
    """The kernel's accept queue overflowed: connections came faster than the server took them.

    The kernel counts for all servers of the host. Where most of its connections were not this server's, that
    is no evidence of this one.
    """
    rate = run.top
    overflows = rate.counter("network", "listen_overflows_per_s")
    opens = rate.counter("network", "passive_opens_per_s") or 0.0
    if overflows is None or overflows <= 0 or overflows < OVERFLOW_SHARE * (opens + overflows):
        return None
    accepted = rate.server_stats.get("connections_accepted")
    if accepted is not None and accepted < OWN_SHARE * opens * rate.duration_s:
        return None
    return finding(
        "accept-queue-overflow",
        run.best,
        rate,
        sentence=(
            f"The accept queue overflowed {overflows:,.0f} times a second; "
            f"{opens:,.0f} connections were taken."
        ),
        facts={"listen overflows": (overflows, "1/s"), "connections accepted": (opens, "1/s")},
        chart=over_rates(
            run.clients,
            "connections that met a full accept queue",
            "%",
            {"overflows": (run.best, _percent_overflowed)},
            threshold=100 * OVERFLOW_SHARE,
        ),
        suggestion=_against_overflow(run),
        knob=run.knob_of(Role.ACCEPT_BATCH, Role.ACCEPT_QUEUE, Role.WORKERS),
        source=(
            "Brecht, Pariag and Gammo 2004, sections 5 and 6: accept-limit changes throughput by up to 71 %."
        ),
    )


def too_few_workers_for_blocking_sendfile(run: RunEvidence) -> Finding | None:
    """With blocking sendfile, goodput falls by more than a fifth after its peak."""
    trial = _failed_or_best(run, blocking=True)
    if trial is None or len(trial.measurements) < 2:
        return None
    peak = max(trial.measurements, key=lambda rate: rate.goodput_mbps)
    fall = 1 - trial.measurements[-1].goodput_mbps / peak.goodput_mbps if peak.goodput_mbps > 0 else 0.0
    if fall <= TAIL_FALL:
        return None
    return finding(
        "too-few-workers-for-blocking-sendfile",
        trial,
        trial.measurements[-1],
        sentence=(
            f"With blocking sendfile goodput falls by {in_percent(fall)} from its peak at "
            f"{run.level(peak)}: "
            "all workers are busy with large transfers."
        ),
        facts={
            "peak goodput": (peak.goodput_mbps, "Mbps"),
            "goodput at the highest rate": (trial.measurements[-1].goodput_mbps, "Mbps"),
        },
        chart=over_rates(
            run.clients,
            "goodput",
            "Mbps",
            {"goodput": (trial, lambda rate: rate.goodput_mbps)},
            threshold=(1 - TAIL_FALL) * peak.goodput_mbps,
            fires="below",
        ),
        suggestion=(
            f"{run.called('Use more workers', Role.WORKERS)}; each simultaneous large transfer occupies one."
        ),
        knob=run.knob_of(Role.WORKERS),
        source=(
            "Harji 2010, sections 3.10 and 3.11: tails falling by over 20 % up to 50 workers, "
            "a plateau from 75."
        ),
    )


def _against_starvation(run: RunEvidence) -> str:
    remedies = [run.called("admit fewer connections", *CONNECTION_ROLES)]
    if buffer := run.knob_of(Role.SEND_BUFFER):
        remedies.append(f"let the socket buffer hold the largest file ({buffer})")
    sending = run.space.of_role(Role.SENDING_MODE)
    if sending is not None and BLOCKING in sending.choices:
        remedies.append(f"use blocking {sending.name}")
    return _alternatives(remedies)


def _against_overflow(run: RunEvidence) -> str:
    remedies = []
    if batch := run.knob_of(Role.ACCEPT_BATCH):
        remedies.append(f"accept more per phase ({batch})")
    if queue := run.knob_of(Role.ACCEPT_QUEUE):
        remedies.append(f"lengthen the queue ({queue} and net.core.somaxconn)")
    else:
        remedies += [run.called("use more workers", Role.WORKERS), "lengthen the queue (net.core.somaxconn)"]
    return _alternatives(remedies)


def _alternatives(remedies: list[str]) -> str:
    """`Do this, do that, or do the other.`"""
    several = ", ".join(remedies[:-1])
    text = f"{several}, or {remedies[-1]}." if several else f"{remedies[-1]}."
    return text[0].upper() + text[1:]


def _failed_or_best(run: RunEvidence, *, blocking: bool) -> Trial | None:
    """The best trial if it sends that way, else the latest trial that did and failed verification."""
    sending = run.space.of_role(Role.SENDING_MODE)

    def so_sent(trial: Trial) -> bool:
        blocks = sending is not None and trial.configuration.get(sending.name) == BLOCKING
        return blocks is blocking

    if so_sent(run.best):
        return run.best
    failed = [t for t in run.trials if t.verdict is Verdict.FAILED_VERIFICATION and so_sent(t)]
    return failed[-1] if failed else None


def _lost_by_size(rate: Measurement) -> tuple[float, float] | None:
    """Shares of the requests that timed out: for the largest quarter of the sizes, and for the others."""
    classes = sorted(rate.size_classes, key=lambda c: c.size_bytes)
    large = classes[-max(1, round(LARGE_SHARE * len(classes))) :]
    small = classes[: len(classes) - len(large)]
    return (_lost(large), _lost(small)) if small else None


def _percent_lost(rate: Measurement, *, large: bool) -> float | None:
    lost = _lost_by_size(rate)
    return None if lost is None else 100 * lost[0 if large else 1]


def _percent_overflowed(rate: Measurement) -> float | None:
    """Of the connections that came, how many met a full accept queue."""
    overflows = rate.counter("network", "listen_overflows_per_s")
    if overflows is None:
        return None
    came = overflows + (rate.counter("network", "passive_opens_per_s") or 0.0)
    return 100 * overflows / came if came > 0 else 0.0


def _lost(classes: list[SizeClassCounts]) -> float:
    asked = sum(c.asked - c.timed_out_before_read for c in classes)
    return sum(c.timed_out_after_read for c in classes) / asked if asked > 0 else 0.0
