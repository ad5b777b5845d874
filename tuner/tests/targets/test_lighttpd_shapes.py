"""What people's lighttpd.conf have beside a plain site: kept, set back for the workload, or told."""

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.private import named_in

from .instance import instance_in

LIGHTTPD = TARGETS["lighttpd"]
CONTEXT = instance_in("/run/x")
HEAD = 'server.document-root = "/srv"\nserver.port = 80\n'


def measured(text):
    """What is named of the file that is measured, and the file without that."""
    private = LIGHTTPD.private(text, own_values(LIGHTTPD, text, 1), (), CONTEXT)
    return named_in(private), private.partition("# Nothing else differs.\n")[2]


@pytest.mark.parametrize("socket", ["unix:/run/l.sock", "/run/l.sock"])
def test_a_socket_of_production_is_not_opened(socket):
    """Whoever opens it takes it from the server that has it."""
    named, private = measured(f'{HEAD}$SERVER["socket"] == "{socket}" {{ server.tag = "a" }}\n')
    assert "/run/l.sock" not in private
    assert '$SERVER["socket"] == "127.77.0.2:18999" {' in private
    assert any("/run/l.sock" in each and each.endswith("at 127.77.0.2:18999") for each in named)


def test_what_stands_in_global_holds_outside_of_conditions():
    """It is read, and changed where it stands: a setting may be made once."""
    text = (
        f'{HEAD}$HTTP["host"] == "a" {{\n  server.max-keep-alive-idle = 1\n'
        "  global {\n    server.max-worker = 3\n  }\n  server.max-keep-alive-idle = 2\n}\n"
        "global { server.listen-backlog = 9 }\n"
    )
    own = own_values(LIGHTTPD, text, 1)
    assert (own["server.max-worker"], own["server.listen-backlog"]) == (3, 9)
    tuned = {**own, "server.max-worker": 4, "server.listen-backlog": 99}
    changed = LIGHTTPD.changed(text, tuned, ["server.max-worker", "server.listen-backlog"], CONTEXT)
    assert changed == text.replace("max-worker = 3", "max-worker = 4").replace("log = 9", "log = 99")
    stays = [each.line for each in LIGHTTPD.told(text) if each.kind == "stays"]
    assert stays == [4, 8]


@pytest.mark.parametrize(
    ("setting", "back"),
    [
        ('sockproxy.server = ( "" => (( "host" => "10.0.0.1", "port" => 1 )) )', "sockproxy.server = ()"),
        ('ajp13.server = ( "" => (( "host" => "10.0.0.1" )) )', "ajp13.server = ()"),
        ('extforward.hap-PROXY = "enable"', 'extforward.hap-PROXY = "disable"'),
        ('url.access-allow = ( ".php" )', "url.access-allow = ()"),
    ],
)
def test_what_would_answer_or_refuse_the_workload_is_set_back_for_it(setting, back):
    """Its requests are for files, by clients that send no header of a balancer's."""
    _, private = measured(f"{HEAD}{setting}\n")
    assert setting in private
    assert f"  {back}\n" in private.partition('$SERVER["socket"] == "127.0.0.1:18999"')[2]


def test_upstreams_with_lists_of_their_own_are_found():
    """Environment, folders, headers; what is in a comment is none."""
    text = (
        f'{HEAD}fastcgi.server = ( ".php" => (( "host" => "10.0.0.1", "port" => 9000,\n'
        '  "x-sendfile-docroot" => ( "/srv" ), # "host" => "10.0.0.9" )\n'
        '  "strip-request-uri" => "/" ),\n ( "socket" => "/run/p.sock", "bin-environment" => ( "A" ) )) )\n'
        'proxy.server = ( "" => (( "host" => "10.0.0.2" )) )\n'
    )
    found = LIGHTTPD.upstreams(text)
    assert [each.address for each in found] == ["10.0.0.1:9000", "unix:/run/p.sock", "10.0.0.2:80"]
    assert [text[each.start : each.end] for each in found] == ["10.0.0.1", "/run/p.sock", "10.0.0.2"]


def test_certificates_with_names_that_are_made_of_others_are_found():
    """They may be root's alone, and are read as copies then."""
    text = 'var.dir = "/etc/l"\nvar.dir += "/tls"\nssl.pemfile = dir + "/a.pem"\nssl.privkey = "/k" # ours\n'
    rooted = LIGHTTPD.rooted(text, "/etc/l")
    assert rooted == text.replace('dir + "/a.pem"', '"/etc/l/tls/a.pem"')
    assert [each.value for each in LIGHTTPD.reads(rooted)] == ["/etc/l/tls/a.pem", "/k"]


def test_environment_and_limits_on_clients_are_told():
    """The measured server has both too."""
    text = f'{HEAD}accesslog.filename = env.HOME + "/env.X"\nevasive.max-conns-per-ip = 2\n'
    told = {each.line: each.text for each in LIGHTTPD.told(text) if each.kind == "runs"}
    assert told[3] == "env.HOME: its value is that of whoever starts Trimtab"
    assert told[4].startswith("evasive.max-conns-per-ip = 2: it limits the workload too")


@pytest.mark.parametrize("asking", ['vhostdb.backend = "mysql"', 'mysql-vhost.db = "sites"'])
def test_a_database_that_each_request_would_ask_is_refused(asking):
    """It is production's."""
    (refused,) = [each for each in LIGHTTPD.told(f"{HEAD}{asking}\n") if each.kind == "refused"]
    assert refused.line == 3
    assert "would ask this database for each request too" in refused.text
