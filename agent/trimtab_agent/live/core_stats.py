"""What trimtab-httpd tells of its replies, at its stats socket (docs/internals/stats-socket.md).

It is read with `show metrics`, which nobody sets back but a reload. It tells no sizes of single replies: they
are all in one class.
"""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from trimtab_tuner.live.observed import CLASSES, Replies, Served, Statuses
from trimtab_tuner.live.reply_lines import REQUEST_TIMEOUT
from trimtab_tuner.live.service_times import ServiceTimes, service_times_within

from trimtab_agent.live.observation import ObservationLost
from trimtab_agent.station.server.stats_socket import StatsSocket, StatsSocketError

# A name, the label that matters here if there is one (which status, up to which time), and the value.
METRIC = re.compile(r'trimtab_httpd_(\w+)\{(?:[^}]*,(?:status|le)="([^"]*)")?[^}]*\} (\S+)\n')

# By name and label; the label is empty where there is none.
Totals = defaultdict[str, defaultdict[str, float]]


class CoreStats:
    """The stats socket at `path`, from now on."""

    tells_requests = True
    paths = ()

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _no_totals()

    def read(self) -> Replies:
        """What was answered since the last reading; raises ObservationLost when nobody tells."""
        now = self._totals()
        if now["requests_total"][""] < self._before["requests_total"][""]:  # it was reloaded
            self._before = _no_totals()
        passed = _no_totals()
        for name, values in now.items():
            for label, value in values.items():
                passed[name][label] = value - self._before[name][label]
        self._before = now
        return _replies(passed, int(now["connections_open"][""]))

    def close(self) -> None:
        """Nothing is held between readings."""

    def _totals(self) -> Totals:
        """What all workers together have counted."""
        try:
            with StatsSocket(self._path) as stats:
                return _added_up(stats.metrics())
        except StatsSocketError as error:
            raise ObservationLost(str(error)) from error


def _no_totals() -> Totals:
    return defaultdict(lambda: defaultdict(float))


def _added_up(lines: Iterable[str]) -> Totals:
    totals = _no_totals()
    for match in filter(None, map(METRIC.fullmatch, lines)):
        totals[match[1]][match[2] or ""] += float(match[3])
    return totals


def _replies(passed: Totals, connections_open: int) -> Replies:
    """What was counted in a period; nobody asked for a reply that says so."""
    by_hundreds: Counter[int] = Counter()
    for status, count in passed["replies_total"].items():
        if int(status) != REQUEST_TIMEOUT:
            by_hundreds[int(status) // 100] += int(count)
    service_s = passed["service_time_seconds_sum"][""]
    return Replies(
        served=(Served(sum(by_hundreds.values()), service_s), *[Served()] * (CLASSES - 1)),
        aborted=int(passed["requests_aborted_total"][""]),
        bytes_sent=int(passed["bytes_sent_total"][""]),
        statuses=Statuses(*(by_hundreds[hundreds] for hundreds in range(2, 6))),
        service_times=_service_times(passed["service_time_seconds_bucket"]),
        connections_accepted=int(passed["connections_accepted_total"][""]),
        connections_open=connections_open,
        connections_closed=int(passed["connections_closed_by_server_total"][""]),
        dynamic=0,
    )


def _service_times(up_to: Mapping[str, float]) -> ServiceTimes:
    """The histogram from how many took up to which time, each with all before it."""
    cumulated = sorted((float(end_s), int(count)) for end_s, count in up_to.items())
    counts = [count - before for (_, before), (_, count) in itertools.pairwise([(0.0, 0), *cumulated])]
    return service_times_within([end_s for end_s, _ in cumulated[:-1]], counts)
