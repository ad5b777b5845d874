"""A healthy server and a healthy shop as the rules of diagnosis see them, to be altered by hand.

`rate` is what was measured at one rate, `trial` a trial of such rates, `run` and `database` what the rules
are asked about.
"""

import copy

from trimtab_trials.measurement import Measurement, RequestCounts, SessionCounts, SizeClassCounts
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.targets import TARGETS

SPACE = TARGETS["core"].space()
BASE = {**SPACE.default(), "workers": 2, "max_connections": 4096}

# Averages over one rate as the agent counted them on a quiet machine with four CPUs: two for the server (0
# and 1), two for the generator.
COUNTERS = {
    "cpu": {
        "total": {
            "user": 9.1,
            "nice": 0.0,
            "system": 38.2,
            "idle": 41.5,
            "iowait": 0.1,
            "irq": 0.0,
            "softirq": 11.0,
            "steal": 0.1,
        },
        "cpus": [
            {
                "cpu": n,
                "user": 8.0,
                "nice": 0.0,
                "system": 33.0,
                "idle": 45.0,
                "iowait": 0.1,
                "irq": 0.0,
                "softirq": 13.8,
                "steal": 0.1,
            }
            for n in range(4)
        ],
        "context_switches_per_s": 9158.6,
    },
    "paging": {"read_kib_per_s": 12.0, "swapped_in_pages_per_s": 0.0, "file_refaults_per_s": 0.0},
    "memory": {"page_cache_bytes": 3_203_162_112},
    "network": {"listen_overflows_per_s": 0.0, "passive_opens_per_s": 1_846.4},
    "server_processes": {"processes": 2, "busy": 2, "resident_bytes": 17_772_544, "moved": 0},
}
SERVER = {"requests": 64_000.0, "lock_waits": 12.0}


def size_class(size, asked, late=0):
    """Requests of one file size, `late` of which timed out after they had been read."""
    return SizeClassCounts(
        size_bytes=size,
        asked=asked,
        replied=asked - late,
        timed_out_before_read=0,
        timed_out_after_read=late,
        failed=0,
        abandoned=0,
    )


CLASSES = tuple(size_class(size, 1000) for size in (500, 5_000, 50_000, 500_000))


def rate(
    rate_rps=8_000.0,
    *,
    goodput=400.0,
    replies=None,
    server=None,
    classes=CLASSES,
    generator_cpu=35.0,
    foreign=0.0,
    **changed,
):
    """A rate of the healthy server.

    Others have the share `foreign` of its CPUs (0 and 1). `changed` replaces counters by `group__name`, or a
    whole CPU by `cpuN`.
    """
    counters = copy.deepcopy(COUNTERS)
    fields = {
        "health": {"cpu_share": generator_cpu / 100},
        "requests": RequestCounts(offered=64_000),
    }
    for name, value in changed.items():
        if name.startswith("cpu") and name[3:].isdigit():
            counters["cpu"]["cpus"][int(name[3:])].update(value)
        elif "__" in name:
            group, key = name.split("__")
            counters.setdefault(group, {})[key] = value
        else:
            fields[name] = value
    for state in ("user", "system"):
        used = sum(counters["cpu"]["cpus"][cpu][state] for cpu in (0, 1))
        counters["server_processes"][state] = (1.0 - foreign) * used
    return Measurement(
        rate_rps=rate_rps,
        duration_s=8.0,
        goodput_mbps=goodput,
        reply_rate_rps=rate_rps if replies is None else replies,
        size_classes=classes,
        counters=counters,
        server_stats=SERVER if server is None else server,
        **fields,
    )


def trial(*rates, number=1, score=400.0, verdict=Verdict.VERIFIED, **configuration):
    """A trial of a configuration that differs from the base in some values."""
    verified = verdict is Verdict.VERIFIED
    return Trial(
        number=number,
        configuration={**BASE, **configuration},
        verdict=verdict,
        score=score if verified else None,
        measurements=rates or (rate(4_000.0, goodput=200.0), rate()),
    )


MARIADB = TARGETS["mariadb"]


def database(*rates, connections=500, **configuration):
    """A run of MariaDB: a thread for each connection unless told otherwise."""
    best = Trial(
        number=1,
        configuration={**MARIADB.space().default(), "max_connections": connections, **configuration},
        verdict=Verdict.VERIFIED,
        score=4.0,
        measurements=rates,
    )
    return RunEvidence(
        space=MARIADB.space(),
        equivalents=MARIADB.equivalents,
        best=best,
        trials=(best,),
        server_cpus=(0, 1),
        link_mbps=10_000.0,
        protocol="mariadb",
    )


SHOP = {
    "connections_accepted": 1_000.0,
    "threads_created": 40.0,
    "page_reads": 900_000.0,
    "page_reads_from_disk": 20.0,
}


def shop_rate(rate_rps=900.0, goodput=4.0, server=None, **fields):
    """A rate of a healthy shop."""
    sessions = SessionCounts(started=1_000, completed=1_000)
    return rate(rate_rps, goodput=goodput, server=server or SHOP, **{"sessions": sessions, **fields})


def run(best, *others, **fields):
    """A run with these trials."""
    return RunEvidence(
        space=SPACE,
        equivalents=TARGETS["core"].equivalents,
        best=best,
        trials=(best, *others),
        **{"server_cpus": (0, 1), "link_mbps": 10_000.0, **fields},
    )
