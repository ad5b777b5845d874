"""A second server beside production has production's file, with what is its own."""

import re

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError
from trimtab_tuner.targets.beside import Inherited, Place, StatusPage
from trimtab_tuner.targets.servers.nginx import syntax

PLACE = Place(directory="/run/arm", access_log="/run/arm/access.log", stats_socket="/run/arm/stats.sock")
SOCKETS = (Inherited("127.0.0.1:80", 3), Inherited("[::1]:80", 4))

NGINX = """user www-data;
pid /run/nginx.pid;
error_log /var/log/nginx/error.log;
events { worker_connections 768; }
stream { server { listen 53; } }
http {
    sendfile on;
    access_log /var/log/nginx/access.log;
    client_body_temp_path /var/lib/nginx/body;
    server {
        listen 80;
        listen unix:/run/x.sock;
        location / { access_log off; root /srv; }
    }
    server { listen unix:/run/y.sock; }
}
"""

CORE = """[server]
root = /srv
listen = 127.0.0.1:80
access_log = /var/log/httpd.log
stats_socket = /run/httpd.sock
workers = 2

[path /static]
expires = 60
"""

APACHE = """ServerRoot /etc/apache2
PidFile ${APACHE_PID_FILE}
Mutex file:/var/run/apache2 default
ErrorLog /var/log/apache2/error.log
SSLSessionCache "shmcb:/var/run/ssl(512000)"
ThreadsPerChild 30
Listen 80
<VirtualHost *:80>
    DocumentRoot /srv/b
    customlog \\
        /var/log/apache2/b.log combined
    ErrorLog /var/log/apache2/b-error.log
</VirtualHost>
"""


def beside(name, text):
    """The file of a second server of that kind."""
    return TARGETS[name].beside.file(text, PLACE)


def test_nginx_keeps_its_sites_and_gets_pid_logs_and_temporary_files_of_its_own():
    """Nothing of production's is written to."""
    tree = syntax.parse(beside("nginx", NGINX))
    assert [d.arguments for d in syntax.find(tree, "user")] == [["www-data"]]
    assert [d.arguments for d in syntax.find(tree, "pid")] == [["/run/arm/nginx.pid"]]
    assert [d.arguments for d in syntax.find(tree, "error_log")] == [["/run/arm/error.log"]]
    assert [d.arguments for d in syntax.find(tree, "http", "access_log")] == [
        ["/run/arm/access.log", "trimtab"]
    ]
    temporary = syntax.find(tree, "http", "client_body_temp_path")
    assert [d.arguments for d in temporary] == [["/run/arm/client_body"]]
    assert [d.arguments for d in syntax.find(tree, "http", "server", "location", "root")] == [["/srv"]]


def test_nginx_logs_every_reply_whatever_production_does_not_log():
    """A reply that is not seen would make its arm look expensive."""
    tree = syntax.parse(beside("nginx", NGINX))
    assert not syntax.find(tree, "http", "server", "location", "access_log")


def test_nginx_listens_on_what_is_handed_to_it_and_nothing_else():
    """Sockets in the file system are production's, as are those of other protocols."""
    tree = syntax.parse(beside("nginx", NGINX))
    assert [d.arguments for d in syntax.find(tree, "http", "server", "listen")] == [["80"]]
    assert len(syntax.find(tree, "http", "server")) == 1
    assert not syntax.find(tree, "stream")
    assert TARGETS["nginx"].beside.environment(SOCKETS) == {"NGINX": "3;4;"}


@pytest.mark.parametrize("kind", ["proxy", "fastcgi", "uwsgi", "scgi"])
def test_nginx_with_a_cache_on_disk_is_refused(kind):
    """Two cache managers would each remove what the other has counted."""
    text = NGINX.replace("sendfile on;", f"{kind}_cache_path /var/cache keys_zone=a:1m;")
    with pytest.raises(RenderError, match=f"line 7: {kind}_cache_path: two servers cannot share"):
        beside("nginx", text)


def test_nginx_without_a_block_http_is_refused():
    """There is nothing to serve beside."""
    with pytest.raises(RenderError, match="expected one block http, there are 0"):
        beside("nginx", "events {}\n")


def test_core_keeps_its_sites_and_tells_at_a_socket_of_its_own():
    """It counts itself, so it logs nothing."""
    text = beside("core", CORE)
    assert "stats_socket = /run/arm/stats.sock" in text
    assert "/run/httpd.sock" not in text
    assert "access_log" not in text
    assert "[path /static]\nexpires = 60" in text
    assert TARGETS["core"].beside.environment(SOCKETS) == {"LISTEN_FDS": "2"}
    assert TARGETS["core"].parse(text)["workers"] == 2


LIGHTTPD = """server.document-root = "/srv"
server.port = 80
server.pid-file = "/run/lighttpd.pid"
server.errorlog = "/var/log/lighttpd/error.log"
server.upload-dirs = ( "/var/cache/lighttpd/uploads",
  "/var/tmp" )
accesslog.filename = "/var/log/lighttpd/access.log"
server.max-worker = 4
$HTTP["host"] == "b" {
  accesslog.filename = "/var/log/lighttpd/b.log"
  server.document-root = "/srv/b"
}
"""

H2O = """pid-file: /run/h2o.pid
access-log: /var/log/h2o/access.log
num-threads: 2
hosts:
  default:
    listen: 80
    paths:
      /:
        file.dir: /srv
"""


def test_lighttpd_keeps_its_sites_and_writes_nothing_of_productions():
    """Also in conditions."""
    text = beside("lighttpd", LIGHTTPD)
    assert "/var/log" not in text
    assert "/var/cache" not in text
    assert 'server.document-root = "/srv/b"' in text
    assert "/run/arm/access.log" in text
    assert 'server.systemd-socket-activation = "enable"' in text
    assert TARGETS["lighttpd"].beside.environment(SOCKETS) == {"LISTEN_FDS": "2"}


def test_h2o_keeps_its_sites_and_finds_its_sockets_by_their_addresses():
    """As its server starter hands them over."""
    text = beside("h2o", H2O)
    assert "/var/log" not in text
    assert "file.dir: /srv" in text
    assert TARGETS["h2o"].beside.environment(SOCKETS) == {"SERVER_STARTER_PORT": "127.0.0.1:80=3;[::1]:80=4"}


def test_h2o_that_logs_for_a_host_of_its_own_is_refused():
    """Both servers would write to that log."""
    with pytest.raises(RenderError, match="a second server would write to it too"):
        beside("h2o", H2O.replace("    listen: 80\n", "    listen: 80\n    access-log: /var/log/b\n"))


def test_apache_keeps_its_sites_and_has_logs_and_run_time_files_of_its_own():
    """Whatever site they stand in, and however they are written."""
    text = beside("apache", APACHE)
    assert "/var/log" not in text
    assert "/var/run" not in text
    assert 'SSLSessionCache "shmcb:/run/arm/sslsessioncache(512000)"' in text
    assert "DocumentRoot /srv/b" in text
    assert "CustomLog" in text.partition("</VirtualHost>")[2]


def test_apache_opens_its_sockets_with_the_option_that_lets_it_share_the_port():
    """It takes none from others; one socket for each address, however many CPUs there are."""
    ratio = re.search(r"^ListenCoresBucketsRatio (\d+)$", beside("apache", APACHE), re.MULTILINE)
    assert int(ratio[1]) > 4096
    assert TARGETS["apache"].beside.opens_sockets
    assert TARGETS["apache"].beside.environment(SOCKETS) == {}


def test_apache_that_looks_after_certificates_is_refused():
    """Two servers would ask for them, and write to one store."""
    with pytest.raises(RenderError, match="MDomain: two servers cannot both look after certificates"):
        beside("apache", APACHE + "MDomain example.org\n")


@pytest.mark.parametrize(("line", "most"), [("", 64), ("ThreadLimit 128\n", 128)])
def test_threads_of_apache_become_no_more_than_a_reload_allows(line, most):
    """ThreadLimit is read at the start alone."""
    assert TARGETS["apache"].beside.most_by_reload(APACHE + line) == {"ThreadsPerChild": most}


def test_status_pages_are_found_with_the_host_that_they_answer_to():
    """Not those of a pattern, whose path is not known."""
    text = NGINX.replace(
        "listen 80;",
        "listen 80; server_name _ a.example; location = /s { stub_status; } location ~ /t { stub_status; }",
    )
    assert TARGETS["nginx"].beside.status_pages(text) == [StatusPage("/s", "a.example")]
    text = APACHE + '<Location "/s">\n  Require local\n  SetHandler server-status\n</Location>\n'
    assert TARGETS["apache"].beside.status_pages(text) == [StatusPage("/s?auto")]
    assert [list(TARGETS[name].beside.status_pages(FILES[name])) for name in FILES] == [[]] * len(FILES)


FILES = {"nginx": NGINX, "core": CORE, "lighttpd": LIGHTTPD, "h2o": H2O, "apache": APACHE}


@pytest.mark.parametrize("name", FILES)
def test_values_of_knobs_hold_beside_production_too(name):
    """A canary is production's file with other values, run beside it."""
    target = TARGETS[name]
    text = FILES[name]
    before = target.parse(text, 1)
    text = re.sub("ListenCoresBucketsRatio.*\n", "", beside(name, text))  # it has to do with sockets alone
    assert target.parse(text, 1) == before
