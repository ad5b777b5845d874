"""What each server's file says of TLS, and what a file translated for another one says of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from trimtab_tuner.exports import ExportOrder, export_files
from trimtab_tuner.exports.translation import translate
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import ExportEvidence, RenderContext
from trimtab_tuner.targets.editing import changed_knobs, own_tls, own_values
from trimtab_tuner.targets.servers.nginx import syntax
from trimtab_tuner.targets.tls import with_tls

CONTEXT = RenderContext(
    root="/srv/www",
    listen=("127.0.0.1:8000", "127.0.0.1:8001"),
    status_listen="127.0.0.1:9000",
    prefix="/run/x",
    tls_directory="/run/tls",
)
SPEAKING = [name for name in TARGETS if TARGETS[name].tls_knobs]


def space(name):
    """The knobs of a run over TLS."""
    return with_tls(TARGETS[name].space(), TARGETS[name].tls_knobs)


def rendered(name, **changes):
    """The file that serves a workload over TLS."""
    return TARGETS[name].render(space(name).default() | changes, CONTEXT)


def directives(text):
    """The arguments of nginx's directives, by name."""
    found = {}
    for directive, _ in syntax.walk(syntax.parse(text)):
        found.setdefault(directive.name, []).append(directive.arguments)
    return found


@pytest.mark.parametrize("name", SPEAKING)
def test_without_certificates_no_server_speaks_tls(name):
    """Plain workloads meet the file that they met before."""
    plain = TARGETS[name].render(TARGETS[name].space().default(), replace(CONTEXT, tls_directory=None))
    assert "ssl" not in plain.lower()


@pytest.mark.parametrize(
    ("key", "cache_mb", "cache"), [("rsa", 0, ["none"]), ("ecdsa", 10, ["shared:trimtab:10m"])]
)
def test_nginx_speaks_tls_where_there_are_certificates(key, cache_mb, cache):
    """On every address for the workload, and not on that of the status page."""
    found = directives(rendered("nginx", tls_key=key, ssl_session_cache=cache_mb))
    assert [words[-1] for words in found["listen"]] == ["ssl", "ssl", "127.0.0.1:9000"]
    assert found["ssl_certificate"] == [[f"/run/tls/{key}.pem"]]
    assert found["ssl_certificate_key"] == [[f"/run/tls/{key}.key"]]
    assert found["ssl_session_cache"] == [cache]
    assert found["ssl_session_tickets"] == [["on"]]
    assert found["ssl_buffer_size"] == [["16384"]]


@pytest.mark.parametrize(
    ("key", "cache_mb", "cache"), [("rsa", 0, "none"), ("ecdsa", 10, '"shmcb:/run/x/sessions(10485760)"')]
)
def test_apache_speaks_tls_where_there_are_certificates(key, cache_mb, cache):
    """On every address for the workload, and not on that of the status page."""
    text = rendered("apache", tls_key=key, SSLSessionCache=cache_mb)
    wanted = {
        "SSLEngine on",
        f'SSLCertificateFile "/run/tls/{key}.pem"',
        f'SSLCertificateKeyFile "/run/tls/{key}.key"',
        f"SSLSessionCache {cache}",
        "SSLSessionTickets on",
    }
    assert wanted <= set(text.splitlines())
    status = text[text.index("<VirtualHost 127.0.0.1:9000>") : text.index("</VirtualHost>")]
    assert "SSLEngine off" in status


@pytest.mark.parametrize(("key", "tickets", "sign"), [("rsa", "on", ""), ("ecdsa", "off", "-")])
def test_lighttpd_speaks_tls_where_there_are_certificates(key, tickets, sign):
    """On every address for the workload, and not on that of the status page."""
    text = rendered("lighttpd", tls_key=key, SessionTicket=tickets)
    wanted = {
        'ssl.engine = "enable"',
        f'ssl.pemfile = "/run/tls/{key}.pem"',
        f'ssl.privkey = "/run/tls/{key}.key"',
        '$SERVER["socket"] == "127.0.0.1:8001" { ssl.engine = "enable" }',
        f'"Options" => "{sign}SessionTicket"',
    }
    lines = [line.strip() for line in text.splitlines()]
    assert wanted <= set(lines)
    status = text[text.index("127.0.0.1:9000") :]
    assert 'ssl.engine = "disable"' in status.partition("}")[0]


@pytest.mark.parametrize("key", ["rsa", "ecdsa"])
def test_h2o_speaks_tls_where_there_are_certificates(key):
    """On every address for the workload, and not on that of the status page."""
    said = YAML(typ="safe", pure=True).load(rendered("h2o", tls_key=key, **{"ssl-session-resumption": "off"}))
    hosts = said["hosts"]
    for name in ("site-0", "site-1"):
        assert hosts[name]["listen"]["ssl"]["certificate-file"] == f"/run/tls/{key}.pem"
        assert hosts[name]["listen"]["ssl"]["key-file"] == f"/run/tls/{key}.key"
    assert "ssl" not in hosts["site-status"]["listen"]
    assert said["ssl-session-resumption"] == {"mode": "off"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", {"mode": "cache"}),
        ("ssl-session-resumption:\n  mode: all\n", {"mode": "cache"}),
        ("ssl-session-resumption:\n  ticket-store: file\n", {"mode": "cache", "ticket-store": "file"}),
        ("ssl-session-resumption: {ticket-store: file}\n", {"mode": "cache", "ticket-store": "file"}),
    ],
)
def test_h2o_resumes_as_asked_and_keeps_what_else_a_file_says_of_that(before, after):
    """In one place, as h2o wants it."""
    target = TARGETS["h2o"]
    configuration = space("h2o").default() | {"ssl-session-resumption": "cache"}
    text = target.changed(before + "user: me\n", configuration, ["ssl-session-resumption"], CONTEXT)
    assert YAML(typ="safe", pure=True).load(text) == {"user": "me", "ssl-session-resumption": after}
    assert text.count("ssl-session-resumption") == 1


NGINX = """http { ssl_session_cache shared:mine:20m; ssl_verify_client on;
server { listen 80; return 301 https://$host; }
server { listen 443 ssl; ssl_certificate /c; ssl_certificate_key /k; ssl_password_file /p;
    ssl_protocols TLSv1.3; ssl_buffer_size 8k; ssl_session_tickets off; } }
"""


def test_nginx_site_of_the_workload_speaks_tls_as_the_users_site_does():
    """With his versions, records and cache; certificates are ours, and nobody's is asked for."""
    nginx = TARGETS["nginx"]
    configuration = space("nginx").default() | own_tls(nginx, NGINX)
    private = nginx.private(NGINX, configuration, (), CONTEXT)
    site = next(
        server
        for server in syntax.find(syntax.parse(private), "http", "server")
        if syntax.find(server.block, "listen")[0].arguments[0] == CONTEXT.listen[0]
    )
    said = [(each.name, *each.arguments) for each in site.block if each.name.startswith("ssl_")]
    assert sorted(said) == [
        ("ssl_buffer_size", "8k"),
        ("ssl_certificate", "/run/tls/rsa.pem"),
        ("ssl_certificate_key", "/run/tls/rsa.key"),
        ("ssl_protocols", "TLSv1.3"),
        ("ssl_session_tickets", "off"),
        ("ssl_verify_client", "off"),
    ]
    for named in (
        "# ssl_certificate /c from /run/tls/rsa.pem",
        "# ssl_certificate_key /k from /run/tls/rsa.key",
        "# ssl_password_file /p is left out: its secrets stay yours",
    ):
        assert named in private.splitlines()
    assert not {"/c", "/k", "/p"} & {each.value for each in nginx.reads(private)}


@pytest.mark.parametrize("secure", [True, False])
def test_tls_is_left_to_the_kernel_where_the_users_site_leaves_it(secure):
    """With the other commands for OpenSSL; and not where the workload speaks no TLS."""
    nginx = TARGETS["nginx"]
    told = (
        "ssl_conf_command Options KTLS; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256; ssl_protocols"
    )
    file = NGINX.replace("ssl_protocols", told)
    context = CONTEXT if secure else replace(CONTEXT, tls_directory=None)
    private = nginx.private(file, space("nginx").default() | own_tls(nginx, file), (), context)
    site = next(
        server
        for server in syntax.find(syntax.parse(private), "http", "server")
        if syntax.find(server.block, "listen")[0].arguments[0] == context.listen[0]
    )
    said = [each.arguments for each in syntax.find(site.block, "ssl_conf_command")]
    assert said == ([["Options", "KTLS"], ["Ciphersuites", "TLS_AES_128_GCM_SHA256"]] if secure else [])


def by_kernel(text):
    """What the blocks of a file have their kernel do, with nginx' other commands for OpenSSL."""
    return [each.arguments for each, _ in syntax.walk(syntax.parse(text)) if each.name == "ssl_conf_command"]


SITE, TURNED = "server {{ listen 443 ssl; {} }}", "ssl_conf_command Options KTLS;"
ON, OFF = SITE.format(TURNED), SITE.format("ssl_conf_command Options -KTLS;")
OTHERS = SITE.format("ssl_conf_command Groups X25519;")


@pytest.mark.parametrize(
    ("before", "was", "now"),
    [
        ("http { }", None, "http { ssl_conf_command Options KTLS; }"),
        ("http { ssl_conf_command Options A; }", None, "http { ssl_conf_command Options A,KTLS; }"),
        ("http { ssl_conf_command Options 'A, -KTLS'; }", "off", "http { ssl_conf_command Options A,KTLS; }"),
        ("http { ssl_conf_command Options A,+KTLS; }", "on", "http { ssl_conf_command Options A,-KTLS; }"),
        (  # a site with commands of its own takes none of the others
            f"http {{ {OTHERS} }}",
            None,
            f"http {{ {TURNED} {OTHERS.replace('{', '{ ' + TURNED)} }}",
        ),
        (f"http {{ {ON} {OFF} }}", "on", f"http {{ {OFF} {OFF} }}"),
        (f"http {{ {OFF} {ON} }}", "off", f"http {{ {TURNED} {ON} {ON} }}"),
    ],
)
def test_tls_by_the_kernel_is_read_and_turned_where_the_file_has_it(before, was, now):
    """The other options stay; and what is as it shall be already is not touched."""
    nginx = TARGETS["nginx"]
    assert nginx.parse_tls(before).get("KTLS") == was
    turned = "off" if was == "on" else "on"
    changed = nginx.changed(before, space("nginx").default() | {"KTLS": turned}, ["KTLS"], CONTEXT)
    assert changed.split() == now.split()
    assert nginx.parse_tls(changed)["KTLS"] == turned
    same = space("nginx").default() | {"KTLS": was or "off"}
    assert nginx.changed(before, same, ["KTLS"], CONTEXT) == before


def test_file_of_ours_leaves_tls_to_the_kernel_only_where_that_is_asked_for():
    """An older OpenSSL would refuse the very name."""
    assert by_kernel(rendered("nginx")) == []
    assert by_kernel(rendered("nginx", KTLS="on")) == [["Options", "KTLS"]]


def test_key_that_stands_in_the_file_itself_is_not_named():
    """The comment, which is shown, says of what kind it is."""
    nginx = TARGETS["nginx"]
    text = NGINX.replace("ssl_certificate_key /k;", 'ssl_certificate_key "data:SECRET";')
    assert "SECRET" not in nginx.private(text, space("nginx").default(), (), CONTEXT)


def test_knobs_of_tls_are_read_from_a_users_file():
    """All but the kind of key; a cache that only one worker has is none of the knob's values."""
    assert TARGETS["nginx"].parse_tls(NGINX) == {
        "ssl_session_cache": 20,
        "ssl_session_tickets": "off",
        "ssl_buffer_size": 8192,
    }
    assert TARGETS["nginx"].parse_tls("http { ssl_session_cache builtin:1000; }") == {}
    assert TARGETS["nginx"].parse_tls("http { ssl_session_cache none; }") == {"ssl_session_cache": 0}
    assert TARGETS["h2o"].parse_tls("ssl-session-resumption:\n  mode: cache\n") == {
        "ssl-session-resumption": "cache"
    }
    assert TARGETS["h2o"].parse_tls("user: me\n") == {}


def test_only_what_differs_from_a_users_file_is_changed_in_it():
    """And never the kind of key, for which his certificates stand."""
    nginx = TARGETS["nginx"]
    own = own_values(nginx, NGINX, 1) | own_tls(nginx, NGINX)
    assert changed_knobs(nginx, NGINX, own | {"tls_key": "ecdsa"}, 1) == ()
    tuned = own | {"ssl_session_cache": 50}
    assert changed_knobs(nginx, NGINX, tuned, 1) == ("ssl_session_cache",)
    handed_back = nginx.changed(NGINX, tuned, ["ssl_session_cache"], CONTEXT)
    assert handed_back == NGINX.replace("shared:mine:20m", "shared:mine:50m")


@pytest.mark.parametrize("name", SPEAKING)
def test_measured_file_that_is_driven_has_its_settings_of_tls_once(name):
    """The exported file is measured itself: its own lines are replaced, not doubled."""
    target = TARGETS[name]
    configuration = space(name).default() | {"tls_key": "ecdsa"}
    if name == "nginx":
        configuration["KTLS"] = "on"
    text = target.render(configuration, CONTEXT)
    private = target.private(text, configuration, list(configuration), replace(CONTEXT, tls_directory="/own"))
    said = [line.strip() for line in private.splitlines() if not line.startswith("#")]
    for knob in target.tls_knobs:
        if knob.name != "tls_key":
            assert len([line for line in said if f"{knob.name}" in line]) == 1, knob.name
    assert len([line for line in said if "/own/ecdsa.key" in line]) >= 1


@pytest.mark.parametrize("destination", [name for name in TARGETS if TARGETS[name].protocol == "http"])
@pytest.mark.parametrize("name", SPEAKING)
def test_tls_is_translated_for_servers_that_speak_it(name, destination):
    """With the kind of key; the others get a file without, which says so."""
    source, other = TARGETS[name], TARGETS[destination]
    configuration = space(name).default() | {"tls_key": "ecdsa"}
    if source is other:
        return
    order = ExportOrder(
        target=source,
        space=space(name),
        configuration=configuration,
        context=CONTEXT,
        evidence=ExportEvidence(
            run="7",
            date="2026-01-02",
            host="testhost",
            workload="specweb99-tls",
            objective="condensed-area",
            trials=16,
            default=space(name).default(),
        ),
    )
    text = next(file.text for file in export_files(order) if file.format == other.program)
    if other.tls_knobs:
        assert "/run/tls/ecdsa.key" in text
    else:
        assert f"No equivalent in {destination}: tls_key = ecdsa" in text
        assert "/run/tls" not in text


def test_cache_of_sessions_means_the_same_to_nginx_and_apache():
    """As many megabytes."""
    tuned = space("nginx").default() | {"ssl_session_cache": 10, "ssl_session_tickets": "off"}
    translation = translate(TARGETS["nginx"], tuned, TARGETS["apache"], 2)
    assert translation.configuration["SSLSessionCache"] == 10
    assert translation.configuration["SSLSessionTickets"] == "off"
    assert translation.origins["SSLSessionCache"] == "ssl_session_cache"


@pytest.mark.parametrize("name", SPEAKING)
def test_knobs_of_tls_are_documented_as_they_are(name):
    """In a section of their own, since they exist only beside TLS."""
    document = (Path(__file__).parents[3] / "docs" / "targets.md").read_text()
    rows = document.split(f"\n### {name} with TLS\n")[1].split("\n### ")[0].splitlines()
    shown = [row for row in rows if row.startswith("| **")]
    for row, knob in zip(shown, TARGETS[name].tls_knobs, strict=True):
        assert row.startswith(f"| **`{knob.name}`** | {', '.join(map(str, knob.choices))}")
        assert row.endswith(f"| {knob.help} |")
