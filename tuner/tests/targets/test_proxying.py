"""Knobs of proxying in files of a user's own: read, changed where they stand, and nothing else."""

import difflib

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.common_knobs import with_proxying
from trimtab_tuner.targets.editing import changed_knobs, own_proxying, own_values

CONTEXT = RenderContext(root="/srv", listen=("127.0.0.1:80",), server_cpus=(0,), upstream="127.0.0.1:9")
NGINX = """worker_processes 2;
events { worker_connections 1024; }
http {
    upstream app {
        least_conn;
        server 10.0.0.1:8080;
        server 10.0.0.2:8080 backup;
    }
    upstream kept { server 10.0.0.3; keepalive 16; }
    server {
        listen 80;
        location / {
            proxy_pass http://app;
            proxy_set_header Host $host;
            proxy_buffers 16 16k;
            proxy_buffer_size 32k;
            proxy_busy_buffers_size 64k;
            proxy_read_timeout 2m;
        }
        location /socket {
            proxy_pass http://kept;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header connection "upgrade";
        }
    }
}
"""


def changed(text, **values):
    """The file with these values, and what differs: lines taken out and put in."""
    target = TARGETS["nginx"]
    space = with_proxying(target.space(), target.proxy_knobs, target.proxy_free)
    configuration = {**space.default(), **own_values(target, text, 1), **own_proxying(target, text), **values}
    knobs = changed_knobs(target, text, configuration, 1)
    after = target.changed(text, configuration, knobs, CONTEXT)
    lines = difflib.ndiff(text.splitlines(), after.splitlines())
    return after, [" ".join(line.split()) for line in lines if line[0] in "+-"]


def test_values_are_read_wherever_they_stand():
    """In locations and upstreams, with units."""
    assert TARGETS["nginx"].parse_proxy(NGINX) == {
        "keepalive": 16,
        "proxy_buffers": 16,
        "proxy_buffer_size": 32_768,
        "proxy_read_timeout": 120,
    }
    assert TARGETS["nginx"].parse_proxy("events {}") == {}


def test_unchanged_values_change_nothing():
    """Not a byte, though sizes of buffers differ from each other."""
    assert changed(NGINX) == (NGINX, [])


def test_kept_connections_stand_in_each_upstream_with_what_they_need():
    """Behind the way of balancing; headers where a block has its own, but not where a socket stays open."""
    after, lines = changed(NGINX, keepalive=64)
    assert sorted(lines) == sorted(
        [
            "+ proxy_http_version 1.1;",
            '+ proxy_set_header Connection "";',
            "+ keepalive 64;",
            "- upstream kept { server 10.0.0.3; keepalive 16; }",
            "+ upstream kept { server 10.0.0.3; keepalive 64; }",
            "- proxy_set_header Host $host;",
            '+ proxy_set_header Host $host; proxy_set_header Connection "";',
        ]
    )
    assert after.index("least_conn") < after.index("keepalive 64")
    assert TARGETS["nginx"].parse_proxy(after)["keepalive"] == 64


def test_no_kept_connections_take_the_directive_out():
    """And leave what else they needed."""
    _, lines = changed(NGINX, keepalive=0)
    assert lines == [
        "- upstream kept { server 10.0.0.3; keepalive 16; }",
        "+ upstream kept { server 10.0.0.3; }",
    ]


def test_buffers_are_all_of_one_size():
    """Where one of both is tuned; what of them is being sent goes by them again."""
    after, lines = changed(NGINX, proxy_buffers=64)
    assert sorted(lines) == sorted(
        [
            "- proxy_buffers 16 16k;",
            "+ proxy_buffers 64 32768;",
            "- proxy_buffer_size 32k;",
            "+ proxy_buffer_size 32768;",
            "- proxy_busy_buffers_size 64k;",
            "+",
        ]
    )
    assert TARGETS["nginx"].parse_proxy(after)["proxy_buffers"] == 64


def test_file_without_upstreams_can_keep_no_connection():
    """The knob has no other value there."""
    plain = "events {}\nhttp { server { location / { proxy_pass http://127.0.0.1:3000; } } }\n"
    assert 32 in TARGETS["nginx"].refused(plain)["keepalive"]
    assert TARGETS["nginx"].refused(NGINX) == {}


def test_site_of_the_workload_hands_on_as_the_users_first_does():
    """Headers, buffers and times; not the place that it is handed on to, nor a cache."""
    target = TARGETS["nginx"]
    text = NGINX.replace("proxy_pass http://app;", "proxy_pass http://app; proxy_cache one;")
    space = with_proxying(target.space(), target.proxy_knobs, target.proxy_free)
    own = {**space.default(), **own_values(target, text, 1), **own_proxying(target, text)}
    made = target.private(text, own, (), CONTEXT)
    site = made[made.index("workload_upstream {") :]
    assert "server 127.0.0.1:9;\n    keepalive 16;" in site
    location = site[site.index("location /dynamic/") :]
    assert "proxy_pass http://workload_upstream;" in location
    assert "proxy_set_header Host $host;" in location
    assert "proxy_buffers 16 16k;" in location
    assert "proxy_cache" not in location


H2O = """hosts:
  default:
    listen: 80
    paths:
      "/":
        proxy.reverse.url: http://127.0.0.1:3000/
        proxy.timeout.io: 5000
proxy.timeout.keepalive: 1000
"""


def test_h2o_says_it_at_any_level():
    """Each value is changed where it stands."""
    target = TARGETS["h2o"]
    assert target.parse_proxy(H2O) == {"proxy.timeout.io": 5000, "proxy.timeout.keepalive": 1000}
    values = {**own_values(target, H2O, 1), "proxy.timeout.io": 9000, "proxy.timeout.keepalive": 0}
    knobs = ("proxy.timeout.io", "proxy.timeout.keepalive")
    expected = H2O.replace("io: 5000", "io: 9000").replace("keepalive: 1000", "keepalive: 0")
    assert target.changed(H2O, values, knobs, CONTEXT) == expected


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.proxy_knobs])
def test_every_role_of_proxying_is_had_once(name):
    """As with all roles."""
    roles = [knob.role for knob in TARGETS[name].proxy_knobs if knob.role is not None]
    assert len(roles) == len(set(roles))
