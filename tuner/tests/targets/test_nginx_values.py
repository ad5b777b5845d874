"""What stands beside a tuned value in a directive of nginx's is no part of the knob."""

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.editing import own_of_all

from .instance import instance_in

NGINX = TARGETS["nginx"]
CONTEXT = instance_in("/run/x")
OTHERS = """\
worker_processes  2;
thread_pool default threads=8 max_queue=99;
events { worker_connections 512; }
http {
    sendfile        on;
    aio threads=default;
    keepalive_timeout  75 20;
    open_file_cache inactive=20s max=2000;
    ssl_session_cache builtin:1000 shared:TLS:10m;
    server { listen 80; }
}
"""


@pytest.mark.parametrize(
    ("knob", "value", "before", "after"),
    [
        ("worker_processes", 7, "processes  2;", "processes  7;"),
        ("sendfile", "off", "sendfile        on;", "sendfile        off;"),
        ("aio", "off", "aio threads=default;", "aio off;"),
        ("keepalive_timeout", 9, "75 20;", "9s 20;"),
        ("open_file_cache", 1000, "max=2000;", "max=1000;"),
        ("thread_pool_threads", 32, "threads=8 max_queue=99;", "threads=32 max_queue=99;"),
        ("ssl_session_cache", 50, "shared:TLS:10m;", "shared:TLS:50m;"),
    ],
)
def test_what_stands_beside_a_tuned_value_in_its_directive_stays(knob, value, before, after):
    """Spaces too."""
    tuned = {**own_of_all(NGINX, OTHERS, 1), knob: value}
    assert NGINX.changed(OTHERS, tuned, [knob], CONTEXT) == OTHERS.replace(before, after)


def test_own_values_written_anew_change_nothing():
    """Neither the name of a pool of threads, nor that of a cache."""
    own = own_of_all(NGINX, OTHERS, 1)
    knobs = ("worker_processes", "aio", "sendfile", "open_file_cache", "ssl_session_cache")
    assert NGINX.changed(OTHERS, own, (*knobs, "thread_pool_threads"), CONTEXT) == OTHERS


def test_a_cache_of_sessions_that_another_site_has_too_gets_another_name():
    """nginx takes one size for each name."""
    text = """http { ssl_session_cache shared:TLS:10m;
    server { listen 443 ssl; ssl_session_cache shared:TLS:10m; } server { listen 444 ssl; } }
    """
    tuned = {**own_of_all(NGINX, text, 1), "ssl_session_cache": 50}
    changed = NGINX.changed(text, tuned, ["ssl_session_cache"], CONTEXT)
    assert changed == text.replace("shared:TLS:10m", "shared:trimtab:50m", 1)


def test_time_below_a_second_is_measured_as_it_stands():
    """The knob counts whole ones."""
    text = "http { keepalive_timeout 500ms; server { listen 80; } }\n"
    own = own_of_all(NGINX, text, 1)
    assert own["keepalive_timeout"] == 1
    assert NGINX.changed(text, own, ["keepalive_timeout"], CONTEXT) == text
    longer = {**own, "keepalive_timeout": 2}
    assert NGINX.changed(text, longer, ["keepalive_timeout"], CONTEXT) == text.replace("500ms", "2s")
