"""Carries a run through its phases: prepare → calibrate → search → confirm → export.

DESIGN.  The database is the only memory.  Every phase first looks at what is recorded and does what is
missing, so resuming a run is the same code as starting one: the strategy is rebuilt by telling it the
recorded trials, the ladder is kept, the confirmation goes on with the first slot that has no finished trial.
A trial that was cut short by a stop is kept as `aborted`, counts as not done, and is carried out again.

The runner blocks; whoever starts it gives it a thread, a stop signal, and the run lock.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trimtab_db import Repository, records
from trimtab_db.errors import DatabaseError
from trimtab_db.records import RunPhase, RunState, TrialPurpose
from trimtab_tuner.confirmation import choose_finalists, confirmation_schedule
from trimtab_tuner.ladder import CalibrationError
from trimtab_tuner.presets import Settings, estimate
from trimtab_tuner.records import Configuration, TrialResult, Verdict
from trimtab_tuner.reference import repeats_needed, smallest_gain
from trimtab_tuner.space import Space, configuration_hash
from trimtab_tuner.strategies import make_strategy
from trimtab_tuner.strategies.base import Strategy
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError

from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.children import StopSignal
from trimtab_agent.counters.sampler import Sampler
from trimtab_agent.errors import TrimtabError
from trimtab_agent.exporter import export_run
from trimtab_agent.filesets import FileSet
from trimtab_agent.layout import CpuLayout
from trimtab_agent.load_generator import Stopped
from trimtab_agent.outcome import Outcome
from trimtab_agent.programs import require_built, server_program
from trimtab_agent.run.announcer import Announcer
from trimtab_agent.run.calibrating import calibrate, calibration_sentence, ladder_from
from trimtab_agent.run.conclusion import confirmed_outcome, unfinished_outcome
from trimtab_agent.run.disturbance import DisturbanceWatch
from trimtab_agent.run.experience import earlier_runs, features
from trimtab_agent.run.history import MOST_DISTURBED, History
from trimtab_agent.run.paths import VarPaths
from trimtab_agent.run.pause import PauseSwitch
from trimtab_agent.run.progress import RunProgress
from trimtab_agent.run.surroundings import surroundings
from trimtab_agent.run.trial import Bench, TrialListener, TrialOrder, run_trial
from trimtab_agent.settings import Settings as AgentSettings
from trimtab_agent.workload_choice import make_workload, recorded_clients, recorded_conditions

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunEnd:
    """How a run ended; `error` is the sentence of a failure, also when it could not be recorded."""

    run_id: int
    state: RunState
    error: str


class Runner:
    """One run, from what is recorded of it to its end.

    Raises BinaryMissing if the server or the load generator has not been built.
    """

    def __init__(
        self,
        *,
        run_id: int,
        agent: AgentSettings,
        repository: Repository,
        broadcaster: Broadcaster,
        sampler: Sampler,
        stop: StopSignal,
        pause: PauseSwitch,
    ) -> None:
        self._run = run = repository.run(run_id)
        self._agent = agent
        self._repository = repository
        self._stop = stop
        self._pause = pause
        self._paths = VarPaths(agent.var.resolve())
        self._settings = Settings.model_validate(run.settings)
        self._space = Space.model_validate(run.space)
        self._history = History(repository, run_id)
        self._experience = earlier_runs(repository, run) if self._settings.learn else []
        self._strategy = self._rebuilt_strategy()
        layout = CpuLayout(server=tuple(run.layout["server"]), generator=tuple(run.layout["generator"]))
        self._bench = Bench(
            run_id=run_id,
            program=server_program(TARGETS[run.target], agent.httpd_path),
            load=require_built(agent.load_path),
            target=TARGETS[run.target],
            settings=self._settings,
            objective=run.objective,
            seed=run.seed,
            layout=layout,
            file_set=FileSet(
                self._paths.file_sets, make_workload(run.workload_parameters, self._paths.workloads)
            ),
            clients=recorded_clients(run.workload_parameters),
            conditions=recorded_conditions(run.workload_parameters),
            directory=self._paths.log(run_id),
            sampler=sampler,
            stop=stop,
            base=run.base.get("expanded"),
            disturbance=DisturbanceWatch(layout.server),
            affinity=AffinityService(repository, layout, agent),
        )
        self._announcer = Announcer(repository, broadcaster, run_id)
        self.progress = RunProgress(
            broadcaster,
            run_id,
            estimate(self._settings, self._space, self._bench.file_set.total_bytes),
            trials_recorded=len(self._history.trials),
            seconds_before=self._history.seconds,
        )

    def execute(self) -> RunEnd:
        """Runs to the end, and records which one it was."""
        state, error = self._end_of(self._go_through_phases)
        try:
            self._record_end(state, error)
        except DatabaseError as failure:
            # It stays `running` in the database; the next start will call it interrupted.
            state, error = RunState.FAILED, error or str(failure)
        self.progress.end(state)
        self._announcer.state(state)
        return RunEnd(self._run.id, state, error)

    def repeat(self, trial: records.Trial) -> RunEnd:
        """Measures the configuration of `trial` once more, up the same rates, apart from the run's phases.

        The run stays in the state it is in. The new trial has the purpose `confirmation` and the block 0,
        which no outcome is computed from.
        """

        def measure_again() -> None:
            self._bench.directory.mkdir(parents=True, exist_ok=True)
            self._prepare()
            self._bench = replace(self._bench, latency_limit=self._history.low_load_limit())
            rates = self._run.ladder or [m.rate_rps for m in trial.measurements]
            order = self._ladder_order(TrialPurpose.CONFIRMATION, trial.configuration, rates)
            self._announcer.note("info", f"Trial {order.number} repeats trial {trial.number}.")
            self._carry_out(order)

        state, error = self._end_of(measure_again)
        if error:
            self._announcer.note("error", f"Trial {trial.number} could not be repeated: {error}")
        self.progress.end(self._run.state)
        self._announcer.state(self._run.state)
        return RunEnd(self._run.id, state, error)

    def _end_of(self, work: Callable[[], None]) -> tuple[RunState, str]:
        """Does the work; how it ended, and the sentence of a failure."""
        try:
            with surroundings(self._bench.conditions, self._bench.file_set.total_bytes, self._paths) as made:
                self._bench = replace(self._bench, surroundings=made)
                self._bench.sampler.watch_memory_group(made.memory)
                work()
        except Stopped:
            return RunState.STOPPED, ""
        except (TrimtabError, DatabaseError, CalibrationError, RenderError) as failure:
            return RunState.FAILED, str(failure)
        except OSError as failure:
            where = "" if failure.filename is None else f": {failure.filename}"
            return RunState.FAILED, f"{failure.strerror or failure}{where}"
        except Exception as failure:
            log.exception("run %d failed", self._run.id)
            return RunState.FAILED, f"internal error: {type(failure).__name__}: {failure}"
        finally:
            self._bench.sampler.watch_memory_group(None)
            self._bench.sampler.write()
        return RunState.FINISHED, ""

    def _record_end(self, state: RunState, error: str) -> None:
        if state is not RunState.FINISHED:
            outcome = unfinished_outcome(self._space, self._strategy.best(), self._history.trials)
            if outcome is not None:
                self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
        if error:
            self._announcer.note("error", error)
        self._repository.set_run_state(self._run.id, state, error=error)

    def _go_through_phases(self) -> None:
        self._bench.directory.mkdir(parents=True, exist_ok=True)
        self._enter(RunPhase.PREPARING)
        self._prepare()
        self._enter(RunPhase.CALIBRATING)
        ladder = self._run.ladder or self._calibrate()
        self._bench = replace(self._bench, latency_limit=self._history.low_load_limit())
        self._enter(RunPhase.SEARCHING)
        self._search(ladder)
        self._enter(RunPhase.CONFIRMING)
        outcome = self._confirm(ladder)
        self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
        self._enter(RunPhase.EXPORTING)
        if outcome.best is not None:
            export_run(
                self._repository,
                self._run.id,
                root=self._bench.file_set.root,
                directory=self._paths.exports(self._run.id),
                httpd=self._agent.httpd_path,
            )
        self._announcer.note("info", outcome.sentence)
        self._enter(RunPhase.DONE)

    def _enter(self, phase: RunPhase) -> None:
        self._announcer.phase(phase)
        self.progress.enter_phase(phase)

    def _prepare(self) -> None:
        files = self._bench.file_set
        files.prepare(lambda done, total: self.progress.phase_done(done / total), self._stop)
        if not self._bench.reads_anew:
            files.read_into_page_cache(self._stop)

    def _calibrate(self) -> tuple[float, ...]:
        if self._bench.clients.loop == "closed":
            return self._closed_ladder()
        calibration = calibrate(
            self._settings,
            self._space.default(),
            self._history.next_number,
            self._carry_out,
            lambda done, expected: self.progress.phase_done(done / expected),
        )
        ladder = ladder_from(calibration, self._settings.ladder_points)
        self._repository.set_run_ladder(self._run.id, ladder)
        self._announcer.note(
            "warning" if calibration.generator_limited else "info", calibration_sentence(calibration, ladder)
        )
        return ladder

    def _closed_ladder(self) -> tuple[float, ...]:
        """A closed loop has nothing to calibrate: its ladder is the numbers of connections."""
        ladder = tuple(float(number) for number in self._bench.clients.connections)
        self._repository.set_run_ladder(self._run.id, ladder)
        numbers = ", ".join(f"{number:.0f}" for number in ladder)
        self._announcer.note("info", f"A closed loop: every trial is measured with {numbers} connections.")
        return ladder

    def _search(self, ladder: Sequence[float]) -> None:
        self._tell_search()
        while True:
            if self._history.reference_due(self._settings.budget_trials):
                # It answers no proposal: that is how it is known later.
                self._carry_out(self._ladder_order(TrialPurpose.SEARCH, self._space.default(), ladder))
            else:
                proposal = self._strategy.ask()
                if proposal is None:
                    break
                self._carry_out(
                    self._ladder_order(
                        TrialPurpose.SEARCH,
                        proposal.configuration,
                        ladder,
                        level=proposal.level,
                        proposal_number=self._history.propose(proposal),
                    )
                )
            # What is known of noise and drift has changed, and with it what the trials before mean.
            self._strategy = self._rebuilt_strategy()
            self._tell_search()
        self._announcer.note("info", self._noise_sentence())

    def _noise_sentence(self) -> str:
        """How much trials differ on this host, and what the confirmation can tell."""
        reference, repeats = self._history.reference(), self._settings.confirmation_repeats
        times = f"{reference.measured} measurements of the default"
        sentence = f"Trials on this host differ by {reference.noise:.1%} (standard deviation; {times})"
        if reference.drift_per_trial:
            sentence += f", and drifted by {reference.drift_per_trial:+.2%} per trial, which was taken out"
        if repeats >= 2:
            sentence += f"; {repeats} repeats tell a gain of {smallest_gain(reference.noise, repeats):.1%}"
        return sentence + "."

    def _confirmation_repeats(self, best: TrialResult | None) -> int:
        """As many as the preset says, or up to twice that if the gain to be shown needs so many."""
        usual = self._settings.confirmation_repeats
        default = configuration_hash(self._space.default())
        scores = [r.score for r in self._history.results() if configuration_hash(r.configuration) == default]
        if not usual or best is None or best.score is None or not scores or not scores[0]:
            return usual
        needed = repeats_needed(self._history.reference().noise, best.score / scores[0] - 1)
        return needed if usual < needed <= 2 * usual else usual

    def _tell_search(self) -> None:
        asked = self._strategy.expected_trials() - len(self._history.results())
        references = self._history.references_left(self._settings.budget_trials)
        self.progress.expect(RunPhase.SEARCHING, asked + references)
        best = self._strategy.best()
        if best is not None and best.score is not None:
            self.progress.best_changed(best.configuration, best.score)

    def _confirm(self, ladder: Sequence[float]) -> Outcome:
        """Measures the finalists again in interleaved blocks, as far as that is not done yet."""
        best = self._strategy.best()
        finalists = choose_finalists(
            self._history.results(), best, self._space.default(), self._settings.runners_up, self._expert()
        )
        blocks = confirmation_schedule(finalists, self._confirmation_repeats(best), self._run.seed)
        done = {
            (t.block, t.configuration_hash)
            for t in self._history.finished(TrialPurpose.CONFIRMATION)
            if t.verdict != Verdict.DISTURBED
        }
        slots = [
            (block, configuration)
            for block, configurations in enumerate(blocks, start=1)
            for configuration in configurations
            if (block, configuration_hash(configuration)) not in done
        ]
        self.progress.expect(RunPhase.CONFIRMING, len(slots))
        for block, configuration in slots:
            for _ in range(MOST_DISTURBED):
                trial = self._carry_out(
                    self._ladder_order(TrialPurpose.CONFIRMATION, configuration, ladder, block=block)
                )
                if trial.verdict != Verdict.DISTURBED:
                    break
        return confirmed_outcome(self._space, finalists, self._history.trials)

    def _expert(self) -> Configuration | None:
        """The target's documented advice for this host, as far as the space of the run lets it be
        followed.
        """
        if not self._settings.expert_baseline:
            return None
        advice = TARGETS[self._run.target].expert(len(self._bench.layout.server))
        free = {knob.name: advice[knob.name] for knob in self._space.free if knob.name in advice}
        expert = {**self._space.default(), **free}
        return expert if self._space.allows(expert) else None

    def _ladder_order(
        self,
        purpose: TrialPurpose,
        configuration: Configuration,
        ladder: Sequence[float],
        *,
        level: int = 0,
        block: int = 0,
        proposal_number: int | None = None,
    ) -> TrialOrder:
        return TrialOrder(
            number=self._history.next_number,
            purpose=purpose,
            configuration=configuration,
            rates_rps=ladder,
            rates_expected=len(ladder),
            duration_s=self._settings.rate_duration_s,
            warmup_s=self._settings.warmup_s,
            level=level,
            block=block,
            proposal_number=proposal_number,
        )

    def _carry_out(
        self,
        order: TrialOrder,
        on_measured: Callable[[records.Measurement], None] | None = None,
    ) -> records.Trial:
        """Runs a trial and records it; raises Stopped after recording one that was cut short."""
        self._wait_while_paused()
        if self._stop.requested:
            raise Stopped

        def measured(record: records.Measurement) -> None:
            self._announcer.measured(order, record)
            if on_measured is not None:
                on_measured(record)

        self.progress.trial_started(order.number, order.configuration, order.rates_expected)
        trial = run_trial(
            self._bench,
            order,
            TrialListener(
                rate_started=self.progress.rate_started,
                load_progress=self.progress.load_progressed,
                measured=measured,
            ),
        )
        self._history.record(trial)
        self._announcer.recorded(trial)
        self.progress.trial_finished()
        if trial.verdict == Verdict.ABORTED:
            raise Stopped
        if trial.verdict == Verdict.CRASHED:
            self._announcer.note("warning", f"Trial {trial.number} crashed: {trial.reason}")
        return trial

    def _wait_while_paused(self) -> None:
        if self._pause.requested:
            self._announcer.note("info", "Paused.")
            self.progress.pause_changed("yes")
            self._pause.wait()
            self.progress.pause_changed("no")

    def _rebuilt_strategy(self) -> Strategy:
        settings = self._settings
        strategy = make_strategy(
            settings.strategy,
            self._space,
            seed=self._run.seed,
            budget_trials=self._history.strategy_budget(settings.budget_trials),
            coarse_grid=settings.coarse_grid,
            levels=settings.levels,
            tie_tolerance=settings.tie_tolerance,
            noise=self._history.reference().noise,
            experience=self._experience,
            features=features(self._run),
        )
        for result in self._history.results():
            strategy.tell(result)
        return strategy
