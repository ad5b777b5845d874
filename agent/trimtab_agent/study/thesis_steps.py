"""What is left to do of the thesis' comparison, from what is recorded of it: the plan as a list of steps.

Nothing but the database says how far a study has come, so a study goes on after any end. Its runs are
ordinary ones. They are found by two tags: that of the study's form, and that of what they measure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trimtab_db import Repository, records
from trimtab_db.records import RunState
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.thesis.documents import SERVERS
from trimtab_tuner.thesis.evaluation import Found
from trimtab_tuner.thesis.plan import StudyPlan
from trimtab_tuner.thesis.shapes import Cell, Scored
from trimtab_tuner.workloads.conditions import Memory

from trimtab_agent.results.outcome import Outcome
from trimtab_agent.study.run_spec import KnobSpec, RunSpec

CAPACITY = "capacity"  # takes the place of the server in the tag of a size's first climb
ATTEMPTS = 2  # repeats that may be spent on one round, as the machine may be busy with something else
NOMINAL_RPS = 10_000.0  # only to estimate durations, while a size's capacity is not known


@dataclass(frozen=True)
class Step:
    """One run, or one repeat of a configuration that a run has found.

    `run_id` is that of the run to resume or to repeat in, None where it is still to be started. `trial` is
    what to repeat, None if that is not known yet. `spec` is what the run is asked to do.
    """

    kind: Literal["capacity", "tuning", "repeat"]
    memory: Memory
    server: str
    spec: RunSpec
    run_id: int | None = None
    trial: int | None = None

    @property
    def cell(self) -> Cell:
        """What it measures."""
        return self.memory, self.server

    def __str__(self) -> str:
        """For instance `in-memory: symped-nb, tuning`."""
        return f"{self.memory}: {'' if self.kind == CAPACITY else f'{self.server}, '}{self.kind}"


@dataclass(frozen=True)
class CellRecord:
    """The run of a cell, and its trials."""

    run: records.Run
    trials: tuple[Trial, ...]

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end."""
        return self.run.state is RunState.FINISHED

    @property
    def searched(self) -> list[Trial]:
        """The trials of its search that have a score."""
        return [t for t in self.trials if t.purpose is TrialPurpose.SEARCH and t.score is not None]

    @property
    def best(self) -> Trial | None:
        """The first trial of the configuration that the run recommends; None while nothing is."""
        if not self.finished or self.run.outcome is None:
            return None
        best = Outcome.model_validate(self.run.outcome).best
        digest = None if best is None else configuration_hash(best)
        return next((trial for trial in self.searched if trial.configuration_hash == digest), None)

    @property
    def repeats(self) -> list[Trial]:
        """The repeats of its best; what the run itself measured ended before the run did."""
        best, ended = self.best, self.run.finished_at
        if best is None or ended is None:
            return []
        return [
            trial
            for trial in self.trials
            if trial.purpose is TrialPurpose.CONFIRMATION
            and trial.block == 0
            and trial.started_at >= ended
            and trial.configuration_hash == best.configuration_hash
        ]

    @property
    def rounds(self) -> list[Trial]:
        """The repeats that count: nothing disturbed them, and nobody cut them short."""
        return [t for t in self.repeats if t.verdict not in (Verdict.DISTURBED, Verdict.ABORTED)]


class Recorded:
    """What the database holds of a study on this host."""

    def __init__(self, repository: Repository, plan: StudyPlan, host_id: int) -> None:
        self.plan = plan
        tag = study_tag(plan)
        runs = repository.runs(limit=repository.count_runs() or 1)
        newest: dict[str, records.Run] = {}
        for summary in runs:  # the newest first
            run = summary.run
            if run.host_id == host_id and len(run.tags) >= 2 and run.tags[0] == tag:
                newest.setdefault(run.tags[1], run)
        self.cells = {name: CellRecord(run, repository.trials(run.id)) for name, run in newest.items()}

    def capacity_rps(self, memory: Memory) -> float | None:
        """What the reference follows at that size; None while it has not been measured."""
        record = self.cells.get(_cell_tag((memory, CAPACITY)))
        if record is None or not record.finished or record.run.outcome is None:
            return None
        performance = Outcome.model_validate(record.run.outcome).capacity
        figure = None if performance is None else performance.capacity_rps
        return None if figure is None else figure.mean

    def ladder(self, memory: Memory) -> tuple[float, ...]:
        """The rates of that size; a nominal one while they are not known."""
        return self.plan.ladder(self.capacity_rps(memory) or NOMINAL_RPS)

    def record(self, cell: Cell) -> CellRecord | None:
        """The run of a server, if it was measured on the size's present ladder."""
        record = self.cells.get(_cell_tag(cell))
        if record is None or tuple(record.run.settings["ladder"]) != self.ladder(cell[0]):
            return None
        return record

    def found(self, memory: Memory) -> list[Found]:
        """What the rounds have measured of each server of the plan."""
        results = []
        for server in self.plan.servers:
            record = self.record((memory, server))
            best = None if record is None else record.best
            scores = () if record is None else tuple(trial.score for trial in record.rounds)
            results.append(
                Found(server=server, configuration=best.configuration if best else None, scores=scores)
            )
        return results

    def tried(self) -> Mapping[Cell, Sequence[Scored]]:
        """What the searches have scored, by cell."""
        return {
            (memory, server): [(t.configuration, t.score) for t in record.searched if t.score is not None]
            for memory in self.plan.sizes
            for server in self.plan.servers
            if (record := self.record((memory, server))) is not None and record.finished
        }

    def left(self) -> Iterator[Step]:
        """The steps that are still to be taken, in their order."""
        for memory in self.plan.sizes:
            yield from self._left_of(memory)

    def _left_of(self, memory: Memory) -> Iterator[Step]:
        if self.capacity_rps(memory) is None:
            climb = self.cells.get(_cell_tag((memory, CAPACITY)))
            spec = capacity_spec(self.plan, memory)
            # A climb that has come to its end without a capacity is made anew.
            run_id = climb.run.id if climb is not None and not climb.finished else None
            yield Step("capacity", memory, CAPACITY, spec, run_id)
        for server in self.plan.order(memory, 0):
            record = self.record((memory, server))
            if record is None or not record.finished:
                spec = tuning_spec(self.plan, memory, server, self.ladder(memory))
                yield Step("tuning", memory, server, spec, None if record is None else record.run.id)
        for round_ in range(1, self.plan.repeats + 1):
            for server in self.plan.order(memory, round_):
                record = self.record((memory, server))
                done = record is not None and (
                    len(record.rounds) >= round_ or len(record.repeats) >= ATTEMPTS * round_
                )
                if done or (record is not None and record.finished and record.best is None):
                    continue  # measured, or there is nothing to measure
                spec = tuning_spec(self.plan, memory, server, self.ladder(memory))
                best = None if record is None else record.best
                yield Step(
                    "repeat",
                    memory,
                    server,
                    spec,
                    None if record is None else record.run.id,
                    None if best is None else best.number,
                )


def study_tag(plan: StudyPlan) -> str:
    """The tag of all runs of that form of the study."""
    return f"thesis-{plan.name}"


def capacity_spec(plan: StudyPlan, memory: Memory) -> RunSpec:
    """One climb of the reference at that size."""
    return RunSpec(
        preset="capacity",
        memory=memory,
        knobs={name: KnobSpec(fixed=value) for name, value in plan.reference.items()},
        settings=dict(plan.settings),
        seed=plan.seed,
        tags=(study_tag(plan), _cell_tag((memory, CAPACITY))),
    )


def tuning_spec(plan: StudyPlan, memory: Memory, server: str, ladder: Sequence[float]) -> RunSpec:
    """The run that tunes one server at one size; it confirms nothing, which the rounds do for all."""
    return RunSpec(
        memory=memory,
        knobs={
            **{name: KnobSpec(fixed=value) for name, value in SERVERS[server].items()},
            "workers": KnobSpec(low=plan.workers[0], high=plan.workers[1]),
            "max_connections": KnobSpec(low=plan.connections[0], high=plan.connections[1]),
        },
        settings={
            **plan.settings,
            "ladder": tuple(ladder),
            "elimination_trials": 0,
            "confirmation_repeats": 0,
        },
        budget_trials=plan.budget_trials,
        seed=plan.seed,
        tags=(study_tag(plan), _cell_tag((memory, server))),
    )


def _cell_tag(cell: Cell) -> str:
    return f"{cell[0]} {cell[1]}"
