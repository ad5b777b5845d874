"""How much of an access log nginx gathers is tuned at the log itself; all else of it stays."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.access_logs import with_logs
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.editing import changed_knobs, own_of_all

NGINX = TARGETS["nginx"]
NAME = "access_log_buffer"
CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:80",), server_cpus=(0, 1))
# What a log becomes where 64 KB of it are gathered, and where none are any more.
TUNED = {
    "access_log /v/a.log;": (
        "access_log /v/a.log combined buffer=64k flush=5s;",
        "access_log /v/a.log combined;",
    ),
    'access_log  "/v/b c.log"  main ;# é': (
        'access_log  "/v/b c.log"  main buffer=64k flush=5s ;# é',
        'access_log  "/v/b c.log"  main ;# é',
    ),
    "access_log /v/c.log main\n    if=$logged; # buffer=9k": (
        "access_log /v/c.log main buffer=64k flush=5s\n    if=$logged; # buffer=9k",
        "access_log /v/c.log main\n    if=$logged; # buffer=9k",
    ),
}
LEFT = (
    "access_log off;",
    "access_log syslog:server=10.0.0.1 main;",
    "access_log /v/$host.log main;",
    "access_log /v/z.log main gzip;",
    "access_log /v/y.log main buffer=1m flush=1m;",
    "access_log /dev/stdout;",
    "error_log /v/e.log warn;",
    "# access_log /v/a.log;",
    'add_header X "access_log /v/a.log;";',
)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str, str]:
    """A file, what it is with 64 KB gathered, and what that is with nothing."""
    lines = draw(st.lists(st.sampled_from([*TUNED, *LEFT]), max_size=9))
    lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from([*TUNED])))
    levels = ("{}", "server {{ {}\n }}", "server {{ location / {{ {}\n }} }}")
    places = [draw(st.sampled_from(levels)) for _ in lines]
    end = draw(st.sampled_from(("\n", "\r\n")))

    def text(number: int) -> str:
        told = [(line, *TUNED.get(line, (line, line)))[number] for line in lines]
        body = "\n".join(place.format(line) for place, line in zip(places, told, strict=True))
        return f"events {{}}\nstream {{ access_log /v/s.log own; }}\nhttp {{\n{body}\n}}\n".replace("\n", end)

    return text(0), text(1), text(2)


@settings(max_examples=80, deadline=None)
@given(texts=files())
def test_only_the_logs_that_are_tuned_differ(texts):
    """In every place at once, since what one says of a file holds for all that go to it."""
    base, gathered, back = texts
    own = own_of_all(NGINX, base, 2)
    assert own[NAME] == 0
    assert NGINX.changed(base, own, (), CONTEXT) == base
    assert changed_knobs(NGINX, base, {**own, NAME: 65_536}, 2) == (NAME,)
    after = NGINX.changed(base, {**own, NAME: 65_536}, [NAME], CONTEXT)
    assert after == gathered
    assert own_of_all(NGINX, after, 2) == {**own, NAME: 65_536}
    assert NGINX.changed(after, own, [NAME], CONTEXT) == back


def test_what_the_file_gathers_already_is_where_a_run_begins():
    """In place: its own time stays; a log to the same file that says nothing of it is one of them."""
    text = (
        "http { access_log /v/a.log main flush=1m buffer=32k;\n"
        "server { access_log /v/a.log main; }\n server { access_log /v/b.log main buffer=32K; } }\n"
    )
    assert NGINX.parse_log(text) == {NAME: 32_768}
    after = NGINX.changed(text, {**own_of_all(NGINX, text, 1), NAME: 262_144}, [NAME], CONTEXT)
    assert after == (
        "http { access_log /v/a.log main flush=1m buffer=256k;\n"
        "server { access_log /v/a.log main buffer=256k flush=5s; }\n"
        " server { access_log /v/b.log main buffer=256k flush=5s; } }\n"
    )
    with pytest.raises(RenderError, match=r"buffer = 1\.5: expected a whole number"):
        NGINX.parse_log("http { access_log /v/a.log main buffer=1.5m; }")


@pytest.mark.parametrize("text", ["", "http {}", "http { access_log off; }", "http { access_log /v/$a; }"])
def test_there_is_no_such_knob_without_a_log_that_can_be_gathered(text):
    """And so no search for it; where there is one, it stays as it is until somebody asks."""
    space = NGINX.space()
    assert NGINX.parse_log(text) == {}
    assert with_logs(space, NGINX.log_knobs, NGINX.parse_log(text)) == space
    there = with_logs(space, NGINX.log_knobs, NGINX.parse_log("http { access_log /v/a main buffer=1k; }"))
    assert there.default() == {**space.default(), NAME: 1024}
    assert there.free == space.free


def test_what_gathering_costs_is_told():
    """Of all logs in one line, at the first; what stays apart."""
    text = (
        "http {\n access_log /v/a.log main;\n access_log off;\n"
        " server {\n access_log /v/b.log;\n access_log /v/$host;\n }\n}\n"
    )
    told = [each for each in NGINX.told(text) if NAME in each.text]
    assert [(each.kind, each.line) for each in told] == [("log", 2), ("stays", 6)]
    assert told[0].text == (
        "access_log /v/a.log main (and 1 more) writes each line at once, and so it stays unless you ask: "
        "--knob access_log_buffer=0,65536 measures what gathering them gives. Lines then come up to 5 s "
        "later, and those that are gathered are lost if nginx is killed"
    )
    assert told[1].text == "access_log /v/$host stays: a tuned access_log_buffer does not apply there"
    gathered = NGINX.told("http { access_log /v/a.log main buffer=8k; }")
    assert [each for each in gathered if each.kind == "log"] == []


def test_the_site_of_the_workload_logs_as_the_first_site_does():
    """So the cost of its log is measured, with as much gathered."""
    text = "events {}\nhttp { log_format own $uri; server { listen 80; access_log /v/a.log own; } }\n"
    own = own_of_all(NGINX, text, 1)
    private = NGINX.private(text, {**own, NAME: 16_384}, [NAME], CONTEXT)
    assert private.count('access_log "./access_log-2.log" own buffer=16k flush=5s;') == 2
    assert "# knobs of this trial: access_log_buffer = 16384" in private
