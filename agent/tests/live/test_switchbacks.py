"""A switchback on production that is made up: what it counts as harm, and what ends it."""

import pytest
from trimtab_agent.live.switchbacks import carry_out_switchback
from trimtab_tuner.live.episode import Action, Rules
from trimtab_tuner.live.guards import parse_guard
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Observed, Replies, Served
from trimtab_tuner.live.switchback import Lengths, Side

REQUESTS = 500


class MadeUp:
    """Production that has one side's values or the other's, and what it does with them."""

    lengths = Lengths(5.0, 10.0, 2.0)

    def __init__(self, candidate_cpu_s):
        self.cpu_s = {Side.INCUMBENT: 0.1, Side.CANDIDATE: candidate_cpu_s}
        self.side = Side.INCUMBENT
        self.answered = dict.fromkeys(Side, 0)
        self.blocks = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def put(self, side):
        """That side begins a block."""
        self.side = side
        self.blocks.append(side)

    def close(self):
        """Its own values again."""
        self.side = Side.INCUMBENT
        return []

    def tick(self):
        """Half a second."""
        self.answered[self.side] += REQUESTS
        served = (Served(REQUESTS, 0.001 * REQUESTS), *[Served()] * (CLASSES - 1))
        arm = ArmPeriod(served=served, cpu_s=self.cpu_s[self.side])
        return Observed(seconds=0.5, arm=arm, replies=Replies(served=served))


@pytest.fixture
def by_turns():
    """Carries a switchback out."""

    def carry_out(production, seed=1, **order):
        return carry_out_switchback(
            turns=production,
            rules=Rules(),
            cpus=1,
            seed=seed,
            tick=production.tick,
            tell=lambda _: None,
            **{"guards": (), **order},
        )

    return carry_out


@pytest.mark.parametrize("seed", range(6))
def test_all_requests_that_met_a_harmful_candidate_count_whichever_side_came_last(seed, by_turns):
    """They had all of the traffic for whole blocks, and the risk budget is to know."""
    production = MadeUp(candidate_cpu_s=0.2)
    end = by_turns(production, seed)
    assert end.decision.action is Action.ROLL_BACK
    assert end.met_harm == production.answered[Side.CANDIDATE]
    assert production.side is Side.INCUMBENT


def test_block_that_a_guard_ends_counts_from_its_beginning(by_turns):
    """Half of its requests had been answered before anything was said."""
    production = MadeUp(candidate_cpu_s=0.6)
    end = by_turns(production, guards=(parse_guard("cpu <= 80%"),))
    assert end.decision.reason.startswith("a guard does not hold: cpu = ")
    assert end.met_harm == production.answered[Side.CANDIDATE] > 0


def test_candidate_that_is_shown_to_be_better_met_nobody_with_harm(by_turns):
    """Nothing is taken from the budget."""
    end = by_turns(MadeUp(candidate_cpu_s=0.05))
    assert (end.decision.action, end.met_harm, end.cut_short) == (Action.PROMOTE, 0, False)


def test_what_has_to_end_for_now_ends_with_the_own_values_and_says_why(by_turns):
    """Nothing is known of the candidate by that."""
    production = MadeUp(candidate_cpu_s=0.1)
    end = by_turns(production, over=lambda: "it is quiet" if len(production.blocks) == 3 else "")
    assert (end.decision.action, end.decision.reason, end.cut_short) == (Action.GIVE_UP, "it is quiet", True)
    assert (end.met_harm, production.side) == (0, Side.INCUMBENT)
