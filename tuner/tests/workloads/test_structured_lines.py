"""Access logs with named fields, and logs of other kinds, which are named."""

import json

import pytest
from trimtab_tuner.workloads.access_log import LineParser
from trimtab_tuner.workloads.learning import LARGEST_FILE_BYTES, Learner, LearningError
from trimtab_tuner.workloads.learnt_page import learnt_page
from trimtab_tuner.workloads.other_logs import kind_of

TIME_S = 1767323045.0  # 2026-01-02T03:04:05Z


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(
            {
                "time_iso8601": "2026-01-02T04:04:05+01:00", "remote_addr": "192.0.2.7", "status": "200",
                "request": "GET /a.png HTTP/1.1", "body_bytes_sent": "7", "http_user_agent": "x",
            }
        ),
        json.dumps(
            {
                "msec": "1767323045.000", "remote_addr": "192.0.2.7", "request_method": "GET", "status": 200,
                "request_uri": "/a.png", "bytes_sent": 7, "http_user_agent": "x",
            }
        ),
        json.dumps(
            {
                "level": "info", "ts": 1767323045.0, "logger": "http.log.access", "status": 200, "size": 7,
                "request": {
                    "remote_ip": "192.0.2.7", "method": "GET", "host": "a.example", "uri": "/a.png",
                    "headers": {"User-Agent": ["x"]},
                },
            }
        ),
        json.dumps(
            {
                "ClientHost": "192.0.2.7", "DownstreamContentSize": 7, "DownstreamStatus": 200,
                "RequestMethod": "GET", "RequestPath": "/a.png", "StartUTC": "2026-01-02T03:04:05Z",
                "user_agent": "x",
            }
        ),
        "time:[02/Jan/2026:03:04:05 +0000]\thost:192.0.2.7\treq:GET /a.png HTTP/2\tstatus:200\tsize:7\tua:x",
        "ts:1767323045000\thost:192.0.2.7\tmethod:get\turi:/a.png\tstatus:200\tsize:7\tua:x\r\n",
        'a.example:80 192.0.2.7 - - [02/Jan/2026:03:04:05 +0000] "GET /a.png HTTP/1.1" 200 7 "-" "x"',
    ],
)  # fmt: skip
def test_lines_of_each_kind_say_the_same(line):
    """Of nginx, Caddy, Traefik, LTSV, and Apache with the virtual host first."""
    entry = LineParser().parse(line.encode())
    assert entry == (b"192.0.2.7 x", TIME_S, b"GET", b"/a.png", 200, 7)


@pytest.mark.parametrize(
    "line",
    [
        "{", "{}", "[1]", '{"time": "x", "status": 200, "request": "GET / HTTP/1.1"}', "{" * 9000,
        '{"ts": 1e400, "status": 200, "uri": "/", "method": "GET"}',
        '{"ts": 5, "status": true, "uri": "/", "method": "GET"}', "a:b\tc:d",
    ],
)  # fmt: skip
def test_what_lacks_time_request_or_status_is_no_line(line):
    """And breaks nothing."""
    assert LineParser().parse(line.encode()) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"#Software: Microsoft Internet Information Services 10.0", "W3C extended"),
        (b"#Fields: date time s-ip cs-method", "W3C extended"),
        (b"2026/01/02 03:04:05 [error] 7#7: *1 open()", "error log of nginx"),
        (b"[Fri Jan 02 03:04:05.1 2026] [core:error] [pid 7] x", "error log of Apache"),
        (b'192.0.2.7 - - [10/Oct/2000:13:55:36] "GET / HTTP/1.1" 200 7', "but for the time zone"),
        (b'192.0.2.7 - - [10/Oct/2000:13:55:36 +0000] http "GET / HTTP/1.1" 200 7', "a further field"),
        (b"1767323045.123    9 192.0.2.7 TCP_MISS/200 7 GET http://a/", "Squid"),
        (b'{"level":"info"}', "JSON whose fields"),
        (b"hello", ""),
    ],
)
def test_other_logs_are_named(line, kind):
    """With an example and its number."""
    assert kind in kind_of(line)
    learner = Learner()
    learner.line(line + b"\n")
    with pytest.raises(LearningError) as error:
        learner.finish()
    assert f"line 1 for instance is {line.decode()!r}" in str(error.value)
    assert ("this looks like" in str(error.value)) is bool(kind)
    assert "expected the Common or Combined Log Format, JSON or LTSV" in str(error.value)


def line(size=7, day=2, target="/a"):
    """One of the Common Log Format."""
    return f'192.0.2.7 - - [{day:02}/Jan/2026:03:04:05 +0000] "GET {target} HTTP/1.1" 200 {size}'.encode()


def test_page_has_the_first_line_that_could_not_be_read_and_rates_that_are_not_nothing():
    """Controls of a terminal are taken out of it."""
    learner = Learner()
    for each in (line(), b"odd \x1b[31m line", line(day=20)):
        learner.line(each)
    model, facts = learner.finish()
    assert facts.first_unread == (2, "odd ?[31m line")
    page = learnt_page("x", model["facts"])
    assert "The first line that could not be read is line 2: `odd ?[31m line`" in page
    assert "1.3e-06 requests and 1.3e-06 sessions a second" in page


def test_a_size_that_cannot_be_true_is_passed_over():
    """And told as such."""
    learner = Learner()
    for each in (line(), line(size=LARGEST_FILE_BYTES + 1, target="/b")):
        learner.line(each)
    model, facts = learner.finish()
    assert facts.passed_over == {"size": 1}
    assert facts.file_set_bytes == 7
    assert "more than 100 GB, which cannot be true" in learnt_page("x", model["facts"])
