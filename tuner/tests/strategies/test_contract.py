"""What every registered strategy must do, tested on each of them."""

import itertools
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.space import AtMost, Knob, ListedSpace, Space, SpaceError
from trimtab_tuner.strategies import STRATEGIES, make_strategy, strategy_label
from trimtab_tuner.strategies.past_runs import PastRun
from trimtab_tuner.targets import TARGETS

SPACE = TARGETS["core"].space().restrict("workers", high=32).restrict("max_connections", low=64, high=16_384)

verdicts = st.sampled_from(list(Verdict))


def result(configuration, verdict=Verdict.VERIFIED, score=1.0):
    """A finished trial; only verified ones carry a score."""
    return Trial(
        configuration=configuration, verdict=verdict, score=score if verdict is Verdict.VERIFIED else None
    )


def limited(configuration, bound):
    """A trial in which the load generator gave out before the server did."""
    return Trial(configuration=configuration, verdict=Verdict.GENERATOR_LIMITED, estimated_score=bound)


def test_strategy_is_called_in_the_terminal_what_it_is_called_in_the_browser():
    """The browser has the words as a choice begins with them."""
    known = Path(__file__).parents[3] / "webui/src/maths/plainNames.ts"
    told = dict(re.findall(r"^  '?([\w-]+)'?: '(.+)',$", known.read_text(), re.MULTILINE))
    plain = {name: entry.plain[0].upper() + entry.plain[1:] for name, entry in STRATEGIES.items()}
    assert {name: told[name] for name in plain} == plain
    assert strategy_label("hill-climb") == "hill climbing (hill-climb)"
    assert strategy_label("random") == "random"
    assert strategy_label("of-a-later-version") == "of-a-later-version"


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

    @settings(
        max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
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

    @pytest.mark.parametrize("killed_after", [7, 13])
    def test_noisy_search_with_failures_and_repeats_is_rebuilt_as_it_was(self, name, killed_after):
        """What is proposed follows from the trials told, repeats and failures included."""

        def outcome(number, configuration):
            if configuration["workers"] == 1:
                return result(configuration, Verdict.FAILED_VERIFICATION)
            return result(configuration, score=smooth(configuration) * (1 + 0.05 * math.sin(number)))

        def search():
            return make_strategy(name, SPACE, seed=2, budget_trials=16, noise=0.05)

        whole, told = search(), []
        while (proposal := whole.ask()) is not None:
            told.append(outcome(len(told), proposal.configuration))
            whole.tell(told[-1])
        rebuilt = search()
        for trial in told[:killed_after]:
            rebuilt.tell(trial)
        wanted = told[killed_after].configuration if killed_after < len(told) else None
        proposal = rebuilt.ask()
        assert wanted == (proposal and proposal.configuration)

    @pytest.mark.parametrize("told", [3, 9, 14, 21])
    def test_search_that_learns_of_the_host_as_it_goes_is_one_that_knew_it_from_the_beginning(
        self, name, told
    ):
        """A strategy that is kept through a run proposes what one made after a kill does, many knobs or
        few.
        """
        space = SPACE.restrict("backlog").restrict("keepalive_timeout").restrict("request_timeout")
        kept = make_strategy(name, space, seed=4, budget_trials=30, noise=0.03)
        results = []
        for number in range(told):
            kept.adjust(noise=0.02 + 0.001 * (number // 5), budget_trials=30 - number // 9)
            proposal = kept.ask()
            if proposal is None:
                break
            score = smooth(proposal.configuration) * (1 + 0.05 * math.sin(number))
            failed = proposal.configuration["workers"] == 1 and number > 0
            verdict = Verdict.FAILED_VERIFICATION if failed else Verdict.VERIFIED
            results.append(result(proposal.configuration, verdict, score))
            kept.tell(results[-1])
        kept.adjust(noise=0.024, budget_trials=28)
        rebuilt = make_strategy(name, space, seed=4, budget_trials=28, noise=0.024)
        for each in results:
            rebuilt.tell(each)
        assert kept.best() == rebuilt.best()
        assert kept.ask() == rebuilt.ask()

    def test_revised_results_are_all_that_it_knows(self, name):
        """With a drift that has shown, every score told so far means something else."""
        kept, results = self.make(name), []
        for _ in range(9):
            configuration = kept.ask().configuration
            results.append(result(configuration, score=smooth(configuration)))
            kept.tell(results[-1])
        revised = [replace(each, score=each.score * (1 + 0.1 * n)) for n, each in enumerate(results)]
        rebuilt = self.make(name)
        for each in revised:
            rebuilt.tell(each)
        kept.revise(revised)
        assert kept.best() == rebuilt.best()
        assert kept.ask() == rebuilt.ask()

    def test_proposals_in_flight_stay_so_when_results_are_revised(self, name):
        """Nobody is asked twice because another one's answer was corrected."""
        strategy = self.make(name)
        strategy.tell(result(SPACE.default(), score=5.0))
        waiting = {configuration_hash(strategy.ask().configuration) for _ in range(2)}
        strategy.revise([result(SPACE.default(), score=4.0)])
        assert configuration_hash(strategy.ask().configuration) not in waiting

    def test_result_that_answers_nothing_leaves_its_proposal_in_flight(self, name):
        """Another host has measured the same configuration meanwhile."""
        strategy = self.make(name)
        first = strategy.ask().configuration
        strategy.tell(result(first, score=5.0), answers=False)
        assert (strategy.in_flight(), strategy.spent) == ([first], 2)
        strategy.tell(result(first, score=5.0))
        assert (strategy.in_flight(), strategy.spent) == ([], 2)

    def test_proposal_that_was_taken_back_is_proposed_again(self, name):
        """Its trial was disturbed, and says nothing about it."""
        strategy = self.make(name)
        strategy.tell(result(SPACE.default(), score=5.0))
        first = strategy.ask()
        strategy.take_back(first.configuration)
        assert strategy.ask() == first

    @settings(
        max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(order=st.lists(st.tuples(st.integers(1, 5), st.randoms(use_true_random=False)), min_size=8))
    def test_answers_may_come_late_and_in_any_order(self, name, order):
        """As from several machines: nothing in flight or told is proposed again, and the budget holds."""
        strategy, waiting, asked = self.make(name), [], []
        for machines, chance in order:
            while len(waiting) < machines and (proposal := strategy.ask()) is not None:
                waiting.append(proposal.configuration)
                asked.append(configuration_hash(proposal.configuration))
            if waiting:
                answered = waiting.pop(chance.randrange(len(waiting)))
                strategy.tell(result(answered, score=smooth(answered)))
        assert len(asked) == len(set(asked)) <= 16

    def test_bound_that_no_verified_score_reaches_is_recommended_as_what_it_is(self, name):
        """The load generator gave out before the server: the configuration scores at least so much."""
        strategy, asked = self.make(name), []
        for score in (100.0, 110.0):
            asked.append(strategy.ask().configuration)
            strategy.tell(result(asked[-1], score=score))
        asked.append(strategy.ask().configuration)
        strategy.tell(limited(asked[-1], 120.0))
        best = strategy.best()
        assert (best.configuration, best.verdict) == (asked[2], Verdict.GENERATOR_LIMITED)
        assert (best.score, best.estimated_score) == (None, 120.0)
        strategy.tell(result(asked[1], score=135.0))
        assert strategy.best().verdict is Verdict.VERIFIED

    def test_bound_below_a_verified_score_is_not_recommended(self, name):
        """It may be better or not; the verified one is known to be as good."""
        strategy = self.make(name)
        first = strategy.ask().configuration
        strategy.tell(result(first, score=120.0))
        strategy.tell(limited(strategy.ask().configuration, 120.0))
        assert strategy.best().configuration == first

    def test_search_among_bounds_is_rebuilt_as_it_was(self, name):
        """One whose score is only bounded is proposed again once at most, knowingly, and none has failed."""

        def outcome(configuration):
            score = smooth(configuration)
            return limited(configuration, 400.0) if score > 400 else result(configuration, score=score)

        whole, told, seen = self.make(name), [], []
        while (proposal := whole.ask()) is not None:
            key = configuration_hash(proposal.configuration)
            assert proposal.repeat == (key in seen)
            seen.append(key)
            told.append(outcome(proposal.configuration))
            whole.tell(told[-1])
        assert max(seen.count(key) for key in seen) <= 2
        assert not any(tally.failures for tally in whole.tallies.values())
        rebuilt = self.make(name)
        for trial in told[:9]:
            rebuilt.tell(trial)
        assert rebuilt.ask().configuration == told[9].configuration

    def test_experience_of_another_space_is_survived(self, name):
        """A strategy may learn from earlier runs or not; either way it begins with the default."""
        other = SPACE.restrict("workers", high=8).restrict("events", choices=("epoll", "poll"))
        seen = tuple(result({**other.default(), "workers": w}, score=100.0 + w) for w in (1, 2, 8))
        past = PastRun(space=other, features={"architecture": "symped"}, results=seen)
        strategy = make_strategy(name, SPACE, seed=1, budget_trials=6, experience=[past])
        asked = self.run(strategy)
        assert asked[0] == SPACE.default()
        assert 1 < len(asked) <= 6

    def test_space_in_which_nothing_but_the_default_is_allowed_ends_at_once(self, name):
        """The constraints exclude everything else: there is nothing to propose, and no crash."""
        small = Knob(name="connections", kind="integer", low=1, high=10, default=5, help="Connections.")
        large = Knob(name="workers", kind="integer", low=100, high=200, default=100, help="Workers.")
        never = Space(knobs=(small, large), constraints=(AtMost(smaller="workers", larger="connections"),))
        strategy = self.make(name, space=never)
        assert self.run(strategy, lambda c: result(c, Verdict.REJECTED)) == [never.default()]
        assert strategy.best() is None

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
        trials = len(self.run(self.make(name, space=space)))
        # Of a grid's points many are the same where an architecture does not know a knob.
        assert trials == 16 or (name == "grid" and trials > 1)


@pytest.mark.parametrize("score", [math.nan, math.inf])
def test_score_that_is_no_number_is_refused_before_any_strategy_sees_it(score):
    """A result that cannot be compared is no result."""
    with pytest.raises(ValueError, match="finite number"):
        result(SPACE.default(), score=score)


def test_unknown_strategy_is_refused():
    """The error lists those that exist."""
    with pytest.raises(ValueError, match="strategy 'magic': expected one of surrogate-race, coarse-to-fine"):
        make_strategy("magic", SPACE, seed=1, budget_trials=5)


def test_bound_is_better_told_to_tpe_than_dropped():
    """Where the load generator gave out is where the best are; it knows no bounds, and looks there."""
    space = Space(knobs=(Knob(name="n", kind="integer", low=1, high=1000, default=200, help="", unit=""),))

    def asks_beyond_half(bounds):
        strategy = make_strategy("tpe", space, seed=1, budget_trials=60)
        for n in range(20, 401, 20):
            strategy.tell(result({"n": n}, score=100.0 + n / 10))
        for n in (820, 860, 900, 940):
            if bounds:
                strategy.tell(limited({"n": n}, 500.0))
        return sum(strategy.ask().configuration["n"] > 700 for _ in range(8))

    assert asks_beyond_half(bounds=True) > asks_beyond_half(bounds=False)
