"""One trial: one configuration measured up the ladder, and what became of it.

    render → the server's own check → start → wait until it answers → warm → every rate: drive, collect
    → stop → verdict and score

Nothing is written to the database here: a trial is one record in the end, whatever has happened to it.
Whoever runs trials records it, in one transaction.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab_db import records
from trimtab_tuner.affinity import cpus_of_replicas, plan_of, steers_queues
from trimtab_tuner.limits import Limit, broken_limit, parse_limit
from trimtab_tuner.presets import Settings
from trimtab_tuner.records import Configuration, Measurement, Verdict
from trimtab_tuner.score import score
from trimtab_tuner.second_objective import second_score
from trimtab_tuner.space import configuration_hash
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.placement import placement_of, replicas_of
from trimtab_tuner.verification import verify
from trimtab_tuner.workloads.clients import Clients
from trimtab_tuner.workloads.conditions import Conditions

from trimtab_agent.affinity.os_settings import SettingRefused
from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.children import StopSignal
from trimtab_agent.counters.sampler import Sampler
from trimtab_agent.errors import FileSetError
from trimtab_agent.filesets import FileSet
from trimtab_agent.layout import CpuLayout
from trimtab_agent.load_generator import (
    GeneratorDied,
    LoadOrder,
    LoadResult,
    ServerDied,
    Stopped,
    drive,
)
from trimtab_agent.profiler import Profile, profiling
from trimtab_agent.replicas import Replicas
from trimtab_agent.run.disturbance import DisturbanceWatch
from trimtab_agent.run.measuring import counted, for_tuner, measurement_record
from trimtab_agent.run.quiet import wait_for_quiet
from trimtab_agent.run.surroundings import Surroundings
from trimtab_agent.supervisor import (
    ConfigurationRejected,
    ServerFailed,
    ServerOrder,
)
from trimtab_agent.warming import WarmingFailed, read_in_group, warm

# So many rates of a trial are driven a second time if the generator was the limit, or something disturbed
# them.
REPEATS_PER_TRIAL = 2


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What all trials of a run share. `directory` is the run's log directory."""

    run_id: int
    program: Path
    load: Path
    target: Target
    settings: Settings
    objective: str
    seed: int
    layout: CpuLayout
    file_set: FileSet
    clients: Clients
    conditions: Conditions
    directory: Path
    sampler: Sampler
    stop: StopSignal
    surroundings: Surroundings = field(default_factory=Surroundings)
    second_objective: str | None = None
    latency_limit: Limit | None = None
    disturbance: DisturbanceWatch | None = None
    affinity: AffinityService | None = None
    base: str | None = None

    @property
    def reads_anew(self) -> bool:
        """Whether each start of the server finds the file set on disk only.

        With a memory limit its pages must be charged to the server's group, and so be read by it.
        """
        return self.conditions.start == "cold" or self.surroundings.memory is not None


@dataclass(frozen=True, kw_only=True)
class TrialOrder:
    """One trial to carry out.

    `rates_rps` is taken one by one, so that a calibration can react; `rates_expected` is how many there will
    be, as far as that is known.
    """

    number: int
    purpose: records.TrialPurpose
    configuration: Configuration
    rates_rps: Iterable[float]
    rates_expected: int
    duration_s: float
    warmup_s: float
    level: int = 0
    block: int = 0
    proposal_number: int | None = None


@dataclass(frozen=True, kw_only=True)
class TrialListener:
    """Who is told what happens during a trial."""

    rate_started: Callable[[float], None]
    load_progress: Callable[[dict[str, Any]], None]
    measured: Callable[[records.Measurement], None]


class Disturbed(Exception):
    """Something else on the host has changed what the trial depends on."""


class WorkerDied(Exception):
    """A worker process of the server died and was replaced by its master."""


class Climb:
    """The measurements of one trial, as far as it has come; `text` is what the server ran with."""

    def __init__(self, bench: Bench, order: TrialOrder, listener: TrialListener) -> None:
        self._bench = bench
        self._order = order
        self._listener = listener
        self.measurements: list[records.Measurement] = []
        self._repeats_left = REPEATS_PER_TRIAL
        self.text = ""

    def run(self) -> None:
        """Measures every rate; raises whatever ends the trial early."""
        bench = self._bench
        wait_for_quiet(bench.layout.server, bench.stop)
        with ExitStack() as running:
            server: Replicas | None = None
            for rate_rps in self._order.rates_rps:
                if server is None or bench.settings.restart_between_rates:
                    running.close()
                    self._steer(running)
                    server = running.enter_context(self._start())
                    self._warm(server)
                    bench.sampler.watch_server(server.pids, server.read_stats)
                    running.callback(bench.sampler.watch_server, (), None)
                self._listener.rate_started(rate_rps)
                record = self._measure(server, rate_rps)
                disturbed = self._disturbance(record)
                if (record.generator_limited or disturbed) and self._repeats_left:
                    # Most often something else took a CPU for a moment.
                    self._repeats_left -= 1
                    wait_for_quiet(bench.layout.server + bench.layout.generator, bench.stop)
                    record = self._measure(server, rate_rps)
                    disturbed = self._disturbance(record)
                self.measurements.append(record)
                self._listener.measured(record)
                if disturbed and self._order.purpose is not records.TrialPurpose.CALIBRATION:
                    raise Disturbed(f"At {rate_rps:.0f} requests/s {disturbed}.")
                if bench.settings.gap_s > 0 and bench.stop.wait(bench.settings.gap_s):
                    raise Stopped

    def _disturbance(self, record: records.Measurement) -> str:
        """What has spoilt the rate, in words; empty if nothing has."""
        watch = self._bench.disturbance
        return "" if watch is None else watch.judge(record.counters)

    def _steer(self, running: ExitStack) -> None:
        """Puts the receive queues of the affinity plan where it wants them, for the time of `running`."""
        bench, configuration = self._bench, self._order.configuration
        plan, placement = plan_of(configuration), placement_of(configuration)
        if bench.affinity is None or not (steers_queues(plan) or placement != "none"):
            return
        link = bench.surroundings.link
        devices = ("lo",) if link is None else link.receiving_devices
        try:
            if placement == "none":
                running.enter_context(bench.affinity.for_trial(plan, devices, bench.run_id))
            else:
                shares = cpus_of_replicas(bench.layout.server, replicas_of(configuration))
                running.enter_context(bench.affinity.for_replicas(placement, shares, devices, bench.run_id))
        except SettingRefused as error:
            what = f"affinity plan {plan}" if placement == "none" else f"replicas {placement}"
            raise ConfigurationRejected(f"{what}: {error}") from error
        running.push(self._look_for_drift)

    def _look_for_drift(self, failure: type[BaseException] | None, *_: object) -> None:
        """At the end of the rates: somebody else who moved what the plan had placed has spoilt them."""
        if failure is None and self._bench.affinity is not None:
            drift = self._bench.affinity.journal.drift(self._bench.run_id)
            if drift:
                raise Disturbed("; ".join(drift))

    def _start(self) -> Replicas:
        bench = self._bench
        memory, link = bench.surroundings.memory, bench.surroundings.link
        if bench.reads_anew:
            bench.file_set.drop_from_page_cache(bench.stop)
        server = Replicas(
            ServerOrder(
                program=bench.program,
                target=bench.target,
                configuration=self._order.configuration,
                root=bench.file_set.root,
                cpus=bench.layout.server,
                directory=bench.directory,
                name=f"trial-{self._order.number}",
                base=bench.base,
                within=() if memory is None else memory.join_command,
                addresses=() if link is None else link.server_addresses,
            ),
            bench.stop,
        )
        self.text = server.text
        return server

    def _warm(self, server: Replicas) -> None:
        """Fills the caches, unless they shall be cold."""
        bench = self._bench
        if bench.conditions.start == "cold":
            return
        try:
            if bench.surroundings.memory is not None:
                read_in_group(
                    bench.file_set.root,
                    bench.surroundings.memory,
                    bench.layout.server,
                    bench.directory / f"trial-{self._order.number}.reader.log",
                    bench.stop,
                )
            paths = [path for path, _ in bench.file_set.files]
            for instance in server.servers:
                warm(instance.address, instance.port, paths, bench.stop)
        except WarmingFailed as error:
            if (death := server.death_sentence()) is not None:
                raise ServerDied(death) from error
            raise ServerFailed(f"warming: {error}") from error

    def _measure(self, server: Replicas, rate_rps: float) -> records.Measurement:
        bench = self._bench

        def progressed(line: dict[str, Any]) -> None:
            bench.sampler.load_progressed(rate_rps, line)
            self._listener.load_progress(line)

        stats_before, counters_before = server.stats(), bench.sampler.snapshot()
        with self._profiling(server) as profile:
            result = self._drive(server, rate_rps, progressed)
        counters = bench.sampler.between(counters_before, bench.sampler.snapshot())
        if profile is not None:
            counters["profile"] = profile.document()
        stats_after = server.stats()
        if result.failures:
            explain_by_missing_files(bench.file_set)
        lost = server.workers_lost()
        if lost:
            raise WorkerDied(f"{server.name} lost {lost} worker process{'es' * (lost > 1)}")
        if moved := server.workers_moved():
            raise Disturbed("; ".join(moved))
        return measurement_record(
            len(self.measurements) + 1, result, counted(stats_before, stats_after), counters
        )

    def _profiling(self, server: Replicas) -> AbstractContextManager[Profile | None]:
        """Samples the server's processes, if the run asks for it."""
        bench = self._bench
        if not bench.settings.profile:
            return nullcontext()
        name = f"trial-{self._order.number}"
        return profiling(server.pids, bench.layout.generator, bench.directory, name)

    def _drive(
        self, server: Replicas, rate_rps: float, progressed: Callable[[dict[str, Any]], None]
    ) -> LoadResult:
        """Drives one rate into the server."""
        bench, order = self._bench, self._order
        link = bench.surroundings.link
        return drive(
            LoadOrder(
                program=bench.load,
                url=server.url,
                rate_rps=rate_rps,
                duration_s=order.duration_s,
                warmup_s=order.warmup_s,
                timeout_s=bench.settings.timeout_s,
                sessions=bench.file_set.sessions,
                # Every trial meets the same arrivals; the rates differ among themselves.
                seed=bench.seed + len(self.measurements),
                cpus=bench.layout.generator,
                realtime=bench.layout.realtime_generator,
                log=bench.directory / f"trial-{order.number}.load.log",
                clients=bench.clients,
                within=() if link is None else link.join_command,
                destinations=server.destinations,
                sources=() if link is None else link.client_addresses,
            ),
            server.children,
            bench.stop,
            progressed,
        )


def explain_by_missing_files(file_set: FileSet) -> None:
    """Raises FileSetError if files are gone: then no configuration is to blame."""
    missing = file_set.missing_sentence()
    if missing:
        raise FileSetError(missing)


def run_trial(bench: Bench, order: TrialOrder, listener: TrialListener) -> records.Trial:
    """Carries out a trial and returns its record, whatever has happened to it.

    A trial that a stop has cut short has the verdict `aborted`.  Raises FileSetError when the workload's
    files are gone, which is no property of the configuration.
    """
    started_at = datetime.now(UTC)
    climb = Climb(bench, order, listener)
    scores = Scores()
    kills_before = bench.surroundings.out_of_memory_kills()
    bench.sampler.watch_trial(bench.run_id, order.number)
    try:
        climb.run()
        verdict, reason, scores = judge(bench, order, climb.measurements)
    except ConfigurationRejected as error:
        explain_by_missing_files(bench.file_set)
        verdict, reason = Verdict.REJECTED, str(error)
    except (ServerDied, ServerFailed, GeneratorDied, WorkerDied) as error:
        explain_by_missing_files(bench.file_set)
        verdict = Verdict.CRASHED
        reason = str(error) + bench.surroundings.out_of_memory_remark(kills_before)
    except Disturbed as error:
        verdict, reason = Verdict.DISTURBED, str(error)
    except Stopped:
        verdict, reason = Verdict.ABORTED, "The run was stopped during this trial."
    finally:
        bench.sampler.watch_trial(None, None)
    return records.Trial(
        run_id=bench.run_id,
        number=order.number,
        purpose=order.purpose,
        level=order.level,
        block=order.block,
        configuration=order.configuration,
        configuration_hash=configuration_hash(order.configuration),
        verdict=verdict.value,
        reason=reason,
        score=scores.first,
        second_score=scores.second,
        server_config=climb.text,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        # An aborted trial answers no proposal: it will be tried again when the run is resumed.
        proposal_number=None if verdict is Verdict.ABORTED else order.proposal_number,
        measurements=tuple(climb.measurements),
    )


@dataclass(frozen=True)
class Scores:
    """What a trial has scored under the run's objectives; None where it has not."""

    first: float | None = None
    second: float | None = None


def judge(
    bench: Bench, order: TrialOrder, measurements: list[records.Measurement]
) -> tuple[Verdict, str, Scores]:
    """Verdict, reason and scores of a trial that has been measured at every rate.

    A calibration has none: its rates are not those of the ladder.
    """
    for record in measurements:
        if record.generator_limited:
            reasons = "; ".join(record.health["reasons"])
            return (
                Verdict.GENERATOR_LIMITED,
                f"At {bench.clients.level(record.rate_rps)}: {reasons}",
                Scores(),
            )
    in_tuner = [for_tuner(record) for record in measurements]
    verification = verify(in_tuner, bench.settings.thresholds)
    if not verification.verified:
        return Verdict.FAILED_VERIFICATION, verification.sentence, Scores()
    if order.purpose is records.TrialPurpose.CALIBRATION:
        return Verdict.VERIFIED, verification.sentence, Scores()
    broken = broken_limit([parse_limit(text) for text in bench.settings.constraints], in_tuner)
    if broken:
        return Verdict.FAILED_VERIFICATION, broken, Scores()
    return Verdict.VERIFIED, verification.sentence, scored(bench, in_tuner)


def scored(bench: Bench, measurements: list[Measurement]) -> Scores:
    """The scores of a verified trial under the run's one or two objectives."""
    limit, second = bench.latency_limit, bench.second_objective
    return Scores(
        first=score(bench.objective, measurements, limit),
        second=None if second is None else second_score(second, measurements, limit),
    )
