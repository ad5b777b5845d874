"""Tells listeners and the database what happens in a run."""

from collections.abc import Sequence
from typing import Any

from trimtab_db import Repository
from trimtab_db.records import RunPhase, RunState
from trimtab_trials.configuration import Configuration
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose

from trimtab_agent.broadcast import Broadcaster


class Announcer:
    """Publishes the events of one run; the shapes of their data stand in runs.py. For any thread."""

    def __init__(self, repository: Repository, broadcaster: Broadcaster, run_id: int) -> None:
        self._repository = repository
        self._broadcaster = broadcaster
        self._run_id = run_id
        self._phase = repository.run(run_id).phase
        self._under_way: dict[int, tuple[dict[str, Any], ...]] = {}  # by the trial's number

    def phase(self, phase: RunPhase) -> None:
        """The run has entered a phase."""
        self._phase = phase
        self._repository.set_run_phase(self._run_id, phase)
        self.state(RunState.RUNNING)

    def state(self, state: RunState) -> None:
        """The run is in this state."""
        self._broadcaster.publish(
            "run", {"run_id": self._run_id, "state": state.value, "phase": self._phase.value}
        )

    def ladder_grown(self, trial: Trial, ladder: Sequence[float], level: str) -> None:
        """The ladder has grown: the scores of the search are others now."""
        self.note(
            "info",
            f"Trial {trial.number} kept up with the highest rate of the ladder. The ladder now goes up to "
            f"{level}, and all scores are those on the longer ladder.",
        )
        self._broadcaster.publish("ladder", {"run_id": self._run_id, "ladder": list(ladder)})

    def note(self, level: str, message: str) -> None:
        """Something worth telling has happened: recorded as an event of the run, and told."""
        self._repository.add_event(self._run_id, level, message)
        self.tell(level, message)

    def tell(self, level: str, message: str) -> None:
        """The same while the database takes no record."""
        self._broadcaster.publish("log", {"run_id": self._run_id, "level": level, "message": message})

    def measured(
        self, trial: int, purpose: TrialPurpose, configuration: Configuration, measured: Measurement
    ) -> None:
        """A rate of the trial of that number has been measured."""
        line = {
            "run_id": self._run_id,
            "trial": trial,
            "number": measured.number,
            "purpose": purpose.value,
            "configuration": configuration,
            "rate_rps": measured.rate_rps,
            "goodput_mbps": measured.goodput_mbps,
            "reply_rate_rps": measured.reply_rate_rps,
            "timed_out": measured.requests.timed_out,
            "generator_limited": measured.generator_limited,
        }
        before = () if measured.number == 1 else self._under_way.get(trial, ())
        self._under_way[trial] = (*before, line)
        self._broadcaster.publish("measurement", line)

    @property
    def under_way(self) -> list[dict[str, Any]]:
        """The data of the `measurement` events of the trials that are not recorded yet."""
        return [line for lines in list(self._under_way.values()) for line in lines]

    def recorded(self, trial: Trial) -> None:
        """A trial is in the database."""
        self._under_way.pop(trial.number, None)
        self._broadcaster.publish(
            "trial",
            {
                "run_id": trial.run_id,
                "number": trial.number,
                "purpose": trial.purpose.value,
                "level": trial.level,
                "block": trial.block,
                "configuration": trial.configuration,
                "configuration_hash": trial.configuration_hash,
                "verdict": trial.verdict.value,
                "reason": trial.reason,
                "score": trial.score,
                "second_score": trial.second_score,
                "estimated_score": trial.estimated_score,
                "started_at": trial.started_at.isoformat(),
                "finished_at": trial.finished_at.isoformat(),
                "proposal_number": trial.proposal_number,
            },
        )
