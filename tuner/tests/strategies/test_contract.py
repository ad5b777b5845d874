"""What every registered strategy must do, tested on each of them."""

import itertools
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trimtab_tuner.records import TrialResult, Verdict
from trimtab_tuner.space import ListedSpace, SpaceError, configuration_hash
from trimtab_tuner.strategies import STRATEGIES, make_strategy
from trimtab_tuner.targets import TARGETS

SPACE = TARGETS["core"].space().restrict("workers", high=32).restrict("max_connections", low=64, high=16_384)

verdicts = st.sampled_from(list(Verdict))


def result(configuration, verdict=Verdict.VERIFIED, score=1.0):
    """A finished trial; only verified ones carry a score."""
    return TrialResult(
        configuration=configuration, verdict=verdict, score=score if verdict is Verdict.VERIFIED else None
    )


def smooth(configuration):
    """A score that peaks inside the space."""
    return 1000 / (1 + abs(configuration["workers"] - 6) + abs(configuration["max_connections"] - 3000) / 500)


@pytest.mark.parametrize("name", STRATEGIES)
class TestContract:
    """One class over all strategies."""

    def make(self, name, *, seed=1, budget=16, space=SPACE):
        """A strategy with usual settings."""
        return make_strategy(name, space, seed=seed, budget_trials=budget)

    def run(self, strategy, outcome=lambda c: result(c, score=smooth(c))):
        """Run to the end; returns the configurations asked."""
        asked = []
        while (proposal := strategy.ask()) is not None:
            asked.append(proposal.configuration)
            strategy.tell(outcome(proposal.configuration))
        return asked

    def test_default_comes_first(self, name):
        """The reference of every run is measured before anything else."""
        proposal = self.make(name).ask()
        assert SPACE.default() == proposal.configuration
        assert proposal.level == 0

    @pytest.mark.parametrize("budget", [1, 2, 3, 5, 16, 40])
    def test_budget_is_respected(self, name, budget):
        """Never more trials than granted."""
        assert len(self.run(self.make(name, budget=budget))) <= budget

    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        seed=st.integers(0, 2**32),
        outcomes=st.lists(st.tuples(verdicts, st.floats(0, 1e6)), min_size=24, max_size=24),
    )
    def test_any_outcomes_are_survived_without_a_repeat_or_a_forbidden_value(self, name, seed, outcomes):
        """Whatever becomes of the trials, all proposals are allowed and different."""
        stream = iter(outcomes)
        asked = self.run(self.make(name, seed=seed, budget=24), lambda c: result(c, *next(stream)))
        assert len({configuration_hash(c) for c in asked}) == len(asked)
        for configuration in asked:
            assert configuration == SPACE.check(configuration)

    def test_same_seed_and_history_give_the_same_proposals(self, name):
        """Runs can be reproduced."""
        assert self.run(self.make(name, seed=7)) == self.run(self.make(name, seed=7))

    @pytest.mark.parametrize("killed_after", [0, 1, 5, 9, 15])
    def test_rebuilt_by_telling_it_continues_as_if_never_killed(self, name, killed_after):
        """A killed run goes on where it was, without repeating a finished trial."""
        whole = self.run(self.make(name))
        rebuilt = self.make(name)
        for configuration in whole[:killed_after]:
            rebuilt.tell(result(configuration, score=smooth(configuration)))
        assert whole[killed_after:] == self.run(rebuilt)

    def test_proposals_in_flight_are_not_proposed_again(self, name):
        """Several asks before the first tell give different configurations."""
        strategy = self.make(name)
        asked = [proposal.configuration for proposal in itertools.islice(iter(strategy.ask, None), 6)]
        assert len({configuration_hash(c) for c in asked}) == 6

    def test_all_failing_has_no_best_and_no_crash(self, name):
        """Failure is information."""
        strategy = self.make(name)
        asked = self.run(strategy, lambda c: result(c, Verdict.FAILED_VERIFICATION))
        assert len(asked) > 1
        assert strategy.best() is None

    def test_best_is_within_the_tie_tolerance_of_the_highest_verified_score(self, name):
        """A crashed trial is never recommended, however high it might have scored."""
        strategy = self.make(name)
        asked = self.run(
            strategy,
            lambda c: result(c, Verdict.CRASHED) if c["workers"] == 6 else result(c, score=smooth(c)),
        )
        highest = max(smooth(c) for c in asked if c["workers"] != 6)
        assert highest * 0.985 <= strategy.best().score <= highest

    def test_noise_is_met_with_repeats_on_purpose_or_not_at_all(self, name):
        """On a noisy host a configuration may be asked for again, and then the proposal says so."""
        strategy = make_strategy(name, SPACE, seed=3, budget_trials=20, noise=0.05)
        noise, seen = random.Random(5), set()
        while (proposal := strategy.ask()) is not None:
            key = configuration_hash(proposal.configuration)
            assert proposal.repeat == (key in seen)
            seen.add(key)
            score = smooth(proposal.configuration) * (1 + 0.05 * noise.gauss(0, 1))
            strategy.tell(result(proposal.configuration, score=score))
        assert strategy.best() is not None

    def test_listed_configurations_are_the_only_ones_proposed(self, name):
        """A recorded table has cells, and nothing between them."""
        values = itertools.product((1, 3, 9), (1024, 5000))
        cells = tuple({**SPACE.default(), "workers": w, "max_connections": m} for w, m in values)
        listed = ListedSpace(**SPACE.model_dump(), configurations=cells)
        strategy = make_strategy(name, listed, seed=1, budget_trials=20, default_first=False)
        asked = self.run(strategy)
        assert len(asked) >= 3
        assert all(c in cells for c in asked)

    def test_expected_trials_bounds_and_ends_at_the_trials_made(self, name):
        """The estimate for the ETA lies between what is done and the budget, and is right at the end."""
        strategy = self.make(name, budget=20)
        done = 0
        while (proposal := strategy.ask()) is not None:
            strategy.tell(result(proposal.configuration, score=smooth(proposal.configuration)))
            done += 1
            assert done <= strategy.expected_trials() <= 20
        assert done == strategy.expected_trials()

    def test_space_without_a_free_knob_is_refused(self, name):
        """There would be nothing to tune."""
        fixed = SPACE.fix("workers", 1).fix("max_connections", 64).fix("sendfile", "blocking")
        with pytest.raises(SpaceError, match="every knob is fixed"):
            self.make(name, space=fixed)

    def test_budget_below_one_trial_is_refused(self, name):
        """Not even the default could be measured."""
        with pytest.raises(ValueError, match="budget_trials = 0: expected at least 1"):
            self.make(name, budget=0)

    def test_all_knobs_free_is_no_burden(self, name):
        """Every knob free, whose full grid has millions of points."""
        space = SPACE
        for knob in SPACE.knobs:
            if knob.kind == "integer":
                space = space.restrict(knob.name)
            else:
                space = space.restrict(knob.name, choices=knob.choices)
        assert len(space.free) == len(SPACE.knobs)
        assert len(self.run(self.make(name, space=space))) == 16


def test_unknown_strategy_is_refused():
    """The error lists those that exist."""
    with pytest.raises(ValueError, match="strategy 'magic': expected one of surrogate-race, coarse-to-fine"):
        make_strategy("magic", SPACE, seed=1, budget_trials=5)
