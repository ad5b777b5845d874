"""What stands behind a server, for real: PHP, Python, our upstream, through every server that passes on."""

import json
import os
import re
import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import replace

import psutil
import pytest
from live_support import wait_until_gone
from trimtab_agent.errors import BinaryMissing
from trimtab_agent.station.server import running_backend
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts
from trimtab_agent.station.server.refusals import ConfigurationRejected
from trimtab_agent.station.server.running_backend import backend_program
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.station.upstream import RunningUpstream, counted, upstream_counters
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.common_knobs import with_proxying
from trimtab_tuner.targets.editing import own_proxying
from trimtab_tuner.workloads.dynamic import Dynamic

CPUS = tuple(sorted(os.sched_getaffinity(0)))
PASSING_ON = [name for name, target in TARGETS.items() if target.proxy_knobs]


def proxying(name):
    """The server's own defaults of the knobs of proxying."""
    return {knob.name: knob.default for knob in TARGETS[name].proxy_knobs}


def knobs_of(backend, **changed):
    """The defaults of a backend's knobs but for those given."""
    return {knob.name: knob.default for knob in backend.knobs} | changed


@pytest.fixture
def ordered(server_order, tmp_path):
    """Makes an order for a server with a backend behind it, whose application is there."""

    def make(name, backend, **changed):
        try:
            backend_program(backend)
        except BinaryMissing as error:
            pytest.skip(error.sentence)
        root = tmp_path / "root"
        for path, text in Dynamic(share=0.5, by=backend.name).scripts().items():
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True)
            place.write_text(text)
        further = proxying(name) if backend.speaks == "http" else {}
        return replace(server_order(name, **further, **knobs_of(backend, **changed)), root=root)

    return make


def fetched(url):
    """Status, headers and body of a page."""
    with urllib.request.urlopen(url, timeout=30) as reply:  # noqa: S310 - of our own server
        return reply.status, reply.headers, reply.read()


@pytest.mark.parametrize("name", PASSING_ON)
@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
@pytest.mark.live
def test_dynamic_requests_are_answered_by_what_stands_behind(name, backend, ordered, tmp_path):
    """In as many processes as asked for, whose memory can be read; all end with the server."""
    many = {backend.children: 2} | ({"pm": "static"} if backend.name == "php" else {})
    with TargetServer(ordered(name, backend, **many), StopSignal()) as server:
        status, headers, body = fetched(f"{server.url}{backend.path}?size=50000")
        assert (status, len(body), headers["Content-Type"].split(";")[0]) == (200, 50_000, "text/plain")
        read = server.read_backend()
        # uvicorn has one more that tracks what they share.
        assert 2 <= read["children"] <= 2 + (backend.name == "uvicorn")
        assert read["memory_per_child_bytes"] > 500_000
        assert read["queued"] == 0
        pids = server.pids
        assert server.workers_lost() == 0
    wait_until_gone(list(pids))
    assert not (tmp_path / "trial-1").exists()


@pytest.mark.live
def test_pages_of_php_that_apache_sends_in_chunks_are_read_by_the_generator(ordered, settings, tmp_path):
    """Since 2.4.59 it takes the length away that a page of PHP says (CVE-2024-24795). The generator holds the
    contents against the length that its log names.
    """
    php = BACKENDS["php"]
    log = tmp_path / "sessions.log"
    log.write_text(f"{php.path}?size=50000 size=50000\n" * 3)
    with TargetServer(ordered("apache", php), StopSignal()) as server:
        _, headers, _ = fetched(f"{server.url}{php.path}?size=50000")
        assert (headers["Transfer-Encoding"], headers["Content-Length"]) == ("chunked", None)
        command = [settings.load_path, "open", f"--url={server.url}", f"--sessions={log}", "--rate=15"]
        done = subprocess.run([*command, "--duration=0.95"], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["failures"] == {}
    assert result["requests"]["replied"] == result["requests"]["offered"] == 15
    assert result["sessions"]["reopened"] == 0


@pytest.mark.live
def test_processes_that_php_replaces_do_not_count_as_lost(ordered):
    """`pm.max_requests` ends each of them; only the death of the pool itself is one."""
    php = BACKENDS["php"]
    order = ordered("nginx", php, **{"pm": "static", "pm.max_children": 1, "pm.max_requests": 100})
    with TargetServer(order, StopSignal()) as server:
        before = set(server.pids)
        for _ in range(120):
            fetched(f"{server.url}{php.path}?size=1")
        assert set(server.pids) != before
        assert server.workers_lost() == 0
        psutil.Process(server.pids[-2]).kill()  # the pool, whose child comes last
        psutil.wait_procs([psutil.Process(server._backend._child.pid)], timeout=10)
        assert server.workers_lost() == 1


@pytest.mark.live
def test_pool_that_php_refuses_is_a_rejected_configuration(ordered):
    """With php-fpm's own sentence."""
    with pytest.raises(ConfigurationRejected, match=r"pm\.max_children"):
        TargetServer(ordered("nginx", BACKENDS["php"], **{"pm.max_children": -1}), StopSignal())


def our_upstream(settings, ports, log, concurrency):
    """An upstream of ours, which works on so many requests at a time."""
    return RunningUpstream(
        settings.upstream_path,
        f"{ADDRESS}:{ports.take()}",
        concurrency,
        cpus=CPUS[-1:],
        prioritised=False,
        log=log,
        stop=StopSignal(),
    )


@pytest.fixture
def upstream(settings, tmp_path):
    """One that works on one request at a time."""
    with HeldPorts() as ports, our_upstream(settings, ports, tmp_path / "upstream.log", 1) as running:
        yield running


@pytest.mark.parametrize("name", PASSING_ON)
@pytest.mark.live
def test_requests_go_on_to_the_upstream_with_every_knob_at_either_end(name, server_order, upstream):
    """The server takes each value, and the reply comes through whole."""
    target = TARGETS[name]
    for end in (0, -1):
        waits = proxying(name)  # of a second, the shortest, a busy machine may need more
        ends = {each.name: each.values()[end] for each in target.proxy_knobs if each.kind != "integer"}
        order = replace(server_order(name, **{**waits, **ends}), upstream=upstream.address)
        with TargetServer(order, StopSignal()) as server:
            for size in (1, 300_000):
                assert fetched(f"{server.url}/dynamic/drawn?size={size}&us=10")[2] == b"u" * size
    assert upstream.read()["done"] == 4


NOWHERE = RenderContext(root="/nowhere", listen=("127.0.0.1:8000",))


@pytest.mark.parametrize("name", PASSING_ON)
@pytest.mark.live
def test_exported_file_hands_on_to_the_upstream_of_the_instance(name, server_order, upstream, tmp_path):
    """So it is driven at the end of a run; the upstream that it names itself may not even be there."""
    order = server_order(name, **proxying(name))
    context = replace(NOWHERE, root=str(tmp_path), prefix=str(tmp_path), upstream="127.0.0.1:9")
    file = TARGETS[name].render(order.configuration, context)
    with TargetServer(replace(order, base=file, upstream=upstream.address), StopSignal()) as server:
        assert fetched(f"{server.url}/dynamic/drawn?size=9")[2] == b"u" * 9


OWN_NGINX = """worker_processes 1;
events { worker_connections 64; }
http {
    upstream app { least_conn; server 127.0.0.1:1; server 127.0.0.1:2 backup; keepalive 4; }
    server {
        listen 80;
        location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; }
    }
}
"""


@pytest.mark.live
def test_upstream_of_the_users_file_is_replaced_and_keeps_its_settings(server_order, upstream):
    """Nobody listens where the file's own would; its kept connections serve ten requests over one or two."""
    base = OWN_NGINX
    order = server_order("nginx", **{**proxying("nginx"), **own_proxying(TARGETS["nginx"], base)})
    order = replace(order, base=base, upstream=upstream.address, stand_ins={"app": upstream.address})
    with TargetServer(order, StopSignal()) as server:
        before = upstream.read()
        for _ in range(10):
            assert fetched(f"{server.url}/dynamic/drawn?size=9")[2] == b"u" * 9
        assert upstream_counters(before, upstream.read(), 1.0)["connections_per_s"] < 5


@pytest.mark.parametrize("name", BACKENDS)
def test_program_that_is_not_installed_is_named_with_its_package(name, monkeypatch, tmp_path):
    """php-fpm is looked for by its versions, the others by their names."""
    monkeypatch.setattr(running_backend, "Path", lambda _: tmp_path)
    monkeypatch.setattr(running_backend, "find_installed", lambda _: None)
    package = BACKENDS[name].package
    with pytest.raises(
        BinaryMissing, match=f"{package} is not installed here; `apt-get install .* {package}`"
    ):
        backend_program(BACKENDS[name])


OWN_WITH_TWO = """worker_processes 1;
events { worker_connections 64; }
http {
    upstream app { server 127.0.0.1:1; }
    server {
        listen 80;
        location / { proxy_pass http://app; }
        location /direct { proxy_pass http://127.0.0.1:2; proxy_set_header Connection ""; }
    }
}
"""


@pytest.mark.live
def test_each_of_several_upstreams_is_asked_below_its_own_paths(server_order, settings, tmp_path):
    """Each counts what went on to it, whatever nginx makes of the path."""
    names = ("app", "127.0.0.1:2")
    with ExitStack() as running, HeldPorts() as ports:
        ours = [
            running.enter_context(our_upstream(settings, ports, tmp_path / f"upstream{number}.log", 0))
            for number in range(len(names))
        ]
        addresses = [each.address for each in ours]
        order = server_order("nginx", **{**proxying("nginx"), **own_proxying(TARGETS["nginx"], OWN_WITH_TWO)})
        order = replace(
            order,
            base=OWN_WITH_TWO,
            upstream=addresses[0],
            stand_ins=dict(zip(names, addresses, strict=True)),
        )
        server = running.enter_context(TargetServer(order, StopSignal()))
        for path, times in (("/dynamic/drawn", 3), ("/dynamic/2/drawn", 2)):
            for _ in range(times):
                assert fetched(f"{server.url}{path}?size=9&us=10")[2] == b"u" * 9
        assert [each.read()["done"] for each in ours] == [3, 2]
        assert counted(ours)["done"] == 5


@pytest.mark.live
def test_proxying_of_the_whole_apache_leaves_the_workload_alone(server_order, upstream, tmp_path):
    """Outside of virtual hosts it would hand on the requests of every host, to the user's upstream."""
    order = server_order("apache", **proxying("apache"))
    context = replace(NOWHERE, root=str(tmp_path), prefix=str(tmp_path), upstream="127.0.0.1:9")
    file = TARGETS["apache"].render(order.configuration, context) + "ProxyPass / http://127.0.0.1:9/\n"
    with TargetServer(replace(order, base=file, upstream=upstream.address), StopSignal()) as server:
        assert fetched(f"{server.url}/dynamic/drawn?size=9")[2] == b"u" * 9
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(f"{server.url}/missing")


@pytest.mark.parametrize("name", PASSING_ON)
@pytest.mark.live
def test_exported_file_asks_the_pool_of_the_instance(name, ordered, tmp_path):
    """The same with PHP."""
    php = BACKENDS["php"]
    order = ordered(name, php)
    context = replace(NOWHERE, root=str(tmp_path), prefix=str(tmp_path), php_socket="/nowhere/php.sock")
    file = TARGETS[name].render(order.configuration, context)
    with TargetServer(replace(order, base=file), StopSignal()) as server:
        assert len(fetched(f"{server.url}{php.path}?size=70")[2]) == 70


@pytest.mark.parametrize(
    ("name", "kept", "closed"),
    [
        ("nginx", {"keepalive": 8}, {"keepalive": 0}),
        ("apache", {"disablereuse": "Off", "ServerLimit": 1}, {"disablereuse": "On", "ServerLimit": 1}),
        ("h2o", {"proxy.timeout.keepalive": 10_000}, {"proxy.timeout.keepalive": 0}),
    ],
)
@pytest.mark.live
def test_connections_to_the_upstream_are_kept_as_the_knob_says(name, kept, closed, server_order, upstream):
    """Ten requests over one connection, or over ten."""
    connections = []
    for values in (kept, closed):
        order = replace(server_order(name, **{**proxying(name), **values}), upstream=upstream.address)
        with TargetServer(order, StopSignal()) as server:
            before = upstream.read()
            for _ in range(10):
                fetched(f"{server.url}/dynamic/drawn?size=10")
            connections.append(upstream_counters(before, upstream.read(), 1.0)["connections_per_s"] - 1)
    assert connections[0] < 5
    assert connections[1] == 10


@pytest.mark.live
def test_upstream_tells_how_long_requests_wait_for_each_other(upstream):
    """One is worked on at a time: the second of two waits as long as the first one takes."""
    before = upstream.read()
    host, port = upstream.address.split(":")
    sockets = [socket.create_connection((host, int(port))) for _ in range(2)]
    for each in sockets:
        each.sendall(b"GET /dynamic/drawn?size=1&us=50000 HTTP/1.0\r\n\r\n")
    for each in sockets:
        assert b"200 OK" in each.recv(1000)
        each.close()
    counted = upstream_counters(before, upstream.read(), 1.0)
    assert counted["waited_percent"] == pytest.approx(50)
    assert counted["service_ms"] == pytest.approx(50)
    assert counted["wait_ms"] >= 20


@pytest.mark.parametrize("name", PASSING_ON)
def test_exported_comment_names_every_knob_of_proxying(name):
    """In the language of the server, where its setting stands."""
    target = TARGETS[name]
    space = with_proxying(target.space(), target.proxy_knobs, target.proxy_free)
    context = RenderContext(root="/srv", listen=("127.0.0.1:80",), upstream="127.0.0.1:9")
    text = target.render(space.default(), context, lambda knob: f"# about {knob}\n")
    assert {knob.name for knob in target.proxy_knobs} <= set(re.findall(r"# about (\S+)", text))
    assert json.dumps("/dynamic/")[1:-1] in text
