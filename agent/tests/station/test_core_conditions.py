"""What the space of trimtab-httpd offers is what the server takes: the server itself is asked."""

import subprocess
from random import Random

import pytest
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.servers.core.knobs import FREE, KNOBS

CORE = TARGETS["core"]


def refusal(settings, directory, configuration):
    """What the server's own check says of a configuration; empty if it accepts it."""
    context = RenderContext(root=str(directory), listen=("127.0.0.1:8000",))
    file = directory / "asked.ini"
    file.write_text(CORE.render(configuration, context))
    said = subprocess.run(
        [settings.httpd_path, "-t", "-c", file], capture_output=True, text=True, check=False
    )
    return said.stderr if said.returncode else ""


@pytest.mark.parametrize("architecture", FREE)
def test_space_offers_exactly_what_the_server_takes(settings, tmp_path, architecture):
    """Every word of every knob, and the ends of the others, the rest at the architecture's defaults.

    With so few connections that any number of processes has descriptors for them. What an n-copy server's
    copies take is theirs to say.
    """
    start = {**CORE.space(architecture).default(), "max_connections": 512}
    space = CORE.space(architecture).model_copy(update={"fixed": {}})
    wrong = []
    for knob in KNOBS:
        if knob.name in ("architecture", "max_connections", "affinity"):
            continue
        for value in knob.choices or (knob.low, 2):
            configuration = {**start, knob.name: value}
            said = refusal(settings, tmp_path, configuration)
            if bool(said) == space.allows(configuration) and "a copy of" not in said:
                wrong.append(f"{knob.name} = {value}: {said or 'taken, but not offered'}")
    assert wrong == []


def test_server_takes_what_is_made_of_a_file_with_all_that_an_administrator_sets(settings, tmp_path):
    """Tuned values go into the section [server], also where sections for paths stand behind it."""
    text = (
        f"[server]\nroot = {tmp_path}\nlisten = 127.0.0.1:8001\nmime_types = /dev/null\n"
        "charset = utf-8\nprecompressed = on\n[path /a/]\nheader = A: 1\nexpires_s = 5"
    )
    context = RenderContext(root=str(tmp_path), listen=("127.0.0.1:8000",))
    tuned = {**own_values(CORE, text, 2), "workers": 2}
    file = tmp_path / "asked.ini"
    for made in (
        CORE.changed(text, tuned, ("workers",), context),
        CORE.private(text, tuned, ("workers",), context),
    ):
        file.write_text(made)
        said = subprocess.run(
            [settings.httpd_path, "-t", "-c", file], capture_output=True, text=True, check=False
        )
        assert said.stderr == ""
        assert "\nworkers = 2\n" in said.stdout
        assert said.stdout.endswith("[path /a/]\nexpires_s = 5\nheader = A: 1\n")


@pytest.mark.parametrize("architecture", FREE)
def test_server_takes_every_value_that_is_tuned_by_default(settings, tmp_path, architecture):
    """Alone and with others drawn at random; so many connections that no process runs out of descriptors."""
    space, draw = CORE.space(architecture), Random(1)
    space = space.restrict("max_connections", high=4096) if "max_connections" in FREE[architecture] else space
    start = space.default()
    asked = [
        {**start, knob.name: value} for knob in space.free for value in knob.choices or (knob.low, knob.high)
    ]
    asked += [{**start, **{knob.name: knob.at(draw.random()) for knob in space.free}} for _ in range(30)]
    allowed = [configuration for configuration in asked if space.allows(configuration)]
    assert len(allowed) >= 10 or len(allowed) == len(asked)
    assert [said for c in allowed if (said := refusal(settings, tmp_path, c))] == []
