"""What Prometheus may scrape of the daemon: the runs, and how far the one that is going on has come.

Names and units follow its conventions: base units, a unit at the end of a name. What the machine does is no
business of ours here: an exporter of the host tells that, and our own counters are on the page Live.
"""

from collections.abc import Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from trimtab_db.records import RunState

from trimtab_agent import __version__
from trimtab_agent.api.context import Context
from trimtab_agent.simulated.demo import SAID

CONTENT_TYPE = CONTENT_TYPE_LATEST


class _Runs(Collector):
    """The figures of one daemon, read anew for every scrape."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterable[Metric]:
        """All metrics."""
        demo = {"demo": SAID} if self._context.settings.demo else {}
        yield InfoMetricFamily("trimtab", "The daemon.", {"version": __version__, **demo})
        runs = GaugeMetricFamily("trimtab_runs", "Recorded runs by state.", labels=["state"])
        counted = self._context.repository.count_runs_by_state()
        for state in RunState:
            runs.add_metric([state.value], counted.get(state, 0))
        yield runs
        yield from self._going_on()

    def _going_on(self) -> Iterator[Metric]:
        """Of the run that is going on in this daemon; nothing while there is none."""
        progress = self._context.service.progress()
        if progress is None:
            return
        run = str(progress["run_id"])
        load, best = progress["load"] or {}, progress["best"] or {}
        for name, text, value in (
            ("progress_ratio", "How much of the run is done.", progress["fraction"]),
            ("remaining_seconds", "How long the run will still take.", progress["eta_s"]),
            ("elapsed_seconds", "How long it has been going on, without pauses.", progress["elapsed_s"]),
            ("trial", "The number of the trial under way.", progress["trial"]),
            ("offered_requests_per_second", "The rate that is being driven.", progress["rate_rps"]),
            ("replies_per_second", "What the server under test answers.", load.get("reply_rate_rps")),
            ("best_score_mbps", "The best score of the search so far.", best.get("score")),
        ):
            if value is not None:
                metric = GaugeMetricFamily(f"trimtab_run_{name}", text, labels=["run"])
                metric.add_metric([run], value)
                yield metric


def exposition(context: Context) -> bytes:
    """All metrics in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Runs(context))
    return generate_latest(registry)
