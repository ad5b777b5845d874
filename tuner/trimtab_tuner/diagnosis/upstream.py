"""Rules about what stands behind a server: ports for connections to it, its line, its replies on disk.

What it counted is in the counters `upstream` (ours) and `backend` (a program that is tuned too).
"""

from collections.abc import Mapping

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.diagnosis.chart import EvidenceChart, Reading, over_rates
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding, finding
from trimtab_tuner.roles import Role
from trimtab_tuner.targets.backends.memory import MIB, memory_of_children

Curves = Mapping[str, tuple[Trial, Reading]]

PORTS_SHARE = 0.7
NEW_SHARE = 0.5  # of the requests, each on a connection of its own
WAIT_SHARE = 0.5
IDLE_PERCENT = 20.0
DISK_SHARE = 0.1  # of what clients get
LEAST_WRITTEN_MB = 1.0


def ports_run_out(run: RunEvidence) -> Finding | None:
    """Connections to the upstream are opened for single requests, and those closed hold most of the ports.

    A closed connection keeps its port for a minute (TIME-WAIT).
    """
    rate = max(run.best.measurements, key=lambda each: _opened(each) or 0.0)
    opened, requests = _opened(rate), rate.counter("upstream", "requests_per_s")
    closed, ports = rate.counter("network", "tcp_time_wait"), rate.counter("network", "local_ports")
    if not opened or not requests or closed is None or not ports:
        return None
    if closed < PORTS_SHARE * ports or opened < NEW_SHARE * requests:
        return None
    return finding(
        "ports-run-out",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} the server opens {opened:,.0f} connections a second to its upstream, for "
            f"{requests:,.0f} requests, and {closed:,.0f} closed ones hold a port for a minute; there are "
            f"{ports:,.0f} for connections to one address."
        ),
        facts={
            "connections opened to the upstream": (opened, "1/s"),
            "requests to the upstream": (requests, "1/s"),
            "connections in TIME-WAIT": (closed, ""),
            "local ports": (ports, ""),
        },
        chart=over_rates(
            run.clients,
            "connections in TIME-WAIT",
            "",
            {"TIME-WAIT": (run.best, lambda each: each.counter("network", "tcp_time_wait"))},
            threshold=PORTS_SHARE * ports,
        ),
        suggestion=(
            f"{run.called('Keep connections to the upstream open', Role.UPSTREAM_KEEPALIVE)}; else widen "
            "net.ipv4.ip_local_port_range, or give the upstream several addresses."
        ),
        knob=run.knob_of(Role.UPSTREAM_KEEPALIVE),
        source=(
            "Linux, networking/ip-sysctl.rst (ip_local_port_range, tcp_tw_reuse); RFC 9293, section 3.6.1: "
            "the side that closes first waits for twice the lifetime of a segment."
        ),
    )


def upstream_makes_requests_wait(run: RunEvidence) -> Finding | None:
    """Requests wait in line at our upstream, or for a process of the program behind, while CPUs are idle."""
    rate = run.saturated_rate
    wait_ms, service_ms = (rate.counter("upstream", name) for name in ("wait_ms", "service_ms"))
    if wait_ms is not None and service_ms and wait_ms >= WAIT_SHARE * service_ms:
        return finding(
            "upstream-makes-requests-wait",
            run.best,
            rate,
            sentence=(
                f"At {run.level(rate)} a request waits {wait_ms:,.1f} ms in line at the upstream, which then "
                f"takes {service_ms:,.1f} ms for it: the upstream is the limit, and not the server."
            ),
            facts={"wait at the upstream": (wait_ms, "ms"), "service there": (service_ms, "ms")},
            chart=_waits(run, WAIT_SHARE * service_ms),
            suggestion="Have the upstream work on more requests at a time, or add another one.",
            knob=None,
            source=_QUEUES,
        )
    children, queued = (rate.counter("backend", name) for name in ("children", "queued"))
    idle = run.server_cpu_mean(rate, "idle")
    if not children or queued is None or idle is None or queued < children or idle < IDLE_PERCENT:
        return None
    return finding(
        "upstream-makes-requests-wait",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} {queued:,.0f} requests wait for one of the {children:,.0f} processes "
            f"behind the server, while its CPUs are idle for {idle:.0f} % of the time."
        ),
        facts={
            "requests in line": (queued, ""),
            "processes behind the server": (children, ""),
            "idle CPU time": (idle, "%"),
        },
        chart=_line(run, children),
        suggestion=f"{run.called('Start more processes', Role.BACKEND_WORKERS)}, as far as memory allows.",
        knob=run.knob_of(Role.BACKEND_WORKERS),
        source=_QUEUES,
    )


def children_outgrow_memory(run: RunEvidence) -> Finding | None:
    """All the processes that are allowed behind the server would need more memory than there is."""
    found = memory_of_children(run.best.configuration, run.best.measurements)
    if found is None or not found.outgrown:
        return None
    return finding(
        "children-outgrow-memory",
        run.best,
        found.rate,
        sentence=found.sentence,
        facts={
            "memory of one process": (found.each_bytes / MIB, "MiB"),
            "memory of all that are allowed": (found.needed_bytes / MIB, "MiB"),
            "memory for them": (found.room_bytes / MIB, "MiB"),
        },
        chart=over_rates(
            run.clients,
            "memory of one process behind the server",
            "MiB",
            {"one process": (run.best, _one_mib)},
            threshold=found.room_bytes / found.allowed / MIB,
        ),
        suggestion=f"Allow at most {found.fit:,} ({found.knob}), less what else runs on your machine.",
        knob=found.knob,
        source="Linux, filesystems/proc.rst: Pss counts a page that processes share in equal parts for each.",
    )


def replies_go_to_disk(run: RunEvidence) -> Finding | None:
    """Much of what clients get has been written to a disk before: the buffers for replies are too small."""
    rate = max(run.best.measurements, key=lambda each: _written_mb(each) or 0.0)
    written_mb, sent_mb = _written_mb(rate), rate.goodput_mbps / 8
    if written_mb is None or written_mb < max(LEAST_WRITTEN_MB, DISK_SHARE * sent_mb):
        return None
    return finding(
        "replies-go-to-disk",
        run.best,
        rate,
        sentence=(
            f"At {run.level(rate)} the server writes {written_mb:,.1f} MB a second to disk while its clients "
            f"get {sent_mb:,.1f}: replies of the upstream do not fit its buffers."
        ),
        facts={"written to disk": (written_mb, "MB/s"), "goodput": (sent_mb, "MB/s")},
        chart=over_rates(
            run.clients,
            "written to disk",
            "MB/s",
            {"written": (run.best, _written_mb)},
            threshold=max(LEAST_WRITTEN_MB, DISK_SHARE * sent_mb),
        ),
        suggestion=(
            f"{run.called('Give replies more memory', Role.UPSTREAM_BUFFERS)}, or keep them from files "
            f"({run.knob_of(Role.UPSTREAM_ON_DISK, Role.UPSTREAM_BUFFERING) or 'buffering'})."
        ),
        knob=run.knob_of(Role.UPSTREAM_BUFFERS, Role.UPSTREAM_BUFFERING),
        source=(
            "ngx_http_proxy_module, proxy_max_temp_file_size: what does not fit the buffers of a reply goes "
            "to a temporary file."
        ),
    )


_QUEUES = "J. D. C. Little, Operations Research 9, 1961: what waits grows with the time that it is served."


def _opened(rate: Measurement) -> float | None:
    return rate.counter("upstream", "connections_per_s")


def _waits(run: RunEvidence, threshold_ms: float) -> EvidenceChart:
    reading: Curves = {"wait": (run.best, lambda each: each.counter("upstream", "wait_ms"))}
    return over_rates(run.clients, "wait at the upstream", "ms", reading, threshold=threshold_ms)


def _line(run: RunEvidence, threshold: float) -> EvidenceChart:
    reading: Curves = {"in line": (run.best, lambda each: each.counter("backend", "queued"))}
    return over_rates(run.clients, "requests in line behind the server", "", reading, threshold=threshold)


def _one_mib(rate: Measurement) -> float | None:
    taken = rate.counter("backend", "memory_per_child_bytes")
    return None if taken is None else taken / MIB


def _written_mb(rate: Measurement) -> float | None:
    """What the server writes to disks, in MB a second; None where nothing stands behind it."""
    written = rate.counter("server_processes", "written_bytes_per_s")
    behind = rate.counter("upstream", "requests_per_s"), rate.counter("backend", "children")
    return None if written is None or behind == (None, None) else written / 1e6
