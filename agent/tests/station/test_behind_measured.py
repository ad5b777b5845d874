"""A proxy under load, as a station measures it: what the upstream counts, and what diagnosis makes of it."""

import pytest
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.clients import Clients
from trimtab_tuner.diagnosis import diagnose
from trimtab_tuner.diagnosis.evidence import RunEvidence
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.common_knobs import with_proxying
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters
from trimtab_tuner.workloads.session_shapes import PlainSessions
from trimtab_tuner.workloads.upstream import Upstream

pytestmark = pytest.mark.live

NGINX = TARGETS["nginx"]
SPACE = with_proxying(NGINX.space(), NGINX.proxy_knobs, NGINX.proxy_free)
PERMISSIVE = Thresholds(all_files_limit=1, size_limit=1, size_over_mean_limit=1, failures_limit=1)


@pytest.fixture
def measured(station):
    """Measures nginx before an upstream at one rate."""

    def measure(upstream, rate_rps, clients=None, requests=5, **knobs):
        definition = WORKLOADS["proxy"].model_copy(
            update={
                "upstream": upstream,
                "sessions": PlainSessions(kind="plain", requests=requests),
                "clients": clients or Clients(),
            }
        )
        job = TrialJob(
            target="nginx",
            configuration={**SPACE.default(), **knobs},
            workload=parameters(definition, 1.0),
            ladder=(rate_rps,),
            rate_duration_s=1.0,
            warmup_s=0.2,
            timeout_s=5.0,
            thresholds=PERMISSIVE,
        )
        report = station.carry_out(job)
        assert report.measurements, report.reason
        return report.measurements[0], {**SPACE.default(), **knobs}

    return measure


def found(measurement, configuration):
    """The rules that fire on it."""
    best = Trial(
        number=1,
        configuration=configuration,
        verdict=Verdict.VERIFIED,
        score=1.0,
        measurements=(measurement,),
    )
    evidence = RunEvidence(space=SPACE, equivalents=NGINX.equivalents, best=best, trials=(best,))
    return {finding.rule for finding in diagnose(evidence)}


def test_upstream_counts_what_the_proxy_asks_for(measured):
    """As many requests as clients send, over few connections where they are kept, with the times drawn."""
    upstream = Upstream(service_time_ms=4, service_time_spread=0, size_bytes=2000, size_spread=0.5)
    measurement, _ = measured(upstream, 200.0, keepalive=64)
    counted = measurement.counters["upstream"]
    assert counted["requests_per_s"] == pytest.approx(measurement.reply_rate_rps, rel=0.5)
    assert counted["connections_per_s"] < 100
    assert counted["service_ms"] == pytest.approx(4)
    assert counted["wait_ms"] == 0
    assert measurement.reply_latency.p50_us >= 4000
    assert measurement.counters["server_processes"]["written_bytes_per_s"] >= 0
    assert measurement.requests.replied > 0
    assert sum(measurement.failures.values()) == 0


def test_requests_that_wait_at_the_upstream_are_found(measured):
    """It works on one at a time, for longer than the next one takes to come."""
    slow = Upstream(service_time_ms=8, service_time_spread=0, size_bytes=100, size_spread=0, concurrency=1)
    assert "upstream-makes-requests-wait" in found(*measured(slow, 200.0))
    ample = slow.model_copy(update={"concurrency": 0})
    assert "upstream-makes-requests-wait" not in found(*measured(ample, 200.0))


def test_replies_that_do_not_fit_the_buffers_are_found_on_disk(measured):
    """Half of the clients read slowly, and nginx takes replies in as fast as the upstream gives them."""
    large = Upstream(service_time_ms=0, service_time_spread=0, size_bytes=24_000_000, size_spread=0)
    slow = Clients(slow_share=0.5)
    rule = "replies-go-to-disk"
    assert rule in found(*measured(large, 8.0, slow, 1))
    assert rule not in found(*measured(large, 8.0, slow, 1, proxy_max_temp_file_size=0))
