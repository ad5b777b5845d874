"""Every server says what its knobs do in the words that all share; a new one is found by itself."""

import pytest
from trimtab_tuner.exports.translation import translate
from trimtab_tuner.roles import Role
from trimtab_tuner.targets import TARGETS, find_targets, servers
from trimtab_tuner.targets.base import plan_of

A_NEW_SERVER = '''
"""A server that only differs in its name."""

from trimtab_tuner.targets.servers.h2o import H2oTarget


class NewTarget(H2oTarget):
    """As h2o."""

    name = "brand-new"
    program = "brand-new"


TARGET = NewTarget()
'''


@pytest.mark.parametrize("name", TARGETS)
def test_server_has_one_knob_of_a_role_at_most(name):
    """Or whoever asks for the role would get one of two."""
    roles = [knob.role for knob in TARGETS[name].space().knobs if knob.role is not None]
    assert len(roles) == len(set(roles))


@pytest.mark.parametrize("name", TARGETS)
def test_every_server_has_what_presets_diagnosis_and_advice_ask_for(name):
    """Workers, connections in total or for each of them, and the affinity plan."""
    space = TARGETS[name].space()
    assert space.of_role(Role.WORKERS).name in space.default()
    assert space.of_role(Role.CONNECTIONS, Role.CONNECTIONS_PER_WORKER) is not None
    assert space.of_role(Role.PLACEMENT).default == "none"


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_server_has_an_equivalent_for_are_its_own_knobs(name):
    """And where a knob has that role, it is the one that is translated."""
    target, space = TARGETS[name], TARGETS[name].space()
    for role, equivalent in target.equivalents.items():
        assert space.knob(equivalent.knob)
        own = space.of_role(role)
        assert own is None or own.name == equivalent.knob, role


@pytest.mark.parametrize("name", TARGETS)
def test_the_affinity_plan_is_found_under_the_server_s_own_name(name):
    """nginx has a directive for the part that pins workers; a file that says nothing of it has no plan."""
    target = TARGETS[name]
    plan = target.space().of_role(Role.PLACEMENT)
    assert plan_of(target, {**target.space().default(), plan.name: "aligned"}) == "aligned"
    assert plan_of(target, {}) == "none"


def test_a_server_s_file_is_all_that_a_new_target_needs(tmp_path, monkeypatch):
    """It is among the targets, and its settings are translated from and to those of the others."""
    (tmp_path / "brand_new.py").write_text(A_NEW_SERVER)
    monkeypatch.setattr(servers, "__path__", [*servers.__path__, str(tmp_path)])
    found = find_targets()
    assert [*found] == ["core", *sorted({*TARGETS, "brand-new"} - {"core"})]
    new = found["brand-new"]
    there = translate(TARGETS["nginx"], {**TARGETS["nginx"].space().default(), "worker_processes": 3}, new, 2)
    assert there.configuration["num-threads"] == 3
    back = translate(new, there.configuration, TARGETS["nginx"], 2)
    assert back.configuration["worker_processes"] == 3
