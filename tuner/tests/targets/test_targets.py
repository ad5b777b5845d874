"""Rendering and exporting; nginx's own check where nginx is installed."""

import configparser
import re
import shutil
import subprocess

import pytest
from trimtab_tuner.statistics import Gain
from trimtab_tuner.targets import EXPORTERS, TARGETS
from trimtab_tuner.targets.base import Evidence, RenderContext, RenderError
from trimtab_tuner.targets.core import LINE_LIMIT

CORE = TARGETS["core"]
DEFAULT = CORE.space().default()
TUNED = {**DEFAULT, "workers": 3, "max_connections": 4000, "sendfile": "blocking"}
EVERYTHING = {**TUNED, "accept_limit": 16, "affinity": "process", "sndbuf": 65_536, "backlog": 4096}
CONTEXT = RenderContext(
    root="/srv/www",
    listen=("127.0.0.1:8000", "127.0.0.1:8001"),
    stats_socket="/run/stats.sock",
    server_cpus=(0, 2),
)
GAIN = Gain(gain=0.234, low=0.201, high=0.268, significant=True, blocks=4)


def evidence(**changes):
    """What a run measured."""
    fields = {
        "run": "7",
        "date": "2026-01-02",
        "host": "testhost",
        "workload": "specweb99",
        "objective": "condensed-area",
        "trials": 16,
        "default": DEFAULT,
        "gain": GAIN,
    }
    return Evidence(**{**fields, **changes})


def parse(text):
    """The INI file as a dictionary."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return dict(parser["server"])


def directives(text):
    """The directives of an nginx configuration without comments: name to all its argument lists."""
    found = {}
    bare = re.sub(r"#.*", "", text)
    for name, arguments in re.findall(r"([a-z_]+)\s+([^;{}]+);", bare):
        found.setdefault(name, []).append(arguments.split())
    return found


def test_symped_tunes_three_knobs_by_default():
    """The others are fixed at their defaults."""
    assert [knob.name for knob in CORE.space().free] == ["sendfile", "workers", "max_connections"]


def test_sped_has_one_worker_by_definition():
    """A single event loop."""
    space = CORE.space("sped")
    assert [knob.name for knob in space.free] == ["sendfile", "max_connections"]
    assert (space.fixed["architecture"], space.fixed["workers"]) == ("sped", 1)


def test_unknown_architecture_is_refused():
    """The error lists those that exist."""
    with pytest.raises(RenderError, match="architecture 'forked': expected one of symped, sped"):
        CORE.space("forked")


def test_rendered_file_has_every_knob_and_the_surroundings():
    """Nothing is left to the server's defaults, so that a file means the same in a later version."""
    values = parse(CORE.render(TUNED, CONTEXT))
    expected = {name: str(value) for name, value in TUNED.items()}
    expected |= {
        "root": "/srv/www",
        "listen": "127.0.0.1:8000,127.0.0.1:8001",
        "stats_socket": "/run/stats.sock",
    }
    assert expected == values


def test_affinity_plan_becomes_the_servers_cpus():
    """`process` pins workers to the CPUs set aside for the server."""
    assert parse(CORE.render({**DEFAULT, "affinity": "process"}, CONTEXT))["affinity"] == "0,2"


@pytest.mark.parametrize("exporter", EXPORTERS.values(), ids=EXPORTERS)
def test_affinity_without_cpus_is_refused(exporter):
    """There is nothing to pin to."""
    context = RenderContext(root="/srv/www", listen=("127.0.0.1:8000",))
    with pytest.raises(RenderError, match="affinity plan process"):
        exporter.export({**DEFAULT, "affinity": "process"}, context, evidence())


@pytest.mark.parametrize("root", ["/srv/a\nworkers = 9", "/srv/a ; b", " /srv", "/srv/" + "x" * 200])
def test_path_that_the_ini_form_cannot_hold_is_refused(root):
    """Rather than a file that says something else."""
    with pytest.raises(RenderError, match="root"):
        CORE.render(DEFAULT, RenderContext(root=root, listen=("127.0.0.1:8000",)))


@pytest.mark.parametrize("root", ["/srv/$a", '/srv/"a', "/srv/a\nb"])
def test_path_that_nginx_cannot_hold_is_refused(root):
    """A dollar sign would begin a variable."""
    context = RenderContext(root=root, listen=("127.0.0.1:8000",))
    with pytest.raises(RenderError, match="expected a path without"):
        EXPORTERS["nginx"].export(DEFAULT, context, evidence())


def test_exported_ini_says_the_same_as_the_rendered_one():
    """Comments and order are the only difference."""
    exported = EXPORTERS["trimtab-httpd"].export(EVERYTHING, CONTEXT, evidence())
    assert parse(CORE.render(EVERYTHING, CONTEXT)) == parse(exported)


def test_no_line_is_longer_than_the_ini_parser_reads():
    """The parser would take the rest of a long comment for a setting."""
    exported = EXPORTERS["trimtab-httpd"].export(EVERYTHING, CONTEXT, evidence())
    assert max(map(len, exported.splitlines())) <= LINE_LIMIT


@pytest.mark.parametrize("name", EXPORTERS)
def test_every_knob_is_commented_with_value_scope_and_effect(name):
    """Also those without an equivalent."""
    text = EXPORTERS[name].export(EVERYTHING, CONTEXT, evidence())
    joined = re.sub(r"\n\s*#   ", " ", text)
    for knob in CORE.space().knobs:
        comment = re.search(rf"# {knob.name} = {EVERYTHING[knob.name]}\b.*\n\s*# Measured effect.*", joined)
        assert comment, knob.name
        changed = EVERYTHING[knob.name] != DEFAULT[knob.name]
        assert changed == ("+23.4 % (95 % interval +20.1 to +26.8 %)" in comment[0])


@pytest.mark.parametrize("name", EXPORTERS)
def test_export_states_what_the_system_must_allow(name):
    """Descriptors for connections, cache and reserve, and the accept queue."""
    text = re.sub(r"\n#   ", " ", EXPORTERS[name].export(EVERYTHING, CONTEXT, evidence()))
    assert f"ulimit -n {1334 + 30_000 + 64}" in text
    assert "net.core.somaxconn of at least 4096" in text


def test_gain_of_one_knob_is_stated_for_that_knob():
    """Where the run has compared configurations that differ in it alone."""
    single = Gain(gain=0.1, low=0.05, high=0.15, significant=True, blocks=4)
    text = EXPORTERS["trimtab-httpd"].export(TUNED, CONTEXT, evidence(knob_gains={"workers": single}))
    joined = text.replace("\n#   ", " ")
    assert "Measured effect under specweb99: +10.0 % (95 % interval +5.0 to +15.0 %) against 1." in joined


def test_export_of_the_default_claims_nothing():
    """No gain, no effect."""
    text = EXPORTERS["trimtab-httpd"].export(DEFAULT, CONTEXT, evidence(gain=None))
    assert "No gain over the default configuration is claimed." in text
    assert "interval" not in text


def test_nginx_gets_connections_per_worker_and_its_own_sockets():
    """4,000 over 3 workers rounded up is 1,334, and 2 listeners and the channel make 1,337."""
    found = directives(EXPORTERS["nginx"].export(EVERYTHING, CONTEXT, evidence()))
    assert found["worker_connections"] == [["1337"]]
    assert found["worker_processes"] == [["3"]]
    assert [[str(1337 + 30_000 + 64)]] == found["worker_rlimit_nofile"]


def test_nginx_gets_the_other_knobs_in_its_own_terms():
    """Masks for CPUs, options of listen, timeouts."""
    found = directives(EXPORTERS["nginx"].export(EVERYTHING, CONTEXT, evidence()))
    assert found["worker_cpu_affinity"] == [["1", "100", "1"]]
    assert found["listen"] == [
        ["127.0.0.1:8000", "backlog=4096", "sndbuf=65536"],
        ["127.0.0.1:8001", "backlog=4096", "sndbuf=65536"],
    ]
    assert found["sendfile"] == [["on"]]
    assert found["keepalive_timeout"] == [["15s"]]
    assert [["10s"]] == found["client_header_timeout"] == found["send_timeout"]
    assert found["open_file_cache"] == [["max=30000", "inactive=60s"]]


@pytest.mark.parametrize(
    ("limit", "multi_accept", "marked"), [(1, "off", False), ("inf", "on", False), (16, "on", True)]
)
def test_nginx_accepts_one_or_all(limit, multi_accept, marked):
    """Anything between has no equivalent, and the file says so."""
    text = EXPORTERS["nginx"].export({**DEFAULT, "accept_limit": limit}, CONTEXT, evidence())
    assert [[multi_accept]] == directives(text)["multi_accept"]
    assert marked == ("No equivalent in nginx" in text)


def test_blocking_sendfile_has_no_equivalent_in_nginx():
    """And the file says so."""
    assert "No equivalent in nginx" in EXPORTERS["nginx"].export(TUNED, CONTEXT, evidence())
    assert "No equivalent in nginx" not in EXPORTERS["nginx"].export(DEFAULT, CONTEXT, evidence())


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize(
    "configuration", [DEFAULT, TUNED, EVERYTHING], ids=["default", "tuned", "everything"]
)
def test_nginx_accepts_the_exported_file(configuration, tmp_path):
    """nginx's own check, in an empty directory with no other file of nginx's."""
    exporter = EXPORTERS["nginx"]
    context = RenderContext(
        root="/srv/www with space", listen=("127.0.0.1:18999",), server_cpus=(0, 1), prefix=str(tmp_path)
    )
    file = tmp_path / exporter.file_name
    file.write_text(exporter.export(configuration, context, evidence()))
    check = subprocess.run(exporter.check_command(str(file)), capture_output=True, text=True, check=False)
    assert "test is successful" in check.stderr
    assert check.returncode == 0, check.stderr
    assert "[warn]" not in check.stderr


def test_check_commands_name_the_file_and_the_given_binary():
    """The supervisor passes the binary it has built."""
    assert CORE.check_command("/x.ini") == ("trimtab-httpd", "-t", "-c", "/x.ini")
    assert CORE.check_command("/x.ini", "/b/trimtab-httpd") == ("/b/trimtab-httpd", "-t", "-c", "/x.ini")
