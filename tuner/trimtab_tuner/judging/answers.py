"""Whether the server answers what it is asked, or something else, fast: a status in place of the file.

A refusal costs less than a reply, so it is never speed. More of them than `SMALL_SHARE` ends a trial at once:
at its first rate whatever the status, since no server is overloaded there; at any rate if it is one by which
a server says no or points elsewhere, which has nothing to do with load.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Verdict

from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.judgement import Judgement
from trimtab_tuner.targets.suspects import suspect

SMALL_SHARE = 0.01
FEWEST = 10  # so few may have come by chance
_PREFIX = "status-"
_OF_LOAD = {"429", "500", "502", "503", "504", "529"}


@dataclass(frozen=True)
class Answers:
    """`count` of all `answers` at a rate had the `status`, the most frequent one that was not expected."""

    rate_rps: float
    status: str
    count: int
    answers: int

    @property
    def share(self) -> float:
        """Of all answers."""
        return self.count / max(1, self.answers)

    def sentence(self) -> str:
        """Without the rate."""
        return f"{self.count:,} of {self.answers:,} answers had the status {self.status}."


def unexpected(measurement: Measurement) -> Answers | None:
    """The most frequent status that was not expected; None where there was none."""
    counts = {
        name.removeprefix(_PREFIX): count
        for name, count in measurement.failures.items()
        if name.startswith(_PREFIX) and count > 0
    }
    if not counts:
        return None
    status = max(counts, key=lambda each: counts[each])
    answers = measurement.requests.replied + sum(counts.values())
    return Answers(measurement.rate_rps, status, counts[status], answers)


def refusing(measurements: Sequence[Measurement]) -> Answers | None:
    """What ends a trial that has measured these, by the last of them; None where it goes on."""
    found = unexpected(measurements[-1]) if measurements else None
    if found is None or found.count < FEWEST or found.share <= SMALL_SHARE:
        return None
    return found if len(measurements) == 1 or found.status not in _OF_LOAD else None


def refused(job: TrialJob, measurements: Sequence[Measurement], server_file: str) -> Judgement | None:
    """The judgement of a trial whose server says no to its clients; `server_file` is what it runs with."""
    found = refusing(measurements)
    if found is None:
        return None
    because = cause_of(job.target, found.status, server_file)
    return Judgement(
        Verdict.FAILED_VERIFICATION,
        f"At {job.clients.level(found.rate_rps)}, {found.sentence()} {because}".rstrip(),
    )


def cause_of(target: str, status: str, server_file: str) -> str:
    """A sentence on the line of the server's file that probably answers with the status; "" without one."""
    cause = suspect(target, status, server_file)
    return "" if cause is None else f"Probably because of line {cause.line} of its file: {cause.text}"
