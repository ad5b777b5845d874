"""Samples of the counters as the API replies with them.

How long they are kept: docs/internals/architecture.md. What a source reads is written up where it is
read (`trimtab_agent.counters`). Units are in the names.
"""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from trimtab_tuner.clients import Loop

from trimtab_agent.api.schemas import LoadProgress, Reply


class CpuShares(Reply):
    """Where the time of a CPU went, in percent of one CPU; a share that could not be read is left out."""

    user: float | None = None
    nice: float | None = None
    system: float | None = None
    idle: float | None = None
    iowait: float | None = None
    irq: float | None = None
    softirq: float | None = None
    steal: float | None = None


class SingleCpuShares(CpuShares):
    """The shares of the CPU with this number."""

    cpu: int


class CpuCounters(Reply):
    """CPU time in total and per CPU, and what the scheduler did. `total` is the mean over the CPUs."""

    model_config = ConfigDict(extra="allow")

    total: CpuShares
    cpus: tuple[SingleCpuShares, ...] = ()
    run_queue: float
    blocked: float


class SoftnetCounters(Reply):
    """Packets on one CPU's receive path."""

    model_config = ConfigDict(extra="allow")

    cpu: int


class NetworkCounters(Reply):
    """TCP and the receive path: rates per second, and numbers of sockets."""

    model_config = ConfigDict(extra="allow")

    softnet: tuple[SoftnetCounters, ...] = ()


class WorkerCounters(Reply):
    """One worker of the server; `cpu` is in percent of one CPU, None where workers are threads."""

    model_config = ConfigDict(extra="allow")

    worker: int
    pid: int
    connections_open: int | None = None
    connections_accepted_per_s: float | None = None
    requests_per_s: float | None = None
    bytes_sent_per_s: float | None = None
    cpu: float | None = None


class ServerWorkers(Reply):
    """The workers of the server; only in the live stream and in measurements, not in stored samples."""

    workers: tuple[WorkerCounters, ...]


class LoadSample(LoadProgress):
    """What the load generator last reported, and for which rate of which trial.

    Where `loop` is `closed`, `rate_rps` is the number of connections.
    """

    run_id: int | None
    trial: int | None
    loop: Loop = "open"
    rate_rps: float


class SoftirqRates(Reply):
    """Deferred work of the kernel on one CPU, per second."""

    cpu: int
    receive_per_s: float = 0.0
    send_per_s: float = 0.0
    timer_per_s: float = 0.0
    scheduler_per_s: float = 0.0


class SoftirqCounters(Reply):
    """CPUs that did such work; means of a minute have no list."""

    cpus: tuple[SoftirqRates, ...] = ()


class CounterValues(Reply):
    """One second of counters, by source. A source that could not be read is in `missing` with the reason.

    `time` is in seconds since the epoch. Sources with nothing to read (no server is running) are left out.
    """

    model_config = ConfigDict(extra="allow", json_schema_serialization_defaults_required=False)

    time: float
    interval_s: float
    missing: dict[str, str]
    cpu: CpuCounters | None = None
    cpu_quota: dict[str, float] | None = None
    softirqs: SoftirqCounters | None = None
    paging: dict[str, float] | None = None
    memory: dict[str, float] | None = None
    network: NetworkCounters | None = None
    devices: dict[str, dict[str, float]] | None = None
    pressure: dict[str, float] | None = None
    server_processes: dict[str, float] | None = None
    server: dict[str, float] | None = None
    server_workers: ServerWorkers | None = None
    load: LoadSample | None = None


class SamplingRate(BaseModel):
    """How often samples are taken, and for how long."""

    model_config = ConfigDict(extra="forbid")

    interval_s: Annotated[float, Field(ge=0.1, le=1)]
    for_s: Annotated[float, Field(gt=0, le=3600)]


class CounterSampleReply(Reply):
    """A stored sample; `run_id` and `trial_number` are those of the trial that was being measured."""

    taken_at: datetime
    run_id: int | None
    trial_number: int | None
    values: CounterValues
