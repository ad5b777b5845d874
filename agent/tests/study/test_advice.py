"""What a run without a verified trial advises: settings that the server which was tuned has."""

import re

import pytest
from trimtab_agent.study.conclusion import advice_for
from trimtab_trials.trial import Verdict
from trimtab_tuner.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_advice_names_knobs_of_the_server_that_was_tuned(name):
    """Fewer connections, and fewer workers where the generator is the limit."""
    space = TARGETS[name].space()
    for verdict in (Verdict.FAILED_VERIFICATION, Verdict.GENERATOR_LIMITED):
        (asked,) = re.findall(r"--knob (\S+?)=(\S+?)[ )]", advice_for(verdict, space))
        knob = space.knob(asked[0])
        values = [] if asked[1] == "LOW:HIGH" else asked[1].split(",")
        assert all(knob.contains(int(value)) for value in values)


def test_every_verdict_that_can_be_helped_has_advice():
    """A verified trial needs none."""
    space = TARGETS["core"].space()
    helped = {verdict for verdict in Verdict if advice_for(verdict, space)}
    assert {Verdict.CRASHED, Verdict.REJECTED, Verdict.DISTURBED} <= helped
    assert Verdict.VERIFIED not in helped
