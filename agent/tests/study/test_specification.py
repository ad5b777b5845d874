"""What a run may be asked to do, and what is refused, by field."""

import re

import pytest
from trimtab_agent.errors import SpecError
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.study.specification import check
from trimtab_tuner.presets import PRESETS
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.definition import Definition


def test_bare_specification_is_the_quick_preset():
    """Everything has a default."""
    plan = check(RunSpec())
    assert plan.settings.budget_trials == PRESETS["quick"].settings.budget_trials
    assert {knob.name for knob in plan.space.free} == {"sendfile", "workers", "max_connections"}
    assert plan.estimate().duration_s > 0


def test_own_range_of_a_knob_goes_before_the_presets():
    """The preset narrows only what the user has no opinion on."""
    plan = check(RunSpec(knobs={"workers": KnobSpec(low=2, high=500)}))
    knobs = {knob.name: knob for knob in plan.space.free}
    assert (knobs["workers"].low, knobs["workers"].high) == (2, 500)
    assert knobs["max_connections"].high == PRESETS["quick"].settings.ranges["connections"].high
    assert "workers" not in plan.settings.ranges


def test_pool_of_php_is_a_knob_where_the_workload_is_dynamic():
    """And only there."""
    dynamic = check(RunSpec(target="nginx", workload="support"))
    assert "pm.max_children" in {knob.name for knob in dynamic.space.free}
    static = check(RunSpec(target="nginx"))
    assert "pm.max_children" not in {knob.name for knob in static.space.knobs}


@pytest.mark.parametrize(
    ("fields", "expected_s"),
    [
        ({"preset": "quick"}, (6.0, 5.0)),
        ({"preset": "thorough"}, (10.0, PRESETS["thorough"].settings.rate_duration_s)),
        ({"preset": "quick", "settings": {"timeout_s": 2.0, "rate_duration_s": 2.5}}, (2.0, 2.5)),
    ],
)
def test_customers_of_a_shop_have_time_for_its_queries(fields, expected_s):
    """Also where a preset shortens pauses and times; one's own times go before that."""
    settings = check(RunSpec(target="mariadb", **fields)).settings
    assert (settings.timeout_s, settings.rate_duration_s) == expected_s


def test_settings_of_tls_are_knobs_where_the_workload_speaks_it():
    """And only there; kind of key, sessions, tickets and records."""
    names = {"tls_key", "ssl_session_cache", "ssl_session_tickets", "ssl_buffer_size"}
    spec = RunSpec(target="nginx", workload="specweb99-tls")
    assert names < {knob.name for knob in check(spec).space.free}
    ecdsa = check(spec.model_copy(update={"knobs": {"tls_key": KnobSpec(fixed="ecdsa")}}))
    assert ecdsa.space.default()["tls_key"] == "ecdsa"
    assert names.isdisjoint(knob.name for knob in check(RunSpec(target="nginx")).space.knobs)


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        (
            {"target": "core"},
            "workload",
            "core; expected a workload without [tls], or one of",
        ),
    ],
)
def test_tls_where_it_cannot_be_configured_is_refused(fields, field, sentence):
    """With what would do instead."""
    with pytest.raises(SpecError, match=re.escape(sentence)) as refusal:
        check(RunSpec(workload="specweb99-tls", **fields))
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("tls", "fields", "field", "sentence"),
    [
        (True, {"target": "core"}, "workload", "its visitors speak HTTP/2, and the target core does not"),
        (False, {"target": "nginx"}, "workload", "expected [tls] beside [http2], or one of the targets"),
    ],
)
def test_http2_where_it_cannot_be_configured_is_refused(tls, fields, field, sentence):
    """With what would do instead."""
    definition = WORKLOADS["specweb99-h2"]
    if not tls:
        definition = definition.model_copy(update={"name": "h2c", "tls": None})
    with pytest.raises(SpecError, match=re.escape(sentence)) as refusal:
        check(RunSpec(definition=definition, **fields))
    assert refusal.value.field == field


def test_http2_adds_its_knobs_to_those_of_tls():
    """Streams and chunks are tuned; that it is spoken is not."""
    space = check(RunSpec(target="nginx", workload="specweb99-h2")).space
    free = {knob.name for knob in space.free}
    assert {"tls_key", "http2_max_concurrent_streams", "http2_chunk_size"} <= free
    assert space.fixed["http2"] == "on"


def test_users_file_with_tls_is_the_default_of_a_run_over_tls(tmp_path):
    """The kind of key is that of his certificates: it is fixed, and nothing to be tuned."""
    file = tmp_path / "nginx.conf"
    file.write_text("events {} http { ssl_session_cache shared:a:20m; server { listen 443 ssl; } }")
    spec = RunSpec(target="nginx", workload="specweb99-tls", base=str(file))
    plan = check(spec)
    assert plan.space.default()["ssl_session_cache"] == 20
    assert plan.space.fixed["tls_key"] == "rsa"
    ecdsa = check(spec.model_copy(update={"knobs": {"tls_key": KnobSpec(fixed="ecdsa")}}))
    assert ecdsa.space.fixed["tls_key"] == "ecdsa"
    with pytest.raises(SpecError, match="tls_key: your file keeps its own certificates"):
        check(spec.model_copy(update={"knobs": {"tls_key": KnobSpec(choices=("rsa", "ecdsa"))}}))


BY_KERNEL = RunSpec(target="nginx", workload="specweb99-tls")
NO_TLS = Kernel(here=(), lacking=(), no_tls="it has not loaded it")


def test_tls_by_the_kernel_is_tuned_where_the_kernel_can(tmp_path):
    """And where not, it stays as it is in the file of the user, whatever that is."""
    assert "KTLS" in {knob.name for knob in check(BY_KERNEL).space.free}
    assert check(BY_KERNEL, kernel=lambda: NO_TLS).space.fixed["KTLS"] == "off"
    file = tmp_path / "nginx.conf"
    told = "ssl_conf_command Options KTLS;"
    file.write_text(f"events {{}} http {{ {told} server {{ listen 443 ssl; }} }}")
    own = BY_KERNEL.model_copy(update={"base": str(file)})
    assert check(own, kernel=lambda: NO_TLS).space.fixed["KTLS"] == "on"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "KTLS cannot be set on this machine: it has not loaded it"),
        ({"hosts": ("one", "two")}, "KTLS cannot be set: that is known of this machine alone; expected no"),
    ],
)
def test_tls_by_the_kernel_is_refused_where_the_kernel_cannot_or_nobody_knows(fields, why):
    """Unless it is asked to stay off."""
    asked = BY_KERNEL.model_copy(update=fields)
    for knob in (KnobSpec(fixed="on"), KnobSpec(choices=("off", "on"))):
        with pytest.raises(SpecError, match=re.escape(why)):
            check(asked.model_copy(update={"knobs": {"KTLS": knob}}), kernel=lambda: NO_TLS)
    off = asked.model_copy(update={"knobs": {"KTLS": KnobSpec(fixed="off")}})
    assert check(off, kernel=lambda: NO_TLS).space.fixed["KTLS"] == "off"


def test_fixed_knob_leaves_the_search():
    """Its value holds for every trial."""
    plan = check(RunSpec(knobs={"sendfile": KnobSpec(fixed="blocking")}))
    assert "sendfile" not in {knob.name for knob in plan.space.free}
    assert plan.space.default()["sendfile"] == "blocking"


def test_architecture_decides_which_knobs_are_free():
    """A sped server has one worker by definition."""
    plan = check(RunSpec(knobs={"architecture": KnobSpec(fixed="sped")}))
    assert {knob.name for knob in plan.space.free} == {"sendfile", "max_connections"}


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"preset": "fast"}, "preset", "expected one of quick"),
        ({"target": "iis"}, "target", "expected one of core"),
        ({"workload": "wc98"}, "workload", "expected one of specweb99"),
        ({"objective": "mean"}, "objective", "expected one of condensed-area"),
        ({"second_objective": "luck"}, "second_objective", "second_objective = 'luck': expected one of"),
        ({"objective": "peak", "second_objective": "peak"}, "second_objective", "another one"),
        ({"strategy": "luck"}, "strategy", "expected one of surrogate-race"),
        (
            {"knobs": {"workers": KnobSpec(fixed=3, low=2)}},
            "knobs.workers",
            "workers: fixed, low given together; expected either fixed, or what it may vary in",
        ),
        (
            {"target": "nginx", "settings": {"coarse_grid": {"sendfile": 2, "workers": 3, "threads": 3}}},
            "settings.coarse_grid",
            "coarse_grid: threads: no such knob; expected one of worker_processes",
        ),
        (
            {"settings": {"ranges": {"threads": {"low": 1, "high": 2}}}},
            "settings.ranges",
            "ranges: threads: no such knob; expected one of architecture",
        ),
        ({"budget_trials": -1}, "budget_trials", "at least 1"),
        ({"settings": {"timeout_s": 0}}, "settings.timeout_s", "timeout_s = 0"),
        ({"settings": {"warmup_s": 9}}, "settings.warmup_s", "expected less than rate_duration_s"),
        ({"settings": {"colour": 1}}, "settings.colour", "no such setting"),
        ({"knobs": {"workers": KnobSpec(low=0)}}, "knobs.workers", "expected an integer from 1"),
        ({"knobs": {"sendfile": KnobSpec(choices=("fast",))}}, "knobs.sendfile", "expected one of"),
        ({"knobs": {"threads": KnobSpec(fixed=1)}}, "knobs.threads", "threads"),
        (
            {"knobs": {"architecture": KnobSpec(fixed="forked")}},
            "knobs.architecture",
            "expected one of symped",
        ),
        (
            {"knobs": {"architecture": KnobSpec(fixed="sped"), "workers": KnobSpec(fixed=4)}},
            "knobs.workers",
            "workers = 4: expected 1 where architecture = sped",
        ),
        (
            {"knobs": {"architecture": KnobSpec(fixed="mt"), "accept_limit": KnobSpec(fixed="auto")}},
            "knobs.accept_limit",
            "accept_limit = auto: expected inf where architecture = mt",
        ),
        (
            {"knobs": {"helpers": KnobSpec(fixed=8)}},
            "knobs.helpers",
            "helpers = 8: expected 4 where architecture = symped",
        ),
        (
            {"knobs": {"workers": KnobSpec(low=8), "max_connections": KnobSpec(high=4)}},
            "knobs",
            "no configuration is possible: workers = 8: expected at most max_connections = 4",
        ),
        ({"objective": "mat: p999 < 4ms"}, "objective", "objective = 'mat: p999 < 4ms': the limit 'p999"),
        ({"settings": {"constraints": "p99 < 4ms"}}, "settings.constraints", "constraints: 'p99 < 4ms': exp"),
        (
            {"objective": "mat: p99 <= 1ms", "second_objective": "mat: p99<=1000us"},
            "second_objective",
            "it is the first objective already",
        ),
        (
            {
                "knobs": {
                    "workers": KnobSpec(fixed=1),
                    "sendfile": KnobSpec(fixed="blocking"),
                    "max_connections": KnobSpec(fixed=9),
                }
            },
            "knobs",
            "at least one knob",
        ),
        (
            {"settings": {"capacity_only": True}},
            "settings.capacity_only",
            "only a preset can set it; expected the preset 'capacity'",
        ),
        ({"new_base": "/new.conf"}, "new_base", "new_base: expected the preset 'compare' with it"),
        ({"preset": "compare"}, "base", "base: expected two files to compare, the old one and the new one"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(fields, field, sentence):
    """The error names the field, and says what was expected."""
    with pytest.raises(SpecError) as refusal:
        check(RunSpec(**fields))
    assert refusal.value.field == field
    assert sentence in refusal.value.sentence


def test_capacity_of_a_fully_given_configuration_may_be_asked_for():
    """A climb looks for nothing better, so no knob needs to be free."""
    knobs = {"workers": 1, "sendfile": "blocking", "max_connections": 9}
    given = {name: KnobSpec(fixed=value) for name, value in knobs.items()}
    plan = check(RunSpec(preset="capacity", knobs=given))
    assert not plan.space.free
    assert plan.estimate().duration_s > 0


def test_closed_loop_needs_the_limit_that_a_calibration_would_give():
    """Else its first trial could not be scored."""
    loop = {"loop": "closed", "connections": [1, 2]}
    closed = Definition.model_validate({**WORKLOADS["w1"].model_dump(), "clients": loop})
    with pytest.raises(SpecError, match="no calibration") as refusal:
        check(RunSpec(definition=closed, objective="mat"))
    assert refusal.value.field == "objective"
    with pytest.raises(SpecError, match="no calibration") as refusal:
        check(RunSpec(definition=closed, second_objective="mat"))
    assert refusal.value.field == "second_objective"
    assert check(RunSpec(definition=closed, objective="mat: p999 <= 4ms", second_objective="rss"))


def test_second_objective_lengthens_the_confirmation():
    """The other end of the front and its knee are confirmed too."""
    one, two = check(RunSpec()).estimate(), check(RunSpec(second_objective="rss")).estimate()
    assert two.trials - one.trials == 2 * PRESETS["quick"].settings.confirmation_repeats


def test_fixed_knobs_that_contradict_each_other_are_refused_with_a_sentence():
    """Else the server would refuse every trial."""
    knobs = {"workers": KnobSpec(fixed=64), "max_connections": KnobSpec(fixed=16)}
    with pytest.raises(SpecError, match="workers = 64: expected at most max_connections = 16"):
        check(RunSpec(knobs=knobs))


def test_users_own_file_is_taken_as_it_is(tmp_path):
    """Apache lowers MaxRequestWorkers to what its processes and threads allow, and so it is measured."""
    own = tmp_path / "apache2.conf"
    own.write_text("ServerLimit 4\nThreadsPerChild 25\nMaxRequestWorkers 400\nListen 80\n")
    plan = check(RunSpec(target="apache", base=str(own)))
    assert plan.space.default()["MaxRequestWorkers"] == 400


def apache_file(tmp_path, mpm, text=""):
    """The path of a file for Apache with that MPM."""
    own = tmp_path / f"{mpm}.conf"
    own.write_text(f"Listen 80\nLoadModule mpm_{mpm}_module modules/mod_mpm_{mpm}.so\n{text}")
    return str(own)


def test_own_file_is_tuned_for_the_mpm_that_it_is_written_for(tmp_path):
    """It has the knobs of that, begins at the file's values, and no other can be asked for."""
    own = apache_file(tmp_path, "prefork", "MaxRequestWorkers 150\n")
    space = check(RunSpec(target="apache", base=own)).space
    assert {knob.name for knob in space.free} == {"MaxRequestWorkers", "ListenBacklog", "EnableSendfile"}
    assert space.default()["MaxRequestWorkers"] == 150
    assert space.fixed["mpm"] == "prefork"
    with pytest.raises(SpecError, match="mpm = 'event': your file is for prefork, and stays so") as refusal:
        check(RunSpec(target="apache", base=own, knobs={"mpm": KnobSpec(fixed="event")}))
    assert refusal.value.field == "knobs.mpm"
    with pytest.raises(SpecError, match="ThreadsPerChild: no such knob"):
        check(RunSpec(target="apache", base=own, knobs={"ThreadsPerChild": KnobSpec(fixed=5)}))
    worker = check(RunSpec(target="apache", base=apache_file(tmp_path, "worker"))).space
    assert {knob.name for knob in worker.free} == {"ServerLimit", "ThreadsPerChild", "EnableSendfile"}


def test_another_mpm_may_be_asked_for_without_a_file():
    """Event is what Debian has."""
    asked = check(RunSpec(target="apache", knobs={"mpm": KnobSpec(fixed="prefork")})).space
    assert asked.default()["mpm"] == "prefork"
    assert check(RunSpec(target="apache")).space.default()["mpm"] == "event"
    with pytest.raises(SpecError, match="'itk': expected one of event, worker, prefork") as refusal:
        check(RunSpec(target="apache", knobs={"mpm": KnobSpec(fixed="itk")}))
    assert refusal.value.field == "knobs.mpm"


def test_http2_is_refused_to_prefork_which_does_not_speak_it(tmp_path):
    """mod_http2 turns it off there; php behind the server is served."""
    own = apache_file(tmp_path, "prefork")
    with pytest.raises(SpecError, match="apache does not with mpm = prefork") as refusal:
        check(RunSpec(target="apache", base=own, workload="specweb99-h2"))
    assert refusal.value.field == "workload"
    assert check(RunSpec(target="apache", base=own, workload="php")).space.default()["mpm"] == "prefork"


def test_files_for_different_mpms_are_not_compared(tmp_path):
    """They have other knobs, so one cannot be told in terms of the other."""
    files = {"base": apache_file(tmp_path, "prefork"), "new_base": apache_file(tmp_path, "event")}
    with pytest.raises(SpecError, match="is for mpm = event, and the old one for mpm = prefork") as refusal:
        check(RunSpec(preset="compare", target="apache", **files))
    assert refusal.value.field == "new_base"


def own_file_with_a_user(tmp_path, architecture):
    """The path of a file for trimtab-httpd."""
    own = tmp_path / "httpd.ini"
    own.write_text(f"[server]\nroot = /srv\nuser = www-data\narchitecture = {architecture}\n")
    return str(own)


def test_architecture_that_the_own_file_rules_out_is_not_searched(tmp_path):
    """A server refuses shared-symped to who names a user: the file that is handed back would not start."""
    choices = ("symped", "shared-symped", "uring")
    own = own_file_with_a_user(tmp_path, "symped")
    with pytest.raises(SpecError, match="architecture: choice 'shared-symped': expected one of sped, symped"):
        check(RunSpec(base=own, knobs={"architecture": KnobSpec(choices=choices)}))
    plan = check(RunSpec(base=own, knobs={"architecture": KnobSpec(choices=("symped", "uring"))}))
    assert plan.space.knob("architecture").choices == ("symped", "uring")


def test_file_that_its_server_refuses_is_refused(tmp_path):
    """The sentence names the file and the knob."""
    own = own_file_with_a_user(tmp_path, "shared-symped")
    with pytest.raises(SpecError, match=r"httpd.ini: architecture = 'shared-symped': expected one of sped"):
        check(RunSpec(base=own))


def test_run_begins_with_the_values_that_its_user_has_now():
    """The gain is over what is in force; the rest of the file is not needed for that."""
    plan = check(RunSpec(defaults={"architecture": "mp", "workers": 7, "backlog": 99}))
    assert plan.space.default().items() >= {"architecture": "mp", "workers": 7, "backlog": 99}.items()
    assert plan.space.fixed["backlog"] == 99
    assert "workers" not in plan.space.fixed


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"defaults": {"workers": 0}}, "defaults.workers"),
        ({"defaults": {"wrokers": 1}}, "defaults.wrokers"),
        ({"defaults": {"architecture": "best"}}, "knobs.architecture"),
        ({"defaults": {"workers": 2}, "base": "/etc/own.conf"}, "defaults"),
        ({"defaults": {"workers": 2}, "each_cpu": ["backlog"]}, "each_cpu"),
    ],
)
def test_defaults_that_no_knob_can_have_are_refused(fields, field):
    """Each by the field that a form shows it beside."""
    with pytest.raises(SpecError) as refused:
        check(RunSpec(**fields))
    assert refused.value.field == field


def test_defaults_are_those_of_the_servers_cpus():
    """Not of the CPUs that this process happens to be allowed."""
    assert check(RunSpec(target="h2o"), cpus=4).space.default()["num-threads"] == 4


def test_default_that_is_one_for_each_cpu_is_as_many_as_the_server_has(tmp_path):
    """Of the values of a file that says `auto`, and of that file; a server's own default is a number."""
    file = tmp_path / "nginx.conf"
    file.write_text("worker_processes auto;\nevents {\n}\nhttp { server { listen 80; } }\n")
    values = RunSpec(target="nginx", defaults={"worker_processes": 1}, each_cpu=("worker_processes",))
    for spec in (values, RunSpec(target="nginx", base=str(file))):
        knob = check(spec, cpus=2).space.knob("worker_processes")
        assert (knob.default, knob.each_cpu, knob.told(2), knob.told(3)) == (2, True, "one for each CPU", "3")
    for target, name in (("nginx", "worker_processes"), ("core", "workers")):
        knob = check(RunSpec(target=target), cpus=2).space.knob(name)
        assert (knob.default, knob.each_cpu, knob.told(1)) == (1, False, "1")


def test_two_files_make_a_plan_in_which_nothing_is_searched(tmp_path):
    """The old one's values are the default; the new one is recorded beside it, and no knob may be given."""
    files = {}
    for name, connections in (("base", 512), ("new_base", 64)):
        path = tmp_path / f"{name}.conf"
        path.write_text(
            f"events {{ worker_connections {connections}; }}\nhttp {{ server {{ listen 80; }} }}\n"
        )
        files[name] = str(path)
    plan = check(RunSpec(preset="compare", target="nginx", **files))
    assert [knob.name for knob in plan.space.free] == ["file"]
    assert plan.space.default()["worker_connections"] == 512
    assert plan.files()["new"]["path"] == files["new_base"]
    assert {phase.phase: phase.trials for phase in plan.estimate().breakdown}["searching"] == 0
    knobs = {"worker_connections": KnobSpec(fixed=1)}
    with pytest.raises(SpecError, match="two files are compared as they are; expected no knobs"):
        check(RunSpec(preset="compare", target="nginx", knobs=knobs, **files))


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"hosts": ("web1",), "kernel": True}, "hosts", "the kernel is tuned on this machine alone"),
        ({"hosts": ("web1", "web1")}, "hosts", "expected each once"),
        ({"hosts": ("web1",), "second_objective": "rss"}, "hosts", "a search with one objective"),
        ({"hosts": ("web1",), "preset": "capacity"}, "hosts", "a search with one objective"),
        ({"generators": ("a", "a")}, "generators", "expected each once"),
        (
            {"generators": ("a", "b"), "generators_each": 2},
            "generators_each",
            "expected hosts and generators",
        ),
        ({"hosts": ("web1",), "generators_each": 2}, "generators_each", "expected hosts and generators"),
        ({"generators": ("a",), "target": "mariadb"}, "generators", "a workload over HTTP"),
        ({"generators": ("a",), "link": "gigabit"}, "link", "expected link = loopback, or no generators"),
    ],
)
def test_what_needs_one_machine_is_refused_on_several(fields, field, sentence):
    """Before the run begins, with the field."""
    with pytest.raises(SpecError, match=re.escape(sentence)) as refusal:
        check(RunSpec(**fields))
    assert refusal.value.field == field
