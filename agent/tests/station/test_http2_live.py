"""Every server that speaks HTTP/2, for real: several requests of a session at once, over TLS and without."""

import os

import pytest
from trimtab_agent.station.generator import LoadOrder, LoadResult, drive
from trimtab_agent.station.measuring import http2_counters
from trimtab_agent.station.server.ports import ADDRESS
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.station.warming import warm
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads.http2 import Http2
from trimtab_tuner.workloads.tls import Tls

pytestmark = pytest.mark.live

CPUS = tuple(sorted(os.sched_getaffinity(0)))
SPEAKING = [name for name in TARGETS if TARGETS[name].http2 is not None]
LIMITED = {
    "nginx": {"http2_max_concurrent_streams": 2},
    "apache": {"H2MaxSessionStreams": 2},
    "h2o": {"http2-max-concurrent-requests-per-connection": 2},
}
"""A limit of two streams, where the server has one."""


def defaults(name: str, *, secure: bool) -> dict[str, object]:
    """The knobs of HTTP/2, and of TLS if wanted, at their defaults."""
    target = TARGETS[name]
    assert target.http2 is not None
    knobs = (*target.http2.all_knobs, *(target.tls_knobs if secure else ()))
    return {knob.name: knob.default for knob in knobs}


@pytest.fixture
def driven(server_order, settings, file_set, tmp_path):
    """Drives a server with these knobs over HTTP/2, each session with bursts of seven requests."""
    log = tmp_path / "bursts.log"
    lines = [f"{path} size={size}" for path, size in file_set.files]
    log.write_text("\n ".join((lines * 7)[:7]) + "\n")

    def drive_it(name: str, *, secure: bool, streams: int = 100, **changed: object) -> LoadResult:
        knobs = defaults(name, secure=secure) | changed
        with TargetServer(server_order(name, **knobs), StopSignal()) as server:
            warm(
                ADDRESS,
                server.port,
                [path for path, _ in file_set.files],
                StopSignal(),
                secure=server.secure,
            )
            order = LoadOrder(
                program=settings.load_path,
                url=server.url,
                rate_rps=1400.0,
                duration_s=0.25,
                warmup_s=0.05,
                timeout_s=10.0,
                sessions=log,
                seed=1,
                cpus=CPUS[-1:],
                prioritised=False,
                log=tmp_path / "load.log",
                tls=Tls() if secure else None,
                http2=Http2(streams=streams),
            )
            return drive(order, [server.child], StopSignal(), lambda line: None)

    return drive_it


@pytest.mark.parametrize("name", SPEAKING)
@pytest.mark.parametrize("secure", [True, False])
def test_server_answers_the_requests_of_a_burst_at_once(name, secure, driven):
    """Six behind the first one; without TLS where it speaks HTTP/1 on the same address, too."""
    http2 = TARGETS[name].http2
    if not secure and http2 is not None and not http2.plain:
        pytest.skip(f"{name} does not speak both without TLS")
    result = driven(name, secure=secure)
    assert result.failures == {}
    assert result.requests.replied == result.requests.offered == 350
    assert http2_counters(result)["http2"]["most_streams"] == 6
    assert result.tls.handshakes == (50 if secure else 0)


@pytest.mark.parametrize("name", LIMITED)
def test_server_that_allows_two_streams_gets_all_requests(name, driven):
    """Clients hold the others back."""
    result = driven(name, secure=True, **LIMITED[name])
    assert result.failures == {}
    assert result.requests.replied == 350


def test_server_that_ends_connections_loses_no_request(driven):
    """What a connection is not to serve is asked on the next one. The others set no such limit on HTTP/2."""
    result = driven("nginx", secure=True, keepalive_requests=4)
    assert result.failures == {}
    assert result.requests.replied == 350
    counters = http2_counters(result)["http2"]
    assert counters["goaways"] >= 50
    assert counters["asked_again"] > 0


def test_clients_keep_to_their_own_number_of_streams(driven):
    """Three, of seven requests in a burst."""
    result = driven("nginx", secure=True, streams=3)
    assert result.requests.replied == 350
    assert result.http2.most_streams == 3
