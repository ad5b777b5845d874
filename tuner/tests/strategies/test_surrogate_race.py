"""What the default strategy asks its model."""

import pytest
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.strategies import make_strategy, surrogate_race
from trimtab_tuner.strategies.surrogate import Surrogate
from trimtab_tuner.targets import TARGETS

SPACE = TARGETS["core"].space().restrict("workers", high=32).restrict("max_connections", low=64, high=16_384)


@pytest.fixture
def asked_about(monkeypatch):
    """How many configurations the model has been asked about, each time."""
    asked, predict = [], Surrogate.predict

    def counted(self, seen, candidates):
        asked.append(len(candidates))
        return predict(self, seen, candidates)

    monkeypatch.setattr(Surrogate, "predict", counted)
    return asked


def test_of_many_configurations_the_model_judges_those_of_the_highest_means(asked_about, monkeypatch):
    """The best is one of them; of few all are judged."""
    strategy = make_strategy("surrogate-race", SPACE, seed=1, budget_trials=100, noise=0.01)
    for number in range(12):
        configuration = strategy.ask().configuration
        score = 100.0 + 10 * number
        strategy.tell(Trial(configuration=configuration, verdict=Verdict.VERIFIED, score=score))
    asked_about.clear()
    of_all = strategy.best()
    monkeypatch.setattr(surrogate_race, "MOST_JUDGED", 8)
    assert strategy.best() == of_all
    assert asked_about == [12, 8]
