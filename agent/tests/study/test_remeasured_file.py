"""Whether the exported file, driven once more, agrees with what was confirmed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from recorded_trials import DEFAULT, climbed, concluded, confirmation, history_of, trial
from trimtab_agent.errors import HostError
from trimtab_agent.study.remeasuring import judged, not_driven, require_accepted, with_remeasured
from trimtab_trials.trial import TrialPurpose
from trimtab_tuner.telling.performance import Figure, Performance


@pytest.mark.parametrize(
    ("score", "verdict", "agrees", "said"),
    [
        (99.0, "verified", True, "(trial 10), within the confirmed interval of 97.1 Mbps to 103 Mbps"),
        (80.0, "verified", False, "80.0 Mbps (trial 10), outside the confirmed interval"),
        (None, "crashed", False, "crashed in trial 10: it fell. So it is not called the best."),
        (None, "disturbed", None, "disturbed (trial 10), which says nothing about the file."),
        (None, "generator-limited", None, "generator-limited (trial 10), which says nothing"),
    ],
)
def test_exported_file_is_called_the_best_only_if_its_own_trial_agrees(score, verdict, agrees, said):
    """Where one more trial of the confirmed configuration is expected; the outcome says it if it does not."""
    other = {**DEFAULT, "workers": 4}
    trials = confirmation([(80, 100), (81, 101), (80, 99), (79, 100)], other)
    outcome = concluded((DEFAULT, other), trials)
    file = SimpleNamespace(text="workers = 4")
    driven = trial(10, TrialPurpose.CONFIRMATION, other, score, verdict=verdict, reason="it fell.")
    again = judged(outcome, other, file, driven)
    assert again.agrees is agrees
    assert said in again.sentence
    assert (again.sentence in with_remeasured(outcome, again).sentence) is (agrees is False)


@pytest.mark.parametrize(
    ("capacity_rps", "agrees", "said"),
    [
        (2500.0, True, "keeps up with 2,000 requests/s (trial 10), where 2,500 requests/s were confirmed."),
        (1500.0, False, "The two differ: it is not called the best."),
    ],
)
def test_file_that_fails_up_the_ladder_as_the_blocks_did_is_judged_by_its_capacity(
    capacity_rps, agrees, said
):
    """Such a configuration is recommended for its capacity, at which all rules hold."""
    other = {**DEFAULT, "workers": 4}
    outcome = concluded((DEFAULT, other), confirmation([(None, None)] * 4, other))
    capacity = Figure(mean=2500.0, low=2400.0, high=2600.0)
    ranking = [
        ranked.model_copy(update={"performance": Performance(capacity_rps=capacity, blocks=4)})
        for ranked in outcome.ranking
    ]
    driven = trial(10, TrialPurpose.CONFIRMATION, other, None, verdict="failed-verification", reason="some")
    driven = replace(driven, measurements=climbed(capacity_rps))
    again = judged(
        outcome.model_copy(update={"ranking": tuple(ranking)}), other, SimpleNamespace(text=""), driven
    )
    assert again.agrees is agrees
    assert said in again.sentence
    assert "Above that it fails verification, as in 4 of 4 blocks" in again.sentence


def test_exported_file_within_a_percent_agrees_however_close_the_blocks_lie():
    """A machine that repeats itself to a hundredth of a percent does not make 0.5 % a difference."""
    other = {**DEFAULT, "workers": 4}
    trials = confirmation([(80, 100.0), (81, 100.01), (80, 99.99), (79, 100.0)], other)
    driven = trial(10, TrialPurpose.CONFIRMATION, other, 99.5)
    again = judged(concluded((DEFAULT, other), trials), other, SimpleNamespace(text=""), driven)
    assert (again.agrees, "within 1 % of the confirmed 100 Mbps" in again.sentence) == (True, True)


@pytest.mark.parametrize(
    ("score", "agrees", "said"),
    [(81.0, True, "The two agree: the machine has changed"), (99.0, False, "The two differ")],
)
def test_configuration_right_after_the_file_tells_a_changed_machine(score, agrees, said):
    """A file that made 80 where 100 was confirmed is as good as the configuration that makes 81 by now."""
    other = {**DEFAULT, "workers": 4}
    outcome = concluded((DEFAULT, other), confirmation([(80, 100), (81, 101), (80, 99), (79, 100)], other))
    driven = trial(10, TrialPurpose.CONFIRMATION, other, 80.0)
    beside = trial(11, TrialPurpose.CONFIRMATION, other, score)
    again = judged(outcome, other, SimpleNamespace(text=""), driven, beside)
    assert (again.agrees, again.score_mbps) == (agrees, 80.0)
    assert said in again.sentence


def test_two_confirmed_trials_that_differ_make_no_interval_to_compare_with():
    """It would reach from next to nothing to more than any server sends."""
    other = {**DEFAULT, "workers": 4}
    outcome = concluded((DEFAULT, other), confirmation([(80, 10), (81, 1_000)], other), repeats=2)
    again = judged(
        outcome, other, SimpleNamespace(text=""), trial(10, TrialPurpose.CONFIRMATION, other, 99.0)
    )
    assert (again.agrees, again.low_mbps, again.high_mbps) == (None, None, None)
    assert "99.0 Mbps (trial 10); too few confirmed trials for an interval" in again.sentence


def test_single_confirmed_trial_has_no_interval_to_compare_with():
    """Nor has a configuration that was never confirmed."""
    other = {**DEFAULT, "workers": 4}
    driven = trial(10, TrialPurpose.CONFIRMATION, other, 99.0)
    for scores in ([(80, 100)], []):
        outcome = concluded((DEFAULT, other), confirmation(scores, other))
        assert judged(outcome, other, SimpleNamespace(text=""), driven).agrees is None


def test_file_that_its_server_refuses_is_not_driven():
    """And is not called the best."""
    refused = SimpleNamespace(text="x", check_ok=False, check_output="unknown key x")
    with pytest.raises(HostError, match="unknown key x"):
        require_accepted(refused)
    assert not_driven(refused, "because").agrees is False


def test_disturbed_default_does_not_end_the_reference():
    """What its repeat says counts; only a default that could not be measured has no reference."""

    def searched(*verdicts):
        trials = []
        for number, verdict in enumerate(verdicts, start=1):
            score = 80.0 if verdict == "verified" else None
            asked = trial(number, TrialPurpose.SEARCH, DEFAULT, score, verdict=verdict)
            trials.append(replace(asked, proposal_number=number))
        return history_of(trials)

    for verdicts in ((), ("verified",), ("disturbed",), ("disturbed", "verified"), ("failed-verification",)):
        assert searched(*verdicts).references_left(20) > 0
    for verdicts in (("crashed",), ("disturbed", "rejected")):
        assert searched(*verdicts).references_left(20) == 0
