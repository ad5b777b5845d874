"""The configurations of a run as rows, best first, and its front: for every document that shows them."""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab_db import records
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.standing import standings
from trimtab_tuner.space import Space
from trimtab_tuner.wording import in_digits

from trimtab_agent.results.outcome import Front, Outcome, RankedConfiguration

LEGEND = (
    "rank: finalists with the same number may be equally good (95 %, within the blocks); "
    "score: mean over the search; confirmed: mean of the repeats"
)


def star(outcome: Outcome | None) -> str:
    """What the star stands for: before a confirmation nothing is recommended. Empty where there is none."""
    if outcome is None or outcome.best is None:
        return ""
    return "*: recommended" if outcome.confirmed else "*: leads so far, not confirmed"


def legend(outcome: Outcome | None) -> str:
    """What stands below the ranked table."""
    return "; ".join(filter(None, (star(outcome), LEGEND)))


@dataclass(frozen=True)
class Row:
    """A line of the ranked table: a configuration's last trial of the search, its mean score there, and its
    place among the finalists.
    """

    trial: Trial
    score_mbps: float | None
    ranked: RankedConfiguration | None
    is_default: bool
    is_best: bool

    @property
    def peak_mbps(self) -> float | None:
        """The highest goodput at any rate."""
        return max((m.goodput_mbps for m in self.trial.measurements), default=None)

    @property
    def timeout_percent(self) -> float | None:
        """The share of the requests that timed out at the highest rate measured."""
        if not self.trial.measurements:
            return None
        requests = self.trial.measurements[-1].requests
        return 100 * requests.timed_out / requests.offered if requests.offered else None


def table_rows(space: Space, outcome: Outcome | None, trials: Sequence[Trial]) -> list[Row]:
    """One row per configuration of the search: finalists by rank, then the others by score."""
    ranking = {r.configuration_hash: r for r in outcome.ranking} if outcome else {}
    best = outcome.best if outcome else None
    default = space.default()
    last = {t.configuration_hash: t for t in trials if t.purpose is TrialPurpose.SEARCH}
    for trial in trials:  # the expert baseline is measured in the confirmation only
        if trial.purpose is TrialPurpose.CONFIRMATION and trial.configuration_hash in ranking:
            last.setdefault(trial.configuration_hash, trial)
    standing = standings(trials)
    rows = [
        Row(
            trial=trial,
            score_mbps=standing[digest].search_score if digest in standing else None,
            ranked=ranking.get(digest),
            is_default=trial.configuration == default,
            is_best=trial.configuration == best,
        )
        for digest, trial in last.items()
    ]
    return sorted(rows, key=_place)


def _place(row: Row) -> tuple[bool, int, float, float, int]:
    """Finalists first, by rank and mean; then by the search's score; what was not verified last."""
    rank = row.ranked.rank if row.ranked is not None else None
    mean = row.ranked.mean_score_mbps if row.ranked is not None else None
    return (row.ranked is None, rank or 1_000, -(mean or 0.0), -(row.score_mbps or -1.0), row.trial.number)


def objectives_label(run: records.Run) -> str:
    """The objective of a run, or its two."""
    second = run.second_objective
    return run.objective if second is None else f"{run.objective} and {second}"


def front_rows(space: Space, front: Front) -> tuple[list[str], list[list[str]]]:
    """The front as headings and rows, best first objective first."""
    heads = [
        *(knob.name for knob in space.free),
        *(f"{axis.objective}, {axis.unit}" for axis in (front.first, front.second)),
        "what it is",
    ]
    rows = []
    for member in front.members:
        words = front.place_of(member) + " (default)" * member.is_default + " *" * member.is_best
        rows.append(
            [
                *(str(member.configuration[knob.name]) for knob in space.free),
                in_digits(member.score_mbps),
                in_digits(member.second_score),
                words if member.confirmed else f"{words}; not confirmed",
            ]
        )
    return heads, rows
