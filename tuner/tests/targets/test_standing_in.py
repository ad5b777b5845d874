"""Trimtab's upstream in the place of one of a user's nginx.conf, and the log that tells how long it takes."""

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.servers.nginx import syntax

NGINX = TARGETS["nginx"]
OURS = "127.0.0.1:4711"
FILE = """worker_processes 2;
events { worker_connections 1024; }
http {
    log_format timed '$remote_addr [$time_local] "$request" $status '
                     '$body_bytes_sent rt=$request_time urt=$upstream_response_time '
                     '"$upstream_addr" $upstream_response_length';
    access_log /var/log/nginx/access.log;
    access_log /var/log/nginx/timed.log timed;
    upstream app {
        zone app 64k;
        least_conn;
        server 10.0.0.1:8080 max_conns=20;
        server unix:/run/app.sock backup;
        keepalive 8;
    }
    upstream other { server 10.0.0.9; }
    server {
        listen 80;
        server_name other.example;
        location / { proxy_pass http://other; proxy_read_timeout 9s; }
    }
    server {
        listen 80;
        server_name app.example;
        add_header X-Site app;
        location /api { proxy_pass http://app/v1/; proxy_set_header Host $host; proxy_read_timeout 3s; }
        location /direct { proxy_pass http://127.0.0.1:9000; access_log /var/log/nginx/direct.log timed; }
        location /secure { proxy_pass https://vault; access_log off; }
        location /quiet { proxy_pass http://quiet; access_log off; }
        location /plain { proxy_pass http://plain; access_log /var/log/nginx/plain.log; }
        location /moving { proxy_pass http://moving; access_log /var/log/$host.log timed; }
    }
}
"""


def private(name, text=FILE, **others):
    """What is measured with Trimtab's upstream in the place of that one, and of others at their addresses."""
    context = RenderContext(
        root="/srv",
        listen=("127.0.0.1:80",),
        prefix="/run/own",
        server_cpus=(0,),
        upstream=OURS,
        stand_ins={name: OURS, **others},
    )
    knobs = (*NGINX.space().knobs, *NGINX.proxy_knobs)
    return NGINX.private(text, {knob.name: knob.default for knob in knobs}, (), context)


def workloads_site(text):
    """The directives of the site that answers the workload."""
    servers = syntax.find(syntax.parse(text), "http", "server")
    return next(each for each in servers if syntax.find(each.block, "root"))


def said(directives):
    """Each directive as words."""
    return [" ".join((each.name, *each.arguments)) for each in directives or []]


def test_every_address_of_the_upstream_becomes_ours_and_all_else_of_its_block_stays():
    """Limits, balancing and kept connections are measured as they are in production."""
    text = private("app")
    app, other = syntax.find(syntax.parse(text), "http", "upstream")
    assert said(app.block) == [
        "zone app 64k",
        "least_conn",
        f"server {OURS} max_conns=20",
        f"server {OURS} backup",
        "keepalive 8",
    ]
    assert said(other.block) == ["server 10.0.0.9"]
    assert f"# server unix:/run/app.sock of upstream app at {OURS}, Trimtab's own\n" in text


def test_workload_is_handed_on_as_the_location_of_that_upstream_does_it():
    """And answered with the settings of its site; not with those of the first one."""
    site = workloads_site(private("app"))
    assert "add_header X-Site app" in said(site.block)
    (location,) = syntax.find(site.block, "location")
    assert said(location.block) == [
        "proxy_pass http://app",
        "proxy_set_header Host $host",
        "proxy_read_timeout 3s",
    ]


def test_upstream_without_a_block_is_an_address_of_a_location():
    """There is no block to keep, so the workload's is one of Trimtab's."""
    text = private("127.0.0.1:9000")
    assert f"proxy_pass http://{OURS}; access_log" in text
    names = [each.arguments[0] for each in syntax.find(syntax.parse(text), "http", "upstream")]
    assert names == ["app", "other", "workload_upstream"]


def test_log_is_that_of_the_location_and_its_times_are_found_in_each_line():
    """One request may have asked several servers, or none."""
    log = NGINX.upstream_log(FILE, "app")
    assert log.path == "/var/log/nginx/timed.log"
    begin = rb'192.0.2.1 [01/Jan/2026:00:00:00 +0000] "GET /a\x22 b HTTP/1.1" 200 512 rt=0.012 urt='
    for times, addresses, sizes in (
        (b"0.012", b"10.0.0.1:8080", b"500"),
        (b"0.001, 0.011", b"10.0.0.1:8080, unix:/run/app.sock", b"0, 500"),
        (b"0.001 : 0.011", b"10.0.0.1:8080 : 10.0.0.9:80", b"0 : 500"),
        (b"-", b"-", b"-"),
    ):
        found = log.pattern.match(begin + times + b' "' + addresses + b'" ' + sizes + b"\n")
        assert found is not None
        assert (found["time"], found["size"].strip()) == (times, sizes)
    assert log.pattern.match(b"something else\n") is None
    assert NGINX.upstream_log(FILE, "127.0.0.1:9000").path == "/var/log/nginx/direct.log"


def test_times_are_found_in_a_log_of_json():
    """Where values may stand without quotes, and a comma ends them."""
    text = FILE.replace(
        "log_format timed '$remote_addr [$time_local] \"$request\" $status '",
        'log_format timed escape=json \'{"uri":"$request_uri","urt":$upstream_response_time,\'',
    ).replace(
        "'$body_bytes_sent rt=$request_time urt=$upstream_response_time '\n"
        "                     '\"$upstream_addr\" $upstream_response_length'",
        "'\"bytes\":${body_bytes_sent}}'",
    )
    log = NGINX.upstream_log(text, "app")
    found = log.pattern.match(rb'{"uri":"/a\"b,c","urt":0.250,"bytes":77}')
    assert (found["time"], found["size"]) == (b"0.250", b"77")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("shop", "no location hands requests on to it; expected one of other, app, 127.0.0.1:9000, vault"),
        ("vault", "it is asked over TLS; expected http://vault"),
        ("quiet", r"its times stand in no log \(access_log in line \d+\)"),
        ("plain", r"expected an access_log whose log_format has \$upstream_response_time"),
        ("moving", r"access_log /var/log/\$host.log: expected the whole path"),
    ],
)
def test_what_cannot_be_told_is_refused_with_a_reason(name, why):
    """Before anything runs."""
    with pytest.raises(RenderError, match=why):
        NGINX.upstream_log(FILE, name)


def test_several_upstreams_have_addresses_and_paths_of_their_own():
    """Each is asked as its own location asks; the site is that of the first."""
    text = private("app", other="127.0.0.1:4712", **{"127.0.0.1:9000": "127.0.0.1:4713"})
    blocks = {
        each.arguments[0]: [words for words in said(each.block) if words.startswith("server ")]
        for each in syntax.find(syntax.parse(text), "http", "upstream")
    }
    assert blocks == {
        "app": [f"server {OURS} max_conns=20", f"server {OURS} backup"],
        "other": ["server 127.0.0.1:4712"],
        "workload_upstream_3": ["server 127.0.0.1:4713"],
    }
    site = workloads_site(text)
    assert "add_header X-Site app" in said(site.block)
    assert {each.arguments[0]: said(each.block) for each in syntax.find(site.block, "location")} == {
        "/dynamic/": ["proxy_pass http://app", "proxy_set_header Host $host", "proxy_read_timeout 3s"],
        "/dynamic/2/": ["proxy_pass http://other/dynamic/", "proxy_read_timeout 9s"],
        "/dynamic/3/": ["proxy_pass http://workload_upstream_3/dynamic/"],
    }
    assert "# server 10.0.0.9 of upstream other at 127.0.0.1:4712, Trimtab's own\n" in text


@pytest.mark.parametrize(
    ("name", "servers", "answering"),
    [
        ("app", "server 10.0.0.1:8080; server [2001:db8::1]; server unix:/run/app.sock;",
         {b"10.0.0.1:8080", b"[2001:db8::1]:80", b"unix:/run/app.sock"}),
        ("app", "server 10.0.0.1; server app.internal:8080;", set()),
        ("127.0.0.1:9000", "server 10.0.0.1;", {b"127.0.0.1:9000"}),
    ],
)  # fmt: skip
def test_format_with_addresses_says_whose_a_time_is_unless_nginx_looks_names_up(name, servers, answering):
    """It logs what a name resolves to."""
    begin, end = FILE.index("server 10.0.0.1:8080"), FILE.index("keepalive 8;")
    log = NGINX.upstream_log(FILE[:begin] + servers + FILE[end:], name)
    assert log.answering == answering
    assert ("by" in log.pattern.groupindex) == bool(answering)


def test_format_with_the_name_says_whose_a_time_is():
    """Whatever its servers are called."""
    text = FILE.replace("'$remote_addr [", "'$proxy_host $remote_addr [").replace(
        "10.0.0.1:8080", "app.internal:8080"
    )
    log = NGINX.upstream_log(text, "app")
    line = (
        b'other 192.0.2.1 [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 512 rt=0.012 urt=0.012 '
        b'"10.0.0.9:80" 500'
    )
    assert log.pattern.match(line)["by"] == b"other"
    assert log.answering == {b"app"}


def test_only_in_files_of_nginx_upstreams_can_be_replaced():
    """The others' access logs have no time of an upstream."""
    assert [name for name, each in TARGETS.items() if each.upstream_log is not None] == ["nginx"]
