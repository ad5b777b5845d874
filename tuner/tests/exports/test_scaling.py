"""A number of workers is exported for all CPUs of the machine, not for those that the server had."""

import re
from dataclasses import replace

import pytest
from trimtab_tuner.certainty.setting_effects import SettingEffect
from trimtab_tuner.certainty.statistics import Gain
from trimtab_tuner.exports import ExportOrder, export_files
from trimtab_tuner.exports.scaling import scale
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import ExportEvidence, RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.targets.sources import recorded_sources

AUTO = "worker_processes auto;\nevents {\n    worker_connections 512;\n}\nhttp {\n}\n"
SHOWN = Gain(gain=0.3, low=0.2, high=0.4, significant=True, blocks=3)
UNSURE = Gain(gain=0.025, low=-0.02, high=0.07, significant=False, blocks=3)


def order(name, tuned, server_cpus=0, cpus=0, effects=(), **changes):
    """What to export for a target: tuned knobs, everything else at its default."""
    space = TARGETS[name].space(cpus=2)
    default = changes.pop("default", space.default())
    about = {"run": "7", "date": "2026-01-02", "host": "x", "workload": "x", "objective": "x", "trials": 1}
    return ExportOrder(
        target=TARGETS[name],
        space=space,
        configuration={**default, **tuned},
        context=RenderContext(
            root="/srv", listen=("127.0.0.1:80",), server_cpus=(3, 5), prefix="/x", error_log="/x/log"
        ),
        evidence=ExportEvidence(
            **about, default=default, server_cpus=server_cpus, cpus=cpus, effects=effects
        ),
        **changes,
    )


def exported(made):
    """The texts by format."""
    return {file.format: file.text for file in export_files(made)}


def joined(text):
    """Comments with their wrapped lines put together."""
    return re.sub(r"\n\s*#   ", " ", text)


def own_file(text, tuned, **changes):
    """The files of a run that began with a user's own nginx.conf; the server had 2 of 8 CPUs."""
    default = own_values(TARGETS["nginx"], text, 2)
    base = {"path": "/etc/nginx/nginx.conf", "text": text, "expanded": text}
    return order(
        "nginx",
        tuned=tuned,
        default=default,
        base=recorded_sources(base),
        expanded=text,
        server_cpus=2,
        cpus=8,
        **changes,
    )


def effect_of(gain):
    """What the elimination says of six workers."""
    return (SettingEffect(knob="worker_processes", value=6, default=2, kept=True, gain=gain),)


def test_multiple_per_cpu_is_written_for_all_cpus_and_told():
    """In the complete file, the one to merge, and the README; and the other servers get as many."""
    made = order("core", tuned={"workers": 6}, server_cpus=2, cpus=8)
    files = exported(made)
    told = (
        "workers is 24 in the exported files, 3 per CPU on all CPUs: 6 was measured on 2 of the machine's 8 "
        "CPUs."
    )
    assert made.target.parse(files["trimtab-httpd"], 8)["workers"] == 24
    for name in ("trimtab-httpd", "trimtab-httpd-changes", "readme"):
        assert told in joined(files[name])
    assert "worker_processes 24;" in files["nginx"]


def test_what_is_driven_once_more_has_as_many_workers_as_were_measured():
    """On the CPUs that the server had."""
    made = order("core", tuned={"workers": 6}, server_cpus=2, cpus=8)
    again = order("core", tuned={"workers": 6}, server_cpus=2, cpus=8, as_measured=True)
    assert (made.written["workers"], again.written["workers"]) == (24, 6)
    assert made.scaled.note().startswith("It was driven with workers = 6 as measured")


@pytest.mark.parametrize(
    "made",
    [
        order("core", tuned={"workers": 6}, server_cpus=2, cpus=2),
        order("core", tuned={"workers": 1}, server_cpus=2, cpus=8),
        order("core", tuned={"workers": 6}),
    ],
)
def test_number_stays_where_there_is_nothing_to_count_for(made):
    """All CPUs served; it is the default; how many there are is not known."""
    assert made.scaled is None
    assert made.written == made.configuration


def test_auto_of_an_own_file_stays_where_one_per_cpu_wins():
    """Nothing of it is touched."""
    made = own_file(AUTO, {"worker_connections": 9000})
    text = exported(made)["nginx"]
    assert "worker_processes auto;" in text
    assert "worker_connections 9000;" in text
    said = made.scaled.sentence()
    assert said.startswith("worker_processes stays one per CPU, which is the default")
    assert said.endswith("2 was measured on 2 of the machine's 8 CPUs.")


def test_auto_stays_where_another_number_is_not_shown_to_differ():
    """It was the winner's, but its own effect is not told from nothing."""
    made = own_file(AUTO, {"worker_processes": 6}, effects=effect_of(UNSURE))
    assert "worker_processes auto;" in exported(made)["nginx"]
    assert "6 on 2 of the machine's 8 CPUs was not shown to differ." in made.scaled.sentence()
    assert "worker_processes" not in made.to_write


def test_auto_gives_way_where_only_all_settings_together_were_measured():
    """What these give together says nothing of the number of workers."""
    together = (effect_of(UNSURE)[0].model_copy(update={"together": ("sendfile",)}),)
    made = own_file(AUTO, {"worker_processes": 6}, effects=together)
    assert "worker_processes 24;" in exported(made)["nginx"]


def test_auto_gives_way_to_a_multiple_that_was_shown_to_be_better():
    """For all CPUs."""
    made = own_file(AUTO, {"worker_processes": 6}, effects=effect_of(SHOWN))
    assert "worker_processes 24;" in exported(made)["nginx"]
    assert "24 in the exported files, 3 per CPU" in made.scaled.sentence()


def test_number_of_an_own_file_stays_what_its_user_wrote():
    """It is the default of the run, and no word that stands for all CPUs."""
    made = own_file(AUTO.replace("auto", "2"), {"worker_connections": 9000})
    assert made.scaled is None
    assert "worker_processes 2;" in exported(made)["nginx"]


def test_server_that_counts_cpus_itself_has_one_thread_for_each_in_its_file():
    """h2o's own default; what has only been counted anew is no change."""
    made = order("h2o", tuned={}, server_cpus=2, cpus=8)
    assert made.target.parse(exported(made)["h2o"], 8)["num-threads"] == 8
    assert made.to_write == ()


def from_values(name, default, each_cpu=(), tuned=None, **changes):
    """The files of a run that began with the values of a user's file; the server had 1 of 2 CPUs."""
    made = order(name, tuned=tuned or {}, default=default, server_cpus=1, cpus=2, **changes)
    return replace(made, space=made.space.with_defaults(default).with_each_cpu(each_cpu))


def test_one_that_was_auto_in_the_users_file_is_one_for_each_cpu_of_the_machine():
    """Only its values were taken: 1 on the server's one CPU. What is to be merged leaves `auto` alone."""
    default = {**TARGETS["nginx"].space(cpus=1).default(), "worker_processes": 1}
    made = from_values("nginx", default, {"worker_processes"}, {"worker_connections": 9000})
    files = exported(made)
    assert TARGETS["nginx"].parse(files["nginx"], 2)["worker_processes"] == 2
    assert made.to_write == ("worker_connections",)
    assert "worker_processes" not in files["nginx-changes"]
    assert "(default one for each CPU)" in joined(files["nginx"])
    assert "| one for each CPU |" in files["readme"]
    assert made.scaled.sentence() in joined(files["nginx"])
    assert made.scaled.sentence() == (
        "worker_processes stays one per CPU, which is the default; 1 was measured on 1 of the machine's 2 "
        "CPUs."
    )


@pytest.mark.parametrize(("name", "knob"), [("nginx", "worker_processes"), ("core", "workers")])
def test_one_that_is_a_servers_own_default_stays_1_and_is_told_as_1(name, knob):
    """nginx and core do not count CPUs where they are told nothing."""
    made = from_values(name, TARGETS[name].space(cpus=1).default())
    files = exported(made)
    assert made.scaled is None
    assert TARGETS[name].parse(files[TARGETS[name].program], 2)[knob] == 1
    assert "(default 1)" in joined(files[TARGETS[name].program])
    assert "one for each CPU" not in files["readme"]


def test_auto_of_the_users_own_file_is_told_as_one_for_each_cpu():
    """With the whole file, in which the word stays."""
    made = own_file(AUTO, tuned={"worker_connections": 9000})
    space = made.space.with_defaults({"worker_processes": 2}).with_each_cpu({"worker_processes"})
    files = exported(replace(made, space=space))
    assert "worker_processes auto;" in files["nginx"]
    assert "| `worker_processes` | one for each CPU | one for each CPU |" in files["readme"]


def test_auto_that_was_not_tuned_follows_all_cpus_too():
    """What a run fixes at a default that follows them."""
    default = {**TARGETS["nginx"].space(cpus=1).default(), "worker_processes": 1}
    made = from_values("nginx", default, {"worker_processes"})
    made = replace(made, space=made.space.fix("worker_processes", 1))
    assert TARGETS["nginx"].parse(exported(made)["nginx"], 2)["worker_processes"] == 2


def test_number_that_the_user_fixed_stays():
    """What was decided is not ours."""
    made = order("core", tuned={"workers": 6}, server_cpus=2, cpus=8)
    assert replace(made, space=made.space.fix("workers", 6)).scaled is None


@pytest.mark.parametrize("name", TARGETS)
def test_scaled_number_is_one_that_the_server_takes(name):
    """The nearest of its choices, and no more than its knob's most."""
    target = TARGETS[name]
    default = target.space(cpus=2).default()
    knob = target.space(cpus=96).of_role(Role.WORKERS)
    scaled = scale(target, {**default, knob.name: 6}, default, None, 2, 96)
    assert scaled is not None
    assert knob.contains(scaled.value)
    assert scaled.value > 6
