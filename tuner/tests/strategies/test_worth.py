"""What the model of the search says of a winner's settings, and of a first change alone."""

import random

import pytest
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.strategies.worth import worth_of

NAMES = ("connections", "workers", "buffer")
SPACE = Space(
    knobs=tuple(
        Knob(name=name, kind="integer", low=1, high=16, default=1, help="a knob of the test")
        for name in NAMES
    )
)
WINNER = {"connections": 12, "workers": 5, "buffer": 7}


def searched(score):
    """A search of twenty trials of a server with these scores, the winner among them."""
    chance = random.Random(1)
    anywhere = [{name: chance.randint(1, 16) for name in NAMES} for _ in range(16)]
    alone = {**SPACE.default(), "connections": 8}
    return [
        Trial(
            configuration=each,
            verdict=Verdict.VERIFIED,
            score=score(each),
            purpose=TrialPurpose.SEARCH,
            number=number,
        )
        for number, each in enumerate([alone, SPACE.default(), WINNER, *anywhere, WINNER], start=1)
    ]


def by_connections(configuration):
    """Only connections count, up to six of them."""
    return 100.0 * min(6, configuration["connections"])


def test_first_change_that_scored_like_the_winner_may_be_enough():
    """With its own value or the winner's; settings that are worth nothing are suspects."""
    found = worth_of(SPACE, WINNER, searched(by_connections), 0.01, [{"connections": 8}])
    (alone,) = found.alone
    assert alone["connections"] in (8, 12)
    assert {alone[name] for name in ("workers", "buffer")} == {1}
    assert set(found.suspects) <= {"workers", "buffer"}
    assert found.shares["connections"] == max(found.shares.values())


def test_first_change_that_scored_far_less_is_not_asked_of():
    """Workers are worth as much again."""

    def by_both(configuration):
        return by_connections(configuration) * (1 + 0.2 * min(5, configuration["workers"]))

    assert worth_of(SPACE, WINNER, searched(by_both), 0.01, [{"connections": 8}]).alone == ()


@pytest.mark.parametrize("trials", [[], searched(lambda _: None)])
def test_nothing_is_said_without_scores(trials):
    """Nor by a search that has measured nothing."""
    found = worth_of(SPACE, WINNER, trials, 0.01, [{"connections": 8}])
    assert (found.suspects, found.alone) == ((), ())
