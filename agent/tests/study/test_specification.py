"""What a run may be asked to do, and what is refused, by field."""

import pytest
from trimtab_agent.errors import SpecError
from trimtab_agent.study.specification import KnobSpec, RunSpec, check
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
