"""The limit on connections for pauses as they are: by Little's law, within what the host allows."""

import math
from dataclasses import replace

import pytest
from trimtab_tuner.checking import check
from trimtab_tuner.checking.machine import Descriptors, Machine
from trimtab_tuner.checking.statements import read
from trimtab_tuner.exports import ExportOrder, export_files
from trimtab_tuner.exports.lifting import lift
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.backends import BACKENDS, with_backend
from trimtab_tuner.targets.base import DESCRIPTOR_RESERVE, ExportEvidence, RenderContext
from trimtab_tuner.targets.kernel import kernel_knob, with_kernel
from trimtab_tuner.targets.pauses import Pauses, Room
from trimtab_tuner.targets.sources import recorded_sources

CPUS = (0, 1)
# A session of 3 s of pauses took 0.3 s and 0.1 s of transfers; with the pauses as they are, 3.1 s.
PAUSES = Pauses(
    time_scale=0.1,
    timeout_s=1.0,
    requests=7.0,
    pause_s=3.0,
    transfer_s=0.1,
    sessions_rps=500.0,
    most_sessions_rps=1000.0,
)
FACTOR = 3.1 / 0.4
ROOM = Room(descriptors=1_000_000, memory_bytes=64 << 30)
LIMITS = {
    "core": ("max_connections", 800),
    "nginx": ("worker_connections", 400),
    "lighttpd": ("server.max-connections", 400),
    "apache": ("AsyncRequestWorkerFactor", 2),
    "h2o": ("max-connections", 800),
    "mariadb": ("max_connections", 800),
}


def configured(name, value=None):
    """The target's default with another limit; its workers are two, where it has so many."""
    target = TARGETS[name]
    knob, limit = LIMITS[name]
    return {**target.space(cpus=len(CPUS)).default(), knob: limit if value is None else value}


def order(name, value=None, pauses=PAUSES, room=ROOM, **changes):
    """What to export."""
    target = TARGETS[name]
    space = target.space(cpus=len(CPUS))
    return ExportOrder(
        **{
            "target": target,
            "space": space,
            "configuration": configured(name, value),
            "context": RenderContext(
                root="/srv/www", listen=("127.0.0.1:8000",), server_cpus=CPUS, prefix="/var/own"
            ),
            "evidence": ExportEvidence(
                run="7",
                date="2026-01-02",
                host="bench",
                workload="specweb99",
                objective="condensed-area",
                trials=16,
                default=space.default(),
                pauses=pauses,
                room=room,
            ),
            **changes,
        }
    )


def total(name, configuration):
    """Connections over all workers."""
    return TARGETS[name].equivalents[Role.CONNECTIONS].read(configuration)


def test_lengths_of_sessions_are_pauses_and_transfers():
    """Little's law goes by the whole session."""
    assert (PAUSES.measured_s, PAUSES.unscaled_s) == (pytest.approx(0.4), pytest.approx(3.1))
    assert PAUSES.factor == pytest.approx(FACTOR)
    assert PAUSES.most_open == pytest.approx(10_000)


@pytest.mark.parametrize("name", TARGETS)
def test_limit_grows_as_sessions_do(name):
    """Over all workers at least as many connections as the same sessions a second hold; and hardly more."""
    made = order(name)
    knob, _ = LIMITS[name]
    wanted = min(math.ceil(total(name, made.configuration) * FACTOR), 10_000)
    assert made.lifted is not None
    assert made.lifted.wanted == wanted
    assert total(name, made.written) == made.lifted.allowed >= wanted
    smaller = {**made.written, knob: _one_less(name, knob, made.written[knob])}
    assert total(name, smaller) < wanted


def _one_less(name, knob, value):
    choices = TARGETS[name].space(cpus=len(CPUS)).knob(knob).choices
    return choices[choices.index(value) - 1] if choices else value - 1


@pytest.mark.parametrize(
    "pauses",
    [
        replace(PAUSES, time_scale=1.0),
        replace(PAUSES, time_scale=3.0),
        replace(PAUSES, pause_s=0.0),
        Pauses(time_scale=0.1, timeout_s=1.0),
        None,
    ],
    ids=["unscaled", "longer", "without pauses", "unknown", "earlier version"],
)
def test_without_shortened_pauses_the_limit_is_the_measured_one(pauses):
    """Nothing is lifted, and nothing said of it."""
    made = order("core", pauses=pauses)
    assert made.lifted is None
    assert made.written == made.configuration
    assert not any("Little's law" in file.text for file in export_files(made))


def test_limit_that_limits_nothing_stays():
    """More connections than that can never be open, with pauses as they are either."""
    assert order("core", 10_000).lifted is None
    nearly = order("core", 9_000).lifted
    assert nearly is not None
    assert nearly.value == 10_000
    assert "no more than can be open within the time limit" in nearly.sentences()[2]


@pytest.mark.parametrize("name", TARGETS)
def test_limit_never_goes_past_the_descriptors_of_a_process(name):
    """The largest that fits is taken, and the comment says what is missing."""
    target, configuration = TARGETS[name], configured(name)
    knob, measured = LIMITS[name]
    twice = target.demands({**configuration, knob: measured * 2})
    descriptors = 2 * twice.connections + DESCRIPTOR_RESERVE
    lifted = lift(target, configuration, 2, PAUSES, replace(ROOM, descriptors=descriptors))
    assert lifted is not None
    assert lifted.value >= measured * 2
    assert target.demands({**configuration, knob: lifted.value}).connections <= twice.connections
    assert lifted.allowed < lifted.wanted
    assert f"no more than {lifted.allowed:,} are possible" in lifted.sentences()[2]


def test_limit_never_takes_more_than_its_share_of_the_memory():
    """By what a connection was measured to take."""
    room = Room(descriptors=1_000_000, memory_bytes=100 << 20, connection_bytes=25_600, measured=True)
    lifted = order("core", room=room).lifted
    assert lifted is not None
    assert lifted.value == (50 << 20) // 25_600
    assert "25 KiB for each connection (the server's part measured)" in lifted.sentences()[2]


def test_measured_limit_is_not_made_less_where_sockets_fit_and_what_is_missing_is_said():
    """A host without more room keeps what was measured there, though not each has a file."""
    made = order("core", room=replace(ROOM, descriptors=1000))
    assert made.written == made.configuration
    assert made.lifted is not None
    assert "800 are more than have a file each, so no more are possible" in made.lifted.sentences()[2]
    assert made.lifted.note() == ""  # nothing else was driven than what is in the file


@pytest.mark.parametrize("hard", [4096, 20_000, 1_048_576])
@pytest.mark.parametrize("limit", [400, 11_000, 40_000])
@pytest.mark.parametrize("scale", [0.1, 1.0])
@pytest.mark.parametrize("name", [name for name in TARGETS if name != "apache"])
def test_check_finds_no_error_in_what_is_exported(name, scale, limit, hard):
    """Whatever was measured, and however many files the system lets a process open."""
    made = order(name, limit, replace(PAUSES, time_scale=scale), replace(ROOM, descriptors=hard))
    made = replace(made, context=replace(made.context, descriptors=hard))
    target, text = TARGETS[name], next(export_files(made)).text
    machine = Machine(
        cpus=2.0, online=CPUS, allowed=CPUS, descriptors=Descriptors(1024, hard, "it"), somaxconn=65_535
    )
    found = [each for each in check(read(target, text), machine) if each.severity == "error"]
    assert not found


@pytest.mark.parametrize("name", TARGETS)
def test_exported_file_has_the_lifted_limit_and_names_both(name):
    """In the file of the server, in what changed, and in the README; time scale and time limit besides."""
    made = order(name)
    files = {file.format: file.text for file in export_files(made)}
    program = TARGETS[name].program
    knob, measured = LIMITS[name]
    read = TARGETS[name].parse(files[program], len(CPUS))
    assert read[knob] == made.written[knob] != measured
    for text in (files[program], files[f"{program}-changes"], files["readme"]):
        flat = " ".join(text.replace("\n#", " ").split())
        assert f"The limit found is {measured}, with pauses 0.1 times those of the workload" in flat
        assert "Little's law: 500 sessions/s of 0.40 s held 200 connections open; of 3.10 s" in flat
        assert "they hold 1,550" in flat
    for format_, text in files.items():
        if "Trimtab" in text:
            flat = " ".join(text.replace("\n#", " ").split())
            assert "Time scale 0.1 (of the workload's pauses), time limit 1 s." in flat, format_


@pytest.mark.parametrize("name", TARGETS)
def test_text_that_is_driven_has_the_limit_as_measured_and_all_else_alike(name):
    """Settings differ in the limit alone, with what follows from it."""
    made = order(name)
    knob, measured = LIMITS[name]
    target = TARGETS[name]
    driven = next(export_files(replace(made, as_measured=True))).text
    exported = next(export_files(made)).text
    as_driven, as_exported = target.parse(driven, len(CPUS)), target.parse(exported, len(CPUS))
    assert as_driven[knob] == measured
    differing = {name for name, value in as_exported.items() if as_driven[name] != value}
    assert differing <= {knob, "server.max-fds"}  # lighttpd's descriptors follow from the limit


def test_limit_that_its_user_has_set_stays():
    """One that the run was told by the user, other than the default."""
    space = TARGETS["core"].space(cpus=len(CPUS))
    fixed = space.model_copy(update={"fixed": {**space.fixed, "max_connections": 800}})
    assert order("core", space=fixed).lifted is None
    assert order("core").lifted is not None


def test_own_file_keeps_a_limit_that_was_not_tuned():
    """Every other byte of it stays, so that one as well."""
    base = "events { worker_connections 400; }\nhttp { server { listen 80; } }\n"
    made = order(
        "nginx", base=recorded_sources({"path": "/etc/nginx/nginx.conf", "text": base}), expanded=base
    )
    of_base = replace(made, evidence=replace(made.evidence, default=made.configuration))
    assert of_base.lifted is None
    assert next(export_files(of_base)).text == base
    tuned = replace(
        made, evidence=replace(made.evidence, default={**made.configuration, LIMITS["nginx"][0]: 7})
    )
    assert tuned.lifted is not None
    assert f"worker_connections {tuned.lifted.value};" in next(export_files(tuned)).text


def test_time_scale_and_time_limit_stand_in_every_exported_file():
    """Whichever of them somebody takes along; units of replicas, pool of PHP and the kernel's files too."""
    made, huge_pages = order("nginx"), kernel_knob("transparent_hugepage").here("madvise")
    php_too = with_backend(made.space, BACKENDS["php"])
    made = replace(
        made,
        space=with_kernel(php_too, [huge_pages], free=("transparent_hugepage",)),
        configuration={
            **php_too.default(),
            **made.configuration,
            "replicas": 2,
            "transparent_hugepage": "always",
        },
        context=replace(made.context, php_socket="/run/php.sock"),
    )
    files = list(export_files(made))
    assert {"php-fpm", "tmpfiles", "systemd-1", "sysctl", "tuned", "readme"} <= {
        file.format for file in files
    }
    for file in files:
        text = " ".join(line.lstrip("#; ") for line in file.text.splitlines())
        assert f"Time scale {PAUSES.time_scale:g}" in text, file.format
        assert f"time limit {PAUSES.timeout_s:g} s" in text, file.format
