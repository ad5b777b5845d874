"""One trial: one configuration measured up the ladder, and what became of it.

    render → the server's own check → start → wait until it answers → warm → every rate: drive, collect
    → stop → verdict and score

Nothing is written to the database here: a trial is one record in the end, whatever has happened to it.
Whoever runs trials records it, in one transaction.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from trimtab_db import records
from trimtab_tuner.affinity import cpus_of_replicas, plan_of, steers_queues
from trimtab_tuner.records import Verdict
from trimtab_tuner.space import configuration_hash
from trimtab_tuner.targets.placement import placement_of, replicas_of
from trimtab_tuner.wording import counted as in_words

from trimtab_agent.affinity.os_settings import SettingRefused
from trimtab_agent.errors import FileSetError
from trimtab_agent.station.disturbance import wait_for_quiet
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.generator import GeneratorDied, LoadOrder, LoadResult, ServerDied, drive
from trimtab_agent.station.measuring import counted, measurement_record
from trimtab_agent.station.profiler import Profile, profiling
from trimtab_agent.station.server.replicas import Replicas
from trimtab_agent.station.server.target_server import (
    ConfigurationRejected,
    ServerFailed,
    ServerOrder,
)
from trimtab_agent.station.warming import WarmingFailed, read_in_group, warm
from trimtab_agent.stopping import Stopped
from trimtab_agent.study.bench import Bench, TrialOrder
from trimtab_agent.study.judging import Judgement, judge, judge_early

# So many rates of a trial are driven a second time if the generator was the limit, or something disturbed
# them.
REPEATS_PER_TRIAL = 2


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
        self.settled: Judgement | None = None
        self._repeats_left = REPEATS_PER_TRIAL
        self.text = ""

    def run(self) -> None:
        """Measures every rate, or those until the outcome is `settled`; raises whatever spoils the trial."""
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
                    raise Disturbed(f"At {bench.clients.level(rate_rps)} {disturbed}.")
                self.settled = judge_early(bench, self._order, self.measurements, self._rates_left())
                if self.settled is not None:
                    return
                if bench.settings.gap_s > 0 and bench.stop.wait(bench.settings.gap_s):
                    raise Stopped

    def _rates_left(self) -> Sequence[float]:
        """The rates above the last; none where they are made as it goes, in a calibration."""
        rates = self._order.rates_rps
        return rates[len(self.measurements) :] if isinstance(rates, Sequence) else ()

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
                steering = bench.affinity.for_trial(plan, devices, bench.run_id)
            else:
                shares = cpus_of_replicas(bench.layout.server, replicas_of(configuration))
                steering = bench.affinity.for_replicas(placement, shares, devices, bench.run_id)
            settings = running.enter_context(steering)
        except SettingRefused as error:
            what = f"affinity plan {plan}" if placement == "none" else f"replicas {placement}"
            raise ConfigurationRejected(f"{what}: {error}") from error
        journal = bench.affinity.journal

        def look_for_drift(failure: type[BaseException] | None, *_: object) -> None:
            """At the end of the rates: somebody else who moved what the plan had placed has spoilt them."""
            drift = () if failure is not None else journal.drift_of(settings)
            if drift:
                raise Disturbed("; ".join(drift))

        running.push(look_for_drift)

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
                leftovers=bench.leftovers,
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
            bench.sampler.load_progressed(bench.clients.loop, rate_rps, line)
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
            raise WorkerDied(f"{server.name} lost {in_words(lost, 'worker process', 'worker processes')}")
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
    kills_before = bench.surroundings.out_of_memory_kills()
    bench.sampler.watch_trial(bench.run_id, order.number, bench.settings.sampling_interval_s)
    try:
        climb.run()
        judged = climb.settled or judge(bench, order, climb.measurements)
    except ConfigurationRejected as error:
        explain_by_missing_files(bench.file_set)
        judged = Judgement(Verdict.REJECTED, str(error))
    except (ServerDied, ServerFailed, GeneratorDied, WorkerDied) as error:
        explain_by_missing_files(bench.file_set)
        remark = bench.surroundings.out_of_memory_remark(kills_before)
        judged = Judgement(Verdict.CRASHED, str(error) + remark)
    except Disturbed as error:
        judged = Judgement(Verdict.DISTURBED, str(error))
    except Stopped:
        judged = Judgement(Verdict.ABORTED, "The run was stopped during this trial.")
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
        verdict=judged.verdict.value,
        reason=judged.reason,
        score=judged.score,
        second_score=judged.second_score,
        estimated_score=judged.estimated_score,
        server_config=climb.text,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        # An aborted trial answers no proposal: it will be tried again when the run is resumed.
        proposal_number=None if judged.verdict is Verdict.ABORTED else order.proposal_number,
        measurements=tuple(climb.measurements),
    )
