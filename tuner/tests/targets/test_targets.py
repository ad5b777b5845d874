"""Rendering and exporting; nginx's own check where nginx is installed."""

import configparser
import re

import pytest
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.roles import Role
from trimtab_tuner.space import SpaceError
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import ExportEvidence, RenderContext, RenderError
from trimtab_tuner.targets.placement import REPLICA_KNOBS

CORE = TARGETS["core"]
DEFAULT = CORE.space().default()
TUNED = {**DEFAULT, "workers": 3, "max_connections": 4000, "sendfile": "blocking"}
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
    return ExportEvidence(**{**fields, **changes})


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
    expected = {name: str(value) for name, value in TUNED.items() if name not in REPLICA_KNOBS}
    expected |= {
        "root": "/srv/www",
        "listen": "127.0.0.1:8000,127.0.0.1:8001",
        "stats_socket": "/run/stats.sock",
    }
    assert expected == values


def test_affinity_plan_becomes_the_servers_cpus():
    """`process` pins workers to the CPUs set aside for the server."""
    assert parse(CORE.render({**DEFAULT, "affinity": "process"}, CONTEXT))["affinity"] == "0,2"


def test_affinity_without_known_cpus_is_left_to_the_server():
    """It knows those that it may use."""
    context = RenderContext(root="/srv/www", listen=("127.0.0.1:8000",))
    assert parse(CORE.render({**DEFAULT, "affinity": "process"}, context))["affinity"] == "auto"


@pytest.mark.parametrize("root", ["/srv/a\nworkers = 9", "/srv/a ; b", " /srv"])
def test_path_that_the_ini_form_cannot_hold_is_refused(root):
    """Rather than a file that says something else."""
    with pytest.raises(RenderError, match="root"):
        CORE.render(DEFAULT, RenderContext(root=root, listen=("127.0.0.1:8000",)))


@pytest.mark.parametrize("root", ["/srv/$a", '/srv/"a', "/srv/a\nb"])
def test_path_that_nginx_cannot_hold_is_refused(root):
    """A dollar sign would begin a variable."""
    context = RenderContext(root=root, listen=("127.0.0.1:8000",))
    with pytest.raises(RenderError, match="expected a path without"):
        TARGETS["nginx"].render(TARGETS["nginx"].space().default(), context)


def test_check_commands_name_the_file_and_the_given_binary():
    """The station passes the binary it has built."""
    assert CORE.check_command("/x.ini") == ("trimtab-httpd", "-t", "-c", "/x.ini")
    assert CORE.check_command("/x.ini", "/b/trimtab-httpd") == ("/b/trimtab-httpd", "-t", "-c", "/x.ini")


@pytest.mark.parametrize("name", [name for name in TARGETS if TARGETS[name].protocol == "http"])
def test_queues_are_placed_for_several_replicas_and_by_nobody_else(name):
    """A placement wants more than one replica, and no plan that steers queues as well."""
    space = TARGETS[name].space(cpus=4).model_copy(update={"fixed": {}})
    plan = TARGETS[name].equivalents[Role.PLACEMENT].knob
    direct = {**space.default(), "replica_placement": "direct"}
    with pytest.raises(SpaceError, match="replica_placement = direct: expected none where replicas = 1"):
        space.check(direct)
    with pytest.raises(SpaceError, match=f"expected none where {plan} = aligned"):
        space.check({**direct, "replicas": 2, plan: "aligned"})
    assert space.allows({**direct, "replicas": 2, plan: "process"})
    assert space.allows({**space.default(), "replicas": 4, plan: "aligned"})
    assert not space.allows({**space.default(), "replicas": 5})
