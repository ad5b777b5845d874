"""Fast errors are never speed: a trial whose server says no is ended, with the status and the cause."""

import pytest
from trimtab_trials.measurement import Measurement, RequestCounts
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.answers import refused, refusing
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.targets.suspects import suspect
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

JOB = TrialJob(
    target="nginx",
    configuration={"worker_processes": 1},
    workload=parameters(WORKLOADS["one-packet"], 1.0),
    ladder=(100.0, 200.0),
    rate_duration_s=1.0,
    timeout_s=1.0,
)
LIMITED = "events {}\nhttp {\n  # limit_req is below\n  limit_req zone=a burst=5;\n}\n"


def measured(rate_rps=100.0, replied=900, **failures):
    """A rate with so many replies and failures."""
    counts = {name.replace("_", "-"): count for name, count in failures.items()}
    return Measurement(
        rate_rps=rate_rps,
        goodput_mbps=1.0,
        reply_rate_rps=rate_rps,
        requests=RequestCounts(offered=1000, replied=replied, failed=sum(counts.values())),
        failures=counts,
    )


def test_a_server_that_refuses_is_stopped_with_status_and_directive():
    """With its line, and not that of a comment."""
    judgement = refused(JOB, [measured(status_503=100, reset=3)], LIMITED)
    assert judgement.verdict is Verdict.FAILED_VERIFICATION
    assert judgement.reason == (
        "At 100 requests/s, 100 of 1,000 answers had the status 503. Probably because of line 4 of its file: "
        "limit_req zone=a burst=5"
    )


def test_a_small_share_goes_on():
    """Ten in a thousand, or nine in a few."""
    assert refusing([measured(replied=990, status_403=10)]) is None
    assert refusing([measured(replied=0, status_403=9)]) is None
    assert refusing([measured(replied=0, reset=1000)]) is None
    assert refusing([]) is None


@pytest.mark.parametrize(("status", "stops"), [("403", True), ("404", True), ("301", True), ("502", False)])
def test_at_higher_rates_only_what_is_no_overload_stops_a_trial(status, stops):
    """A backend that gives way under load is what verification judges; a refusal is none of load."""
    rates = [measured(), measured(200.0, **{f"status_{status}": 100})]
    assert (refusing(rates) is not None) is stops


@pytest.mark.parametrize(
    ("target", "status", "text", "line"),
    [
        ("nginx", "403", "http {\n server {\n deny all; } }", "deny all"),
        ("nginx", "301", "server { listen 80;\n return 301 https://$host; }", "return 301 https://$host"),
        ("nginx", "502", "location / { proxy_pass http://a; }", "proxy_pass http://a"),
        ("apache", "403", "Listen 80\n  Require all denied", "Require all denied"),
        ("apache", "302", "Redirect /a /b", "Redirect /a /b"),
        ("lighttpd", "301", 'url.redirect = ( "" => "/" )', 'url.redirect = ( "" => "/" )'),
        ("h2o", "502", "  proxy.reverse.url: http://a/", "proxy.reverse.url: http://a/"),
    ],
)
def test_each_server_has_directives_that_answer_so(target, status, text, line):
    """The first of them is named."""
    found = suspect(target, status, text)
    assert found.text == line
    assert (
        text.splitlines()[found.line - 1]
        .strip()
        .endswith((line, f"{line};", f"{line}; }}", f"{line}; }} }}"))
    )
    assert suspect(target, "418", "events {}") is None


def test_a_redirection_to_an_error_is_one_of_apache_s():
    """As it hides folders of version control: neither a redirection nor a file that is missing."""
    text = "DocumentRoot /srv\nRedirectMatch 404 /\\.git\nRedirect permanent /a http://b/\n"
    assert suspect("apache", "404", text).line == 2
    assert suspect("apache", "301", text).line == 3
    assert suspect("apache", "404", "DocumentRoot /srv\n").line == 1
