"""The export differs from the base in the tuned lines alone: generated files of lighttpd, Apache and h2o.

Whatever else stands in them and however it is laid out: lines that end in CR and LF, letters beyond ASCII, a
byte-order mark where the server takes one, no newline at the end, settings in comments and strings.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values

CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:80",), server_cpus=(0, 1))
PIECES = {
    "lighttpd": (
        '# é { ( "',
        "",
        'server.tag = "x # server.max-worker = 9"',
        'server.modules += ( "mod_a",\n  "mod_b" ) # ( }',
        '$HTTP["host"] =~ "^a\\.b$" {\n  server.max-fds = 9\n  url.rewrite = ( "^/(.*)$" => "/x/$1" )\n}',
        'index-file.names = (\n  "index.html" # {\n)',
        'var.more = "/etc" + "/é"',
        "#server.max-worker = 3",
        '$SERVER["socket"] == "[::]:443" { ssl.engine = "enable" } else $HTTP["url"] == "/" { }',
    ),
    "apache": (
        "# é < ( \\\nKeepAliveTimeout 4",
        "",
        "<Directory />\n    Options None\n    KeepAliveTimeout 1\n</Directory>",
        'LogFormat "%h \\"KeepAliveTimeout 9\\" %r" own',
        "Header set X-Long \\\n  KeepAliveTimeout",
        "<IfModule mpm_prefork_module>\n    MaxKeepAliveRequests 9\n</IfModule>",
        "<VirtualHost *:80>\n    ServerName é.example\n    EnableSendfile Off\n</VirtualHost>",
        "<VirtualHost *:81>\n    ServerName b\n</VirtualHost>",
        "#KeepAliveTimeout 3",
        '<Location "/a>b">\n    Require all granted\n</Location>',
    ),
    "h2o": (
        "# é: { [",
        'server-name: "num-threads: 3"',
        'access-log: {path: /var/log/é, format: "%h #"}',
        "file.mime.addtypes:\n  text/x: [.a, .b] # num-threads: 4",
        "listen: &port\n  port: 80\n",
        'header.add: |\n  X: "num-threads: 9"\n  max-connections: 1',
        "file.etag: OFF",
        "user: 'a: b'",
    ),
}
HOSTS = '"é.example":\n    listen: 81\n    paths:\n      /: {file.dir: /srv}'
# name: how it stands, the value it gets, and how it stands then
TUNED = {
    "lighttpd": {
        "server.max-worker": ("server.max-worker = 2 # mine", 3, "server.max-worker = 3 # mine"),
        "server.listen-backlog": ("  server.listen-backlog:=77", 99, "  server.listen-backlog:=99"),
        "server.max-keep-alive-idle": (
            'server.max-keep-alive-idle\t= "5"',
            7,
            "server.max-keep-alive-idle\t= 7",
        ),
    },
    "apache": {
        "KeepAliveTimeout": ("keepalivetimeout   5", 9, "keepalivetimeout   9"),
        "MaxKeepAliveRequests": ("\tMaxKeepAliveRequests 77", 99, "\tMaxKeepAliveRequests 99"),
        "ListenBacklog": (
            "<IfModule mpm_event_module>\n  ListenBacklog 88\n</IfModule>",
            99,
            "<IfModule mpm_event_module>\n  ListenBacklog 99\n</IfModule>",
        ),
    },
    "h2o": {
        "num-threads": ("num-threads: 2 # mine", 3, "num-threads: 3 # mine"),
        "max-connections": ('"max-connections":   77', 99, '"max-connections":   99'),
    },
}


@st.composite
def files(draw: st.DrawFn, name: str) -> tuple[str, str]:
    """A file, and what it is to become."""
    pieces = draw(st.lists(st.sampled_from(PIECES[name]), max_size=8, unique=name == "h2o"))
    before = [(piece, piece) for piece in pieces]
    for said, _, tuned in TUNED[name].values():
        before.insert(draw(st.integers(0, len(before))), (said, tuned))
    if name == "h2o":
        before.append((f"hosts:\n  {HOSTS}", f"hosts:\n  {HOSTS}"))
    end = "\n" * draw(st.booleans())
    texts = ["\n".join(part) + end for part in zip(*before, strict=True)]
    if draw(st.booleans()):
        texts = [text.replace("\n", "\r\n") for text in texts]
    mark = "\ufeff" * (TARGETS[name].only_utf8 and draw(st.booleans()))
    return mark + texts[0], mark + texts[1]


@pytest.mark.parametrize("name", PIECES)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_only_tuned_lines_differ(name, data):
    """Every other byte is as it was, and what the file says now is what was tuned."""
    target = TARGETS[name]
    base, expected = data.draw(files(name))
    values = {knob: value for knob, (_, value, _) in TUNED[name].items()}
    own = own_values(target, base.removeprefix("\ufeff"), 2)
    assert target.changed(base, own, (), CONTEXT) == base
    after = target.changed(base, {**own, **values}, list(values), CONTEXT)
    assert after == expected
    assert own_values(target, after.removeprefix("\ufeff"), 2) == {**own, **values}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("var.n = 4\nserver.max-worker = var.n\n", 4),
        ("var.n = 4\nserver.max-worker = n # ours\n", 4),
        ('server.max-worker = 1\nserver.max-worker := "8"\n', 8),
    ],
)
def test_a_setting_of_lighttpd_s_may_be_made_of_others(text, expected):
    """It is read as lighttpd evaluates it, and replaced as a whole."""
    lighttpd = TARGETS["lighttpd"]
    own = own_values(lighttpd, text, 1)
    assert own["server.max-worker"] == expected
    after = lighttpd.changed(text, {**own, "server.max-worker": 2}, ["server.max-worker"], CONTEXT)
    assert own_values(lighttpd, after, 1)["server.max-worker"] == 2
    assert after.splitlines()[0] == text.splitlines()[0]
    assert after.count("\n") == text.count("\n")
