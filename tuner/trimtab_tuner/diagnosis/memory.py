"""Rules about memory and disk: waiting for the disk, footprint against file cache, swapping."""

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial

from trimtab_tuner.diagnosis.chart import over_rates
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.diagnosis.finding import Finding, finding
from trimtab_tuner.roles import Role
from trimtab_tuner.wording import in_digits, in_unit

IOWAIT_BUSY = 10.0
MORE_READS = 1.1
LESS_CACHE = 0.98
SWAPPED_PAGES_PER_S = 10.0
PAGE_KIB = 4.0


def disk_wait(run: RunEvidence) -> Finding | None:
    """CPUs wait for the disk although there are requests to work on."""
    rate = run.saturated_rate
    iowait = run.waits_for_disk(rate)
    if iowait < IOWAIT_BUSY:
        return None
    reads, writes = (rate.counter("paging", f"{what}_kib_per_s") or 0.0 for what in ("read", "written"))
    return finding(
        "disk-wait",
        run.best,
        rate,
        sentence=(
            f"The server's CPUs wait for the disk {iowait:.0f} % of the time "
            f"({in_unit(reads, 'KiB/s')} read, {in_unit(writes, 'KiB/s')} written)."
        ),
        facts={
            "I/O wait": (iowait, "%"),
            "read from disk": (reads, "KiB/s"),
            "written to disk": (writes, "KiB/s"),
        },
        chart=over_rates(
            run.clients,
            "I/O wait of the server's CPUs",
            "%",
            {"I/O wait": (run.best, run.waits_for_disk)},
            threshold=IOWAIT_BUSY,
        ),
        suggestion=(
            f"{run.called('Use more workers', Role.WORKERS)}, so that others can serve while one waits for "
            "the disk."
        ),
        knob=run.knob_of(Role.WORKERS),
        source=(
            "Harji 2010, section 3.10.2: symped-nb at 13,000 connections, 31 % wait with 1 "
            "process, 0 with 25."
        ),
    )


def footprint_evicts_file_cache(run: RunEvidence) -> Finding | None:
    """With more workers, and nothing else changed, there is less file cache, more is read, and no more comes
    out. In a memory group its own cache counts: the host's hardly changes when a small group loses its files.
    """
    best, knob = run.best, run.space.of_role(Role.WORKERS)
    workers = None if knob is None else run.value(knob)
    if run.protocol != "http" or knob is None or not isinstance(workers, int) or best.score is None:
        return None
    few = f"{knob.name} = {workers}"
    for trial in run.trials:
        more = trial.configuration.get(knob.name)
        if not isinstance(more, int) or more <= workers or trial.score is None:
            continue
        if {**trial.configuration, knob.name: workers} != best.configuration or trial.score > best.score:
            continue
        before, after = _cache(best), _cache(trial)
        if before is None or after is None:
            continue
        many = f"{knob.name} = {more}"
        if after[0] <= LESS_CACHE * before[0] and after[1] >= MORE_READS * max(before[1], 1.0):
            return finding(
                "footprint-evicts-file-cache",
                trial,
                trial.measurements[-1],
                sentence=(
                    f"From {few} to {more} the file cache shrinks by "
                    f"{(before[0] - after[0]) / 2**20:.0f} MiB and reads from disk grow: more workers "
                    "no longer help."
                ),
                facts={
                    f"file cache with {few}": (before[0] / 2**20, "MiB"),
                    f"file cache with {many}": (after[0] / 2**20, "MiB"),
                    f"read from disk with {few}": (before[1], "KiB/s"),
                    f"read from disk with {many}": (after[1], "KiB/s"),
                },
                chart=over_rates(
                    run.clients,
                    "file cache",
                    "MiB",
                    {few: (best, _cache_mib), many: (trial, _cache_mib)},
                    threshold=LESS_CACHE * before[0] / 2**20,
                    fires="below",
                ),
                suggestion=f"Keep to {few}{_or_share_tables(run)}.",
                knob=knob.name,
                source="Harji 2010, section 3.12.3: each 25 processes cost 25 to 30 MB of file cache.",
            )
    return None


def swapping(run: RunEvidence) -> Finding | None:
    """The host swaps while it is measured."""
    rate = run.top
    pages = rate.counter("paging", "swapped_in_pages_per_s")
    if pages is None or pages < SWAPPED_PAGES_PER_S:
        return None
    return finding(
        "swapping",
        run.best,
        rate,
        sentence=f"The host reads {in_digits(pages)} pages a second back from swap while it is measured.",
        facts={"swapped in": (pages, "pages/s")},
        chart=over_rates(
            run.clients,
            "pages read back from swap",
            "1/s",
            {"swapped in": (run.best, lambda rate: rate.counter("paging", "swapped_in_pages_per_s"))},
            threshold=SWAPPED_PAGES_PER_S,
        ),
        suggestion=(
            f"{run.called('Use fewer workers', Role.WORKERS)} or smaller caches, until nothing is swapped."
        ),
        knob=run.knob_of(Role.WORKERS),
        source=(
            "Linux kernel documentation, admin-guide/sysctl/vm.rst, and filesystems/proc.rst on /proc/vmstat."
        ),
    )


def _or_share_tables(run: RunEvidence) -> str:
    return (
        "" if run.architecture is None else f", or use an {run.architecture} whose workers share their tables"
    )


def _cache_mib(rate: Measurement) -> float | None:
    cached = _cache_bytes(rate)
    return None if cached is None else cached / 2**20


def _cache_bytes(rate: Measurement) -> float | None:
    """The file cache that the server has: its memory group's where it is in one, else the host's."""
    own = rate.counter("memory_group", "file_bytes")
    return rate.counter("memory", "page_cache_bytes") if own is None else own


def _reads(rate: Measurement) -> float | None:
    """KiB/s read from disk: by the memory group, as pages that it had to read again, else by the host."""
    again = rate.counter("memory_group", "file_refaults_per_s")
    return rate.counter("paging", "read_kib_per_s") if again is None else PAGE_KIB * again


def _cache(trial: Trial) -> tuple[float, float] | None:
    """Bytes of file cache and KiB/s read from disk at a trial's highest rate."""
    if not trial.measurements:
        return None
    cached, reads = _cache_bytes(trial.measurements[-1]), _reads(trial.measurements[-1])
    return None if cached is None or reads is None else (cached, reads)
