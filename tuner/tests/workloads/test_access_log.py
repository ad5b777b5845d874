"""Lines of access logs, among them what attackers and broken servers write."""

import string
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.workloads.access_log import LONGEST_PATH_BYTES, LineParser, has_query, plain_path

COMMON = b'192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /a/b.png HTTP/1.0" 200 2326'
COMBINED = COMMON + b' "http://example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'


def test_common_line_is_read_whole():
    """Address, time in UTC, method, target, status, size."""
    entry = LineParser().parse(COMMON)
    assert entry.client == b"192.0.2.7"
    assert entry.time_s == datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC).timestamp()
    assert entry[2:] == (b"GET", b"/a/b.png", 200, 2326)


def test_combined_line_tells_clients_of_one_address_apart():
    """By their user agents."""
    one, other = (LineParser().parse(COMMON + b' "-" "%s"' % agent) for agent in (b"one", b"other"))
    assert one.client != other.client
    assert LineParser().parse(COMBINED)[2:] == LineParser().parse(COMMON)[2:]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (COMMON.replace(b"36 -0700", b"36.125 -0700"), {"time_s": 971211336.125}),
        (COMMON.replace(b"36 -0700", b"36,5 -0700"), {"time_s": 971211336.5}),
        (COMMON.replace(b"2326", b"-"), {"size_bytes": None}),
        (COMMON.replace(b"GET /a/b.png HTTP/1.0", b"-"), {"method": b"-", "target": b""}),
        (COMMON.replace(b"GET /a/b.png HTTP/1.0", rb"GET /a\"b HTTP/1.1"), {"target": rb"/a\"b"}),
        (COMMON.replace(b"GET /a/b.png HTTP/1.0", rb"\x16\x03\x01"), {"target": b""}),
        (COMMON.replace(b"frank", b"frank von stein"), {"target": b"/a/b.png"}),
        (COMMON.replace(b"192.0.2.7", b"2001:db8::1"), {"client": b"2001:db8::1"}),
        (COMMON.replace(b"/Oct/", b"/Feb/").replace(b"10/", b"29/", 1), {"time_s": 951857736.0}),
        (COMMON + b" extra fields 0.003\r\n", {"size_bytes": 2326}),
    ],
)
def test_unusual_lines_are_read(line, expected):
    """As servers do write them."""
    entry = LineParser().parse(line)
    assert {name: getattr(entry, name) for name in expected} == expected


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"\x00" * 100,
        b"not a log line",
        COMMON.replace(b"/Oct/", b"/Okt/"),
        COMMON.replace(b"13:55", b"25:55"),
        COMMON.replace(b"10/Oct", b"42/Oct"),
        COMMON.replace(b"200 2326", b"2000 2326"),
        COMMON.replace(b"2326", b"-1"),
        COMMON.replace(b"2326", b"9" * 30),
        COMMON[:40],
        COMMON.replace(b'HTTP/1.0"', b"HTTP/1.0"),
    ],
)
def test_lines_that_are_none_are_recognised(line):
    """None, and no exception."""
    assert LineParser().parse(line) is None


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_no_garbage_breaks_the_parser(lines):
    """Whatever comes before, a good line is read afterwards."""
    parser = LineParser()
    for line in lines:
        parser.parse(line)
    assert parser.parse(COMMON) == LineParser().parse(COMMON)


@given(st.binary(max_size=60), st.integers(0, len(COMBINED)), st.integers(0, 20))
def test_no_damage_to_a_good_line_breaks_the_parser(noise, place, length):
    """Bytes replaced anywhere: an entry, or None."""
    entry = LineParser().parse(COMBINED[:place] + noise + COMBINED[place + length :])
    assert entry is None or 0 <= entry.status <= 999


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_any_time_in_any_zone_is_that_of_the_calendar(moment, offset_minutes):
    """Against the standard library."""
    zone = timezone(timedelta(minutes=offset_minutes))
    moment = moment.replace(microsecond=0, tzinfo=zone)
    text = moment.strftime("%d/%b/%Y:%H:%M:%S %z").encode()
    entry = LineParser().parse(COMMON.replace(b"10/Oct/2000:13:55:36 -0700", text))
    assert entry.time_s == moment.timestamp()


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/", "/index.html"),
        (b"/a/", "/a/index.html"),
        (b"/a/b.png?x=1", "/a/b.png"),
        (b"/a/b.png#top", "/a/b.png"),
        (b"//a///b", "/a/b"),
        (b"/a/./b/../c", "/a/c"),
        (b"/../../etc/passwd", "/etc/passwd"),
        (b"/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd"),
        (b"/..%2f..%2fetc/passwd", "/etc/passwd"),
        (b"http://example.com/a", "/a"),
        (b"HTTPS://example.com", "/index.html"),
        (b"*", None),
        (b"", None),
        (b"a/b", None),
        (b"ftp://example.com/a", None),
        (b"/" + b"a/" * 600, None),
    ],
)
def test_target_names_a_plain_path(target, path):
    """Never outside of the root."""
    assert plain_path(target) == path


def test_odd_names_stay_different():
    """By a checksum of what they were; hidden files are not hidden any more."""
    names = {
        plain_path(b"/a" + odd) for odd in (b" ", b"\t", b"%20b", b"%00", b"\xff", b"%C3%A4", b":", b"_")
    }
    assert len(names) == 8
    assert plain_path(b"/.htaccess").startswith("/_htaccess_")


PLAIN = set(string.ascii_letters + string.digits + "-_~.")


@given(st.binary(max_size=400))
def test_any_target_gives_a_harmless_path_or_none(rest):
    """Only plain characters, no empty name, no dot names, no name too long for a file system."""
    path = plain_path(b"/" + rest)
    if path is None:
        return
    assert path.startswith("/")
    assert len(path) <= LONGEST_PATH_BYTES
    for name in path[1:].split("/"):
        assert set(name) <= PLAIN
        assert 0 < len(name) <= 255
        assert not name.startswith(".")


def test_query_tells_a_dynamic_request():
    """Counted, and not replayed."""
    assert has_query(b"/search?q=a")
    assert not has_query(b"/search")
