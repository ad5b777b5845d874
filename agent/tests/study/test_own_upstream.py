"""Trimtab's upstreams in the places of those of the user's own file: what logs tell becomes the workload."""

from pathlib import Path

import pytest
from live_support import LADDER_RPS, TINY
from trimtab_agent.errors import SpecError
from trimtab_agent.results.analysis import analyse_run
from trimtab_agent.results.document import Listing, document_of
from trimtab_agent.study import own_upstream
from trimtab_agent.study.own_file_report import in_words
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
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
    return RunSpec(target="nginx", base=str(file), upstreams={"app": "measured"})


def test_workload_asks_an_upstream_as_fast_as_the_log_tells(spec):
    """Each answer of a server counts; less than a millisecond is half of one. Sizes are those of the last."""
    plan = check(spec)
    upstream = plan.parameters.definition.upstream
    assert plan.parameters.definition.name == "proxy"
    (app,) = upstream.replaced
    assert app.name == "app"
    assert (upstream.share, upstream.concurrency) == (1.0, 256)  # as the workload has them
    assert app.times_ms[0] == 0.5
    assert app.times_ms[-1] == 20
    assert sum(app.times_ms) / len(app.times_ms) == pytest.approx((10 + 0.5 + 20) / 3, rel=0.02)
    assert (app.sizes_bytes[0], app.sizes_bytes[-1]) == (1000, 4000)
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
    assert (
        "- upstream app is not asked: Trimtab's own answers in its place, as its log has it in 10.3 ms on "
        "average, with 2,558 bytes. 100 % of the requests go on to it\n"
    ) in told + "\n"


def test_upstream_that_is_replaced_is_not_missed_when_it_is_down(spec, tmp_path):
    """Nothing is handed on to it; one that is not replaced is."""
    file = tmp_path / "nginx.conf"
    file.write_text(file.read_text().replace("listen 80;", "listen 80; location /b { proxy_pass http://b; }"))
    gone = dict.fromkeys(("10.0.0.1:8080", "b:80"), "nobody listens there")
    said = [line.text for line in check(spec).told(gone).lines if line.kind == "missing"]
    assert said == ["proxy_pass b:80: nobody listens there"]
    file.write_text(file.read_text().replace("http://app", "http://10.0.0.1:8080"))
    by_address = spec.model_copy(update={"upstreams": {"10.0.0.1:8080": "5ms"}})
    told = check(by_address).told(gone)
    assert said == [line.text for line in told.lines if line.kind == "missing"]
    assert any("as you say in 5 ms on average, with 16,384 bytes" in line.text for line in told.lines)


def test_pages_of_a_program_behind_are_told_not_to_be_the_users(tmp_path):
    """Who has a pool of PHP would take the run's for his."""
    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nhttp { server { listen 80; } }\n")
    told = check(RunSpec(target="nginx", base=str(file), workload="php")).told()
    (said,) = [line.text for line in told.lines if line.kind == "site"]
    assert said.startswith("20 % of the requests are for pages of Trimtab's own, which come from processes ")
    assert "(php-fpm): your applications are not asked" in said


def test_run_is_recorded_with_it_and_its_report_names_the_option(simulated, runtime, spec):
    """So that it can be resumed without the log, and started once more."""
    short = {**TINY, "ladder": LADDER_RPS, "budget_trials": 1, "confirmation_repeats": 0}
    run_id = runtime.service.start(spec.model_copy(update={"settings": short}))
    runtime.service.wait()
    run = runtime.repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    (app,) = recorded_parameters(run.workload_parameters).definition.upstream.replaced
    assert app.name == "app"
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
    monkeypatch.setattr(
        own_upstream, "read", lambda *told, **both: read.append(whole(*told, **both)) or read[0]
    )
    check(spec)
    assert 500 < read[0].lines < 700
    assert set(read[0].sizes_bytes) == {1000, 4000}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base": None}, "expected your own file too, which names it"),
        ({"upstreams": {"shop": "measured"}}, "no location hands requests on to it; expected one of app"),
        ({"upstreams": {"app": "20ms", "shop": "20ms"}}, "no location hands requests on to it; expected one"),
        ({"workload": "support"}, "the workload support has nothing to hand on to it; expected proxy"),
        ({"upstreams": {"app": "20"}}, "upstream app = 20: expected measured, or a time with its unit"),
        ({"upstreams": {"app": "-5ms"}}, "upstream app = -5ms: expected measured, or a time with its unit"),
        ({"upstreams": {"app": "nan"}}, "upstream app = nan: expected measured, or a time with its unit"),
        ({"upstreams": {"app": "2m"}}, "upstream app = 2m: expected measured, or a time with its unit"),
        ({"upstreams": {"app": "61s"}}, "upstream app = 61s: expected at most 60s"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(spec, changes, said):
    """Before anything runs."""
    with pytest.raises(SpecError, match=said) as refusal:
        check(spec.model_copy(update=changes))
    assert refusal.value.field == "upstreams"


def test_log_with_too_few_times_is_refused(spec, log):
    """With what it has."""
    log.write_text("/api/1 0.010 1000 200\n" * 20)
    with pytest.raises(SpecError, match="has 20 times of it in 20 lines of its format; expected at least"):
        check(spec)


def test_log_that_is_not_there_is_refused(spec, log):
    """With the kernel's reason."""
    log.unlink()
    with pytest.raises(SpecError, match=r"access.log cannot be read: No such file"):
        check(spec)


SEVERAL = """events {{ worker_connections 64; }}
http {{
    log_format timed '{by}$upstream_response_time $bytes_sent';
    access_log {log} timed;
    upstream app {{ server 10.0.0.1:8080; }}
    upstream api {{ server 10.0.0.2:8080; }}
    server {{
        listen 80;
        location / {{ root /srv/www; }}
        location /app {{ proxy_pass http://app; }}
        location /api {{ proxy_pass http://api; access_log {api_log} timed; }}
    }}
}}
"""


@pytest.fixture
def several(tmp_path):
    """A run with a file of two upstreams, of which the second may have a log of its own."""

    def make(log, api_log, by="", **fields):
        file = tmp_path / "nginx.conf"
        file.write_text(SEVERAL.format(log=log, api_log=api_log, by=by))
        upstreams = {"app": "measured", "api": "measured"}
        return RunSpec(**{"target": "nginx", "base": str(file), "upstreams": upstreams, **fields})

    return make


@pytest.mark.parametrize(
    ("variable", "of_app", "of_api"),
    [("$proxy_host ", "app", "api"), ("$upstream_addr ", "10.0.0.1:8080", "10.0.0.2:8080, 10.0.0.2:8080")],
)
def test_log_of_several_is_divided_by_what_its_format_says_of_each_line(
    several, tmp_path, variable, of_app, of_api
):
    """Three of ten requests went to one, one to the other, and six to none."""
    log = tmp_path / "access.log"
    api = "0.040" if "," not in of_api else "0.040, 0.040"
    log.write_text((f"{of_app} 0.005 10\n" * 3 + f"{of_api} {api} 10\n" + "- - 10\n" * 6) * 320)
    spec = several(log, log, variable)
    upstream = check(spec).parameters.definition.upstream
    assert [(each.name, each.weight) for each in upstream.replaced] == [("app", 960), ("api", 320)]
    assert [set(each.times_ms) for each in upstream.replaced] == [{5.0}, {40.0}]
    mixed = check(spec.model_copy(update={"workload": "specweb99"})).parameters.definition.upstream
    assert mixed.share == pytest.approx(0.4)


def test_logs_of_several_are_weighed_by_all_that_was_written(several, tmp_path, monkeypatch):
    """Of one only the end is read; and of each also the log before, as both were begun anew at once."""
    log, api_log = tmp_path / "access.log", tmp_path / "api.log"
    log.write_text("0.005 1000\n" * 4000)
    (tmp_path / "access.log.1").write_text("0.005 1000\n" * 400)
    api_log.write_text("0.040 1000\n" * 400)
    monkeypatch.setattr(own_upstream, "TAIL_BYTES", 1100 * 11)
    upstream = check(several(log, api_log)).parameters.definition.upstream
    assert [each.name for each in upstream.replaced] == ["app", "api"]
    weights = [each.weight for each in upstream.replaced]
    assert weights == [pytest.approx(4400, rel=0.01), 400]


def test_log_that_does_not_say_whose_its_times_are_is_refused_for_several(several, tmp_path):
    """They would all be as fast as all of them together."""
    log = tmp_path / "access.log"
    log.write_text("0.005 1000\n" * 400)
    with pytest.raises(
        SpecError, match=r"has the times of api too.*expected \$proxy_host in it, or a log for"
    ):
        check(several(log, log))


def test_time_that_is_said_needs_no_log_and_none_is_as_likely_as_another(several, tmp_path):
    """Nothing says how many requests went on to each."""
    log = tmp_path / "access.log"
    log.write_text("0.005 1000\n" * 400)
    for said, time_ms in (("20ms", 20), ("0.5s", 500), ("250us", 0.25), ("0ms", 0)):
        spec = several(log, tmp_path / "none.log", upstreams={"app": "measured", "api": said})
        upstream = check(spec).parameters.definition.upstream
        app, api = upstream.replaced
        assert set(app.times_ms) == {5.0}
        assert (api.service_time_ms, api.times_ms) == (time_ms, ())
        assert app.weight == api.weight == 1
        assert upstream.share == 1


def test_report_names_the_option_of_each(simulated, runtime, several, tmp_path):
    """With the time that was said."""
    log = tmp_path / "access.log"
    log.write_text("0.005 1000\n" * 400)
    short = {**TINY, "ladder": LADDER_RPS, "budget_trials": 1, "confirmation_repeats": 0}
    spec = several(log, log, upstreams={"app": "measured", "api": "0.02s"}, settings=short)
    run_id = runtime.service.start(spec)
    runtime.service.wait()
    blocks = document_of(runtime.repository, run_id, analyse_run(runtime.repository, run_id))
    (listing,) = [block.text for block in blocks if isinstance(block, Listing)]
    assert "--upstream=app=measured --upstream=api=20ms" in listing


@pytest.mark.parametrize("name", ["core", "mariadb"])
def test_servers_that_hand_nothing_on_refuse_by_their_names(name):
    """Before the file is read."""
    with pytest.raises(SpecError, match=f"upstream app: {name} hands no requests on"):
        check(RunSpec(target=name, base="/etc/server.conf", upstreams={"app": "20ms"}))


OTHERS = {
    "apache": "Listen 80\nLoadModule mpm_event_module m.so\nProxyPass / http://10.0.0.5:8080/\n",
    "lighttpd": 'server.document-root = "/srv"\nproxy.server = ( "" => (( "host" => "10.0.0.5", '
    '"port" => 8080 )) )\n',
    "h2o": "listen: 80\nhosts:\n  a:\n    paths: {/: {proxy.reverse.url: 'http://10.0.0.5:8080/'}}\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_servers_that_log_no_time_of_an_upstream_take_one_that_is_said(name, tmp_path):
    """Of one upstream, by the address that the file has."""
    file = tmp_path / "server.conf"
    file.write_text(OTHERS[name])

    def checked(**upstreams):
        return check(RunSpec(target=name, base=str(file), upstreams=upstreams))

    (replaced,) = checked(**{"10.0.0.5:8080": "20ms"}).parameters.definition.upstream.replaced
    assert (replaced.name, replaced.service_time_ms) == ("10.0.0.5:8080", 20)
    for upstreams, sentence in (
        ({"10.0.0.5:8080": "measured"}, rf"{name} logs no time of an upstream; expected a mean time"),
        ({"10.0.0.5:8080": "1ms", "b": "1ms"}, rf"of a file of {name} one upstream is replaced in a run"),
        ({"app": "1ms"}, r"upstream app: no requests go on to it; expected one of 10\.0\.0\.5:8080"),
    ):
        with pytest.raises(SpecError, match=sentence):
            checked(**upstreams)


def test_time_is_what_may_be_said_where_no_log_tells(spec):
    """The refusal names it."""
    file = Path(spec.base)
    file.write_text(file.read_text().replace("$upstream_response_time", "-"))
    with pytest.raises(
        SpecError, match=r"\$upstream_response_time, where requests go on to it, or app=TIME$"
    ):
        check(spec)
