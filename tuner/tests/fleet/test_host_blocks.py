"""The confirmation on several hosts: blocks on each, one value of each."""

import math

import pytest
from trimtab_trials.configuration import configuration_hash
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.fleet.host_blocks import HostBlocks, rounds_for

DEFAULT, OTHER = {"workers": 1}, {"workers": 2}
FINALISTS = (DEFAULT, OTHER)
HOSTS = ("web1", "web2", "web3")


class Confirmation:
    """A confirmation that is carried out slot by slot."""

    def __init__(self, rounds=2):
        self.rounds = rounds
        self.trials = []
        self.host_of = {}

    @property
    def blocks(self):
        """As far as it has come."""
        return HostBlocks(FINALISTS, self.rounds, HOSTS, 1, self.trials, self.host_of)

    def measure(self, host, score_of, verdict=Verdict.VERIFIED):
        """Measures the next slot of a host."""
        block, configuration = self.blocks.next_on(host)
        number = len(self.trials) + 1
        self.host_of[number] = host
        self.trials.append(
            Trial(
                configuration=configuration,
                verdict=verdict,
                score=score_of(configuration) if verdict is Verdict.VERIFIED else None,
                number=number,
                purpose=TrialPurpose.CONFIRMATION,
                block=block,
            )
        )


def test_each_host_measures_blocks_of_its_own():
    """In any order of the hosts; the numbers of blocks tell whose they are."""
    confirmation = Confirmation()
    assert confirmation.blocks.trials_left == 12
    for _ in range(4):
        for host in reversed(HOSTS):
            confirmation.measure(host, lambda c: 100.0 * c["workers"])
    blocks = confirmation.blocks
    assert (blocks.next_slot, blocks.trials_left) == (None, 0)
    assert blocks.whole == [1, 2, 1001, 1002, 2001, 2002]
    assert blocks.wanted == 6
    assert len(blocks.measured(confirmation.trials)) == 12


def test_host_is_one_value():
    """The geometric mean of its blocks; ratios are block by block."""
    confirmation = Confirmation()
    scores = iter([100.0, 110.0, 400.0, 90.0])
    for _ in range(4):
        confirmation.measure("web1", lambda _: next(scores))
    (one, other) = sorted(
        confirmation.blocks.slots(confirmation.trials), key=lambda trial: trial.configuration["workers"]
    )
    by_hash = {}
    for trial in confirmation.trials:
        by_hash.setdefault(trial.configuration_hash, []).append(trial.score)
    assert one.score == pytest.approx(math.sqrt(math.prod(by_hash[configuration_hash(DEFAULT)])))
    assert (one.block, other.block) == (1, 1)
    ratios = confirmation.blocks.log_ratios(OTHER, confirmation.trials)
    assert list(ratios) == ["web1"]
    assert len(ratios["web1"]) == 2


def test_host_where_it_failed_once_has_not_verified_it():
    """However good its other blocks were."""
    confirmation = Confirmation()
    for _ in range(4):
        fails = confirmation.blocks.next_on("web2")[1] == OTHER and not any(
            t.configuration == OTHER for t in confirmation.trials
        )
        verdict = Verdict.FAILED_VERIFICATION if fails else Verdict.VERIFIED
        confirmation.measure("web2", lambda _: 100.0, verdict)
    slots = {
        trial.configuration["workers"]: trial for trial in confirmation.blocks.slots(confirmation.trials)
    }
    assert slots[1].score == pytest.approx(100.0)
    assert slots[2].score is None
    assert slots[2].verdict is Verdict.FAILED_VERIFICATION
    assert len(confirmation.blocks.log_ratios(OTHER, confirmation.trials)["web2"]) == 1


def test_spoilt_block_of_one_host_is_made_up_for_there():
    """A slot that was disturbed twice makes a further block of that host."""
    confirmation = Confirmation(rounds=1)
    for _ in range(2):
        confirmation.measure("web3", lambda _: 1.0, Verdict.DISTURBED)
    assert confirmation.blocks.spoilt == [2001]
    assert confirmation.blocks.next_on("web3")[0] == 2002
    assert confirmation.blocks.next_on("web1")[0] == 1


def test_hosts_share_the_repeats():
    """At least two each."""
    assert [rounds_for(8, hosts) for hosts in (1, 2, 3, 8)] == [8, 4, 3, 2]
    assert rounds_for(0, 4) == 0
