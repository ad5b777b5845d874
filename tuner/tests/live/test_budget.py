"""The risk budget over a day."""

from trimtab_tuner.live.budget import DAY_S, RiskBudget


def test_who_has_seen_nothing_may_risk_nothing():
    """A share of nothing is nothing."""
    assert RiskBudget().spent(0).is_spent


def test_budget_is_a_share_of_what_was_seen():
    """Of 100,000 requests a thousandth may meet harm."""
    budget = RiskBudget(0.001)
    budget.tell(0, 100_000, 60)
    assert not budget.spent(1).is_spent
    budget.tell(30, 0, 40)
    assert budget.spent(31).is_spent


def test_harm_of_yesterday_is_forgotten_with_the_traffic_of_yesterday():
    """Both are of the last 24 hours."""
    budget = RiskBudget(0.001)
    budget.tell(0, 100_000, 100)
    budget.tell(DAY_S - 60, 100_000, 0)
    assert budget.spent(DAY_S - 1).requests == 200_000
    spent = budget.spent(DAY_S + 1)
    assert (spent.requests, spent.harmed, spent.is_spent) == (100_000, 0, False)


def test_a_day_at_two_periods_a_second_is_kept_by_the_minute():
    """Else it would be 170,000 entries."""
    budget = RiskBudget()
    for period in range(2 * 3600):
        budget.tell(period / 2, 10, 0)
    assert len(budget._minutes) == 60
