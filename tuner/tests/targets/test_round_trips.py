"""Configurations written in a server's language, checked by the server if it is installed, and read back."""

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trimtab_trials.configuration import Configuration
from trimtab_tuner import affinity
from trimtab_tuner.roles import Role
from trimtab_tuner.space import OnlyWith, Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError

from .instance import instance_in

# A knob whose value is written as another one: Trimtab's own words, and what a newer server only knows.
WRITTEN_AS = {"MaxRequestWorkers": None, "server.max-fds": None, "ListenCoresBucketsRatio": 0}
UNKNOWN_TO_OLDER = {"tcp-reuseport": "OFF", "file.io_uring": "OFF"}
# trimtab-httpd's own tests check its file.
CHECKED_HERE = [name for name in TARGETS if name != "core"]


def configurations(space: Space) -> st.SearchStrategy:
    """Any configuration that the space allows, knobs for which another version is needed left alone."""
    values = {
        knob.name: st.just(UNKNOWN_TO_OLDER[knob.name])
        if knob.name in UNKNOWN_TO_OLDER
        else st.integers(knob.low, knob.high)
        if knob.kind == "integer"
        else st.sampled_from(knob.choices)
        for knob in space.knobs
    }
    free = space.model_copy(update={"fixed": {}})

    def mended(drawn: Configuration) -> Configuration:
        """With the values that the other knobs leave no choice of: few draws would have them all."""
        for constraint in space.constraints:
            if isinstance(constraint, OnlyWith) and constraint.broken(drawn) is not None:
                drawn = {**drawn, constraint.knob: constraint.otherwise}
        return drawn

    return st.fixed_dictionaries(values).map(mended).filter(free.allows)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60)
@given(data=st.data())
def test_rendered_configuration_is_read_back_as_it_was(name, data):
    """Every knob, whatever its value; `auto` and `all` come back as numbers."""
    target = TARGETS[name]
    configuration = data.draw(configurations(target.space()))
    read = target.parse(target.render(configuration, instance_in("/run/x")))
    for knob in target.space().knobs:
        if knob.role is Role.PLACEMENT:
            # A file says of a plan only whether workers are pinned; the receive queues are the host's, and so
            # are the workers of servers that have no setting for it.
            by_itself = target.workers_to_pin(configuration) is None
            pinned = by_itself and affinity.pins_workers(configuration[knob.name])
            assert read.get(knob.name, "none") == ("process" if pinned else "none")
        elif knob.name not in WRITTEN_AS and knob.name in read:
            assert read[knob.name] == configuration[knob.name], knob.name
    plan = target.equivalents[Role.PLACEMENT].knob
    unread = {knob for knob in configuration if knob not in (*read, *WRITTEN_AS, plan)}
    default = target.space().default()
    # What is left out is what the server does without being told.
    assert all(configuration[knob] == default[knob] for knob in unread - {"thread_pool_threads"})


@pytest.mark.parametrize("name", CHECKED_HERE)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_server_accepts_every_configuration_that_the_space_allows(name, data, tmp_path):
    """Its own check, in a directory of its own."""
    target = TARGETS[name]
    if not shutil.which(target.program) and not shutil.which(target.program, path="/usr/sbin"):
        pytest.skip(f"{target.program} is not installed")
    file = tmp_path / target.file_name
    file.write_text(target.render(data.draw(configurations(target.space())), instance_in(tmp_path)))
    program = shutil.which(target.program) or f"/usr/sbin/{target.program}"
    check = subprocess.run(
        target.check_command(str(file), program), capture_output=True, text=True, check=False, timeout=120
    )
    assert check.returncode == 0, check.stderr


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("cpus", [1, 2, 100])
def test_expert_advice_lies_in_the_space(name, cpus):
    """On small and on large machines."""
    space = TARGETS[name].space(cpus=cpus).model_copy(update={"fixed": {}})
    assert space.allows(TARGETS[name].expert(cpus))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("nginx", "worker_processes auto; events { worker_connections 768; }", {"worker_processes": 4}),
        (
            "nginx",
            "http { sendfile ON; open_file_cache max=5 inactive=1s; aio threads=p; } # }",
            {"aio": "threads"},
        ),
        ("nginx", "http { server { listen 80 default_server reuseport backlog=77; } }", {"backlog": 77}),
        ("nginx", "http { sendfile_max_chunk 512k; keepalive_timeout 1m 30s; }", {"keepalive_timeout": 60}),
        ("nginx", "http { keepalive_timeout 1m30s; }", {"keepalive_timeout": 90}),
        ("nginx", 'http { keepalive_timeout "1h 500ms" 9; }', {"keepalive_timeout": 3601}),
        ("nginx", "http { keepalive_timeout 0s; }", {"keepalive_timeout": 0}),
        ("apache", "KeepAliveTimeout 2min", {"KeepAliveTimeout": 120}),
        ("apache", "KeepAliveTimeout 500ms", {"KeepAliveTimeout": 1}),
        ("lighttpd", "# server.max-worker = 3\nserver.max-worker = 2 # yes\n", {"server.max-worker": 2}),
        ("lighttpd", '$HTTP["host"] == "a" {\n server.max-worker = 2\n}\n', {}),
        (
            "apache",
            "<IfModule mpm_event.c>\n  threadsperchild  30\n</IfModule>",
            {"mpm": "event", "ThreadsPerChild": 30},
        ),
        (
            "apache",
            "LoadModule mpm_event_module m.so\n<IfModule mpm_worker_module>\nThreadsPerChild 30\n</IfModule>",
            {"mpm": "event"},
        ),
        (
            "apache",
            "<VirtualHost *>\nKeepAliveTimeout 9\n</VirtualHost>\nKeepAliveTimeout 8",
            {"KeepAliveTimeout": 9},
        ),
        (
            "apache",
            "EnableMMAP on\n<VirtualHost a>\nEnableMMAP off\n</VirtualHost>\n<VirtualHost b>\n</VirtualHost>",
            {"EnableMMAP": "on"},
        ),
        ("h2o", "num-threads: 3 # all\nhosts:\n  max-connections: 5\n", {"num-threads": 3}),
        ("core", "[server]\nworkers = 3\naffinity = 0,2\n", {"workers": 3, "affinity": "process"}),
    ],
)
def test_words_and_places_of_a_users_own_file_are_understood(name, text, expected):
    """As the server's own reader takes them."""
    read = TARGETS[name].parse(text, cpus=4)
    assert expected.items() <= read.items()
    assert expected or not read


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("nginx", "worker_processes many;", "worker_processes = many: expected a whole number"),
        ("nginx", "events {", "unexpected end of file"),
        ("nginx", "}", "line 1: unexpected"),
        ("nginx", 'events { }\nhttp { server_name "a; }', "line 2: a quoted string has no end"),
        ("nginx", "http { sendfile maybe; }", "sendfile = maybe: expected one of off, on"),
        ("nginx", "http { keepalive_timeout 75x; }", "keepalive_timeout = 75x: expected a whole number"),
        ("nginx", "http { keepalive_timeout soon; }", "keepalive_timeout = soon: expected a whole number"),
        ("lighttpd", 'server.network-backend = "pigeon"\n', "expected one of sendfile, writev, write"),
        ("apache", "ThreadsPerChild lots", "ThreadsPerChild = lots: expected a whole number"),
        ("apache", "AsyncRequestWorkerFactor -1", "AsyncRequestWorkerFactor = -1: expected a number"),
        ("h2o", "num-threads: two", "num-threads = two: expected a whole number"),
        ("core", "[server]\nworkers = two\n", "workers = two: expected a whole number"),
    ],
)
def test_words_that_make_no_sense_are_refused_with_a_sentence(name, text, sentence):
    """It names the setting, or the line."""
    with pytest.raises(RenderError, match=sentence):
        TARGETS[name].parse(text)
