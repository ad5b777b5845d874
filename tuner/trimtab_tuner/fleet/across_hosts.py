"""What several hosts say of one configuration after the confirmation: the gain, its spread, what to expect.

The unit is the host: each has measured the configuration beside the default in blocks of its own, and the
mean of its blocks is one value. A t interval over hosts then holds for hosts like these, because it sees how
much they differ; the interval for a new host is wider by that spread (Higgins, Thompson and Spiegelhalter, A
re-evaluation of random-effects meta-analysis, 2009). With fewer than three hosts nothing can be said of
others.
"""

import math
import statistics
from collections.abc import Mapping, Sequence

from scipy.special import chdtri, stdtrit

from trimtab_tuner.certainty.statistics import says_nothing
from trimtab_tuner.frozen import Frozen

FEWEST_HOSTS = 3
FEWEST_TO_STAND_OUT = 5
CONFIDENCE = 0.95


class HostGain(Frozen):
    """The gain over the default on one host (a share), by so many blocks; `unlike` if it stands out."""

    host: str
    stratum: int
    gain: float
    blocks: int
    unlike: bool = False


class Spread(Frozen):
    """How gains differ over hosts: a standard deviation (of the ratio, as a share), and its interval."""

    share: float
    low: float
    high: float


class AcrossHosts(Frozen):
    """A configuration over hosts.

    `gain` is the mean with its interval, `expected` where the gain on one more host lies; None where too few
    hosts have measured it. `expected` is None as well where the interval would say nothing.
    `by_stratum` are the mean gains of classes of hosts, where there are several.
    """

    gain: float
    low: float | None
    high: float | None
    expected_low: float | None
    expected_high: float | None
    spread: Spread | None
    hosts: tuple[HostGain, ...]
    by_stratum: dict[int, float]

    @property
    def says_nothing(self) -> bool:
        """Whether hosts differ so much that no figure of the mean is to be told."""
        return says_nothing(self.gain, self.low, self.high)

    @property
    def unlike(self) -> tuple[str, ...]:
        """The hosts that behave unlike the others."""
        return tuple(each.host for each in self.hosts if each.unlike)


def across_hosts(
    logs: Mapping[str, Sequence[float]], strata: Mapping[str, int], confidence: float = CONFIDENCE
) -> AcrossHosts | None:
    """From the logarithms of a configuration's ratio to the default, of each host's blocks.

    None while no host has a block in which both were verified.
    """
    means = {host: statistics.fmean(values) for host, values in sorted(logs.items()) if values}
    if not means:
        return None
    values = list(means.values())
    mean, hosts = statistics.fmean(values), len(values)
    low = high = expected_low = expected_high = None
    spread = None
    if hosts >= FEWEST_HOSTS:
        deviation = statistics.stdev(values)
        reach = float(stdtrit(hosts - 1, (1 + confidence) / 2))
        low, high = (math.expm1(mean + side * reach * deviation / math.sqrt(hosts)) for side in (-1, 1))
        wider = deviation * math.sqrt(1 + 1 / hosts)
        expected_low, expected_high = (math.expm1(mean + side * reach * wider) for side in (-1, 1))
        if says_nothing(math.expm1(mean), expected_low, expected_high):
            expected_low = expected_high = None
        tails = ((1 - confidence) / 2, (1 + confidence) / 2)
        bounds = [deviation * math.sqrt((hosts - 1) / float(chdtri(hosts - 1, tail))) for tail in tails]
        spread = Spread(share=deviation, low=bounds[0], high=bounds[1])
    outsiders = unlike_others(means)
    groups: dict[int, list[float]] = {}
    for host, value in means.items():
        groups.setdefault(strata.get(host, 0), []).append(value)
    return AcrossHosts(
        gain=math.expm1(mean),
        low=low,
        high=high,
        expected_low=expected_low,
        expected_high=expected_high,
        spread=spread,
        hosts=tuple(
            HostGain(
                host=host,
                stratum=strata.get(host, 0),
                gain=math.expm1(value),
                blocks=len(logs[host]),
                unlike=host in outsiders,
            )
            for host, value in means.items()
        ),
        by_stratum={number: math.expm1(statistics.fmean(of)) for number, of in sorted(groups.items())}
        if len(groups) > 1
        else {},
    )


def unlike_others(values: Mapping[str, float], confidence: float = CONFIDENCE) -> tuple[str, ...]:
    """The hosts whose value lies outside of where all the others together would expect it.

    Each is held against an interval from the others alone, so that it does not widen its own; Bonferroni's
    correction keeps the chance of naming any of equal hosts at 5 %. With fewer than five hosts nobody is
    named.
    """
    hosts = len(values)
    if hosts < FEWEST_TO_STAND_OUT:
        return ()
    reach = float(stdtrit(hosts - 2, 1 - (1 - confidence) / (2 * hosts)))
    named = []
    for host, value in values.items():
        others = [other for name, other in values.items() if name != host]
        deviation = statistics.stdev(others) * math.sqrt(1 + 1 / len(others))
        if abs(value - statistics.fmean(others)) > reach * deviation > 0:
            named.append(host)
    return tuple(named)
