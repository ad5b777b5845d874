"""A user's own configuration file: what changes in it, what stays, what a private instance leaves out."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.editing import changed_knobs, own_values

CONTEXT = RenderContext(
    root="/srv/www",
    listen=("127.0.0.1:18999",),
    stats_socket="/run/x/stats.sock",
    status_listen="127.0.0.1:18998",
    server_cpus=(0, 1),
    prefix="/run/x",
)
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
    """No address, log, user, site or backend of the user's file is in it; tuned values are."""
    target, text = TARGETS[name], FILES[name]
    configuration = {**own_values(target, text, 2), **TUNED[name]}
    private = TARGETS[name].private(text, configuration, configuration, CONTEXT)
    assert not [word for word in PRODUCTION if word in private]
    assert "127.0.0.1" in private
    assert "/srv/own" not in private
    read = target.parse(private, 2)
    assert TUNED[name].items() <= {**configuration, **read}.items()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("nginx", "gzip on;"),
        ("nginx", 'load_module "/usr/share/nginx/modules/ngx_http_echo_module.so";'),
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


def test_nginx_certificates_stay_out_of_the_private_instance():
    """It could not read the keys, and nginx loads them even where nothing speaks TLS."""
    text = "events { } http { gzip on; ssl_certificate /c; ssl_certificate_key /k; server { listen 80; } }"
    own = own_values(TARGETS["nginx"], text, 2)
    private = TARGETS["nginx"].private(text, own, (), CONTEXT)
    assert "gzip on;" in private
    assert "ssl_" not in private


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
    """Another MPM has other knobs; options of listen need a listen."""
    own = TARGETS["apache"].space().default()
    with pytest.raises(RenderError, match="expected mpm_event"):
        TARGETS["apache"].private("LoadModule mpm_prefork_module x.so\n", own, (), CONTEXT)
    own = TARGETS["nginx"].space().default()
    with pytest.raises(RenderError, match="expected one in a server"):
        TARGETS["nginx"].changed("http { }", own, ("backlog",), CONTEXT)


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
