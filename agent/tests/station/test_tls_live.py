"""Every server that speaks TLS, for real: certificates of the moment, and which sessions it resumes."""

import os
import stat
from dataclasses import replace

import pytest
from trimtab_agent.station.generator import LoadOrder, LoadResult, drive
from trimtab_agent.station.measuring import tls_counters
from trimtab_agent.station.server.certificates import make_certificates
from trimtab_agent.station.server.ports import ADDRESS
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.station.warming import warm
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS, tls
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.workloads.tls import Tls

pytestmark = pytest.mark.live

CPUS = tuple(sorted(os.sched_getaffinity(0)))
SPEAKING = [name for name in TARGETS if TARGETS[name].tls_knobs]
BY_CACHE = {
    "nginx": {"ssl_session_cache": 1, "ssl_session_tickets": "off"},
    "apache": {"SSLSessionCache": 1, "SSLSessionTickets": "off"},
    "h2o": {"ssl-session-resumption": "cache"},
}
"""How sessions are resumed without tickets, where the server can."""
NOT_AT_ALL = {
    "nginx": {"ssl_session_cache": 0, "ssl_session_tickets": "off"},
    "apache": {"SSLSessionCache": 0, "SSLSessionTickets": "off"},
    "lighttpd": {"SessionTicket": "off"},
    "h2o": {"ssl-session-resumption": "off"},
}


@pytest.fixture
def driven(server_order, settings, file_set, tmp_path):
    """Drives a server with these knobs over TLS; half of the connections offer an earlier session."""

    def drive_it(name: str, version: str = "1.3", **changed: object) -> LoadResult:
        knobs = {knob.name: knob.default for knob in TARGETS[name].tls_knobs} | changed
        with TargetServer(server_order(name, **knobs), StopSignal()) as server:
            assert server.url.startswith("https://")
            paths = [path for path, _ in file_set.files]
            warm(ADDRESS, server.port, paths, StopSignal(), secure=server.secure)
            order = LoadOrder(
                program=settings.load_path,
                url=server.url,
                rate_rps=400.0,
                duration_s=1.0,
                warmup_s=0.1,
                timeout_s=10.0,
                sessions=file_set.sessions,
                seed=1,
                cpus=CPUS[-1:],
                prioritised=False,
                log=tmp_path / "load.log",
                tls=Tls(version=version, resumed_share=0.5, server_name="shop.test"),
            )
            return drive(order, [server.child], StopSignal(), lambda line: None)

    return drive_it


@pytest.mark.parametrize("key", tls.KEY.choices)
@pytest.mark.parametrize("name", SPEAKING)
def test_server_speaks_tls_with_a_certificate_of_the_moment(name, key, driven, tmp_path):
    """Warmed and driven over it, half of the connections with an earlier session; keys are private."""
    result = driven(name, tls_key=key)
    assert result.failures == {}
    assert result.requests.replied > 0
    assert 0 < result.tls.resumed < result.tls.handshakes
    values = tls_counters(result)["tls"]
    assert values["handshakes_per_s"] > 0
    assert 0 < values["resumed_percent"] < 100
    assert values["handshake_p99_us"] >= values["handshake_p50_us"] > 0
    keys = list((tmp_path / "tls").glob("*.key"))
    assert [stat.S_IMODE(file.stat().st_mode) for file in keys] == [0o600] * len(tls.KEY.choices)


def test_nginx_answers_where_tls_is_left_to_the_kernel(driven):
    """Whether or not this kernel has any: without, nginx encrypts by itself."""
    result = driven("nginx", KTLS="on", sendfile="on")
    assert result.failures == {}
    assert result.requests.replied > 0


@pytest.mark.parametrize("name", SPEAKING)
def test_exported_file_speaks_tls_when_it_is_driven(name, server_order, file_set, tmp_path):
    """With the settings that it has itself, and certificates of the run."""
    target = TARGETS[name]
    order = server_order(name, **{knob.name: knob.default for knob in target.tls_knobs})
    make_certificates(tmp_path / "exported")
    context = RenderContext(
        root=str(file_set.root),
        listen=("127.0.0.1:8000",),
        prefix=str(tmp_path / "exported"),
        tls_directory=str(tmp_path / "exported"),
    )
    exported = target.render(order.configuration, context)
    with TargetServer(replace(order, base=exported), StopSignal()) as server:
        paths = [path for path, _ in file_set.files]
        warm(ADDRESS, server.port, paths, StopSignal(), secure=True)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("name", BY_CACHE)
def test_sessions_are_resumed_from_the_servers_cache(name, version, driven):
    """Without tickets, so the server has kept them; all workers share them."""
    result = driven(name, version, **BY_CACHE[name])
    assert result.failures == {}
    assert 0 < result.tls.resumed < result.tls.handshakes


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("name", NOT_AT_ALL)
def test_nothing_is_resumed_where_no_session_is_kept(name, version, driven):
    """Neither by the server nor by its clients: every handshake is a whole one, and all succeed."""
    result = driven(name, version, **NOT_AT_ALL[name])
    assert result.failures == {}
    assert result.tls.handshakes > 0
    assert result.tls.resumed == 0
