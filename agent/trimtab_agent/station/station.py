"""A station: everything that one host needs to carry jobs out, from its CPUs to the server under its guard.

It knows no run and no database: what it is told is a job, what it tells is a report. It keeps the site of the
last workload (files, memory group, link), so that the jobs of one run find it made. Children of the agent end
with the thread that has started them (processes/children.py): so all calls but `stop` come from one thread,
which lives as long as the station.
"""

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from trimtab_trials.host import Host
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import Placement, TrialJob, TrialReport
from trimtab_tuner.judging.judgement import Judgement
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.affinity.steering import Steering
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.kernel.tuning import KernelTuning
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_agent.paths import VarPaths
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.climb import Climb, Disturbed, WorkerDied
from trimtab_agent.station.data_directory import data_directory
from trimtab_agent.station.disturbance import DisturbanceWatch
from trimtab_agent.station.equipment import Equipment, JobListener
from trimtab_agent.station.file_set import FileSet, OnProgress
from trimtab_agent.station.generator import GeneratorDied, ServerDied
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.load_source import OWN_LOAD, LoadSource
from trimtab_agent.station.requirements import version_of_target
from trimtab_agent.station.server.refusals import ConfigurationRejected, ServerFailed
from trimtab_agent.station.server.silence import ServerSilent
from trimtab_agent.station.server.unresolved import Names
from trimtab_agent.station.server.warnings_in_log import warning_in
from trimtab_agent.station.site import Site, made_site
from trimtab_agent.stopping import Stopped, StopSignal
from trimtab_agent.workloads.choice import make_workload

ABORTED = Judgement(Verdict.ABORTED, "It was stopped before its end.")


class Station:
    """The station of this machine.

    `layout` is how its CPUs are divided where a job does not say, `logs` where configurations and logs go,
    `journal` where changed settings are written down.
    """

    def __init__(
        self,
        agent: AgentSettings,
        *,
        host: Host,
        layout: CpuLayout,
        counters: WatchedCounters,
        journal: SettingsJournal,
        logs: Path,
    ) -> None:
        self.host = host
        self._journal = journal
        self._paths = VarPaths(agent.var.resolve())
        self._layout = layout
        self._stop = StopSignal()
        self._equipment = Equipment(
            httpd=agent.httpd_path,
            load=agent.load_path,
            upstream=agent.upstream_path,
            directory=logs,
            leftovers=Leftovers(self._paths.leftovers),
            counters=counters,
            steering=Steering(journal, agent.sysfs),
            kernel=KernelTuning(journal),
            stop=self._stop,
            names=Names(),
        )
        self._made = ExitStack()
        self._site: tuple[WorkloadParameters, Site] | None = None
        self._watches: dict[tuple[int, ...], DisturbanceWatch] = {}
        self._versions: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def settled(self) -> bool:
        """Whether no job's change of the machine's settings is in force."""
        return all(line.by_hand for line in self._journal.in_force())

    def stop(self) -> None:
        """Has whatever goes on end soon; a job that is cut short is reported as `aborted`. For any thread."""
        self._stop.request()

    def close(self) -> None:
        """Takes away what was made for the last workload."""
        self._leave_site()
        self._stop.close()

    def prepare(
        self, workload: WorkloadParameters, on_progress: OnProgress = lambda _done, _total: None
    ) -> None:
        """Makes ready what the jobs of a run with this workload need.

        Names of upstreams are looked up anew from here on. Raises SpecError, FileSetError, HostError,
        BinaryMissing, Stopped.
        """
        self._equipment.names.forget()
        self._make_site(workload, on_progress)

    def _make_site(
        self, workload: WorkloadParameters, on_progress: OnProgress = lambda _done, _total: None
    ) -> None:
        """What is served, unless the last job has had the same."""
        if self._site is not None and self._site[0] == workload:
            return
        self._leave_site()
        self._equipment.directory.mkdir(parents=True, exist_ok=True)
        made = make_workload(workload, self._paths.workloads)
        files = FileSet(self._paths.file_sets, made, workload.site)
        data = data_directory(files, made, workload.definition)
        conditions = workload.definition.conditions
        site = self._made.enter_context(made_site(files, data, conditions, self._paths.leftovers))
        if site.memory is not None:
            self._equipment.counters.watch_memory_group(site.memory.read)
            self._made.callback(self._equipment.counters.watch_memory_group, None)
        files.prepare(on_progress, self._stop)
        if data is not None:
            data.prepare(self._stop)
            on_progress(1, 1)
        if not site.reads_anew:
            files.read_into_page_cache(self._stop)
        self._site = workload, site

    def carry_out(
        self,
        job: TrialJob,
        listener: JobListener | None = None,
        name: str = "job",
        load: LoadSource = OWN_LOAD,
    ) -> TrialReport:
        """Carries out a job and reports what became of it, whatever that is; `name` names its logs, `load`
        drives it. What it needs is made, unless that is ready.

        Raises SpecError when its memory does not suit its files, FileSetError when the files are gone,
        HostError and BinaryMissing when the machine lacks something, GeneratorsLost: none is a property of
        the configuration.
        """
        started_at = datetime.now(UTC)
        version = self._version(job.target)
        try:
            self._make_site(job.workload)
        except Stopped:
            return self._report(version, started_at, ABORTED)
        assert self._site is not None  # noqa: S101 - it has just been prepared
        site, layout = self._site[1], self._layout_of(job.placement)
        watch = self._watches.setdefault(layout.server, DisturbanceWatch(layout.server))
        climb = Climb(self._equipment, site, layout, watch, job, name, listener or JobListener(), load)
        kills_before = site.out_of_memory_kills()
        try:
            judgement = climb.run()
        except ConfigurationRejected as error:
            site.require()
            judgement = Judgement(Verdict.REJECTED, str(error))
        except ServerSilent as error:
            site.require()
            judgement = Judgement(Verdict.UNRESPONSIVE, str(error))
        except (ServerDied, ServerFailed, GeneratorDied, WorkerDied) as error:
            site.require()
            judgement = Judgement(Verdict.CRASHED, str(error) + site.out_of_memory_remark(kills_before))
        except Disturbed as error:
            judgement = Judgement(Verdict.DISTURBED, str(error))
        except Stopped:
            judgement = ABORTED
        if judgement.verdict is Verdict.FAILED_VERIFICATION:
            said = warning_in(self._equipment.directory / f"{name}.log")
            judgement = replace(judgement, reason=f"{judgement.reason} {said}".rstrip())
        return self._report(version, started_at, judgement, climb)

    def _report(
        self,
        version: str,
        started_at: datetime,
        judgement: Judgement,
        climb: Climb | None = None,
    ) -> TrialReport:
        return TrialReport(
            verdict=judgement.verdict,
            reason=judgement.reason,
            measurements=() if climb is None else tuple(climb.measurements),
            host=self.host,
            target_version=version,
            server_config="" if climb is None else climb.text,
            disturbances=() if climb is None else tuple(climb.disturbances),
            started_at=started_at,
            finished_at=datetime.now(UTC),
        )

    def _version(self, target: str) -> str:
        """The version of a target's server, asked for once."""
        if target not in self._versions:
            self._versions[target] = version_of_target(TARGETS[target], self._equipment.httpd)
        return self._versions[target]

    def _layout_of(self, placement: Placement | None) -> CpuLayout:
        if placement is None:
            return self._layout
        return CpuLayout(server=placement.server, generator=placement.generator)

    def _leave_site(self) -> None:
        self._site = None
        self._made.close()
