"""A server that answers with errors is stopped, with the status and the directive that probably says so."""

import socket

import pytest
from live_support import specweb99
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.requirements import for_workload
from trimtab_agent.station.upstream import RunningUpstream
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

pytestmark = pytest.mark.live

NGINX = "events {{}}\nhttp {{\n{}\nserver {{ listen 80; root /srv; }}\n}}\n"
APACHE = (
    "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"
    "LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n"
    "LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so\nListen 80\n{}\n"
)
# All clients alike: the generator has several addresses.
LIMITED = "limit_req_zone $server_port zone=a:1m rate=10r/s;\nlimit_req zone=a burst={} nodelay;"
# A reply takes so long that the next request comes meanwhile.
ONE_AT_A_TIME = "limit_conn_zone $binary_remote_addr zone=c:1m;\nlimit_conn c 1;\nlimit_rate 1k;"
FILES = len(list(specweb99(1).files()))
CASES = [
    ("nginx", NGINX.format(LIMITED.format(FILES + 8)), "503", "limit_req zone=a"),
    ("nginx", NGINX.format(LIMITED.format(2)), "503", "limit_req zone=a"),
    ("nginx", NGINX.format(ONE_AT_A_TIME), "503", "limit_conn c 1"),
    ("nginx", NGINX.format("deny all;"), "403", "deny all"),
    (
        "apache",
        APACHE.format("Redirect permanent /dir00000 http://a.example/"),
        "301",
        "Redirect permanent /dir",
    ),
    ("apache", APACHE.format("RedirectMatch 404 /dir0"), "404", "RedirectMatch 404 /dir0"),
    ("apache", APACHE.format("<Location />\nRequire all denied\n</Location>"), "403", "Require all denied"),
]


def job(target, workload, base=None):
    """Two rates of half a second, with the user's file."""
    kind = TARGETS[target]
    own = for_workload(kind.space(), kind, workload.definition).default()
    if base is not None:
        own = own_values(kind, base, 1)
    return TrialJob(
        target=target,
        configuration=own,
        base=None if base is None else kind.rooted(base, "/etc"),
        workload=workload,
        ladder=(200.0, 400.0),
        rate_duration_s=0.5,
        warmup_s=0.1,
        timeout_s=2.0,
        thresholds=Thresholds(all_files_limit=1, size_limit=1, size_over_mean_limit=1, failures_limit=1),
    )


@pytest.mark.parametrize(("target", "base", "status", "directive"), CASES)
def test_a_file_whose_answers_are_errors_is_stopped_with_its_directive(
    station, target, base, status, directive
):
    """Before the first rate or at it: two are never driven."""
    if find_installed(TARGETS[target].program) is None:
        pytest.skip(f"{target} is not installed")
    report = station.carry_out(job(target, parameters(WORKLOADS["specweb99"].sized(1), 0.02), base))
    assert report.verdict in (Verdict.FAILED_VERIFICATION, Verdict.CRASHED), report.reason
    assert len(report.measurements) <= 1
    assert status in report.reason
    assert "Probably because of line " in report.reason
    assert f" of its file: {directive}" in report.reason


def test_an_upstream_that_is_gone_is_a_502_and_named(station, monkeypatch):
    """The server answers as fast as ever."""
    if find_installed("nginx") is None:
        pytest.skip("nginx is not installed")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody else gets it, and nobody listens
        begin = RunningUpstream.__init__

        def gone(upstream, *arguments, **more):
            begin(upstream, *arguments, **more)
            counted = upstream._counted()
            upstream._counted = lambda: counted
            upstream.address = f"127.0.0.1:{closed.getsockname()[1]}"

        monkeypatch.setattr(RunningUpstream, "__init__", gone)
        report = station.carry_out(job("nginx", parameters(WORKLOADS["proxy"].sized(1), 0.02)))
    assert report.verdict is Verdict.FAILED_VERIFICATION, report.reason
    assert "answers had the status 502. Probably because of line " in report.reason
    assert " of its file: proxy_pass http://" in report.reason
    assert len(report.measurements) == 1
