"""A limit on connections is exported no higher than twice what was open asks for."""

import re
from dataclasses import replace

import pytest
from trimtab_tuner.exports import ExportOrder, export_files
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import ExportEvidence, RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.pauses import Pauses, Room
from trimtab_tuner.targets.sources import recorded_sources

LIMITS = {
    "core": "max_connections",
    "nginx": "worker_connections",
    "lighttpd": "server.max-connections",
    "h2o": "max-connections",
    "mariadb": "max_connections",
}
FOUND = 16_384


def order(name, most_open, cpus=(2, 2), default=None, tuned=None, **changes):
    """What to export where the search took a limit of 16,384 and a worker for each of the server's CPUs."""
    target, (server_cpus, all_cpus) = TARGETS[name], cpus
    space = target.space(cpus=server_cpus)
    default = space.default() if default is None else default
    evidence = ExportEvidence(
        run="7",
        date="2026-01-02",
        host="bench",
        workload="specweb99",
        objective="condensed-area",
        trials=16,
        default=default,
        server_cpus=server_cpus,
        cpus=all_cpus,
        most_open=most_open,
        room=Room(descriptors=1_000_000, memory_bytes=64 << 30),
    )
    pauses = changes.pop("pauses", None)
    return ExportOrder(
        **{
            "target": target,
            "space": space,
            "configuration": {**default, LIMITS[name]: FOUND, **(tuned or {})},
            "context": RenderContext(
                root="/srv/www", listen=("127.0.0.1:8000",), server_cpus=(0, 1), prefix="/var/own"
            ),
            "evidence": replace(evidence, pauses=pauses),
            **changes,
        }
    )


def written(made):
    """The limit in the file."""
    return made.written[LIMITS[made.target.name]]


@pytest.mark.parametrize("name", LIMITS)
def test_limit_leaves_room_for_twice_what_was_open(name):
    """Over all workers; so says the file, which is what is driven again, and its README."""
    made = order(name, 4_210)
    total = TARGETS[name].equivalents[Role.CONNECTIONS].read
    assert 2 * 4_210 <= total(made.written) <= 2 * 4_210 * 1.03
    files = {file.format: file.text for file in export_files(made)}
    program = TARGETS[name].program
    assert TARGETS[name].parse(files[program], 2)[LIMITS[name]] == written(made)
    sentence = made.lowered.sentence()
    assert "at most 4,210 connections were open" in sentence
    assert "leaves room for twice as many" in sentence
    assert "measured with 16,384" in sentence
    for text in (files[program], files[f"{program}-changes"], files["readme"]):
        assert sentence in " ".join(re.sub(r"\n\s*#", " ", text).split())
    again = next(export_files(replace(made, as_measured=True))).text
    assert TARGETS[name].parse(again, 2)[LIMITS[name]] == written(made)


def test_limit_in_all_is_rounded_up_to_two_figures():
    """And the sentence names it."""
    made = order("core", 4_210)
    assert written(made) == 8_500
    assert made.lowered.sentence() == (
        "max_connections: at most 4,210 connections were open; 8,500 leaves room for twice as many. It was "
        "measured with 16,384."
    )


def test_limit_for_each_worker_has_room_for_all_that_was_open():
    """Workers are never loaded quite evenly: eleven get no eleventh each."""
    made = order("nginx", 4_210, tuned={"worker_processes": 11})
    assert written(made) == 4_300
    assert "4,300 for each worker leaves room" in made.lowered.sentence()


def test_what_was_open_grows_with_the_cpus_of_the_machine():
    """The server had one of four: as many clients are four times the connections there."""
    assert written(order("core", 1_000, cpus=(1, 4))) == 8_000
    sentence = order("core", 1_000, cpus=(1, 4)).lowered.sentence()
    assert "were open on 1 of 4 CPUs; 8,000 leaves room for twice as many, on all of them" in sentence


@pytest.mark.parametrize("most_open", [8_200, 20_000, 500, 0, None])
def test_limit_stays_that_is_needed_or_would_do_with_the_default(most_open):
    """Twice 8,200 is more than was measured, and twice 500 less than core's own limit of 1,024."""
    made = order("core", most_open)
    assert made.lowered is None
    assert made.written == made.configuration


def test_limit_for_real_pauses_follows_from_what_is_enough():
    """Half as long pauses: of 8,500 that are enough so, and not of the 16,384 that were found."""
    pauses = Pauses(
        time_scale=0.5,
        timeout_s=10.0,
        requests=7.0,
        pause_s=3.0,
        transfer_s=0.0,
        sessions_rps=500.0,
        most_sessions_rps=10_000.0,
    )
    made = order("core", 4_210, pauses=pauses)
    assert written(made) == 17_000
    text = " ".join(re.sub(r"\n\s*#", " ", next(export_files(made)).text).split())
    assert "8,500 leaves room for twice as many" in text
    assert "As it was measured, 16,384: Measured effect" in text


def test_limit_that_its_user_has_set_stays():
    """One that the run was told, and one of an own file that was not tuned."""
    space = TARGETS["core"].space(cpus=2)
    fixed = space.model_copy(update={"fixed": {**space.fixed, "max_connections": FOUND}})
    assert order("core", 4_210, space=fixed).lowered is None
    base = "events { worker_connections 16384; }\nhttp { server { listen 80; } }\n"
    own = order(
        "nginx",
        4_210,
        default=own_values(TARGETS["nginx"], base, 2),
        base=recorded_sources({"path": "/etc/nginx/nginx.conf", "text": base}),
        expanded=base,
    )
    assert own.lowered is None
    assert next(export_files(own)).text == base


def test_limit_of_threads_stays():
    """Apache's is for each idle thread; fewer of them would be fewer requests at once."""
    space = TARGETS["apache"].space(cpus=2)
    made = order("core", 100, space=space, target=TARGETS["apache"], configuration=space.default())
    tuned = replace(made, configuration={**space.default(), "AsyncRequestWorkerFactor": 32})
    tuned = replace(tuned, evidence=replace(made.evidence, default=space.default()))
    assert tuned.lowered is None
