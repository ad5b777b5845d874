"""Trimtab's upstream in the place of one of the user's own file: what its log tells becomes the workload."""

import pytest
from live_support import LADDER_RPS, TINY
from trimtab_agent.errors import SpecError
from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.results.document import Listing, document_of
from trimtab_agent.study import own_upstream
from trimtab_agent.study.own_file_report import in_words
from trimtab_agent.study.specification import RunSpec, check
from trimtab_db.records import RunState
from trimtab_tuner.workloads.parameters import recorded_parameters

FILE = """events {{ worker_connections 64; }}
http {{
    log_format timed '$request_uri $upstream_response_time $upstream_response_length $status';
    upstream app {{ server 10.0.0.1:8080; keepalive 8; }}
    server {{
        listen 80;
        access_log {log} timed;
        location / {{ root /srv/www; }}
        location /api {{ proxy_pass http://app; proxy_set_header Host $host; }}
    }}
}}
"""


@pytest.fixture
def log(tmp_path):
    """A log of 800 files and of 400 requests that went on, half of which took two servers."""
    path = tmp_path / "access.log"
    lines = []
    for number in range(400):
        lines += ["/logo.png - - 200"] * 2
        times, sizes = ("0.000, 0.020", "0, 4000") if number % 2 else ("0.010", "1000")
        lines.append(f"/api/{number} {times} {sizes} 200")
    path.write_text("\n".join([*lines, "what another program wrote"]) + "\n")
    return path


@pytest.fixture
def spec(tmp_path, log):
    """A run with the file that writes that log."""
    file = tmp_path / "nginx.conf"
    file.write_text(FILE.format(log=log))
    return RunSpec(target="nginx", base=str(file), upstream="app")


def test_workload_asks_an_upstream_as_fast_as_the_log_tells(spec):
    """Each answer of a server counts; less than a millisecond is half of one. Sizes are those of the last."""
    plan = check(spec)
    upstream = plan.parameters.definition.upstream
    assert plan.parameters.definition.name == "proxy"
    assert upstream.stands_for == "app"
    assert (upstream.share, upstream.concurrency) == (1.0, 256)  # as the workload has them
    assert upstream.times_ms[0] == 0.5
    assert upstream.times_ms[-1] == 20
    assert sum(upstream.times_ms) / len(upstream.times_ms) == pytest.approx((10 + 0.5 + 20) / 3, rel=0.02)
    assert (upstream.sizes_bytes[0], upstream.sizes_bytes[-1]) == (1000, 4000)
    assert "600 requests in" in plan.parameters.definition.source
    assert "keepalive" in {knob.name for knob in plan.space.free}


def test_share_is_that_of_the_log_where_the_workload_has_none(spec):
    """Two thirds of the lines are files that the server answered itself."""
    plan = check(spec.model_copy(update={"workload": "specweb99"}))
    assert plan.parameters.definition.upstream.share == pytest.approx(1 / 3)


def test_what_takes_the_place_of_what_is_told_before_the_run(spec):
    """With the address that it has there."""
    told = "\n".join(in_words(check(spec).told()))
    assert "server 10.0.0.1:8080 of upstream app at 127.0.0.1:UPSTREAM, Trimtab's own" in told


def test_run_is_recorded_with_it_and_its_report_names_the_option(simulated, runtime, spec):
    """So that it can be resumed without the log, and started once more."""
    short = {**TINY, "ladder": LADDER_RPS, "budget_trials": 1, "confirmation_repeats": 0}
    run_id = runtime.service.start(spec.model_copy(update={"settings": short}))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    assert recorded_parameters(run.workload_parameters).definition.upstream.stands_for == "app"
    blocks = document_of(runtime.repository, run_id, analyse_run(runtime.repository, run_id))
    (listing,) = [block.text for block in blocks if isinstance(block, Listing)]
    assert "--upstream=app=measured" in listing


def test_kept_log_is_read_where_the_first_is_short(spec, log):
    """As it is a minute after midnight."""
    log.rename(f"{log}.1")
    log.write_text("/api/1 0.010 1000 200\n")
    assert "601 requests in" in check(spec).parameters.definition.source


def test_only_the_end_of_a_long_log_is_read(spec, log, monkeypatch):
    """From its first whole line on."""
    whole = own_upstream.read
    monkeypatch.setattr(own_upstream, "TAIL_BYTES", log.stat().st_size // 2)
    monkeypatch.setattr(own_upstream, "FEWEST", 100)
    read = []
    monkeypatch.setattr(own_upstream, "read", lambda told: read.append(whole(told)) or read[0])
    check(spec)
    assert 500 < read[0].lines < 700
    assert set(read[0].sizes_bytes) == {1000, 4000}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": None}, "expected your own file too, which names it"),
        ({"upstream": "shop"}, "no location hands requests on to it; expected one of app"),
        ({"workload": "support"}, "the workload support has nothing to hand on to it; expected proxy"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(spec, changes, said):
    """Before anything runs."""
    with pytest.raises(SpecError, match=said) as refusal:
        check(spec.model_copy(update=changes))
    assert refusal.value.field == "upstream"


def test_log_with_too_few_times_is_refused(spec, log):
    """With what it has."""
    log.write_text("/api/1 0.010 1000 200\n" * 20)
    with pytest.raises(SpecError, match="has 20 times of an upstream in 20 lines of its format; expected at"):
        check(spec)


def test_log_that_is_not_there_is_refused(spec, log):
    """With the kernel's reason."""
    log.unlink()
    with pytest.raises(SpecError, match=r"access.log cannot be read: No such file"):
        check(spec)
