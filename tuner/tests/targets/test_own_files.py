"""A user's own configuration file: what changes in it, what stays, what a private instance leaves out."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.editing import changed_knobs, own_values
from trimtab_tuner.targets.private import named_in
from trimtab_tuner.targets.servers.h2o import syntax as h2o_syntax
from trimtab_tuner.targets.servers.nginx import syntax

from .instance import instance_in

CONTEXT = instance_in("/run/x", stats_socket="/run/x/stats.sock")
FILES = {
    "nginx": """\
user www-data;  # who
worker_processes auto;
pid /run/nginx.pid;
load_module modules/ngx_http_echo_module.so;
events {
\tworker_connections 768;\t# each
}
http {
\tsendfile on; access_log /var/log/nginx/access.log;
\tgzip on;
\tupstream app { server 10.0.0.1:8080; }
\tserver {
\t\tlisten 80 default_server;
\t\tlisten [::]:80 default_server;
\t\tlocation / { proxy_pass http://app; }
\t}
\tserver { listen 80; server_name "b;{"; }
}
stream { server { listen 5432; } }
""",
    "lighttpd": """\
# the site
server.modules = ( "mod_access",
  "mod_fastcgi" )
server.port = 80
server.max-worker = 4 # four
server.username = "www-data"
server.feature-flags += ( "server.h2proto" => "enable" )
fastcgi.server = ( ".php" => (( "bin-path" => "/usr/bin/php-cgi", "socket" => "/run/php.sock" )) )
$HTTP["host"] == "a" {
  server.max-worker = 9
}
$SERVER["socket"] == ":443" { ssl.engine = "enable" }
""",
    "apache": """\
Listen 80
User ${APACHE_RUN_USER}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
<IfModule mpm_event_module>
    StartServers 2
    threadsperchild   30
    MaxRequestWorkers 150
</IfModule>
ErrorLog ${APACHE_LOG_DIR}/error.log
Timeout 300
<VirtualHost *:80>
    ProxyPass / http://10.0.0.1/
    KeepAliveTimeout 77
</VirtualHost>
""",
    "h2o": """\
server-name: "mine"  # name
user: debian-h2o
num-threads: 3
access-log: /var/log/h2o/access.log
listen:
  port: 80
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://10.0.0.1/
""",
    "core": "[server]\nroot = /srv/own\nlisten = 0.0.0.0:80\nuser = www-data\nworkers = 3 ; three\n"
    "mime_types = /srv/types\ncharset = utf-8\nprecompressed = on\n\n# end\n"
    "[path /assets/]\nheader = X-Workers: 5\nexpires_s = 60\n[path /workers = 9/]\nheader = X: workers = 7\n"
    "[host own.example]\nroot = /srv/own/too\n[path /]\nheader = X-Host: production.example\n",
}
PRODUCTION = (
    "10.0.0.1",
    ":80",
    " 80;",
    "= 80",
    "Listen 80",
    "/var/log",
    "5432",
    "php-cgi",
    "www-data;",
    "user = ",
    "production.example",
    "own.example",
    "443",
)
KEPT = {"nginx": ("10.0.0.1", ":80"), "h2o": ("10.0.0.1",), "apache": ("10.0.0.1",)}
"""Of whom sites are kept with what stands behind them: the workload never asks there."""
TUNED = {
    "nginx": {"worker_processes": 7, "multi_accept": "on", "sendfile": "off", "backlog": 99},
    "lighttpd": {"server.max-worker": 2, "server.max-connections": 3000},
    "apache": {"ThreadsPerChild": 64, "AsyncRequestWorkerFactor": 4},
    "h2o": {"num-threads": 1, "max-connections": 77},
    "core": {"workers": 1, "max_connections": 77},
}


def changed_lines(before, after):
    """The lines that are only in one of the texts, with their sign."""
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]


@pytest.mark.parametrize("name", FILES)
def test_only_tuned_settings_change(name):
    """Every other byte of the file is as it was, and what it says now is the tuned configuration."""
    target, text = TARGETS[name], FILES[name]
    configuration = {**own_values(target, text, 2), **TUNED[name]}
    knobs = changed_knobs(target, text, configuration, 2)
    assert set(knobs) == set(TUNED[name])
    after = TARGETS[name].changed(text, configuration, knobs, CONTEXT)
    assert own_values(target, after, 2) == configuration
    # A setting takes one line away at most and brings one; listen options change two lines.
    assert len(changed_lines(text, after)) <= 2 * len(knobs) + 4
    for line in changed_lines(text, after):
        assert any(str(value) in line for value in TUNED[name].values()) or line[0] == "-"


@pytest.mark.parametrize("name", FILES)
def test_nothing_to_change_changes_nothing(name):
    """Byte for byte."""
    text = FILES[name]
    own = own_values(TARGETS[name], text, 2)
    assert changed_knobs(TARGETS[name], text, own, 2) == ()
    assert TARGETS[name].changed(text, own, (), CONTEXT) == text


@pytest.mark.parametrize("name", FILES)
def test_private_instance_never_meets_production(name):
    """No address, log or user of the user's file is in it, nor sites that are not kept; tuned values are."""
    target, text = TARGETS[name], FILES[name]
    configuration = {**own_values(target, text, 2), **TUNED[name]}
    private = TARGETS[name].private(text, configuration, configuration, CONTEXT)
    said = "\n".join(line for line in private.splitlines() if not line.startswith("#"))
    assert not [word for word in PRODUCTION if word in said and word not in KEPT.get(name, ())]
    assert "127.0.0.1" in private
    assert "/srv/own" not in said
    read = target.parse(private, 2)
    assert TUNED[name].items() <= {**configuration, **read}.items()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("nginx", "gzip on;"),
        ("lighttpd", "server.feature-flags += "),
        ("apache", "Timeout 300"),
        ("h2o", 'server-name: "mine"'),
        ("core", "mime_types = /srv/types\ncharset = utf-8\nprecompressed = on\n"),
        ("core", "[path /assets/]\nheader = X-Workers: 5\nexpires_s = 60\n"),
    ],
)
def test_private_instance_keeps_what_is_of_the_server_as_a_whole(name, kept):
    """Modules, timeouts, filters."""
    own = own_values(TARGETS[name], FILES[name], 2)
    assert kept in TARGETS[name].private(FILES[name], own, (), CONTEXT)


def test_listen_options_are_given_once_for_each_address():
    """nginx refuses them a second time."""
    text = FILES["nginx"]
    configuration = {**own_values(TARGETS["nginx"], text, 2), "reuseport": "on"}
    after = TARGETS["nginx"].changed(text, configuration, ("reuseport",), CONTEXT)
    assert after.count("reuseport") == 2
    assert "listen 80 reuseport default_server;" in after
    back = TARGETS["nginx"].changed(after, {**configuration, "reuseport": "off"}, ("reuseport",), CONTEXT)
    assert back == text


def test_blocks_that_are_missing_are_made():
    """A file may leave everything to nginx."""
    configuration = {**TARGETS["nginx"].space().default(), "worker_connections": 99, "sendfile": "on"}
    after = TARGETS["nginx"].changed("user a;\n", configuration, ("worker_connections", "sendfile"), CONTEXT)
    assert TARGETS["nginx"].parse(after) == {"worker_connections": 99, "sendfile": "on"}


def test_nginx_is_measured_with_the_whole_file():
    """Every directive is in it as it was, or named in the comment at the beginning."""
    nginx, text = TARGETS["nginx"], FILES["nginx"]
    private = nginx.private(text, own_values(nginx, text, 2), (), CONTEXT)
    for kept in ("gzip on;", "proxy_pass http://app;", 'server_name "b;{";', "server 10.0.0.1:8080;"):
        assert kept in private
    for named in (
        "# user www-data; is left out: the instance runs as one user, without privileges",
        "# pid /run/nginx.pid; is the instance's own",
        "# access_log /var/log/nginx/access.log; to /run/x/access_log-1.log",
        "# listen 80 default_server; at 127.77.0.1:18999",
        "# listen [::]:80 default_server; at 127.77.0.2:18999",
        "# listen 80; at 127.77.0.1:18999",
        "# listen 5432; at 127.77.0.3:18999",
    ):
        assert named in private.splitlines()
    assert private.count("listen 127.77.0.1:18999") == 2


def test_nginx_site_of_the_workload_has_the_settings_of_the_first_site():
    """Headers, compression and logs cost there too; what decides whether it answers is not taken over."""
    text = """http { server { listen 80; return 301 https://$host; }
    server { listen 443 ssl; server_name a; ssl_certificate c; ssl_certificate_key /k; gzip on;
        add_header X-A "b"; auth_basic x; deny all; access_log /var/log/a.log; location / { expires 1h; } } }
    """
    nginx = TARGETS["nginx"]
    tree = syntax.parse(nginx.private(text, own_values(nginx, text, 2), (), CONTEXT))
    site = next(
        server
        for server in syntax.find(tree, "http", "server")
        if syntax.find(server.block, "listen")[0].arguments[0] == CONTEXT.listen[0]
    )
    said = [
        (each.name, *each.arguments) for each in site.block if each.name not in ("listen", "root", "index")
    ]
    assert said == [("gzip", "on"), ("add_header", "X-A", "b"), ("access_log", "/run/x/access_log-2.log")]


def test_nginx_does_not_write_or_listen_where_it_was_built_to():
    """Without a word of it nginx logs to production's file, and listens at port 80."""
    nginx, text = TARGETS["nginx"], "http { server { root /srv; } }"
    tree = syntax.parse(nginx.private(text, own_values(nginx, text, 2), (), CONTEXT))
    assert [log.arguments for log in syntax.find(tree, "http", "access_log")] == [["/run/x/access_log-1.log"]]
    listens = [listen.arguments[0] for listen in syntax.find(tree, "http", "server", "listen")]
    assert listens == ["127.77.0.1:18999", "127.0.0.1:18999", "127.0.0.1:18998"]


def test_nginx_cache_on_disk_is_the_private_instances_own():
    """Two cache managers would each remove what the other has counted."""
    nginx, text = TARGETS["nginx"], "http { proxy_cache_path /var/cache keys_zone=a:1m; }"
    private = nginx.private(text, own_values(nginx, text, 2), (), CONTEXT)
    assert 'proxy_cache_path "/run/x/cache-2" keys_zone=a:1m;' in private


def test_nginx_paths_count_from_where_nginx_counts_them():
    """Certificates from its file, roots and modules from its prefix; what is absolute stays."""
    text = "load_module modules/m.so; http { ssl_certificate a.crt; ssl_certificate_key $k; root html; }"
    rooted = TARGETS["nginx"].rooted(text, "/etc/nginx")
    assert rooted == text.replace("modules/m.so", '"/usr/share/nginx/modules/m.so"').replace(
        "a.crt", '"/etc/nginx/a.crt"'
    ).replace(" html", ' "/usr/share/nginx/html"')
    assert [(each.name, each.value) for each in TARGETS["nginx"].reads(rooted)] == [
        ("ssl_certificate", "/etc/nginx/a.crt")
    ]


@pytest.mark.parametrize(
    ("name", "named"),
    [
        (
            "lighttpd",
            ('fastcgi.server = ( ".php"', 'server.username = "www-data"', "server.port = 80"),
        ),
        (
            "apache",
            ("Listen 80", "<VirtualHost *:80>", "ErrorLog ${APACHE_LOG_DIR}/error.log", "StartServers 2"),
        ),
        ("core", ("user = www-data", "[host own.example]", "header = X-Host: production.example")),
    ],
)
def test_what_is_not_kept_is_named(name, named):
    """In the comment at the beginning of what is measured: nothing is dropped without a word."""
    target, text = TARGETS[name], FILES[name]
    private = target.private(text, own_values(target, text, 2), (), CONTEXT)
    comment = [line for line in private.splitlines() if line.startswith("# ")]
    for setting in named:
        assert [line for line in comment if setting in line], setting


def test_h2o_is_measured_with_the_whole_file():
    """Hosts keep TLS and backends; the first of them still answers for names that nobody has."""
    h2o = TARGETS["h2o"]
    text = """listen: 80
hosts:
  b:
    listen: {port: 443, ssl: {certificate-file: /c, key-file: '/k'}}
  a:
    listen:
      port: 8080
    access-log: {path: /var/log/a, format: x}
    paths: {/: {proxy.reverse.url: "http://10.0.0.1/"}}
# end"""
    private = h2o.private(text, own_values(h2o, text, 2), (), CONTEXT)
    for line in (
        "# listen 0.0.0.0:80 at 127.77.0.1:18999",
        "listen: {host: 127.77.0.1, port: 18999}",
        "# access-log: /var/log/a to /run/x/access-1.log",
        (
            "    listen: {host: 127.77.0.2, port: 18999, ssl: {ocsp-update-interval: 0, certificate-file: "
            "/c, key-file: '/k'}}"
        ),
        "      host: 127.77.0.3",
        '    access-log: {path: "/run/x/access-1.log", format: x}',
        '    paths: {/: {proxy.reverse.url: "http://10.0.0.1/"}}',
    ):
        assert line in private.splitlines()
    assert private.index("  b:") < private.index("  a:") < private.index('  "workload-0":')
    assert [each.value for each in h2o.reads(text)] == ["/c", "/k"]


def test_h2o_line_that_is_left_out_is_named_without_the_comments_behind_it():
    """A log that is commented out is none."""
    h2o = TARGETS["h2o"]
    site = "hosts:\n  a:\n    listen: 80\n    paths: {/: {file.dir: /srv}}\n"
    text = f"user: a # of ours\n# access-log: /l\n{site}"
    private = h2o.private(text, own_values(h2o, text, 2), (), CONTEXT)
    assert "# user: a is left out: the instance runs as one user, without privileges\n" in private
    assert "/l" not in private.partition("hosts:")[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("listen: 80\nhosts\n  a: 1\n", r"line 3: it is no YAML: could not find expected ':'"),
        ("listen: 80\n@a\n", r"line 2: it is no YAML: found character '@'"),
    ],
)
def test_h2o_file_that_is_no_yaml_is_refused_with_its_line(text, sentence):
    """In one sentence, and no name of a string of ours."""
    with pytest.raises(RenderError, match=sentence) as refusal:
        h2o_syntax.commands(text)
    assert "unicode" not in str(refusal.value)


def test_h2o_has_no_host_twice_where_a_file_of_ours_is_driven():
    """It would refuse the file."""
    h2o = TARGETS["h2o"]
    own = h2o.space().default()
    private = h2o.private(h2o.render(own, CONTEXT), own, own, CONTEXT)
    names = [command.name for command in h2o_syntax.commands(private) if command.above == ("hosts",)]
    assert names == ["site-0", "site-status", "workload-0", "workload-status"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hosts: !file sites.yaml", "line 1: !file: expected the text itself"),
        ("num-threads: 1", "hosts: expected one such line"),
        ("listen: {host: 10.0.0.1}\nhosts:\n  a: 1", "line 1: listen: expected a port, and a type of tcp"),
        ("hosts: {a: 1}", "hosts: expected one such line"),
        ("a: [", "while parsing a flow"),
        ("- a", "expected commands"),
    ],
)
def test_h2o_file_that_cannot_be_kept_is_refused(text, sentence):
    """With its line, where it has one."""
    h2o = TARGETS["h2o"]
    with pytest.raises(RenderError, match=sentence):
        h2o.private(text, h2o.space().default(), (), CONTEXT)


def test_nginx_lua_and_braces_in_words_are_read():
    """A block of Lua holds no directives, a variable in braces is part of its word."""
    text = """http { server { listen 80; location / {
        content_by_lua_block { local a = { "}" } -- }
            ngx.say([[}]], '"') }
        "set_by_lua_block" $v { return { 1 } }
        proxy_pass http://${backend}/x; } } }"""
    tree = syntax.parse(text)
    (location,) = syntax.find(tree, "http", "server", "location")
    assert [(each.name, each.arguments) for each in location.block] == [
        ("content_by_lua_block", []),
        ("set_by_lua_block", ["$v"]),
        ("proxy_pass", ["http://${backend}/x"]),
    ]


def test_listen_options_are_given_once_however_the_address_is_written():
    """A second time nginx refuses them: `80`, `*:80` and `0.0.0.0` are one address."""
    text = "http { server { listen 80; listen [::]:80; } server { listen *:80; listen 0.0.0.0; } }"
    own = own_values(TARGETS["nginx"], text, 2)
    after = TARGETS["nginx"].changed(text, {**own, "backlog": 99}, ("backlog",), CONTEXT)
    first = "listen 80 backlog=99; listen [::]:80 backlog=99;"
    assert after == text.replace("listen 80; listen [::]:80;", first)


def test_apache_gets_the_limits_without_which_it_would_start_fewer_threads():
    """Those that the file gives are kept where they suffice."""
    apache, text = TARGETS["apache"], "ThreadLimit 100\nServerLimit 4\n"
    tuned = {**own_values(apache, text, 2), "ThreadsPerChild": 128}
    after = TARGETS["apache"].changed(text, tuned, ("ThreadsPerChild",), CONTEXT)
    assert after.splitlines() == [
        "ThreadLimit 128",
        "ServerLimit 4",
        "ThreadsPerChild 128",
        "MaxRequestWorkers 512",
        "StartServers 4",
        "MaxSpareThreads 512",
    ]
    kept = "StartServers 5\nMaxSpareThreads 900\nMaxRequestWorkers 512\nThreadLimit 128\nServerLimit 4\n"
    assert (
        TARGETS["apache"].changed(kept, tuned, ("ThreadsPerChild",), CONTEXT)
        == kept + "ThreadsPerChild 128\n"
    )
    assert TARGETS["apache"].changed(after, tuned, ("ThreadsPerChild",), CONTEXT) == after
    assert own_values(apache, "ServerLimit 32\n", 2)["MaxRequestWorkers"] == 400
    assert own_values(apache, "ServerLimit 8\n", 2)["MaxRequestWorkers"] == "all"


def test_what_cannot_be_tuned_is_refused_with_a_sentence():
    """Options of listen need a listen."""
    own = TARGETS["nginx"].space().default()
    with pytest.raises(RenderError, match="expected one in a server"):
        TARGETS["nginx"].changed("http { }", own, ("backlog",), CONTEXT)


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_rules_out_are_values_of_knobs(name):
    """Only our own server refuses an architecture to who names a user; that can be left out of a search."""
    target = TARGETS[name]
    refused = target.refused(FILES[name])
    assert bool(refused) == (name == "core")
    space = target.space("n-copy") if name == "core" else target.space()
    for knob, values in refused.items():
        assert "shared-symped" in values
        space = space.without(knob, values)
        assert "shared-symped" not in space.knob(knob).values()


def test_without_a_user_nothing_is_ruled_out():
    """The key counts where it stands in force, as the last of its section."""
    target = TARGETS["core"]
    assert not target.refused("[server]\nroot = /srv\n; user = www-data\n[path /]\nheader = user: me\n")
    assert not target.refused("[server]\nuser =\n")


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=100)
@given(data=st.data())
def test_garbage_is_read_or_refused_and_never_an_accident(name, data):
    """Whatever the file holds: values, or a sentence."""
    pieces = st.sampled_from(
        [*FILES[name].split(" "), "{", "}", ";", '"', "'", "#", "\\", "\n", "$x", "<", ">"]
    )
    text = " ".join(data.draw(st.lists(pieces, max_size=30)))
    target = TARGETS[name]
    try:
        own = own_values(target, text, 2)
        target.includes(text)
        target.private(text, own, own, CONTEXT)
        assert target.changed(text, own, (), CONTEXT) == text
    except RenderError as error:
        assert str(error)  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize("name", FILES)
def test_what_differs_is_read_back_from_the_comment_and_no_comment_of_the_users(name):
    """Also where the user's own file begins with comments."""
    text = "# of mine\n" + FILES[name]
    private = TARGETS[name].private(text, own_values(TARGETS[name], text, 2), (), CONTEXT)
    named = named_in(f"# key from its copy\n{private}")
    comment = private[: private.index("# Nothing else differs.\n")].splitlines()
    assert named == ("key from its copy", *(line.removeprefix("# ") for line in comment[1:]))
    assert len(named) > 1
    assert "of mine" not in named
    assert named_in(text) == ()


LOGGING = {
    "lighttpd": (
        """\
server.modules = ( "mod_accesslog" )
accesslog.format = "%h %r"
accesslog.filename = var.logs + "/access.log"
""",
        'accesslog.format = "%h %r"\naccesslog.filename = "/run/x/access-1.log"\n',
    ),
    "lighttpd, in a site": (
        '$HTTP["host"] == "a" {\n  accesslog.filename = "|/bin/cat"\n  accesslog.format = "%h"\n}\n',
        '  accesslog.filename = "/run/x/access-1.log"\n  accesslog.format = "%h"\n}\n$SERVER["socket"]',
    ),
    "lighttpd, to syslog": (
        'accesslog.use-syslog = "enable"\n',
        'accesslog.filename = "/run/x/access-1.log"\n',
    ),
    "apache": (
        'LogFormat "%h" short\nCustomLog ${APACHE_LOG_DIR}/access.log short env=!quiet\n',
        'CustomLog "/run/x/access-1.log" short env=!quiet\n',
    ),
    "apache, in a site": (
        """\
CustomLog /var/log/main.log common
GlobalLog /var/log/all.log common
<VirtualHost *:80>
    LogFormat "%h" short
    CustomLog "|/bin/cat -u" short
</VirtualHost>
<VirtualHost *:81>
    CustomLog /var/log/b.log short
</VirtualHost>
""",
        """\
    LogFormat "%h" short
    CustomLog "/run/x/access-3.log" short
</VirtualHost>
Listen 127.0.0.1:18998
""",
    ),
    "core": (
        "[server]\nroot = /srv/own\nlisten = 0.0.0.0:80\naccess_log = /var/log/core.log\n",
        "access_log = /run/x/access-1.log\n",
    ),
}


@pytest.mark.parametrize("case", LOGGING)
def test_access_logs_are_written_to_files_of_the_private_instance(case):
    """With their formats and conditions, as the site of the file would write them; each is named with where
    it goes. Nothing is written to the administrator's.
    """
    text, expected = LOGGING[case]
    target = TARGETS[case.partition(",")[0]]
    private = target.private(text, own_values(target, text, 2), (), CONTEXT)
    comment = [line for line in private.splitlines() if line.startswith("#")]
    said = "".join(line + "\n" for line in private.splitlines() if not line.startswith("#"))
    assert expected in said
    assert "/var/log" not in said
    assert "/bin/cat" not in said
    assert any(line.endswith(" to /run/x/access-1.log") for line in comment)


OFF = {
    "nginx": (
        "events {}\nhttp { access_log /var/log/a; server { NO; } server { access_log /var/log/b.log; } }\n",
        ("access_log off", "access_log /dev/null"),
    ),
    "lighttpd": (
        '$HTTP["host"] == "a" {\n NO\n}\n$HTTP["host"] == "b" {\n accesslog.filename = "/var/log/b.log"\n}\n',
        ('accesslog.filename = ""', 'accesslog.filename = "/dev/null"'),
    ),
    "apache": (
        """\
<VirtualHost *:80>
  NO
</VirtualHost>
<VirtualHost *:80>
  CustomLog /var/log/b.log common
</VirtualHost>
""",
        ("CustomLog /dev/null common", "CustomLog /dev/null common\n  ErrorLog /dev/null"),
    ),
}


@pytest.mark.parametrize("name", OFF)
def test_log_that_is_switched_off_stays_so_and_others_are_written(name):
    """It costs nothing in production, and must cost nothing in what is measured."""
    text, ways = OFF[name]
    for way in ways:
        text_so = text.replace("NO", way)
        private = TARGETS[name].private(text_so, own_values(TARGETS[name], text_so, 2), (), CONTEXT)
        assert way in private
        assert "/dev/null to " not in private
        assert "/var/log/b.log" in private.partition("# Nothing else differs.")[0]
        assert "/var/log" not in private.partition("# Nothing else differs.")[2]


def test_workload_is_logged_as_the_first_site_of_lighttpd_that_logs():
    """One whose log is switched off is no model of how logs are written."""
    text = OFF["lighttpd"][0].replace("NO", 'accesslog.filename = ""')
    private = TARGETS["lighttpd"].private(text, own_values(TARGETS["lighttpd"], text, 2), (), CONTEXT)
    assert 'accesslog.filename = "/run/x/access-1.log"' in private.partition('$SERVER["socket"]')[2]


@pytest.mark.parametrize("name", ["lighttpd", "apache", "core"])
def test_file_without_an_access_log_is_measured_without_one(name):
    """As its server runs in production."""
    own = own_values(TARGETS[name], FILES[name], 2)
    assert "access-1" not in TARGETS[name].private(FILES[name], own, (), CONTEXT)


def test_nginx_status_page_is_open_where_the_file_closes_all_sites():
    """We ask it ourselves; what the workload is answered stays as the file has it."""
    text = 'events {}\nhttp {\n deny all;\n auth_basic "us";\n server { listen 80; }\n}\n'
    nginx = TARGETS["nginx"]
    context = RenderContext(
        root="/srv", listen=("127.0.0.1:80",), status_listen="127.0.0.1:81", server_cpus=(0,), prefix="/x"
    )
    site, _, status = nginx.private(text, nginx.space().default(), (), context).partition(
        "listen 127.0.0.1:81;"
    )
    assert "allow all;" in status
    assert "auth_basic off;" in status
    assert "allow all;" not in site
    plain = text.replace("deny all;", "").replace('auth_basic "us";', "")
    assert "allow all;" not in nginx.private(plain, nginx.space().default(), (), context)
