"""Brings a real server into a fault and out of it again, and keeps what was counted: for diagnosis' tests.

Each case of fault_cases.py has two configurations, conditions or loads: the fault, and the fault mended.
Both are measured as a trial of a run is, as jobs for a station. What the rules of
diagnosis read of it is written to tuner/tests/diagnosis/recordings/NAME.json if the rule fires on the one and
keeps silent on the other; what else goes on in the machine is part of the recording.

    record_faults.py [NAME…]
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fault_cases import CASES, Case, Side
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.host.cpu_layout import CpuLayout, format_cpus, process_layout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.host.own_cpus import pinned_to
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.station import Station
from trimtab_agent.workloads.choice import find_definition, with_conditions
from trimtab_db import open_database, sqlite_url
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial
from trimtab_tuner.diagnosis import diagnose
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.judgement import scores
from trimtab_tuner.judging.score import Objective
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import space_of
from trimtab_tuner.workloads.links import LINKS
from trimtab_tuner.workloads.parameters import WorkloadParameters, parameters

RECORDINGS = Path(__file__).resolve().parents[2] / "tuner/tests/diagnosis/recordings"
LAYOUT = process_layout()
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
# What the rules read of the counters, by source.
READ = {
    "paging": ("read_kib_per_s", "swapped_in_pages_per_s"),
    "memory": ("page_cache_bytes",),
    "memory_group": ("file_bytes", "file_refaults_per_s"),
    "network": ("listen_overflows_per_s", "passive_opens_per_s"),
    "server_processes": ("processes", "busy", "moved", "user", "system"),
}
READ_OF_SERVER = (
    "connections_accepted",
    "requests",
    "lock_waits",
    "threads_created",
    "page_reads",
    "page_reads_from_disk",
)


def main() -> None:
    """Records the faults that are named, or all; exits with 1 if a rule did not do what it should."""
    named = sys.argv[1:] or list(CASES)
    RECORDINGS.mkdir(exist_ok=True)
    with pinned_to(LAYOUT.generator):
        failed = [name for name in named if not record(name, CASES[name])]
    if failed:
        sys.exit(f"not recorded as it should be: {', '.join(failed)}")


def record(name: str, case: Case) -> bool:
    """Measures both sides of a case and writes them; whether the rule tells one from the other."""
    sides = {"fault": case.fault, "mended": case.mended}
    said = {name: measure(case, side) for name, side in sides.items() if side is not None}
    rules = {side: [found.rule for found in diagnose(run)] for side, run in said.items()}
    if case.fault is None:
        good = not rules["mended"]
    else:
        good = name in rules["fault"] and name not in rules["mended"]
    for side, run in said.items():
        print(f"{name}, {side}: {rules[side] or 'nothing found'}")
        for trial in run.trials:
            print(f"  trial {trial.number}: {trial.verdict.value}, score {trial.score}", flush=True)
            for rate in trial.measurements:
                print(f"    {in_short(rate)}")
    document = {
        "recorded": sentence(name, case),
        **{side: run_document(run, case.target) for side, run in said.items()},
    }
    if good:
        (RECORDINGS / f"{name}.json").write_text(in_lines(document) + "\n")
    return good


def sentence(name: str, case: Case) -> str:
    """How it was recorded."""
    layout = case.layout or LAYOUT
    return (
        f"agent/bench/record_faults.py {name}, {datetime.now(UTC):%Y-%m-%d}: server on CPU "
        f"{format_cpus(layout.server)}, generator on CPU {format_cpus(layout.generator)} of "
        f"{os.cpu_count()}, nice {os.getpriority(os.PRIO_PROCESS, 0)}, Linux {os.uname().release}, other "
        f"programs on all of them. {case.how}"
    )


def measure(case: Case, side: Side) -> RunEvidence:
    """Measures every configuration of one side of a case."""
    definition = with_conditions(
        find_definition(case.workload, None).sized(case.directories),
        link=case.link,
        memory=case.memory,
        start=side.start,
    )
    clients = definition.clients.model_copy(update=case.clients)
    workload = parameters(definition.model_copy(update={"clients": clients}), case.time_scale)
    layout = case.layout or LAYOUT
    with made_station(layout) as station:
        station.prepare(workload)
        if side.prepare is not None:
            side.prepare()
        trials = tuple(
            measure_trial(
                station,
                number,
                {**case.configuration, **changes},
                case,
                side,
                workload,
                len(layout.server),
            )
            for number, changes in enumerate(side.configurations, 1)
        )
    best = max(trials, key=lambda trial: trial.score or 0.0) if side.best is None else trials[side.best]
    profile = LINKS.get(case.link)
    target = TARGETS[case.target]
    space = target.space(cpus=len(layout.server))
    return RunEvidence(
        space=space,
        equivalents=target.equivalents,
        best=best,
        trials=trials,
        clients=clients,
        server_cpus=layout.server,
        link_mbps=None if profile is None else profile.total_mbps,
        protocol=target.protocol,
    )


@contextmanager
def made_station(layout: CpuLayout) -> Iterator[Station]:
    """A station in a `var` of its own."""
    # Not under /tmp, which may be memory: files must come from a disk.
    var = AgentSettings().var.resolve()
    var.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=var) as name:
        directory = Path(name)
        agent = AgentSettings(var=directory)
        host = describe_host(directory)
        repository = open_database(sqlite_url(directory / "trimtab.db"))
        lines = repository.os_changes(repository.register_host(host))
        station = Station(
            agent,
            host=host,
            layout=layout,
            counters=WatchedCounters(),
            journal=SettingsJournal(lines, DirectAccess()),
            logs=directory / "log",
        )
        with station:
            yield station
        repository.close()


# Whether a server may be recommended is not what is asked here.
PERMISSIVE = Thresholds(all_files_limit=1, size_limit=1, size_over_mean_limit=1, failures_limit=1)


def measure_trial(
    station: Station,
    number: int,
    configuration: Mapping[str, Any],
    case: Case,
    side: Side,
    workload: WorkloadParameters,
    cpus: int,
) -> Trial:
    """One trial up the ladder of its side."""
    job = TrialJob(
        target=case.target,
        configuration={**space_of(TARGETS[case.target], configuration, cpus).default(), **configuration},
        workload=workload,
        ladder=side.rates_rps or case.rates_rps,
        rate_duration_s=case.duration_s,
        warmup_s=case.warmup_s,
        timeout_s=case.timeout_s,
        thresholds=PERMISSIVE,
    )
    report = station.carry_out(job, name=f"trial-{number}")
    if not report.measurements:
        sys.exit(f"{report.verdict}: {report.reason}")
    scored = scores(
        report.verdict, report.measurements, job.ladder, Objective.CONDENSED_AREA, second=None, limit=None
    )
    return Trial(
        number=number,
        configuration=job.configuration,
        verdict=report.verdict,
        score=scored.score,
        measurements=report.measurements,
    )


def run_document(run: RunEvidence, target: str) -> dict[str, Any]:
    """A run as it is kept: configurations as far as they differ from the default."""
    default = run.space.default()
    return {
        "target": target,
        "server_cpus": run.server_cpus,
        "link_mbps": run.link_mbps,
        "best": run.best.number,
        "trials": [
            {
                "number": trial.number,
                "configuration": {k: v for k, v in trial.configuration.items() if default.get(k) != v},
                "verdict": trial.verdict.value,
                "score": trial.score,
                "rates": [rate_document(rate) for rate in trial.measurements],
            }
            for trial in run.trials
        ],
    }


def in_lines(document: Mapping[str, Any]) -> str:
    """JSON with a line for each rate: short, and a difference between two recordings still shows."""
    text = json.dumps(document)
    return (
        text.replace(', "fault":', ',\n"fault":')
        .replace(', "mended":', ',\n"mended":')
        .replace('{"rate_rps"', '\n{"rate_rps"')
    )


def rate_document(rate: Measurement) -> dict[str, Any]:
    """A rate as it is kept: what the rules read."""
    counters, cpu = rate.counters, rate.counters["cpu"]
    kept = {
        source: {name: counters[source][name] for name in names if name in counters[source]}
        for source, names in READ.items()
        if source in counters
    }
    kept["cpu"] = {
        "total": {state: cpu["total"][state] for state in STATES},
        "cpus": [{name: each[name] for name in ("cpu", *STATES)} for each in cpu["cpus"]],
        "context_switches_per_s": cpu["context_switches_per_s"],
    }
    share = rate.generator_cpu_share
    return {
        **{
            name: getattr(rate, name) for name in ("rate_rps", "duration_s", "goodput_mbps", "reply_rate_rps")
        },
        "asked": rate.requests.offered,
        "sessions_started": rate.sessions.started,
        "failures": rate.failures,
        "timed_out_before_read": rate.requests.timed_out_before_read,
        "timed_out_after_read": rate.requests.timed_out_after_read,
        "generator_limited": rate.generator_limited,
        "generator_cpu": None if share is None else 100 * share,
        # The fields of SizeClassCounts in order.
        "size_classes": [list(dataclasses.astuple(each)) for each in rate.size_classes],
        "counters": kept,
        "server": {name: rate.server_stats[name] for name in READ_OF_SERVER if name in rate.server_stats},
    }


def in_short(rate: Measurement) -> str:
    """A rate in one line, to see why a rule fires or does not."""
    cpus = "; ".join(
        f"{each['cpu']:.0f}: "
        + " ".join(f"{state} {each[state]:.0f}" for state in STATES if each[state] >= 1)
        for each in rate.counters["cpu"]["cpus"]
    )
    counted = {source: rate.counters.get(source, {}) for source in READ}
    named = {name: counted[source].get(name) for source, names in READ.items() for name in names}
    requests = rate.requests
    return (
        f"{rate.rate_rps:.0f}/s: replies {rate.reply_rate_rps:.0f}, {rate.goodput_mbps:.0f} Mbps, late "
        f"{requests.timed_out_after_read}+{requests.timed_out_before_read}/{requests.offered}, "
        f"generator {100 * (rate.generator_cpu_share or 0):.0f} %"
        f"{' LIMITED' if rate.generator_limited else ''}; CPU {cpus}; "
        f"switches {rate.counter('cpu', 'context_switches_per_s')}; {named}; "
        f"{ {name: rate.server_stats.get(name) for name in READ_OF_SERVER} }"
    )


if __name__ == "__main__":
    main()
