"""Whether a server runs and answers nobody.

Nothing says how fast such a server is, nor does the load generator, whose connections pile up: the trial ends
at once. It does so at its first rate, whatever the server does meanwhile; later only if the server is idle,
for one that is asked for too much answers nobody in time either.
"""

from collections.abc import Sequence

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict

from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.judgement import Judgement
from trimtab_tuner.wording import counted

FEWEST = 10  # requests that nobody waited for any more; so few may have come by chance
IDLE = 10.0  # percent of one CPU


def silent(job: TrialJob, measurements: Sequence[Measurement]) -> Judgement | None:
    """The judgement of a trial whose server, by the last of these, answers nobody; None where it goes on."""
    last = measurements[-1]
    refused = any(last.failures.values())
    if last.requests.replied or last.requests.timed_out < FEWEST or refused or last.generator_starved:
        return None
    used = _used_percent(last)
    if len(measurements) > 1 and (used is None or used > IDLE):
        return None
    return Judgement(
        Verdict.UNRESPONSIVE,
        f"At {job.clients.level(last.rate_rps)} the server answered none of {last.requests.offered:,} "
        f"requests. Its process is alive, {_accepted(last)}{'' if used is None else f', {cpu_told(used)}'}.",
    )


def cpu_told(percent: float) -> str:
    """What the processes of a silent server do, by what they use of a CPU."""
    return f"and it is {'idle' if percent <= IDLE else 'busy'} ({percent:,.0f} % of a CPU)"


def _accepted(measurement: Measurement) -> str:
    accepted = measurement.server_stats.get("connections_accepted")
    if accepted:
        return f"it accepted {counted(round(accepted), 'connection')}"
    if accepted is not None:
        return "it accepted no connection"
    if measurement.connect_latency.p50_us is None:
        return "no connection to it came about"
    return "connections to it came about"


def _used_percent(measurement: Measurement) -> float | None:
    """Of one CPU, by all processes of the server."""
    used = [measurement.counter("server_processes", state) for state in ("user", "system")]
    known = [percent for percent in used if percent is not None]
    return sum(known) if len(known) == len(used) else None
