"""What a measured statement is, and the words that the statements share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab import Lab, Outcome


@dataclass(frozen=True)
class Finding:
    """What was seen: a sentence with the figures, the ratio behind it, and whether it is as stated."""

    seen: str
    ratio: float
    as_stated: bool


@dataclass(frozen=True)
class Statement:
    """One statement: its number, the claim, its source, when it counts as seen, and the measurement.

    `measure` takes the lab and the saturation of one SYMPED process in requests a second.
    """

    number: int
    claim: str
    source: str
    criterion: str
    measure: Callable[[Lab, float], Finding]


def show(outcome: Outcome) -> str:
    """Goodput and verdict in a few words."""
    verdict = "verified" if outcome.verification.verified else "fails verification"
    return f"{outcome.goodput_mbps:.0f} Mbps ({verdict})"


def hit_share(outcome: Outcome) -> float:
    """The share of look-ups that the open-file cache answered."""
    hits, misses = outcome.counters["cache_hits"], outcome.counters["cache_misses"]
    return hits / max(1, hits + misses)
