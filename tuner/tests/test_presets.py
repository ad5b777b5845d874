"""Presets, their overriding and their estimates."""

from pathlib import Path

import pytest
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.presets import PRESETS, RunSettings, SettingsError, estimate, override
from trimtab_tuner.roles import Role
from trimtab_tuner.space import SpaceError
from trimtab_tuner.strategies import STRATEGIES
from trimtab_tuner.targets import TARGETS

QUICK = PRESETS["quick"].settings
SPACE = TARGETS["core"].space()


def test_quick_run_is_estimated_at_six_minutes_at_most():
    """The promise of the preset."""
    assert estimate(QUICK, QUICK.apply_ranges(SPACE)).duration_s <= 360


@pytest.mark.parametrize("name", PRESETS)
def test_estimate_adds_up(name):
    """The whole is the sum of its phases, and the searching phase is the budget."""
    settings = PRESETS[name].settings
    result = estimate(settings, settings.apply_ranges(SPACE))
    assert sum(phase.duration_s for phase in result.breakdown) == pytest.approx(result.duration_s)
    assert sum(phase.trials for phase in result.breakdown) == result.trials
    assert {p.phase: p.trials for p in result.breakdown}["searching"] == (
        settings.budget_trials if settings.searches else 0
    )


@pytest.mark.parametrize("name", PRESETS)
def test_preset_names_a_strategy_that_exists_and_roles(name):
    """A preset never refers to what is not there, and its own values pass its own checks."""
    settings = PRESETS[name].settings
    assert settings.strategy in STRATEGIES
    assert set(settings.coarse_grid) | set(settings.ranges) <= set(Role)
    assert settings == override(settings, {})


def test_timeout_shrinks_with_the_think_times():
    """The seeds' 10 s belong to unscaled think times."""
    for preset in PRESETS.values():
        assert preset.settings.timeout_s == pytest.approx(10 * preset.settings.time_scale)


def test_small_space_needs_no_more_trials_than_it_has_configurations():
    """Two categories are two trials, whatever the budget."""
    space = SPACE.fix("workers", 1).fix("max_connections", 64)
    space = space.restrict("sendfile", choices=("nonblocking", "blocking"))
    assert {p.phase: p.trials for p in estimate(QUICK, space).breakdown}["searching"] == 2


def test_estimate_without_a_free_knob_is_refused():
    """There would be nothing to tune; a climb needs none."""
    space = SPACE.fix("workers", 1).fix("max_connections", 64).fix("sendfile", "blocking")
    with pytest.raises(SpaceError, match="every knob is fixed"):
        estimate(QUICK, space)
    assert estimate(PRESETS["capacity"].settings, space).trials == 0


@pytest.mark.parametrize("name", PRESETS)
def test_only_the_preset_decides_whether_there_is_a_search(name):
    """Its name is what lists of runs go by."""
    settings = PRESETS[name].settings
    for field, sentence in (
        ("capacity_only", "expected the preset 'capacity' to measure without a search"),
        ("two_files", "expected the preset 'compare' to measure two files"),
    ):
        assert settings == override(settings, {field: getattr(settings, field)})
        with pytest.raises(SettingsError, match=sentence) as error:
            override(settings, {field: not getattr(settings, field)})
        assert error.value.setting == field


def test_comparison_of_two_files_is_estimated_by_its_blocks():
    """Two trials a block, no search, no export, whatever is free."""
    settings = PRESETS["compare"].settings
    phases = {phase.phase: phase.trials for phase in estimate(settings, SPACE).breakdown}
    assert phases["confirming"] == 2 * settings.confirmation_repeats
    assert (phases["searching"], phases["exporting"]) == (0, 0)
    assert estimate(settings, SPACE).duration_s < 420


@pytest.mark.parametrize(
    ("changes", "setting", "sentence"),
    [
        (
            {"budget_trials": 0},
            "budget_trials",
            "budget_trials = 0: expected to be greater than or equal to 1",
        ),
        ({"speed": 1}, "speed", "speed: no such setting; expected one of directories"),
        ({"warmup_s": 5}, "warmup_s", "warmup_s = 5.0: expected less than rate_duration_s = 1.3"),
        ({"coarse_grid": {"workers": 0}}, "coarse_grid.workers", "coarse_grid.workers = 0: expected"),
        (
            {"thresholds": {"mean_limit": 0.1}},
            "thresholds.mean_limit",
            "thresholds.mean_limit: no such setting; expected one of all_files_limit",
        ),
        (
            {"constraints": ["p99 < 5ms"]},
            "constraints",
            "constraints: 'p99 < 5ms': expected STATISTIC <= NUMBER UNIT",
        ),
        ({"rate_duration_s": float("nan")}, "rate_duration_s", "rate_duration_s = nan: expected"),
    ],
)
def test_bad_setting_is_refused_by_name(changes, setting, sentence):
    """The error names the setting, the value and what was expected."""
    with pytest.raises(SettingsError) as error:
        override(QUICK, changes)
    assert setting == error.value.setting
    assert str(error.value).startswith(sentence)


def test_override_replaces_single_fields():
    """The rest of the preset stays."""
    settings = override(QUICK, {"budget_trials": 5, "thresholds": {"size_limit": 0.05}})
    assert (5, 0.05, QUICK.ladder_points) == (
        settings.budget_trials,
        settings.thresholds.size_limit,
        settings.ladder_points,
    )


def test_ranges_narrow_only_free_knobs_and_never_widen():
    """A fixed knob stays fixed, a narrower range of the user stays narrower."""
    space = QUICK.apply_ranges(SPACE.fix("workers", 500).restrict("max_connections", low=100, high=200))
    assert space.fixed["workers"] == 500
    assert (space.knob("max_connections").low, space.knob("max_connections").high) == (100, 200)


@pytest.mark.parametrize("name", TARGETS)
def test_ranges_of_a_preset_hold_on_every_server(name):
    """They name roles; a knob of steps keeps its steps."""
    space = QUICK.apply_ranges(TARGETS[name].space())
    workers = space.of_role(Role.WORKERS)
    connections = space.of_role(Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER)
    assert workers.kind == "ordinal" or (workers.low, workers.high) == (1, 32)
    assert connections.kind == "ordinal" or (connections.low, connections.high) == (64, 16_384)


def test_settings_by_a_knob_s_name_go_before_those_by_its_role():
    """Runs of earlier versions recorded names; a user may write either."""
    settings = override(
        QUICK, {"ranges": {"max_connections": {"low": 7, "high": 9}, "connections": {"low": 1, "high": 2}}}
    )
    narrowed = settings.apply_ranges(SPACE).knob("max_connections")
    assert (narrowed.low, narrowed.high) == (7, 9)


def test_range_of_the_user_outside_the_preset_wins():
    """Asking for more workers than the preset looks at is a wish, not an error."""
    space = QUICK.apply_ranges(SPACE.restrict("workers", low=64, high=128))
    assert (space.knob("workers").low, space.knob("workers").high) == (64, 128)


def test_protocol_of_the_thesis_drives_every_rate():
    """Its curves are compared with published ones; every other preset saves what cannot matter."""
    stopping = {name for name, preset in PRESETS.items() if preset.settings.early_stopping}
    assert stopping == PRESETS.keys() - {"thesis"}


def told(name, value):
    """A setting's value as docs/presets.md has it."""
    if name == "ranges":
        return ", ".join(f"{value[knob].low}–{value[knob].high}" for knob in ("workers", "connections"))
    if name == "coarse_grid":
        return f"{value['workers']} × {value['connections']}"
    if name == "thresholds":
        return "plain" if value.confidence is None else "tested"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value == () else f"{value:g}" if isinstance(value, float) else str(value)


def test_every_setting_and_threshold_is_documented_as_it_is():
    """With the value that each preset gives it."""
    document = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()
    for name in RunSettings.model_fields:
        values = " | ".join(told(name, getattr(preset.settings, name)) for preset in PRESETS.values())
        assert f"\n| `{name}` | {values} | " in document
    for name, field in Thresholds.model_fields.items():
        assert f"\n| `{name}` | {field.default:g} | " in document


@pytest.mark.parametrize("name", PRESETS)
def test_length_of_a_run_is_documented_as_it_is_estimated(name):
    """For the `core` target."""
    settings = PRESETS[name].settings
    run = estimate(settings, settings.apply_ranges(TARGETS["core"].space()))
    document = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()
    row = next(line for line in document.splitlines() if line.startswith(f"| `{name}` | "))
    unit, unit_s = next(
        unit
        for unit in (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))
        if run.duration_s > 1.5 * unit[1]
    )
    assert row.endswith(f"| {run.trials} trials, {run.duration_s / unit_s:.0f} {unit} |")


def test_nothing_is_estimated_beyond_a_ladder_that_is_not_left():
    """Neither growth nor halvings, whether the ladder is the user's or the numbers of a closed loop."""
    space = QUICK.apply_ranges(SPACE)
    own, finer = (override(QUICK, {"ladder": [1, 2, 3], "capacity_halvings": n}) for n in (0, 9))
    assert estimate(own, space) == estimate(finer, space)
    closed = estimate(QUICK, space, connections=(1, 2, 3))
    assert closed == estimate(own, space)
    assert {phase.phase: phase.duration_s for phase in closed.breakdown}["calibrating"] < 1
    assert estimate(QUICK, space, connections=(1, 2)).duration_s < closed.duration_s
