"""How long the sessions of a run were, and what its host has for connections: what exports are made from."""

import resource
from collections.abc import Sequence
from statistics import fmean

from trimtab_db import Repository, records
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.targets.pauses import CONNECTION_BYTES, SOCKET_BYTES, Pauses, Room
from trimtab_tuner.workloads import Workload
from trimtab_tuner.workloads.parameters import clients_of, recorded_parameters

FEWEST_MORE = 100  # connections between two rates, below which the memory of one is lost in the noise


def pauses_of(run: records.Run, workload: Workload, trials: Sequence[Trial]) -> Pauses:
    """The pauses of the run's sessions, and their transfers at the rate at which `trials` sent most.

    The trials are those of the configuration that is exported.
    """
    pauses = Pauses(time_scale=run.settings["time_scale"], timeout_s=run.settings["timeout_s"])
    if clients_of(run.workload_parameters).loop == "closed":
        return pauses  # its clients make none
    sessions = workload.sessions()
    requests = fmean(len(session) for session in sessions)
    pause_s = fmean(sum(request.think_s for request in session) for session in sessions)
    measured = [m for trial in trials if trial.verdict is Verdict.VERIFIED for m in trial.measurements]
    most = max(measured, key=lambda m: m.goodput_mbps, default=None)
    return Pauses(
        time_scale=pauses.time_scale,
        timeout_s=pauses.timeout_s,
        requests=requests,
        pause_s=pause_s / pauses.time_scale,
        transfer_s=0.0 if most is None else _transfer_s(most, requests),
        sessions_rps=0.0 if most is None else most.reply_rate_rps / requests,
        most_sessions_rps=max(run.ladder, default=0.0) / requests,
    )


def room_of(repository: Repository, run: records.Run, pauses: Pauses, trials: Sequence[Trial]) -> Room:
    """Descriptors that a process may have here, and memory, with what a connection takes of it.

    The server's part is how its memory grows from the rate with the fewest connections open to that with the
    most, in the last of the trials; an assumption where that cannot be told.
    """
    verified = [trial.number for trial in trials if trial.verdict is Verdict.VERIFIED]
    last = repository.trial(run.id, verified[-1]).measurements if verified else ()
    own_bytes = _own_bytes(last, pauses)
    return Room(
        descriptors=descriptors_here(),
        memory_bytes=repository.host(run.host_id).memory_bytes,
        connection_bytes=CONNECTION_BYTES if own_bytes is None else SOCKET_BYTES + own_bytes,
        measured=own_bytes is not None,
    )


def most_open(repository: Repository, run: records.Run, trials: Sequence[Trial]) -> int | None:
    """How many connections were open at once at most in the trials, those that waited to be accepted too.

    None where the generator of an earlier version has not told it, and where the server has connections of
    its own to what is behind it, which nobody has counted.
    """
    parameters = recorded_parameters(run.workload_parameters)
    if parameters.definition.proxies or parameters.definition.backend is not None:
        return None
    measured = [m for trial in trials for m in repository.trial(run.id, trial.number).measurements]
    counts = [m.health.get("most_open") for m in measured]
    known = [count for count in counts if count is not None]
    return max(known) if known and len(known) == len(counts) else None


def descriptors_here() -> int:
    """How many files a process may open on this machine: the hard limit."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def _transfer_s(measured: Measurement, requests: float) -> float:
    """How long so many replies took there, one after the other."""
    return requests * (measured.reply_latency.mean_us or 0.0) / 1e6


def _open(measured: Measurement, pauses: Pauses) -> float:
    """How many connections were open on average there, by Little's law."""
    session_s = pauses.pause_s * pauses.time_scale + _transfer_s(measured, pauses.requests)
    return measured.reply_rate_rps / pauses.requests * session_s


def _own_bytes(measurements: Sequence[Measurement], pauses: Pauses) -> int | None:
    """By how much the server grew for each connection; None where too few more were open, or it shrank."""
    if not pauses.requests:
        return None
    taken = [
        (measured, measured.resident_bytes if measured.memory_bytes is None else measured.memory_bytes)
        for measured in measurements
    ]
    points = sorted((_open(measured, pauses), memory) for measured, memory in taken if memory is not None)
    if len(points) < 2 or points[-1][0] - points[0][0] < FEWEST_MORE or points[-1][1] <= points[0][1]:
        return None
    return round((points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0]))
