"""What reaches beyond a file: includes, programs and code, other servers, files that clients may write."""

import pytest
from trimtab_tuner.checking.reach import beyond, can_be_told
from trimtab_tuner.targets import TARGETS

PLAIN = {
    "core": "[server]\nroot = /srv\nworkers = 2\n",
    "nginx": "worker_processes 2;\nevents {}\nhttp {\n  server { listen 80; root /srv; gzip on; }\n}\n",
    "apache": "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"
    'Listen 80\nDocumentRoot /srv\nRewriteRule "^/old" "/new" [R=301,L]\nAddHandler type-map var\n',
    "lighttpd": 'server.document-root = "/srv"\n'
    'server.modules = (\n  "mod_deflate",\n# "mod_cgi",\n  "mod_rewrite"\n)\n'
    'url.rewrite = ( "^/(a|b)=" => "/c", # a = b\n"^/d" => "/e" )\nserver.tag = "a = b"\n',
    "h2o": "listen: 80\nproxy.timeout.io: 3000\nhosts:\n  default:\n    paths:\n      /:\n"
    "        file.dir: /srv\n",
}
BEYOND = [
    ("nginx", "include mime.types;", "includes", "mime.types"),
    ("nginx", "load_module modules/ngx_http_perl_module.so;", "runs", None),
    ("nginx", "http { server { location / { content_by_lua_block { ngx.say(1) } } } }", "runs", None),
    ("nginx", "http { server { ssl_certificate_key engine:own:key; } }", "runs", None),
    ("nginx", "http { server { location / { proxy_pass http://10.0.0.1; } } }", "asks", None),
    ("nginx", "http { server { location / { fastcgi_pass $where; } } }", "asks", None),
    ("nginx", "http { server { dav_methods PUT; } }", "takes", None),
    ("apache", "Include sites/*.conf", "includes", "sites/*.conf"),
    ("apache", "LoadModule own_module /tmp/mod_own.so", "runs", None),
    ("apache", "LoadModule own_module modules/../../tmp/mod_own.so", "runs", None),
    ("apache", "LoadFile /tmp/own.so", "runs", None),
    ("apache", "LoadModule own_module '/tmp/own.so'", "runs", None),
    ("apache", "'LoadModule' own_module /tmp/own.so", "runs", None),
    ("apache", "Load\\\nModule own_module /tmp/own.so", "runs", None),
    ("apache", "AddHandler 'cgi-script' .cgi", "runs", None),
    ("apache", "CustomLog '|/usr/bin/tee own.log' combined", "runs", None),
    ("apache", "'Include' sites/own.conf", "runs", None),
    ("apache", "Define WHAT LoadFile", "runs", "Define WHAT LoadFile"),
    ("apache", "${WHAT} /tmp/own.so", "runs", "${WHAT} /tmp/own.so"),
    ("apache", 'SetHandler "expr=%{tolower:CGI-SCRIPT}"', "runs", None),
    ("apache", "ScriptAlias /cgi /srv/cgi", "runs", None),
    ("apache", "AddHandler cgi-script .cgi", "runs", None),
    ("apache", "AddType application/x-httpd-cgi .cgi", "runs", None),
    ("apache", "RewriteRule ^/(.*) /srv/$1 [L,H=cgi-script]", "runs", None),
    ("apache", "SetOutputFilter DEFLATE;INCLUDES", "runs", None),
    ("apache", 'CustomLog "|/usr/bin/tee own.log" combined', "runs", None),
    ("apache", "SSLPassPhraseDialog exec:/usr/bin/phrase", "runs", None),
    ("apache", "ProxyPass / http://10.0.0.1/", "asks", None),
    ("apache", "RewriteRule ^/(.*) http://10.0.0.1/$1 [L,P]", "asks", None),
    ("lighttpd", 'include "own.conf"', "includes", "own.conf"),
    ("lighttpd", 'include_shell "cat own.conf"', "includes", "cat own.conf"),
    ("lighttpd", 'cgi.assign = ( ".pl" => "/usr/bin/perl" )', "runs", None),
    ("lighttpd", 'server.modules += ( "../../../tmp/own" )', "runs", None),
    ("lighttpd", "server.modules += ( var.own )", "runs", None),
    ("lighttpd", 'accesslog.filename = "|/usr/bin/tee own.log"', "runs", None),
    ("lighttpd", 'server.errorlog = "" + "\\x7c/usr/bin/tee own.log"', "runs", None),
    ("lighttpd", "include_shell var.own", "runs", None),
    ("lighttpd", 'server.port = 80; cgi.assign = ( ".pl" => "/usr/bin/perl" )', "runs", None),
    ("lighttpd", 'proxy.server = ( "" => (( "host" => "10.0.0.1" )) )', "asks", None),
    ("h2o", "mruby.handler: |\n  proc {}", "runs", None),
    ("h2o", 'error-log: "| /usr/bin/tee own.log"', "runs", None),
    ("h2o", 'access-log:\n  path: "|/usr/bin/tee own.log"', "runs", None),
    ("h2o", "crash-handler: /usr/bin/own", "runs", None),
    ("h2o", "proxy.reverse.url: http://10.0.0.1/", "asks", None),
]


@pytest.mark.parametrize("name", PLAIN)
def test_settings_alone_reach_nowhere(name):
    """What a server is usually set to: sites, folders, modules that come with it, times of proxying."""
    assert beyond(TARGETS[name], PLAIN[name]) == ()


@pytest.mark.parametrize(("name", "line", "kind", "said"), BEYOND)
def test_what_reaches_beyond_is_found_at_its_line(name, line, kind, said):
    """In a comment it is nothing; behind one line more it stands in the next."""
    target = TARGETS[name]
    comment = "".join(f"# {each}\n" for each in line.splitlines())
    assert beyond(target, comment) == ()
    found = beyond(target, f"{comment}{line}\n")
    assert [each.kind for each in found] == [kind]
    assert found[0].line > comment.count("\n")
    if said is not None:
        assert found[0].said == said


def test_what_a_database_reaches_is_not_known():
    """Its options name plugins, scripts and files of data; none is taken."""
    assert not can_be_told(TARGETS["mariadb"])
    assert all(can_be_told(TARGETS[name]) for name in PLAIN)
