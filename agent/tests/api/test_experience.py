"""What a run learns from earlier ones."""

from trimtab_agent.study.earlier_runs import earlier_runs
from trimtab_tuner.strategies import make_strategy
from trimtab_tuner.strategies.past_runs import likeness


def test_earlier_runs_of_the_target_are_learnt_from_and_later_ones_are_not(daemon, record_run):
    """So that a run that is resumed learns what it had learnt."""
    first, second = record_run(), record_run()
    assert earlier_runs(daemon.repository, first) == []
    (past,) = earlier_runs(daemon.repository, second)
    assert [r.configuration["workers"] for r in past.results] == [1, 4]
    assert (past.features["cpus"], past.features["disk"]) == (0.0, 0.0)


def test_search_begins_with_the_default_and_then_where_the_earlier_run_was_best(daemon, record_run):
    """Two trials are enough to prefer the better half of the space."""
    record_run()
    second = record_run()
    past = earlier_runs(daemon.repository, second)
    assert likeness(past, past[0].features) == [1.0]
    search = make_strategy(
        "surrogate-race",
        past[0].space,
        seed=1,
        budget_trials=10,
        experience=past,
        features=past[0].features,
    )
    assert search.ask().configuration == past[0].space.default()
    assert search.ask().configuration["workers"] >= 2
