"""What people's nginx.conf have beside a plain site: it is kept, left out with a sentence, or refused."""

import re

import pytest
from trimtab_tuner.checking import check
from trimtab_tuner.checking.machine import Descriptors, Machine
from trimtab_tuner.checking.statements import read
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_proxying, own_values
from trimtab_tuner.targets.private import named_in

from .instance import instance_in

NGINX = TARGETS["nginx"]
CONTEXT = instance_in("/run/x")


def measured(text, context=CONTEXT):
    """What is named of the file that is measured, and the file without that."""
    own = {**own_values(NGINX, text, 1), **own_proxying(NGINX, text)}
    private = NGINX.private(text, own, (), context)
    return named_in(private), private.partition("# Nothing else differs.\n")[2]


def told(text, kind):
    """What the user is told of that kind, by line."""
    return {each.line: each.text for each in NGINX.told(text) if each.kind == kind}


def test_nothing_is_asked_from_an_address_of_production():
    """It may not be had by others than root, and no reply would come back to it."""
    text = """events {}
http {
    proxy_bind 10.0.0.5;
    server { listen 80; location / { proxy_pass http://app; proxy_bind $remote_addr transparent;
        proxy_temp_path /var/t; proxy_buffering off; } }
}
stream { server { listen 53; proxy_bind 10.0.0.5; proxy_pass a:53; } }
"""
    named, private = measured(text, instance_in("/run/x", upstream="127.0.0.1:9"))
    assert "_bind" not in private
    assert "/var/t" not in private
    assert sum("is left out: nothing is asked from an address of production" in each for each in named) == 3
    assert private.count("proxy_buffering off;") == 2  # the workload goes on as that location does


def test_a_log_whose_name_has_variables_is_opened_for_each_request_as_in_production():
    """One without would cost less."""
    named, private = measured(
        "events {}\nhttp { access_log /var/log/$host/${scheme}.log; server { listen 80; } }\n"
    )
    own = '"/run/x/access_log-1.log-$host_${scheme}.log"'
    assert f"access_log {own};" in private
    assert any(own.strip('"') in each for each in named)


def test_the_instance_works_in_a_directory_of_its_own():
    """A worker that may not enter production's would end at once."""
    named, private = measured("working_directory /root/cores;\nevents {}\nhttp { server { listen 80; } }\n")
    assert "working_directory" not in private
    assert "working_directory /root/cores; is the instance's own" in named


def test_an_address_with_a_variable_is_refused_as_of_a_template():
    """nginx would refuse it, and an address of ours in its place would not."""
    text = "events {}\nhttp {\n    server {\n        listen ${PORT} default_server;\n    }\n}\n"
    assert "template" in told(text, "refused")[4]


def test_programs_that_a_module_starts_are_told():
    """They run beside production's."""
    text = "passenger_root /p;\nevents {}\nrtmp { server { application a {\nexec_static b; } } }\nhttp {}\n"
    assert list(told(text, "runs")) == [1, 3, 4]


def test_paths_of_lua_count_from_the_prefix():
    """Of files and of packages; what is absolute, or made of variables, stays."""
    text = (
        'http { lua_package_path "$prefix/lua/?.lua;/l/?.lua;;"; init_by_lua_file lua/a.lua;\n'
        "server { set_by_lua_file $b lua/b.lua c; access_by_lua_file /c.lua; content_by_lua_file $d; } }\n"
    )
    prefix = "/usr/share/nginx"
    assert NGINX.rooted(text, "/etc/nginx") == (
        f'http {{ lua_package_path "{prefix}/lua/?.lua;/l/?.lua;;"; init_by_lua_file "{prefix}/lua/a.lua";\n'
        f'server {{ set_by_lua_file $b "{prefix}/lua/b.lua" c; access_by_lua_file /c.lua; '
        "content_by_lua_file $d; } }\n"
    )


def test_directives_that_later_versions_take_in_more_places_are_no_mistakes():
    """crossplane knows those of its time."""
    text = """events {}
http { js_path /a; server { listen 80; js_import b.js; js_set $c b.c; } }
stream { server { listen 90; server_name a; set $b c; proxy_pass d:1; } }
"""
    machine = Machine(cpus=1, online=(0,), allowed=(0,), descriptors=Descriptors(9999, 9999, "nginx"))
    assert [each.sentence for each in check(read(NGINX, text), machine) if "refuses" in each.sentence] == []


REDIRECTING = [
    "return 301 https://$host$request_uri;",
    "location / { return 301 https://$host$request_uri; }",
    "location /.well-known/acme-challenge/ { root /a; } location / { return 308 https://$host; }",
    "location / { rewrite ^/(.*)$ https://$host/$1 permanent; }",
    "rewrite ^ https://$host$request_uri? permanent;",
    "location / { return 404; }",
    "location / { return 200 ok; }",
]
ANSWERING = [
    "location /old { return 301 /new; }",
    "location / { proxy_pass http://a; } location /old { return 301 /new; }",
    "rewrite ^/old$ /new permanent;",
    "rewrite ^/$ /app permanent;",
    "rewrite ^(.*)$ /index.php?q=$1 last;",
    "location / { if ($scheme = http) { return 301 https://a; } root /b; }",
]


@pytest.mark.parametrize("inside", [*REDIRECTING, *ANSWERING])
def test_site_that_sends_all_paths_elsewhere_is_no_model_for_the_workload(inside):
    """Neither is it one of those that all set a knob alike."""
    text = f"""events {{}}
http {{
    server {{ listen 80; server_name first; {inside} }}
    server {{ listen 81; server_name second; keepalive_timeout 9; }}
}}
"""
    private = NGINX.private(text, own_values(NGINX, text, 1), (), CONTEXT)
    model = "second" if inside in REDIRECTING else "first"
    assert f"with the settings of the site {model}\n" in private
    assert (NGINX.parse(text).get("keepalive_timeout") == 9) == (model == "second")


def test_tls_that_is_switched_on_for_a_site_is_seen_and_not_taken_over():
    """As it was before addresses said it."""
    text = """events {}
http { server { listen 443; server_name a; ssl on; ssl_certificate /c; ssl_certificate_key /k; gzip on; } }
"""
    assert [each.text for each in NGINX.told(text) if each.kind == "secure"] == ["a"]
    _, private = measured(text)
    assert private.count("gzip on;") == 2
    assert private.count("ssl on;") == 1


def test_options_of_listen_are_those_of_tcp():
    """QUIC has sockets of its own, each with what it says of them."""
    text = """events {}
http { server { listen 443 quic reuseport; listen 443 ssl; listen unix:/a.sock; } }
"""
    own = own_values(NGINX, text, 1)
    assert own["reuseport"] == "off"
    tuned = {**own, "reuseport": "on", "backlog": 99}
    changed = NGINX.changed(text, tuned, ["reuseport", "backlog"], CONTEXT)
    assert changed == text.replace("443 ssl", "443 backlog=99 reuseport ssl")
    assert NGINX.changed(changed, {**own, "reuseport": "off"}, ["reuseport"], CONTEXT).count("reuseport") == 1


def test_services_beside_http_run_at_addresses_of_their_own_and_are_told():
    """What they hand on is nothing that a workload of HTTP could measure."""
    text = """events {}
stream {
    upstream db { server 10.0.0.9:5432; }
    server { listen 5432; proxy_pass db; access_log /var/log/db.log basic; }
    server { listen 53 udp reuseport; proxy_pass 10.0.0.9:53; }
}
mail { auth_http localhost:9000/auth; server { listen 143; protocol imap; } }
http { server { listen 80; location / { proxy_pass http://10.0.0.9:3000; } } }
"""
    runs = told(text, "runs")
    assert list(runs) == [2, 7]
    assert all("the workload, which speaks HTTP, asks nothing of them" in each for each in runs.values())
    named, private = measured(text)
    assert "/var/log" not in private
    listening = re.findall(r"listen ([\d.]+):", private)
    assert len(listening) == 6
    assert all(address == "127.0.0.1" or address.startswith("127.77.0.") for address in listening)
    for production in ("listen 5432;", "listen 53 udp reuseport;", "listen 143;", "listen 80;"):
        assert production not in private
        assert sum(each.startswith(f"{production} at 127.77.0.") for each in named) == 1
    over_http = {each.address: each.over_http for each in NGINX.upstreams(text)}
    assert over_http == {"10.0.0.9:5432": False, "10.0.0.9:53": False, "10.0.0.9:3000": True}


def test_http3_is_kept_and_told_not_to_be_measured():
    """In one line for all sites."""
    text = """events {}
http {
    server { listen 443 quic reuseport; listen 443 ssl; http3 on; }
    server { listen 444 quic; listen 444 ssl; }
}
"""
    (line,) = told(text, "runs").items()
    assert line[0] == 3
    assert line[1].startswith("listen 443 quic reuseport (and 1 more): ")
    assert line[1].endswith("what HTTP/3 costs is not measured")
    assert "quic reuseport;" in measured(text)[1]


LUA = """events {}
http {
    server {
        listen 80;
        access_by_lua_block { if x then ngx.exit(403) end }
        set_by_lua_block $v { return "}" }
        header_filter_by_lua_block { ngx.header.x = "{" }
        body_filter_by_lua_file /b.lua;
        rewrite_by_lua_file /r.lua;
        ssl_certificate_by_lua_block { auto_ssl:ssl_certificate() }
        location / { content_by_lua_block { ngx.say(1) } }
    }
}
"""


def test_workload_s_site_runs_the_lua_that_works_on_answers_and_no_other():
    """All of it is told."""
    runs = told(LUA, "runs")
    assert sorted(runs) == [5, 6, 7, 8]
    assert all(runs[line].endswith("the measured server runs this code too") for line in (6, 7, 8))
    assert runs[5].startswith("access_by_lua_block (and 3 more): ")
    _, private = measured(LUA)
    twice = ('set_by_lua_block $v { return "}" }', 'header_filter_by_lua_block { ngx.header.x = "{" }')
    assert all(private.count(each) == 2 for each in (*twice, "body_filter_by_lua_file /b.lua;"))
    for phase in ("access", "rewrite", "ssl_certificate", "content"):
        assert private.count(f"{phase}_by_lua") == 1


def test_njs_finds_its_modules_beside_the_user_s_file():
    """Before those in folders that the file names, and wherever it names some."""
    own = ' js_path "/etc/nginx"; '
    assert NGINX.rooted("http { js_import a.js; }", "/etc/nginx") == f"http {{ js_import a.js; {own}}}"
    assert NGINX.rooted("http { js_path /n; js_import a.js; }", "/etc/nginx") == (
        f"http {{ {own}js_path /n; js_import a.js; }}"
    )
    of_site = NGINX.rooted("http { server { js_path /n; js_import a.js; } }", "/etc/nginx")
    assert of_site == f"http {{ server {{ {own}js_path /n; js_import a.js; }} {own}}}"
    assert NGINX.rooted("http { js_path /n; }", "/etc/nginx") == "http { js_path /n; }"


def test_site_that_rejects_strangers_is_no_model_for_the_workload():
    """The first of many files, before TLS begins."""
    text = """events {}
http {
    server { listen 443 ssl default_server; ssl_reject_handshake on; }
    server { listen 443 ssl; server_name a; ssl_certificate /c; ssl_certificate_key /k; gzip on; }
}
"""
    assert "with the settings of the site a" in "".join(measured(text)[0])


def test_certificates_that_nginx_would_ask_for_are_refused():
    """Its module for that begins as the server does."""
    text = "events {}\nhttp {\nacme_issuer a { uri https://ca.example; }\nserver { listen 80; } }\n"
    assert "would ask for certificates too" in told(text, "refused")[3]


def test_options_of_listen_go_where_an_address_has_some_already():
    """nginx refuses them at a second mention."""
    text = "http { server { listen 80; } server { listen *:80 deferred; listen 81; listen 81; } }\n"
    tuned = {**own_values(NGINX, text, 1), "backlog": 99}
    changed = NGINX.changed(text, tuned, ["backlog"], CONTEXT)
    expected = text.replace("*:80 ", "*:80 backlog=99 ").replace("listen 81;", "listen 81 backlog=99;", 1)
    assert changed == expected


def test_workload_s_site_has_the_socket_and_the_types_of_the_user_s():
    """Wherever the file says of that address, and not of what belongs to production's network."""
    text = """events {}
http {
    server { listen 80 default_server deferred fastopen=9 ipv6only=off; return 444; }
    server { listen 80 proxy_protocol; listen 81 sndbuf=1m; types { text/x-y y; } root /a; }
}
"""
    _, private = measured(text)
    (own,) = [line for line in private.splitlines() if "listen 127.0.0.1:18999" in line]
    assert own.split()[2:] == ["backlog=511", "deferred", "fastopen=9;"]
    assert private.count("types { text/x-y y; }") == 2


def test_a_priority_that_needs_privileges_is_left_out():
    """nginx would log that it may not, and go on."""
    named, private = measured("worker_priority -5;\nevents {}\nhttp { server { listen 80; } }\n")
    assert "worker_priority" not in private
    assert any(each.startswith("worker_priority -5; is left out") for each in named)


def test_upstreams_of_production_are_not_asked_whether_they_are_well():
    """Neither as the commercial nginx does, nor as others."""
    text = """events {}
http {
    upstream a { server 10.0.0.1; check interval=3000 type=http; check_http_send "HEAD /"; keepalive 4; }
    server { listen 80; location / { proxy_pass http://a; health_check; } }
}
"""
    named, private = measured(text)
    assert "check" not in private
    assert private.count("keepalive 4;") == 1
    assert sum("it would have others asked" in each for each in named) == 3
