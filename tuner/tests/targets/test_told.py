"""What the user of a file is told of it before a run: what is refused, what runs, what stays, who warns."""

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_proxying, own_values
from trimtab_tuner.targets.kinds import other_kind, template_line
from trimtab_tuner.targets.packages import lacking
from trimtab_tuner.targets.told import warnings

CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:80",), server_cpus=(0,), prefix="/x")
APACHE = "Listen 80\nLoadModule mpm_event_module m.so\n"
NGINX = """worker_processes 2;
events {}
http {
    sendfile on;
    server { listen 80; location /a { keepalive_timeout 0; } }
    server { listen 81; sendfile off; }
}
"""


def told(name, text, kind):
    """The lines of a kind, each with its number."""
    return [f"{each.line}: {each.text}" for each in TARGETS[name].told(text) if each.kind == kind]


@pytest.mark.parametrize(
    ("name", "text", "line", "sentence"),
    [
        ("nginx", "events {}\nhttp {\n perl_modules perl; }", 3, "perl_modules perl: Perl would run"),
        ("nginx", "server {\n listen 80; }", 1, "a part that an nginx.conf includes"),
        ("nginx", "upstream a { server b; }", 1, "a part that an nginx.conf includes"),
        ("nginx", "events {}\nstream { server { listen 53; } }", 1, "there is no block http"),
        (
            "apache",
            "Listen 80\nLoadModule mpm_prefork_module x.so\nLoadModule mpm_itk_module y.so",
            3,
            "MPM itk,",
        ),
        ("apache", "Listen 80\n<IfModule itk.c>\nMaxClients 9\n</IfModule>", 2, "MPM itk,"),
        (
            "apache",
            "Listen 80\n<IfModule prefork.c>\n</IfModule>\n<IfModule worker.c>\n</IfModule>",
            2,
            "MPM prefork or worker,",
        ),
        ("apache", f"{APACHE}RewriteMap a prg:/bin/b", 3, "this program would run"),
        ("apache", f"{APACHE}SSLPassPhraseDialog exec:/bin/b", 3, "this program would run"),
        ("apache", f"{APACHE}PerlRequire /a.pl", 3, "Perl would run"),
        ("apache", "# a\n<VirtualHost *:80>\nServerName a\n</VirtualHost>", 2, "a virtual host alone"),
        ("apache", "RewriteEngine On\nRewriteRule a b", 1, "what a .htaccess says"),
        ("lighttpd", 'server.port = 80\ninclude_shell "/bin/a " + env.B', 2, "made of variables"),
        ("lighttpd", 'server.document-root = "/a"\nserver.port = ${PORT}', 2, "a template that"),
        ("h2o", "listen: ${PORT}\nhosts:\n  a:\n    paths: {}", 1, "a template that a program"),
        ("h2o", "hosts:\n  a:\n    listen:\n      port: ${PORT}\n    paths: {}", 4, "a template that"),
        ("lighttpd", '$HTTP["host"] == "a" { url.redirect = () }', 1, "a part that a lighttpd.conf includes"),
        ("h2o", "hosts:\n  a:\n    paths: !file /b", 3, "!file: expected the text itself"),
        ("h2o", "hosts:\n  a:\n    paths:\n      /:\n        mruby.handler: x", 5, "mruby.handler"),
        ("h2o", 'hosts:\n  a:\n    paths:\n      /: {fastcgi.spawn: "php"}', 4, "fastcgi.spawn"),
        ("h2o", "paths:\n  /: {file.dir: /a}", 1, "a part of a h2o.conf"),
    ],
)
def test_what_cannot_be_run_privately_is_refused_with_its_line(name, text, line, sentence):
    """By its name, with what to give instead."""
    (first, *_) = told(name, text, "refused")
    assert first.startswith(f"{line}: ")
    assert sentence in first
    assert "expected" in first


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("apache", f"{APACHE}<IfModule mpm_prefork_module>\nMaxRequestWorkers 9\n</IfModule>"),
        ("apache", "Listen 80\n<IfModule mpm_event_module>\n</IfModule>\n<IfModule prefork.c>\n</IfModule>"),
        ("apache", "Listen 80\nLoadModule mpm_prefork_module x.so\nMaxRequestWorkers 16"),
        ("apache", "Listen 80\nLoadModule mpm_worker_module x.so"),
        ("apache", "Listen 80\n<IfModule prefork.c>\nMaxClients 9\n</IfModule>"),
        ("apache", "Listen 80\n<VirtualHost *:80>\n</VirtualHost>"),
        ("lighttpd", 'server.port = 80\n$HTTP["host"] == "a" { }'),
        ("nginx", "events {}\nhttp { server {} }"),
        ("h2o", "listen: 80\nhosts:\n  a:\n    paths: {}"),
    ],
)
def test_whole_files_are_not_taken_for_others(name, text):
    """Sections of other MPMs stand in many files that load event."""
    assert told(name, text, "refused") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n{{ if .Tls }}\nb: 2", 2),
        ("listen {{ port }};", 1),
        ("{% for a in b %}", 1),
        ("x\n\n  server_name <%= @name %>;", 3),
        ("%%OWN%%", 1),
        ("local a = {{1}, {2}}", None),
        ('log_format a \'{"a": {"b": "$c"}}\';', None),
        ('LogFormat "%h %{Referer}i %%" a', None),
    ],
)
def test_line_of_a_template_is_known_by_its_signs(text, line):
    """Tables of Lua and formats of logs have other ones."""
    assert template_line(text) == line


def test_what_runs_in_the_measured_server_too_is_named():
    """Modules, variables, code."""
    text = "load_module a.so;\nenv B;\nevents {}\nhttp {\n init_by_lua_block { a = 1 } }"
    assert [each.partition(":")[0] for each in told("nginx", text, "runs")] == ["1", "2", "5"]
    assert told("apache", f"{APACHE}Define A /b", "runs")[-1].startswith("3: Define A /b")
    many = f"{APACHE}LoadModule status_module s.so\n<IfModule x>\nLoadModule a_module a.so\n</IfModule>\n"
    assert told("apache", many, "runs") == [
        "2: LoadModule mpm_event_module, status_module, a_module: the measured server loads the same"
    ]


def test_a_limit_on_clients_that_holds_for_the_workload_too_is_named():
    """Of all sites, not of one."""
    text = "events {}\nhttp {\n limit_req zone=a;\n server {\n limit_req zone=b; limit_conn c 1; } }"
    (only,) = told("nginx", text, "runs")
    assert only.startswith("3: limit_req zone=a: it limits the workload too")


def test_what_closes_all_sites_or_works_on_all_requests_is_named():
    """Before a trial is stopped for it; one address that is kept out closes nothing."""
    text = (
        "events {}\nhttp {\n deny 1.2.3.4;\n deny all;\n auth_basic us;\n auth_request /a;\n"
        " access_by_lua_block { a = 1 }\n server { deny all; access_by_lua_file /a; } }"
    )
    said = [each.partition(":")[0] for each in told("nginx", text, "runs")]
    assert said == ["4", "5", "6", "7", "8"]
    assert told("nginx", "events {}\nhttp {\n auth_basic off; }", "runs") == []


def test_numbers_that_apache_lowers_are_told():
    """By those that bound them, set or not."""
    text = f"{APACHE}ServerLimit 4\nMaxRequestWorkers 3000\nStartServers 300\nThreadsPerChild 100\n"
    assert told("apache", text, "corrected") == [
        "6: ThreadsPerChild 100: Apache takes 64, as ThreadLimit allows no more",
        "4: MaxRequestWorkers 3000: Apache takes 256, as ServerLimit 4 × ThreadsPerChild 64 allows no more",
        "5: StartServers 300: Apache takes 4, as ServerLimit 4 allows no more",
    ]
    assert (
        told("apache", f"{APACHE}MaxRequestWorkers 400\nThreadLimit 99\nThreadsPerChild 99", "corrected")
        == []
    )


EXCEPTED = [
    (
        "nginx",
        NGINX,
        {"sendfile": "off", "keepalive_timeout": 9},
        ("sendfile off", "keepalive_timeout 0"),
        ["sendfile off;", "keepalive_timeout 0;", "keepalive_timeout 9s;"],
    ),
    (
        "apache",
        (
            f"{APACHE}KeepAliveTimeout 5\n<VirtualHost *:80>\nKeepAliveTimeout 1\n</VirtualHost>\n"
            "<VirtualHost *:81>\n</VirtualHost>\n"
        ),
        {"KeepAliveTimeout": 9},
        ("KeepAliveTimeout 1",),
        ["KeepAliveTimeout 9", "KeepAliveTimeout 1"],
    ),
    (
        "lighttpd",
        (
            'server.port = 80\nserver.max-keep-alive-idle = 5\n$HTTP["host"] == "a" {\n'
            "server.max-keep-alive-idle = 1\n}\n"
        ),
        {"server.max-keep-alive-idle": 9},
        ("server.max-keep-alive-idle = 1",),
        ["server.max-keep-alive-idle = 9", "server.max-keep-alive-idle = 1"],
    ),
]


@pytest.mark.parametrize(("name", "text", "values", "named", "lines"), EXCEPTED)
def test_an_exception_at_a_deeper_level_stays_and_is_told(name, text, values, named, lines):
    """What holds for all is tuned, and measured."""
    target = TARGETS[name]
    stays = told(name, text, "stays")
    assert len(stays) == len(named)
    for each in named:
        assert any(f" {each}" in one for one in stays), each
    configuration = {**own_values(target, text, 2), **values}
    changed = target.changed(text, configuration, list(values), CONTEXT)
    for line in lines:
        assert line in changed
    assert own_values(target, changed, 2) == configuration


@pytest.mark.parametrize(
    ("name", "before", "after", "values"),
    [
        (
            "nginx",
            (
                "events {}\nhttp { server { listen 80; sendfile on; location /a { sendfile off; } }\n"
                "server { listen 81; return 301 /; } }\n"
            ),
            (
                "events {}\nhttp { server { listen 80; sendfile off; location /a { sendfile off; } }\n"
                "server { listen 81; return 301 /; } }\n"
            ),
            {"sendfile": "off"},
        ),
        (
            "apache",
            f"{APACHE}<VirtualHost *:80>\nKeepAliveTimeout 7\n</VirtualHost>\n",
            f"{APACHE}<VirtualHost *:80>\nKeepAliveTimeout 9\n</VirtualHost>\n",
            {"KeepAliveTimeout": 9},
        ),
    ],
)
def test_what_all_sites_set_alike_is_tuned_in_them(name, before, after, values):
    """Outside of them it would have no effect."""
    target = TARGETS[name]
    configuration = {**own_values(target, before, 2), **values}
    assert target.changed(before, configuration, list(values), CONTEXT) == after
    assert own_values(target, after, 2) == configuration


def test_a_location_that_does_not_buffer_stays_so():
    """Streams of events would break."""
    text = (
        "http { server { location /events { proxy_pass http://a; proxy_buffering off; }\n"
        "location / { proxy_pass http://a; proxy_buffering on; } } }"
    )
    target = TARGETS["nginx"]
    own = {**own_values(target, text, 1), **own_proxying(target, text)}
    assert own["proxy_buffering"] == "on"
    changed = target.changed(text, {**own, "proxy_buffering": "off"}, ["proxy_buffering"], CONTEXT)
    assert changed == text.replace("buffering on", "buffering off")


@pytest.mark.parametrize(
    ("text", "told_of"),
    [
        ("worker_processes 3; # do not change, see ticket 7", ["1: worker_processes"]),
        ("# never touch this\n# (Ann)\nworker_processes 3;", ["3: worker_processes"]),
        ("# keep in mind\n\nevents { worker_connections 9; # DON'T\n}", ["3: worker_connections"]),
        ("# do not change\nuser a;\nworker_processes 3; # three", []),
        ("listen 80 backlog=9; # leave!", ["1: backlog"]),
    ],
)
def test_comments_that_warn_are_found_beside_their_settings(text, told_of):
    """Behind the value, or right above it."""
    found = warnings(text, TARGETS["nginx"].space().knobs)
    assert [f"{each.line}: {each.text.partition(':')[0]}" for each in found] == told_of


@pytest.mark.parametrize("given", ["nginx", "apache", "lighttpd", "h2o"])
@pytest.mark.parametrize("target", ["nginx", "apache", "lighttpd", "h2o", "core", "mariadb"])
def test_a_file_of_another_server_is_recognised(given, target):
    """And one of the same is not."""
    files = {
        "nginx": NGINX,
        "apache": APACHE,
        "lighttpd": 'server.port = 80\nserver.modules = ( "a" )\n',
        "h2o": "listen: 80\nhosts:\n  a:\n    paths: {}\n",
    }
    said = other_kind(files[given], target)
    assert (f"--target {given}" in said) is (given != target)


@pytest.mark.parametrize(
    ("target", "said", "package"),
    [
        ("nginx", 'unknown directive "brotli" in /a:3', "libnginx-mod-http-brotli-filter"),
        ("nginx", 'unknown directive "content_by_lua_block" in /a:3', "libnginx-mod-http-lua"),
        ("nginx", 'dlopen() "/m/ngx_stream_module.so" failed', "libnginx-mod-stream"),
        ("nginx", 'unknown directive "stream" in /a:3', "libnginx-mod-stream"),
        ("nginx", 'unknown directive "mail" in /a:3', "libnginx-mod-mail"),
        ("nginx", 'unknown directive "js_import" in /a:3', "libnginx-mod-http-js"),
        ("nginx", 'unknown directive "js_preread" in /a:3', "libnginx-mod-stream-js"),
        ("nginx", 'dlopen() "/m/ngx_stream_js_module.so" failed', "libnginx-mod-stream-js"),
        ("nginx", 'unknown directive "upload_progress" in /a:3', "libnginx-mod-http-uploadprogress"),
        ("nginx", 'unknown directive "track_uploads" in /a:3', "libnginx-mod-http-uploadprogress"),
        ("nginx", 'unknown directive "fair" in /a:3', "libnginx-mod-http-upstream-fair"),
        ("nginx", 'unknown directive "srcache_fetch" in /a:3', "libnginx-mod-http-srcache-filter"),
        ("apache", "Invalid command 'SecRuleEngine', perhaps", "libapache2-mod-security2"),
        ("apache", "Cannot load /m/libphp8.2.so into server", "libapache2-mod-php"),
        ("lighttpd", "dlopen() failed for: /m/mod_deflate.so", "lighttpd-mod-deflate"),
        ("lighttpd", "dlopen() failed for: /m/mod_magnet.so", "lighttpd-modules-lua"),
    ],
)
def test_a_missing_module_is_named_with_its_package(target, said, package):
    """By the server's own words."""
    assert f"of the package {package}, which is not installed here" in lacking(target, said)
    assert lacking(target, "some other mistake") == ""


def test_all_modules_that_are_missing_are_named():
    """lighttpd tells of them together."""
    failed = "dlopen() failed for: /m/mod_{0}.so /m/mod_{0}.so: no such file\n"
    sentences = lacking("lighttpd", failed.format("deflate") + failed.format("magnet"))
    assert sentences.count("It needs the module") == 2
    assert "lighttpd-mod-deflate" in sentences
    assert "lighttpd-modules-lua" in sentences


@pytest.mark.parametrize(
    ("target", "said", "version"),
    [
        ("nginx", 'unknown directive "http2" in /a:3', "1.25.1"),
        ("nginx", 'invalid parameter "quic" in /a:3', "1.25.0"),
        ("nginx", 'unknown directive "http3" in /a:3', "1.25.0"),
        ("nginx", 'invalid parameter "resolve" in /a:3', "1.27.3"),
        ("h2o", "[a:3] in command proxy.connect, unknown command: proxy.connect", "2.3"),
    ],
)
def test_a_later_version_is_named_with_its_number(target, said, version):
    """What no module of this one brings."""
    assert lacking(target, said) == f"It needs {target} {version} or later."
