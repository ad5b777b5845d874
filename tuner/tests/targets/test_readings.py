"""How files are read, held against the field's own parsers: crossplane for nginx, ruamel.yaml for h2o.

Where a setting stands is our scanner's to say, to the byte; what it says has to be what theirs read. Where
crossplane itself is at fault (Lua in long brackets, a block right behind its name), what is right is written
down here.
"""

import difflib
import sys
from pathlib import Path
from typing import Any

import crossplane
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.servers.h2o import syntax as h2o
from trimtab_tuner.targets.servers.nginx import syntax as nginx

CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:80",), server_cpus=(0, 1))


def ours(text: str) -> list[Any]:
    """Name, arguments, line and block of each directive."""

    def plain(directives):
        return [
            (each.name, each.arguments, each.line, None if each.block is None else plain(each.block))
            for each in directives
        ]

    return plain(nginx.parse(text))


def theirs(text: str, directory: Path) -> list[Any]:
    """The same, by crossplane."""
    file = directory / "nginx.conf"
    file.write_bytes(text.encode())
    payload = crossplane.parse(
        str(file), single=True, catch_errors=False, check_ctx=False, check_args=False, strict=False
    )

    def plain(statements):
        return [
            (
                each["directive"],
                each["args"],
                each["line"],
                plain(each["block"]) if "block" in each else None,
            )
            for each in statements
            if each["directive"] != "#"  # a comment between arguments, which it always tells of
        ]

    return plain(payload["config"][0]["parsed"])


# What both read. Each with a part of what it says.
READ = {
    "a variable in braces inside a word": (
        "http { server { location / { proxy_pass http://${host}; } } }\n",
        ("proxy_pass", ["http://${host}"]),
    ),
    "a variable in braces at its beginning and in its middle": (
        'http { set $a ${b}c; set $d x${b}y${e}; log_format f "${b}{"; }\n',
        ("set", ["$d", "x${b}y${e}"]),
    ),
    "signs behind an argument": ('set $a b;#"x {\nset $c d;\n', ("set", ["$c", "d"])),
    "a number of times in a regular expression": (
        'server { location ~ "^/[a-z]{4}/\\d{2,}$" { return 204; } }\n',
        ("location", ["~", "^/[a-z]{4}/\\d{2,}$"]),
    ),
    "quotes inside a word": ("server { set $a it's; set $b a\"b; }\n", ("set", ["$b", 'a"b'])),
    "keys of a map that are called like directives": (
        "http { map $a $b { default 0; listen 80; include 1; } geo $g { server 1; } }\n",
        ("listen", ["80"]),
    ),
    "types that are called like directives": ("types { text/html html; root root; }\n", ("root", ["root"])),
    "lines that end in CRLF": ("events {\r\n  worker_connections 9;\r\n}\r\n", ("worker_connections", ["9"])),
    "no newline at the end": ("events { }\nuser a;", ("user", ["a"])),
    "comments between arguments": ("set $a # {\n  b;\n", ("set", ["$a", "b"])),
    "letters of every kind": ("server_name “ä”.例え;\n", ("server_name", ["“ä”.例え"])),
    "empty strings": ("set $a '';\nset $b \"\";\n", ("set", ["$b", ""])),
}


def said_in(tree: list[Any]) -> list[Any]:
    """Names and arguments of all, blocks included."""
    return [
        said
        for name, arguments, _, block in tree
        for said in [(name, arguments), *(said_in(block) if block else [])]
    ]


@pytest.mark.parametrize("name", READ)
def test_both_read_the_same(name, tmp_path):
    """Names, arguments, lines and blocks."""
    text, expected = READ[name]
    assert ours(text) == theirs(text.replace("\r\n", "\n"), tmp_path)
    assert expected in said_in(ours(text))


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ('"a\\"b"', 'a"b'),
        ("a\\'b", "a'b"),
        ('"\\\\d"', "\\d"),
        ('"\\d\\.php$"', "\\d\\.php$"),
        ("\\.php$", "\\.php$"),
        ('"a\\tb\\n"', "a\tb\n"),
    ],
)
def test_backslash_escapes_what_it_does_for_nginx(written, taken):
    """Quotes, itself, and three signs (ngx_conf_read_token); those of regular expressions stay."""
    assert nginx.parse(f"set {written};\n")[0].arguments == [taken]


LUA = {
    "an apostrophe in a comment": "-- don't }\n local a = 1",
    "a brace in a string": "ngx.say(\"}\") ngx.say('{')",
    "a brace in long brackets": "local a = [[ } ]] local b = [==[ ]] } ]==]",
    "a brace in a long comment": "--[[ } \n it's ]] local a = 1",
    "an escaped quote": 'ngx.say("\\"}")',
    "a table in a table": "local t = { { 1 }, { 2 } }",
}
BEGINNINGS = (
    "content_by_lua_block {",
    "content_by_lua_block{",
    "set_by_lua_block $v {",
    "set_by_lua_block $v{",
    "init_worker_by_lua_block\n{",
    "ssl_client_hello_by_lua_block {",
)


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("name", LUA)
def test_lua_is_passed_over_to_its_end(name, beginning):
    """Its braces and quotes end nothing of nginx's, whatever they stand in; what follows is read."""
    text = f"server {{ {beginning} {LUA[name]} }} listen 80; }}\n"
    (server,) = nginx.parse(text)
    block, listen = server.block or []
    assert block.name.endswith("_by_lua_block")
    assert block.arguments == (["$v"] if "$v" in beginning else [])
    assert text[block.body_start : block.end] == f" {LUA[name]} }}"
    assert (listen.name, listen.arguments) == ("listen", ["80"])


def test_white_space_that_only_unicode_calls_so_is_part_of_a_word():
    """nginx knows blanks, tabs and ends of lines; in Latin-1 what would be a break is a letter of a name."""
    (root,) = nginx.parse("root /srv/a\u00a0b\u0085c\u2028d;")
    assert root.arguments == ["/srv/a\u00a0b\u0085c\u2028d"]


@pytest.mark.parametrize("name", [name for name in LUA if "long" not in name and "escaped" not in name])
def test_crossplane_s_extension_for_lua_ends_where_ours_does(name, tmp_path):
    """Where it reads Lua at all: not long brackets, nor escaped quotes."""
    text = f"server {{\n content_by_lua_block {{ {LUA[name]} }}\n listen 80;\n}}\n"
    ((_, _, _, own),), ((_, _, _, other),) = ours(text), theirs(text, tmp_path)
    assert [(each[0], each[2]) for each in own] == [(each[0], each[2]) for each in other]
    block = nginx.parse(text)[0].block[0]
    assert other[0][1] == [text[block.body_start : block.end - 1]]


words = st.text("abcxyz019_-./:$=~^*()|\\d", min_size=1, max_size=8).filter(lambda word: "\\" not in word)
quoted = st.text("abc {};#x'", max_size=8).map(lambda text: f'"{text}"')
names = st.sampled_from(["listen", "server_name", "root", "add_header", "index", "gzip", "expires"])
blocks = st.sampled_from(["server", "location", "upstream", "limit_except"])
spaces = st.sampled_from([" ", "  ", "\n", "\t", " # it's { a \"comment;\n"])
between = st.sampled_from(["", "\n", "\n\n", "# } comment\n", "\t"])


@st.composite
def directives(draw: st.DrawFn, depth: int = 2) -> str:
    """Some directives, some of them blocks, in any layout."""
    text = ""
    for _ in range(draw(st.integers(0, 4))):
        text += draw(between)
        arguments = "".join(
            draw(spaces) + each for each in draw(st.lists(st.one_of(words, quoted), max_size=3))
        )
        if depth and draw(st.booleans()):
            text += f"{draw(blocks)}{arguments} {{{draw(directives(depth - 1))}\n}}"
        else:
            text += f"{draw(names)}{arguments};"
    return text + draw(between)


@given(text=directives())
@settings(max_examples=200, deadline=None)
def test_generated_files_are_read_as_crossplane_reads_them(text, tmp_path_factory):
    """Names, arguments, lines and blocks of each."""
    assert ours(text) == theirs(text, tmp_path_factory.getbasetemp())


@given(text=directives(), count=st.integers(1, 4096), crlf=st.booleans(), newline=st.booleans())
@settings(max_examples=100, deadline=None)
def test_export_differs_from_the_base_in_the_tuned_lines_alone(text, count, crlf, newline):
    """Whatever else the file says and however it is laid out; Latin-1 in a comment, CRLF, no last newline."""
    whole = f"# \u00e9\u00a5\nworker_processes 3; # mine\nevents {{\n\tworker_connections {count};\n}}\n"
    whole += f"http {{\n{text}\n}}" + "\n" * newline
    base = whole.replace("\n", "\r\n") if crlf else whole
    target = TARGETS["nginx"]
    configuration = {**own_values(target, base, 2), "worker_processes": 4, "worker_connections": 5000}
    knobs = ("worker_processes", "worker_connections")
    after = target.changed(base, configuration, knobs, CONTEXT)
    changed = [line for line in difflib.ndiff(base.split("\n"), after.split("\n")) if line[0] in "+-"]
    end = "\r" * crlf
    assert changed == [
        f"- worker_processes 3; # mine{end}",
        f"+ worker_processes 4; # mine{end}",
        f"- \tworker_connections {count};{end}",
        f"+ \tworker_connections 5000;{end}",
    ]


def test_work_of_reading_grows_with_the_file_and_no_faster():
    """500 sites are read in a second: calls are counted, and nothing is counted from the beginning."""
    site = (
        'server {{\n  listen 80;\n  server_name s{0};\n  location / {{ proxy_pass "http://${{h}}"; }}\n}}\n'
    )

    def calls(sites: int) -> int:
        text = "".join(site.format(number) for number in range(sites))
        made = 0

        def seen(_frame: object, event: str, called: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")
            assert getattr(called, "__name__", "") != "count", "counts from the beginning"

        sys.setprofile(seen)
        try:
            nginx.parse(text)
        finally:
            sys.setprofile(None)
        return made

    assert calls(500) < 2.1 * calls(250)


YAML_FILES = {
    "keys that stand twice": "num-threads: 1\nnum-threads: 2\nlisten: 80\n",
    "an anchor": "listen: &port\n  port: 80\nhosts:\n  a:\n    listen: *port\n    paths: {}\n",
    "ON": "tcp-fastopen: 1\nhttp2-reprioritize-blocking-assets: ON\nfile.etag: off\n",
    "quotes and comments": "server-name: \"it's\" # mine\nuser: 'a: b'\n",
    "CRLF": "num-threads: 3\r\nlisten: 80\r\n",
}


@pytest.mark.parametrize("name", YAML_FILES)
def test_h2o_s_file_is_read_as_it_stands_and_changed_in_one_value(name):
    """What is written twice, an anchor, `ON`: every byte stays but those of the tuned value."""
    text = YAML_FILES[name]
    for command in h2o.commands(text):
        start, end = command.place
        if isinstance(command.value.value, str) and text[start:end] and text[start] not in "*&\"'":
            assert text[start:end] == command.value.value
    target = TARGETS["h2o"]
    configuration = {**own_values(target, text, 2), "max-connections": 77}
    after = target.changed(text, configuration, ("max-connections",), CONTEXT)
    lines = [line for line in difflib.ndiff(text.split("\n"), after.split("\n")) if line[0] in "+-"]
    assert [line.strip("\r") for line in lines] == ["+ max-connections: 77"]


@given(
    values=st.dictionaries(
        st.sampled_from(["num-threads", "max-connections", "server-name", "user", "pid-file"]),
        st.one_of(st.integers(1, 9999), st.text("abc ON#:'", min_size=1, max_size=6)),
        min_size=1,
    )
)
@settings(max_examples=100, deadline=None)
def test_generated_files_of_h2o_say_what_ruamel_loads(values):
    """Our commands hold what is written; the loader says what that means."""
    text = "".join(
        f"{name}: {h2o.quoted(value) if isinstance(value, str) else value}\n"
        for name, value in values.items()
    )
    loaded = YAML(typ="safe", pure=True).load(text)
    assert {each.name: each.value.value for each in h2o.commands(text)} == {
        name: str(value) for name, value in loaded.items()
    }
    for command in h2o.commands(text):
        start, end = command.place
        assert YAML(typ="safe", pure=True).load(text[start:end]) == values[command.name]
