"""A station that answers jobs from a model (`server_model.py`), by the plan of a scenario (`scenario.py`).

It stands where a real one does: it knows jobs and reports, drives the same rates, and judges by the same
rules. Its clock is its own: a run that would take an hour takes a second, and its trials are dated an hour
apart. Nothing is started, no file is written, no setting of the machine is touched.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from trimtab_trials.host import Host
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.answers import refused
from trimtab_tuner.judging.job import TrialJob, TrialReport
from trimtab_tuner.judging.job_rates import rates_of
from trimtab_tuner.judging.judgement import Judgement, holds, judge, judge_early
from trimtab_tuner.judging.silence import silent
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.editing import changed_knobs
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.errors import StationLost
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.simulated.samples import progress_line
from trimtab_agent.simulated.scenario import Scenario, read_scenario
from trimtab_agent.simulated.server_model import SimulatedServer
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.file_set import OnProgress
from trimtab_agent.stopping import Stopped, StopSignal
from trimtab_agent.workloads.choice import make_workload

VERSION = "simulated"
START_S = 0.4  # what starting, warming and stopping a server takes on the station's clock
LOOK_S = 0.02  # how often a held trial looks whether it may go on
DEFAULT_SIZES = (1024,)  # where the workload has no files: a database's replies


class SimulatedStation:
    """See `fleet.trial_stations.TrialStation`; `scenario` is the file that says what happens."""

    def __init__(
        self, host: Host, layout: CpuLayout, scenario: Path, workloads: Path, name: str = "simulated"
    ) -> None:
        self.name = name
        self.host = host
        self._layout = layout
        self._scenario = scenario
        self._workloads = workloads
        self._stop = StopSignal()
        self._now = datetime.now(UTC)
        self._sizes: tuple[WorkloadParameters, tuple[int, ...]] | None = None

    def prepare(self, workload: WorkloadParameters, on_progress: OnProgress) -> None:
        """Looks what sizes the workload's files have; raises SpecError."""
        if self._sizes is None or self._sizes[0] != workload:
            files = make_workload(workload, self._workloads).files()
            self._sizes = workload, tuple(sorted({size for _, size in files if size})) or DEFAULT_SIZES
        on_progress(1, 1)

    def carry_out(
        self, number: int, job: TrialJob, listener: JobListener, kept: dict[str, Any]
    ) -> TrialReport:
        """See TrialStation; nothing is kept, as what goes on here ends with the study."""
        del kept
        self.prepare(job.workload, lambda _done, _total: None)
        started_at, measured = self._now, list[Measurement]()
        self._now += timedelta(seconds=START_S)
        try:
            judgement = self._climb(number, job, listener, measured)
        except Stopped:
            judgement = Judgement(Verdict.ABORTED, "It was stopped before its end.")
        return TrialReport(
            verdict=judgement.verdict,
            reason=judgement.reason,
            measurements=tuple(measured),
            host=self.host,
            target_version=VERSION,
            server_config=_text_of(job, self._layout),
            disturbances=(),
            started_at=started_at,
            finished_at=self._now,
        )

    def ready(self) -> bool:
        """Whether it can be given a trial: it comes back as soon as the scenario no longer loses it."""
        return not any(incident.what == "lost" for incident in read_scenario(self._scenario).incidents)

    def stop(self) -> None:
        """Has whatever goes on end at once."""
        self._stop.request()

    def close(self) -> None:
        """Takes away what was made."""
        self._stop.close()

    def _climb(
        self, number: int, job: TrialJob, listener: JobListener, measured: list[Measurement]
    ) -> Judgement:
        """From rate to rate, as a real station does."""
        for count, rate_rps in enumerate(rates_of(job, measured), start=1):
            scenario = self._at_rate(number, job, count)
            happens = frozenset(
                incident.what
                for incident in scenario.incidents
                if incident.rate <= count and incident.happens_to(number, job)
            )
            if "rejected" in happens:
                return Judgement(Verdict.REJECTED, "The server's check refused it, as the scenario wants it.")
            if "lost" in happens:
                raise StationLost(self.name, "the scenario wants it lost")
            listener.rate_started(rate_rps)
            measurement = self._drive(number, job, scenario, count, rate_rps, happens, listener)
            if "crashes" in happens:
                return Judgement(Verdict.CRASHED, "The server died, as the scenario wants it.")
            measured.append(measurement)
            listener.measured(measurement)
            if (hangs := silent(job, measured)) is not None:
                return hangs
            if (no := refused(job, measured, _text_of(job, self._layout))) is not None:
                return no
            if "disturbed" in happens:
                at = job.clients.level(rate_rps)
                return Judgement(Verdict.DISTURBED, f"At {at} other processes took the server's CPUs.")
            if (settled := judge_early(job, measured)) is not None:
                return settled
        return judge(job, measured)

    def _drive(
        self,
        number: int,
        job: TrialJob,
        scenario: Scenario,
        count: int,
        rate_rps: float,
        happens: frozenset[str],
        listener: JobListener,
    ) -> Measurement:
        assert self._sizes is not None  # noqa: S101 - the workload has just been prepared
        server = SimulatedServer(
            job=job,
            scenario=scenario,
            trial=number,
            sizes=self._sizes[1],
            cpus=self._layout.server if job.placement is None else job.placement.server,
            generator_cpus=self._layout.generator if job.placement is None else job.placement.generator,
        )
        measurement = server.measure(count, rate_rps, happens)
        listener.load_progress(rate_rps, progress_line(measurement))
        if scenario.pace_s and self._stop.wait(scenario.pace_s):
            raise Stopped
        self._now += timedelta(seconds=job.rate_duration_s + job.gap_s)
        return replace(measurement, held=holds(job, measurement))

    def _at_rate(self, number: int, job: TrialJob, count: int) -> Scenario:
        """The scenario as it is when the rate begins; waits there while it is held."""
        while True:
            if self._stop.requested:
                raise Stopped
            scenario = read_scenario(self._scenario)
            hold = scenario.hold
            if hold is None or hold.trial not in (None, number) or hold.rate != count:
                return scenario
            if self._stop.wait(LOOK_S):
                raise Stopped


def _text_of(job: TrialJob, layout: CpuLayout) -> str:
    """The file that a real server would have run with; empty where it cannot be written."""
    context = RenderContext(root="/srv/www", listen=("127.0.0.1:8000",), server_cpus=layout.server)
    target, cpus = TARGETS[job.target], len(layout.server)
    try:
        if job.base is None:
            return target.render(job.configuration, context)
        changed = changed_knobs(target, job.base, job.configuration, cpus)
        named = {*changed, *target.parse(job.base, cpus)}
        return target.private(job.base, job.configuration, named, context)
    except RenderError:
        return ""
