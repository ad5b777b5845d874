"""The stats socket: documents, errors, live changes, and clients that misbehave."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "internals" / "stats-socket.md"


def test_statistics_are_exactly_what_the_client_saw(server: Any, mode: dict[str, str]) -> None:
    """Requests, replies by status, bytes, connections and look-ups add up."""
    server.write("file", bytes(9000))  # a smaller one may come to lie in memory with its head
    received = 0
    for connection in (server.connect(), server.connect()):
        for target, method in [("/file", "GET"), ("/file", "HEAD"), ("/missing", "GET"), ("/", "GET")]:
            connection.ask(target, method=method)
            reply = connection.reply(method)
            received += len(reply.raw_head) + len(reply.body)
        connection.close()
    server.await_total(
        connections_open=0,
        connections_accepted=2,
        connections_closed_by_client=2,
        connections_closed_by_server=0,
        connections_timed_out=0,
        requests=8,
        replies_200=4,
        replies_403=2,
        replies_404=2,
        bytes_sent=received,
        sendfile_calls=0 if mode["sendfile"] == "off" else 2,
        write_calls=2 if mode["sendfile"] == "off" else 0,
        sendfile_partial=0,
        write_partial=0,
        cache_hits=3,
        cache_misses=5,
    )
    total = server.total()
    replies = {name: value for name, value in total.items() if name.startswith("replies_")}
    assert sum(replies.values()) == 8
    assert total["service_time_us"]["count"] == 8


def test_total_is_the_sum_of_the_workers(start: Callable[..., Any]) -> None:
    """Every metric adds up over the workers, or is the largest of them."""
    server = start(workers=3)
    server.write("file", b"contents")
    for _ in range(30):
        assert server.connect().get("/file").status == 200
    server.await_total(requests=30)
    stats = server.command("show stats")
    aggregation = {row["name"]: row["aggregation"] for row in server.command("show schema")}
    assert len(stats["workers"]) == 3
    for metric, value in stats["total"].items():
        if metric != "service_time_us":
            add_up = max if aggregation[metric] == "max" else sum
            assert add_up(worker[metric] for worker in stats["workers"]) == value


def test_schema_describes_each_metric_once(start: Callable[..., Any]) -> None:
    """What show stats reports and what show schema describes are the same."""
    server = start()
    schema = server.command("show schema")
    names = [row["name"] for row in schema]
    assert len(set(names)) == len(names)
    assert set(names) == set(server.total())
    for row in schema:
        assert set(row) == {"name", "unit", "kind", "aggregation", "help"}
        assert row["kind"] in {"counter", "gauge", "maximum", "histogram"}


def test_info_tells_what_runs(start: Callable[..., Any]) -> None:
    """Version, processes, addresses and root."""
    server = start(workers=2)
    info = server.command("show info")
    assert info["name"] == "trimtab-httpd"
    assert info["version"] == "0.1.0"
    assert info["pid"] == server.process.pid
    assert info["architecture"] == "symped"
    assert info["events"] == "epoll-et"
    assert [worker["worker"] for worker in info["workers"]] == [0, 1]
    assert info["listen"] == [f"127.0.0.1:{server.address[1]}"]
    assert info["root"] == str(server.root)
    assert info["uptime_s"] > 0
    assert info["worker_restarts"] == 0


def test_config_shows_defaults_and_what_was_set(start: Callable[..., Any]) -> None:
    """Integers are numbers, lists are strings, and the order is that of the documentation."""
    config = start(workers=2, keepalive_timeout=2.5, cache_entries=50).command("show config")
    assert config["workers"] == 2
    assert config["keepalive_timeout"] == 2.5
    assert config["cache_entries"] == 50
    assert config["accept_limit"] == "inf"
    assert config["affinity"] == "none"
    assert config["max_connections"] == 1024


@pytest.mark.parametrize(
    ("knob", "text", "value"),
    [
        ("accept_limit", "16", 16),
        ("accept_limit", "inf", "inf"),
        ("max_connections", "7", 7),
        ("sendfile", "blocking", "blocking"),
        ("keepalive_timeout", "2.5", 2.5),
        ("request_timeout", "3", 3),
    ],
)
def test_set_changes_a_live_knob(start: Callable[..., Any], knob: str, text: str, value: object) -> None:
    """The answer and the configuration show the new value."""
    server = start()
    assert server.command(f"set {knob} {text}") == {"knob": knob, "value": value}
    assert server.command("show config")[knob] == value


def test_set_leaves_nothing_open(start: Callable[..., Any], open_files: Callable[[int], list[Path]]) -> None:
    """Neither a value that is taken nor one that is refused costs the master a descriptor."""
    server = start()
    before = open_files(server.process.pid)
    for _ in range(3):
        server.command("set max_connections 7")
        server.command("set max_connections 1000000000")
    assert open_files(server.process.pid) == before


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("", "unknown-command", "there is no command ; help lists them"),
        ("shwo info", "unknown-command", "there is no command shwo info; help lists them"),
        ("show information", "unknown-command", "there is no command show information; help lists them"),
        ("show info now", "bad-arguments", "show info takes no arguments"),
        ("set", "bad-arguments", "set takes KNOB VALUE"),
        ("set wrokers 3", "unknown-knob", "there is no knob called wrokers; show config lists them"),
        ("set workers 3", "not-live", "workers cannot be changed while the server runs"),
        (
            "set accept_limit 0",
            "bad-value",
            "set: accept_limit = 0: expected an integer from 1 to 1000000, or inf, or auto",
        ),
        (
            "set accept_limit",
            "bad-value",
            "set: accept_limit = : expected an integer from 1 to 1000000, or inf, or auto",
        ),
        (
            "set max_connections 2",
            "bad-value",
            "set: max_connections = 2: expected at least one for each of the 3 workers",
        ),
        ("set sendfile on", "bad-value", "set: sendfile = on: expected one of nonblocking, blocking, off"),
    ],
)
def test_bad_command_is_answered_by_code_and_sentence(
    start: Callable[..., Any], command: str, code: str, message: str
) -> None:
    """Nothing is changed, and the client may go on."""
    server = start(workers=3)
    before = server.command("show config")
    assert server.command(command) == {"error": {"code": code, "message": message}}
    assert server.command("show config") == before


@pytest.mark.parametrize(
    ("knobs", "setting"),
    [
        ({"architecture": "mp"}, "accept_limit 5"),
        ({"architecture": "mp"}, "accept_limit auto"),
        ({"architecture": "mp", "workers": 4, "reuseport": "on"}, "max_connections 3"),
        ({"architecture": "amped"}, "sendfile off"),
        ({"architecture": "symped"}, "max_connections 1000000"),
    ],
)
def test_set_refuses_what_a_file_is_refused(
    start: Callable[..., Any], binary: str, knobs: dict[str, object], setting: str
) -> None:
    """In the same words, and nothing is changed."""
    server = start(**knobs)
    before = server.command("show config")
    error = server.command(f"set {setting}")["error"]
    assert error["code"] == "bad-value"
    assert server.command("show config") == before
    command = [binary, "-t", "-c", server.configuration, "--set", setting.replace(" ", "=")]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert refused.returncode in {1, 2}
    sentences = [line.removeprefix("trimtab-httpd: --set: ") for line in refused.stderr.splitlines()]
    assert error["message"] == "; ".join(f"set: {sentence}" for sentence in sentences)


def test_clear_counters_starts_from_zero_and_keeps_the_gauges(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Counters and histogram forget; connections stay open; counting goes on."""
    server = start()
    server.write("file", b"contents")
    connection = server.connect()
    assert connection.get("/file").status == 200
    server.await_total(requests=1, replies_200=1)
    gauges = {row["name"] for row in server.command("show schema") if row["kind"] == "gauge"}
    of_the_pipeline = {"stage_threads", "stage_batch", "stage_wait_p90_us", "admission_rps"}
    assert gauges == {"connections_open", "queue_length", "pool_size", *of_the_pipeline}

    def all_is_zero() -> bool:
        assert server.command("clear counters") == {"cleared": True}
        total = server.total()
        assert total.pop("connections_open") == 1
        assert total.pop("service_time_us") == dict.fromkeys(
            ("count", "mean", "p50", "p90", "p99", "p999", "max"), 0
        )
        return set(total.values()) == {0}

    await_state(all_is_zero)  # the worker may have been about to count that it waits for events
    assert connection.get("/file").status == 200
    server.await_total(requests=1, replies_200=1, cache_hits=1)
    assert server.total()["service_time_us"]["count"] == 1


def metrics_of(server: Any) -> tuple[dict[str, str], dict[tuple[str, frozenset[str]], float]]:
    """The answer to `show metrics`: the types, and the values by name and labels."""
    client = server.connect_stats()
    client.socket.sendall(b"show metrics\nshow info\n")
    types, values = {}, {}
    while (line := client.stream.readline().decode()) != "# EOF\n":
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)\n", line).groups()  # type: ignore[union-attr]
            key = (name, frozenset(labels.split(",") if labels else ()))
            assert key not in values
            values[key] = float(value)
    assert json.loads(client.stream.readline())["name"] == "trimtab-httpd"  # the next answer is in its place
    return types, values


def test_metrics_for_prometheus_are_the_statistics(
    start: Callable[..., Any], architecture: dict[str, str]
) -> None:
    """Of each worker, under names with types; replies by status, service times in classes."""
    server = start(**architecture)
    server.write("file", b"contents")
    connection = server.connect()
    for target in ("/file", "/file", "/none"):
        connection.get(target)
    server.await_total(requests=3, replies_200=2, replies_404=1)
    types, values = metrics_of(server)
    stats = server.command("show stats")
    for name, kind in types.items():
        family = {"histogram": f"{name}_count"}.get(kind, name)
        assert any(key[0] == family for key in values), name

    def total(name: str, *labels: str) -> float:
        wanted = f"trimtab_httpd_{name}"
        return sum(value for key, value in values.items() if key[0] == wanted and {*labels} <= key[1])

    assert total("requests_total") == 3
    assert (total("replies_total", 'status="200"'), total("replies_total", 'status="404"')) == (2, 1)
    assert total("connections_open") == 1
    assert total("service_time_seconds_count") == 3
    assert total("service_time_seconds_bucket", 'le="+Inf"') == 3
    assert (
        0
        <= total("service_time_seconds_bucket", 'le="5e-05"')
        <= total("service_time_seconds_bucket", 'le="10"')
    )
    assert (types["trimtab_httpd_requests_total"], types["trimtab_httpd_connections_open"]) == (
        "counter",
        "gauge",
    )
    for worker in stats["workers"]:
        labels = (f'worker="{worker["worker"]}"', f'role="{worker["role"]}"')
        assert total("requests_total", *labels) == worker["requests"]
        assert total("service_time_seconds_count", *labels) == worker["service_time_us"]["count"]
    server.command("clear counters")
    assert metrics_of(server)[1][("trimtab_httpd_uptime_seconds", frozenset())] > 0
    assert sum(v for key, v in metrics_of(server)[1].items() if key[0] == "trimtab_httpd_requests_total") == 3


def test_service_time_of_each_worker_adds_up(start: Callable[..., Any]) -> None:
    """The total is what all of them have recorded, also after counters were cleared."""
    server = start(workers=3)
    server.write("file", b"contents")
    for _ in range(2):
        for _ in range(30):
            assert server.connect().get("/file").status == 200
        server.await_total(requests=30, replies_200=30)
        stats = server.command("show stats")
        counts = [worker["service_time_us"]["count"] for worker in stats["workers"]]
        assert counts == [worker["requests"] for worker in stats["workers"]]
        assert sum(counts) == stats["total"]["service_time_us"]["count"] == 30
        server.command("clear counters")


def test_help_lists_every_command(start: Callable[..., Any]) -> None:
    """The commands that the documentation has, each with a sentence."""
    server = start()
    commands = server.command("help")
    documented = DOCUMENTATION.read_text()
    for command in commands:
        assert f"`{command['command']}" in documented
        assert command["help"]
    assert {command["command"] for command in commands} >= {"help", "show stats", "set", "clear counters"}


def test_each_metric_and_knob_is_documented(start: Callable[..., Any]) -> None:
    """docs/internals/stats-socket.md names everything that the socket reports."""
    server = start()
    documented = set(re.findall(r"`(\w+)`", DOCUMENTATION.read_text()))
    names = {row["name"] for row in server.command("show schema")} | set(server.command("show config"))
    undocumented = {name for name in names if not name.startswith("replies_")} - documented
    assert not undocumented


def test_commands_sent_together_are_answered_in_order(start: Callable[..., Any]) -> None:
    """A client need not wait for one answer before the next command, nor end lines like Unix does."""
    server = start()
    client = server.connect_stats()
    client.socket.sendall(b"show info\r\nshow schema\nbogus\nshow inf")
    assert json.loads(client.stream.readline())["name"] == "trimtab-httpd"
    assert isinstance(json.loads(client.stream.readline()), list)
    assert json.loads(client.stream.readline())["error"]["code"] == "unknown-command"
    client.socket.sendall(b"o\n")
    assert json.loads(client.stream.readline())["name"] == "trimtab-httpd"


def test_line_without_end_is_refused(start: Callable[..., Any]) -> None:
    """A client cannot make the server remember more than a line."""
    server = start()
    client = server.connect_stats()
    client.socket.sendall(b"x" * 1024)
    assert json.loads(client.stream.readline())["error"]["code"] == "line-too-long"
    assert client.stream.readline() == b""
    assert server.command("show info")["name"] == "trimtab-httpd"


def test_client_that_takes_no_answers_disturbs_nobody(start: Callable[..., Any]) -> None:
    """Its commands are not carried out further; requests and other clients are served."""
    server = start()
    server.write("file", b"contents")
    greedy = server.connect_stats()
    greedy.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        greedy.socket.sendall(b"show schema\n" * 1_000_000)
    assert server.command("show info")["name"] == "trimtab-httpd"
    assert server.connect().get("/file").body == b"contents"


def test_client_that_is_silent_longest_gives_way_when_all_places_are_taken(start: Callable[..., Any]) -> None:
    """However many clients hang about, a new one is heard."""
    server = start()
    silent = server.connect_stats()
    assert silent.command("show info")
    for _ in range(80):
        assert server.connect_stats().command("show info")["name"] == "trimtab-httpd"
    assert silent.stream.readline() == b""


def test_stats_socket_out_of_descriptors_waits_for_some(
    start: Callable[..., Any], await_state: Callable[..., Any]
) -> None:
    """Accepting is tried again at intervals, not in a spin, and the client who waits is heard in the end."""
    server = start()
    pid = server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # poll(2) refuses more entries than a process may have descriptors, and the master's are 66.
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (68, before[1]))
    since_s = time.monotonic()
    clients = [server.connect_stats() for _ in range(64)]
    complaint = "cannot accept a client of the stats socket (trying again in 100 ms): Too many open files"
    await_state(lambda: server.log().count(complaint) >= 4)
    assert time.monotonic() - since_s >= 0.3
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert clients[-1].command("show info")["name"] == "trimtab-httpd"
