"""Whether a trial serves its clients fairly enough to count (the seeds' thesis, section 3.3).

Throughput alone would reward a server that drops the large files and serves many small ones. So at every rate
of the ladder, with all clients pooled:

`all-files`      timeouts over all requests are at most `all_files_limit`;
`file-size`      timeouts for each file size are below `size_limit`;
`size-over-mean` timeouts for each size are at most the share over all files + `size_over_mean_limit`;
`failures`       requests failed otherwise (reset, wrong length, error status) are at most `failures_limit`;
`nothing-read`   the server read at least one request, if any was asked.

Every rate must pass. The first three rules and their thresholds are the thesis'. The others are ours: the
thesis checked correctness in separate runs, and a broken or dead server would otherwise pass for a fair one.

What counts. Requests that timed out before the server accepted or read them are left out altogether, both
among the timeouts and among the requests: the server never had them, and the reply rate already shows the
loss. Abandoned requests were never sent. So a share is

    timed_out_after_read / (replied + timed_out_after_read + failed).

Small counts. The largest files are asked for once in a thousand requests, so in a short measurement a
single timeout among 20 requests is 5 %, and a plain limit of 2 % is a lottery. Unless `confidence` is None, a
limit therefore counts as exceeded only if that many timeouts would come up by chance less often than
1 - `confidence` in a server whose true share is exactly the limit (one-sided exact binomial test). One rate
compares some thirty sizes with their limit, so that chance has as many occasions: each size gets its part of
1 - `confidence` (Bonferroni). The price: with few requests a server must be well above the limit to fail. The
`thesis` preset, whose measurements take minutes, uses the plain limits.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field
from scipy import special
from trimtab_trials.measurement import Measurement

from trimtab_tuner.clients import Clients
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.wording import counted

Share = Annotated[float, Field(ge=0, le=1)]
Rule = Literal["all-files", "file-size", "size-over-mean", "failures", "nothing-read"]


class Thresholds(Frozen):
    """The limits, as shares of 1; the defaults are the thesis' for all clients pooled."""

    all_files_limit: Share = 0.10
    size_limit: Share = 0.02
    size_over_mean_limit: Share = 0.02
    failures_limit: Share = 0.001
    confidence: Annotated[float, Field(gt=0.5, lt=1)] | None = 0.95


class Violation(Frozen):
    """One rule broken at one rate: `count` of `requests` timed out (or failed), `share` of 1, above `limit`.

    `size_bytes` is None for the rules over all files.
    """

    rule: Rule
    rate_rps: float
    size_bytes: int | None
    count: int
    requests: int
    share: float
    limit: float

    def sentence(self, clients: Clients) -> str:
        """For instance `At 8,000 requests/s, 4.2 % of the requests for files of 921,600 B timed out: …`."""
        at = clients.level(self.rate_rps)
        if self.rule == "nothing-read":
            return f"At {at}, the server read none of {counted(self.requests, 'request')}."
        what = (
            "of all requests"
            if self.size_bytes is None
            else f"of the requests for files of {self.size_bytes:,} B"
        )
        outcome = "failed" if self.rule == "failures" else "timed out after the server had read them"
        return (
            f"At {at}, {self.share * 100:.2f} % {what} "
            f"({self.count:,} of {self.requests:,}) {outcome}; "
            f"the rule {self.rule} allows {self.limit * 100:.2f} %."
        )


class Verification(Frozen):
    """The outcome; `sentence()` says which rule failed worst, or that all held."""

    verified: bool
    violations: tuple[Violation, ...]

    def sentence(self, clients: Clients, measurements: Sequence[Measurement] = ()) -> str:
        """The violation furthest above its limit, and how many more there are; `clients` name the rung, and
        the `measurements` say what the failures there were.
        """
        if self.verified:
            return "All verification rules hold at every rate."
        worst = max(self.violations, key=lambda violation: violation.share - violation.limit)
        more = len(self.violations) - 1
        failures = next((m.failures for m in measurements if m.rate_rps == worst.rate_rps), {})
        frequent = sorted((name for name in failures if failures[name]), key=lambda name: -failures[name])
        told = ", ".join(f"{name} {failures[name]:,}" for name in frequent)
        of_which = f" Failures there: {told}." if told and worst.rule == "failures" else ""
        return worst.sentence(clients) + of_which + (f" ({counted(more, 'more violation')}.)" if more else "")


def verify(measurements: Sequence[Measurement], thresholds: Thresholds | None = None) -> Verification:
    """Apply the rules to every measurement; ValueError for one that was read without its size classes."""
    limits = thresholds or Thresholds()
    violations = tuple(v for measurement in measurements for v in _violations(measurement, limits))
    return Verification(verified=not violations, violations=violations)


def _violations(measurement: Measurement, limits: Thresholds) -> list[Violation]:
    classes = [
        (c.size_bytes, c.timed_out_after_read, c.replied + c.timed_out_after_read + c.failed)
        for c in measurement.size_classes
    ]
    if not classes and measurement.requests.offered:
        raise ValueError(f"{measurement.rate_rps:g} requests/s: expected what became of each file size")
    requests = sum(read for _, _, read in classes)
    if requests == 0:
        asked = sum(c.asked for c in measurement.size_classes)
        return [_nothing_read(measurement.rate_rps, asked)] if asked else []
    timeouts = sum(count for _, count, _ in classes)
    failures = sum(c.failed for c in measurement.size_classes)
    size_over_mean = timeouts / requests + limits.size_over_mean_limit
    sizes = sum(read > 0 for _, _, read in classes)
    found: list[Violation] = []

    def apply(rule: Rule, size_bytes: int | None, count: int, requests: int, limit: float) -> None:
        chance = None if limits.confidence is None else 1 - limits.confidence
        if chance is not None and size_bytes is not None:
            chance /= sizes
        if _exceeds(count, requests, limit, chance, strictly_below=rule == "file-size"):
            found.append(
                Violation(
                    rule=rule,
                    rate_rps=measurement.rate_rps,
                    size_bytes=size_bytes,
                    count=count,
                    requests=requests,
                    share=count / requests,
                    limit=limit,
                )
            )

    apply("all-files", None, timeouts, requests, limits.all_files_limit)
    apply("failures", None, failures, requests, limits.failures_limit)
    for size_bytes, count, read in classes:
        apply("file-size", size_bytes, count, read, limits.size_limit)
        apply("size-over-mean", size_bytes, count, read, size_over_mean)
    return found


def _nothing_read(rate_rps: float, asked: int) -> Violation:
    return Violation(
        rule="nothing-read",
        rate_rps=rate_rps,
        size_bytes=None,
        count=asked,
        requests=asked,
        share=1.0,
        limit=0.0,
    )


def _exceeds(count: int, requests: int, limit: float, chance: float | None, *, strictly_below: bool) -> bool:
    """Whether count of requests breaks the limit; `strictly_below` counts the limit itself as too much.

    By chance that much may come up with a probability of `chance`; None takes the plain limit.
    """
    if count == 0:
        return False
    share = count / requests
    if share < limit or (share == limit and not strictly_below):
        return False
    if chance is None:
        return True
    # The binomial survival function; scipy.stats has it too, and takes a second to load.
    return float(special.bdtrc(count - 1, requests, limit)) < chance
