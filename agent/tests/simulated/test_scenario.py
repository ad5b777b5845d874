"""Reading and writing what is to happen at a simulated station."""

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.simulated.scenario import Hold, Incident, Scenario, read_scenario, write_scenario


def test_scenario_that_is_not_there_is_the_usual_one(tmp_path):
    """A demo whose file somebody has removed goes on."""
    assert read_scenario(tmp_path / "scenario.json") == Scenario()


def test_scenario_is_read_as_it_was_written(tmp_path):
    """With its incidents and its hold; nothing is left beside it."""
    scenario = Scenario(
        seed=7,
        effects={"workers": 0.2},
        incidents=(Incident(what="crashes", trials=(3,), where={"workers": 4}, rate=2),),
        hold=Hold(trial=5, rate=2),
    )
    path = tmp_path / "var" / "scenario.json"
    write_scenario(path, scenario)
    assert read_scenario(path) == scenario
    assert [each.name for each in path.parent.iterdir()] == ["scenario.json"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "the file"),
        ('{"speed": 1}', "speed"),
        ('{"capacity_rps": 0}', "capacity_rps"),
        ('{"noise_within": 2}', "noise_within"),
        ('{"pace_s": 60}', "pace_s"),
        ('{"incidents": [{"what": "explodes"}]}', r"incidents\.0\.what"),
        ('{"incidents": [{"what": "lost", "rate": 0}]}', r"incidents\.0\.rate"),
        ('{"hold": {"trial": "last"}}', r"hold\.trial"),
    ],
)
def test_scenario_that_makes_no_sense_is_refused_with_the_file_and_the_field(tmp_path, text, field):
    """Whoever writes it by hand is told what to mend."""
    path = tmp_path / "scenario.json"
    path.write_text(text)
    with pytest.raises(HostError, match=f"the scenario {path}: {field}: "):
        read_scenario(path)


def test_scenario_that_cannot_be_read_is_refused_with_a_sentence(tmp_path):
    """And not with the operating system's own error."""
    (tmp_path / "scenario.json").mkdir()
    with pytest.raises(HostError, match=r"the scenario .*scenario\.json cannot be read: "):
        read_scenario(tmp_path / "scenario.json")
