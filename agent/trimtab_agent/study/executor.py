"""Carries out the trials of a run one after the other: waits out a pause, measures, records, tells."""

from collections.abc import Callable, Sequence

from trimtab_db import records
from trimtab_db.records import TrialPurpose
from trimtab_tuner.early_stop import Leader
from trimtab_tuner.records import Configuration, Verdict

from trimtab_agent.station.climb import TrialListener, run_trial
from trimtab_agent.stopping import PauseSwitch, Stopped
from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.bench import Bench, TrialOrder
from trimtab_agent.study.history import History
from trimtab_agent.study.progress import RunProgress


class TrialExecutor:
    """The trials of one run; `bench` is what they are measured with, as far as it is known yet."""

    def __init__(
        self, bench: Bench, history: History, announcer: Announcer, progress: RunProgress, pause: PauseSwitch
    ) -> None:
        self.bench = bench
        self._history = history
        self._announcer = announcer
        self._progress = progress
        self._pause = pause

    def climb(
        self,
        purpose: TrialPurpose,
        configuration: Configuration,
        ladder: Sequence[float],
        *,
        level: int = 0,
        block: int = 0,
        proposal_number: int | None = None,
        may_stop_early: bool = False,
        leader: Leader | None = None,
    ) -> records.Trial:
        """Measures a configuration up the ladder, as the run's next trial; raises what `carry_out` does."""
        settings = self.bench.settings
        return self.carry_out(
            TrialOrder(
                number=self._history.next_number,
                purpose=purpose,
                configuration=configuration,
                rates_rps=ladder,
                rates_expected=len(ladder),
                duration_s=settings.rate_duration_s,
                warmup_s=settings.warmup_s,
                level=level,
                block=block,
                may_stop_early=may_stop_early,
                leader=leader,
                proposal_number=proposal_number,
            )
        )

    def carry_out(
        self,
        order: TrialOrder,
        on_measured: Callable[[records.Measurement], None] | None = None,
    ) -> records.Trial:
        """Runs a trial and records it; raises Stopped after recording one that was cut short."""
        self._wait_while_paused()
        if self.bench.stop.requested:
            raise Stopped

        def measured(record: records.Measurement) -> None:
            self._announcer.measured(order, record)
            if on_measured is not None:
                on_measured(record)

        self._progress.trial_started(order.number, order.configuration, order.rates_expected)
        trial = run_trial(
            self.bench,
            order,
            TrialListener(
                rate_started=self._progress.rate_started,
                load_progress=self._progress.load_progressed,
                measured=measured,
            ),
        )
        self._history.record(trial)
        self._announcer.recorded(trial)
        self._progress.trial_finished(trial)
        if trial.verdict == Verdict.ABORTED:
            raise Stopped
        if trial.verdict == Verdict.CRASHED:
            self._announcer.note("warning", f"Trial {trial.number} crashed: {trial.reason}")
        return trial

    def _wait_while_paused(self) -> None:
        while self._pause.requested:  # again if it was ended and asked for once more meanwhile
            self._announcer.note("info", "Paused.")
            self._progress.pause_changed("yes")
            self._pause.wait()
            self._progress.pause_changed("no")
