"""One job from rate to rate: one server measured up the ladder, or through a calibration.

render → the server's own check → start → wait until it answers → warm → every rate: drive, collect
→ stop
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import Any

from trimtab_trials.measurement import Measurement
from trimtab_tuner.affinity import cpus_of_replicas, steers_queues
from trimtab_tuner.judging.answers import cause_of, refused
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.job_rates import rates_of
from trimtab_tuner.judging.judgement import Judgement, gave_way, holds, judge, judge_early
from trimtab_tuner.judging.silence import silent
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import plan_of
from trimtab_tuner.targets.placement import placement_of, replicas_of
from trimtab_tuner.wording import counted as in_words

from trimtab_agent.errors import GeneratorsLost
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.os_settings.access import SettingRefused
from trimtab_agent.station.behind import BehindCounters
from trimtab_agent.station.disturbance import (
    DISTURBED_LIMIT_S,
    DISTURBED_WINDOW_S,
    DisturbanceWatch,
    wait_for_quiet,
)
from trimtab_agent.station.equipment import Equipment, JobListener
from trimtab_agent.station.generator import LoadOrder, LoadResult, ServerDied, StepVoid
from trimtab_agent.station.load_source import LoadSource
from trimtab_agent.station.measuring import WindowCounters, counted, measurement_of
from trimtab_agent.station.processes.programs import server_program
from trimtab_agent.station.profiler import Profile, profiling
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts
from trimtab_agent.station.server.refusals import ConfigurationRejected, ServerFailed
from trimtab_agent.station.server.replicas import Replicas
from trimtab_agent.station.server.silence import ServerSilent, seen_of
from trimtab_agent.station.server.target_server import ServerOrder
from trimtab_agent.station.site import Site
from trimtab_agent.station.upstream import RunningUpstream
from trimtab_agent.station.warming import WarmingFailed, read_in_group
from trimtab_agent.stopping import Stopped

# So many rates of a job are driven a second time if the generator was the limit, or something disturbed them.
REPEATS_PER_JOB = 2
# A rate that generators of other machines spoil is driven again so often, after pauses that double.
VOID_TRIES = 6
VOID_PAUSE_S = 1.0


class Disturbed(Exception):
    """Something else on the host has changed what the trial depends on."""


class WorkerDied(Exception):
    """A worker process of the server died and was replaced by its master."""


class Climb:
    """The measurements of one job, as far as it has come; `text` is what the server ran with.

    `name` names its files in the equipment's directory; `watch` knows what is usual on this host, and `load`
    drives the rates.
    """

    def __init__(
        self,
        equipment: Equipment,
        site: Site,
        layout: CpuLayout,
        watch: DisturbanceWatch,
        job: TrialJob,
        name: str,
        listener: JobListener,
        load: LoadSource,
    ) -> None:
        self._load = load
        self._equipment = equipment
        self._site = site
        self._layout = layout
        self._watch = watch
        self._job = job
        self._name = name
        self._listener = listener
        self._repeats_left = REPEATS_PER_JOB
        self.measurements: list[Measurement] = []
        self.disturbances: list[str] = []
        self.text = ""
        self._upstreams: list[RunningUpstream] = []

    def run(self) -> Judgement:
        """Measures every rate, or those until the outcome is settled; raises whatever spoils the trial."""
        job, stop = self._job, self._equipment.stop
        wait_for_quiet(self._layout.server, stop)
        with ExitStack() as running:
            server: Replicas | None = None
            for rate_rps in rates_of(job, self.measurements):
                if server is None or job.restart_between_rates:
                    running.close()
                    server = self._started(running)
                self._listener.rate_started(rate_rps)
                measurement, disturbance = self._measure_calmly(server, rate_rps)
                if disturbance:
                    self.disturbances.append(f"At {job.clients.level(rate_rps)} {disturbance}.")
                    if (
                        not job.calibrates
                        and rate_rps not in job.ladder
                        and gave_way(measurement, job.clients.loop)
                    ):
                        break  # nobody knows whether the server or the disturbance is why it was not followed
                self.measurements.append(measurement)
                self._listener.measured(measurement)
                if not disturbance and (hangs := silent(job, self.measurements)) is not None:
                    return hangs
                if (no := refused(job, self.measurements, self.text)) is not None:
                    return no
                if disturbance and rate_rps in job.ladder:
                    raise Disturbed(self.disturbances[-1])
                if (settled := judge_early(job, self.measurements)) is not None:
                    return settled
                if job.gap_s > 0 and stop.wait(job.gap_s):
                    raise Stopped
        return judge(job, self.measurements)

    def _started(self, running: ExitStack) -> Replicas:
        """A server that answers, with warm caches, kernel and queues as they are wanted, for `running`."""
        self._set_kernel(running)
        self._steer(running)
        self._upstreams = self._started_upstreams(running)
        server = running.enter_context(self._server())
        self._warm(server)
        self._equipment.counters.watch_server(server.pids, server.read_stats)
        running.callback(self._equipment.counters.watch_server, (), None)
        return server

    def _started_upstreams(self, running: ExitStack) -> list[RunningUpstream]:
        """The workload's upstream, if it has one, or one for each that is replaced, for `running`."""
        wanted, equipment = self._job.workload.definition.upstream, self._equipment
        if wanted is None:
            return []
        with HeldPorts() as ports:
            return [
                running.enter_context(
                    RunningUpstream(
                        equipment.upstream,
                        f"{ADDRESS}:{ports.take()}",
                        wanted.concurrency,
                        cpus=self._layout.generator,
                        prioritised=self._layout.prioritises_generator,
                        log=equipment.directory / f"{self._name}.upstream{number or ''}.log",
                        stop=equipment.stop,
                    )
                )
                for number in range(max(1, len(wanted.replaced)))
            ]

    def _measure_calmly(self, server: Replicas, rate_rps: float) -> tuple[Measurement, str]:
        """One rate, measured again if it was spoilt; and what has spoilt it all the same, empty if nothing.

        Most often something else took a CPU for a moment; if for longer, its end is awaited for a while.
        """
        measurement = self._measure_validly(server, rate_rps)
        disturbance = self._watch.judge(measurement)
        if (measurement.generator_limited or disturbance) and self._repeats_left:
            self._repeats_left -= 1
            at = self._job.clients.level(rate_rps)
            self.disturbances.append(f"At {at} {disturbance or 'the load generator was the limit'}.")
            wait_for_quiet(
                self._layout.server + self._layout.generator,
                self._equipment.stop,
                window_s=DISTURBED_WINDOW_S,
                limit_s=DISTURBED_LIMIT_S,
            )
            measurement = self._measure_validly(server, rate_rps)
            disturbance = self._watch.judge(measurement)
        return measurement, disturbance

    def _set_kernel(self, running: ExitStack) -> None:
        """Sets the knobs of the kernel before the server opens its sockets, for the time of `running`."""
        kernel = self._equipment.kernel
        try:
            drift = running.enter_context(kernel.for_configuration(self._job.configuration))
        except SettingRefused as error:
            raise ConfigurationRejected(f"kernel: {error}") from error
        running.push(_looks_for_drift(drift))

    def _measure_validly(self, server: Replicas, rate_rps: float) -> Measurement:
        """One rate, driven again while a generator of another machine is late, lost or unwell.

        Raises GeneratorsLost when that does not end: no configuration is to blame.
        """
        for tried in range(VOID_TRIES):
            try:
                return self._measure(server, rate_rps)
            except StepVoid as void:
                why, at = str(void), self._job.clients.level(rate_rps)
                self.disturbances.append(f"At {at} {why}; it was driven again.")
            if tried + 1 < VOID_TRIES and self._equipment.stop.wait(VOID_PAUSE_S * 2**tried):
                raise Stopped
        raise GeneratorsLost(f"{why}, {VOID_TRIES} times in a row")

    def _steer(self, running: ExitStack) -> None:
        """Puts the receive queues of the affinity plan where it wants them, for the time of `running`."""
        configuration, steering = self._job.configuration, self._equipment.steering
        plan = plan_of(TARGETS[self._job.target], configuration)
        placement = placement_of(configuration)
        devices = self._site.receiving_devices
        try:
            if placement != "none":
                shares = cpus_of_replicas(self._layout.server, replicas_of(configuration))
                settings = running.enter_context(steering.for_replicas(placement, shares, devices))
            elif steers_queues(plan):
                settings = running.enter_context(steering.for_plan(plan, self._layout.server, devices))
            else:
                return
        except SettingRefused as error:
            what = f"affinity plan {plan}" if placement == "none" else f"replicas {placement}"
            raise ConfigurationRejected(f"{what}: {error}") from error
        running.push(_looks_for_drift(lambda: steering.drift_of(settings)))

    def _server(self) -> Replicas:
        equipment, site, target = self._equipment, self._site, TARGETS[self._job.target]
        wanted = self._job.workload.definition.upstream
        replaced = () if wanted is None else wanted.replaced
        if site.reads_anew:
            site.files.drop_from_page_cache(equipment.stop)
        server = Replicas(
            ServerOrder(
                program=server_program(target, equipment.httpd),
                target=target,
                configuration=self._job.configuration,
                root=site.root,
                cpus=self._layout.server,
                directory=equipment.directory,
                name=self._name,
                leftovers=equipment.leftovers,
                base=self._job.base,
                upstream=self._upstreams[0].address if self._upstreams else None,
                stand_ins={
                    each.name: upstream.address
                    for each, upstream in zip(replaced, self._upstreams, strict=bool(replaced))
                },
                names=equipment.names,
                reads=site.files.guarded,
                within=() if site.memory is None else site.memory.join_command,
                address=self._load.server_address,
                addresses=() if site.link is None else site.link.server_addresses,
            ),
            equipment.stop,
        )
        self.text = server.text
        return server

    def _warm(self, server: Replicas) -> None:
        """Fills the caches, unless they shall be cold."""
        site, stop = self._site, self._equipment.stop
        if site.conditions.start == "cold":
            return
        try:
            if site.memory is not None:
                log = self._equipment.directory / f"{self._name}.reader.log"
                read_in_group(site.files.root, site.memory, self._layout.server, log, stop)
            paths = [path for path, _ in site.files.files]
            for instance in server.servers:
                instance.warm(paths, stop)
        except WarmingFailed as error:
            if (death := server.death_sentence()) is not None:
                raise ServerDied(death) from error
            if isinstance(error.__cause__, TimeoutError):
                seen = seen_of(server.pids, server.servers[0].address, server.servers[0].port)
                raise ServerSilent(f"warming: {error}. {seen}") from error
            because = cause_of(self._job.target, error.status, self.text)
            raise ServerFailed(f"warming: {error}" + (f". {because}" if because else "")) from error

    def _measure(self, server: Replicas, rate_rps: float) -> Measurement:
        """One rate driven, with what server and host have counted meanwhile."""
        window = WindowCounters(self._equipment.counters, self._job.warmup_s, self._job.rate_duration_s)
        behind = BehindCounters(server, self._upstreams)
        stats_before = server.stats()
        with self._profiling(server) as profile:
            result = self._drive(server, rate_rps, window, behind)
        values = {**window.values(), **behind.values()}
        if profile is not None:
            values["profile"] = profile.document()
        stats_after = server.stats()
        if result.failures:
            self._site.require()
        if lost := server.workers_lost():
            raise WorkerDied(f"{server.name} lost {in_words(lost, 'worker process', 'worker processes')}")
        if moved := server.workers_moved():
            raise Disturbed("; ".join(moved))
        number = len(self.measurements) + 1
        measurement = measurement_of(number, result, counted(stats_before, stats_after), values)
        return replace(
            measurement,
            rate_rps=rate_rps,
            held=holds(self._job, measurement),
            generator_limited=measurement.generator_limited or behind.limited,
        )

    def _profiling(self, server: Replicas) -> AbstractContextManager[Profile | None]:
        """Samples the server's processes, if the job asks for it."""
        if not self._job.profile:
            return nullcontext()
        return profiling(server.pids, self._layout.generator, self._equipment.directory, self._name)

    def _drive(
        self, server: Replicas, rate_rps: float, window: WindowCounters, behind: BehindCounters
    ) -> LoadResult:
        """Drives one rate into the server, counting in `window` and `behind`."""
        equipment, job, link = self._equipment, self._job, self._site.link

        def progressed(line: dict[str, Any]) -> None:
            self._listener.load_progress(rate_rps, line)
            window.progressed(line)

        def at_edge(edge: str) -> None:
            window.at_edge(edge)
            behind.at_edge(edge)

        return self._load.drive(
            LoadOrder(
                program=equipment.load,
                url=server.url,
                rate_rps=rate_rps,
                duration_s=job.rate_duration_s,
                warmup_s=job.warmup_s,
                timeout_s=job.timeout_s,
                sessions=self._site.files.sessions,
                # Every trial with this seed meets the same arrivals at a rate, whatever rates it has been
                # driven at before; the rates differ among themselves.
                seed=job.seed + round(rate_rps),
                cpus=self._layout.generator,
                prioritised=self._layout.prioritises_generator,
                log=equipment.directory / f"{self._name}.load.log",
                clients=job.clients,
                tls=job.workload.definition.tls,
                http2=job.workload.definition.http2,
                within=() if link is None else link.join_command,
                destinations=server.destinations,
                sources=() if link is None else link.client_addresses,
            ),
            server.children,
            equipment.stop,
            progressed,
            at_edge,
        )


def _looks_for_drift(drift: Callable[[], tuple[str, ...]]) -> Callable[..., None]:
    """For the end of the rates: somebody else who changed a setting that was held has spoilt them."""

    def look(failure: type[BaseException] | None, *_: object) -> None:
        found = () if failure is not None else drift()
        if found:
            raise Disturbed("; ".join(found))

    return look
