"""kill -9 at random instants: a run goes on without repeating or losing a finished trial.

Three times in the ordinary tests; `make test-kill` sets TRIMTAB_KILLS=50. Every other kill comes in a phase
that may be short: the calibration, the end, where the run is concluded and exported, the confirmation.
The instants come from the seed TRIMTAB_KILL_SEED.
"""

import os
import random
import subprocess

import pytest
from live_support import Tune, tiny_options
from trimtab_agent.runtime import open_repository
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.records import RunState
from trimtab_trials.trial import TrialPurpose, Verdict

pytestmark = pytest.mark.live

KILLS = int(os.environ.get("TRIMTAB_KILLS", "3"))
SEED = int(os.environ.get("TRIMTAB_KILL_SEED", "1"))
LONGEST_S = 9.0
WITHIN_S = 0.7
# Any instant, or soon after one of these phases has begun; in turn.
MOMENTS = (
    *(None, "calibrating", None, "exporting", None, "confirming"),
    *(None, "preparing", None, "eliminating", None, "searching"),
)
BUDGET = 9  # long enough for the reference to be measured again


def finished_trials(settings, run_id):
    """What is recorded of the trials that reached their end, by number: what they were and have measured.

    Not what they are worth, which is something else where the ladder has grown since.
    """
    if state_of(settings, run_id) is None:
        return {}
    with open_repository(settings) as repository:
        return {
            t.number: (
                *(t.purpose, t.configuration_hash, t.block, t.proposal_number),
                *((m.rate_rps, m.goodput_mbps, m.requests) for m in t.measurements),
            )
            for t in repository.whole_trials(run_id)
            if t.verdict is not Verdict.ABORTED
        }


def state_of(settings, run_id):
    """The state of a run; None if there is no such run."""
    with open_repository(settings) as repository:
        try:
            return repository.run(run_id).state
        except RecordNotFoundError:
            return None


def check_whole(settings, run_id):
    """A finished run has each proposal tried once, each slot of the confirmation filled once, no gap.

    A trial that was disturbed has tried its proposal; the configuration is proposed once more.
    """
    with open_repository(settings) as repository:
        trials = repository.whole_trials(run_id)
        proposals = repository.proposals_of(run_id)
    done = [t for t in trials if t.verdict not in (Verdict.ABORTED, Verdict.DISTURBED)]
    assert [t.purpose for t in done].count(TrialPurpose.CALIBRATION) == 1
    assert len([t for t in done if t.purpose is TrialPurpose.SEARCH]) <= BUDGET
    tried = [(t.proposal_number, t.number) for t in trials if t.proposal_number is not None]
    assert tried == sorted(set(tried))
    assert tried == [(p.number, p.trial_number) for p in proposals if p.trial_number is not None]
    confirmed = [t for t in done if t.purpose is TrialPurpose.CONFIRMATION and t.block]
    slots = [(t.block, t.configuration_hash) for t in confirmed if not t.verdict.spoilt]
    assert len(slots) == len(set(slots))


def kill_at(command, instants, moment):
    """Kills the command at a random instant, or soon after a phase has begun; whether it still ran then."""
    if moment is not None:
        command.wait_for_line(f" % {moment}, ETA")
    try:
        command.process.wait(
            instants.uniform(0.5, LONGEST_S) if moment is None else instants.uniform(0, WITHIN_S)
        )
    except subprocess.TimeoutExpired:
        command.process.kill()
        command.process.wait()
        return True
    return False


@pytest.mark.timeout(60 + 40 * KILLS)
def test_run_killed_at_random_instants_loses_and_repeats_no_finished_trial(trimtab, settings):
    """Whatever was finished before a kill is there after it, unchanged."""
    instants, kills, run_id = random.Random(SEED), 0, 1
    command: Tune = trimtab("tune", *tiny_options(budget_trials=BUDGET))
    before: dict[int, tuple[object, ...]] = {}
    while kills < KILLS:
        kills += kill_at(command, instants, MOMENTS[kills % len(MOMENTS)])
        trials = finished_trials(settings, run_id)
        assert before.items() <= trials.items()
        if state_of(settings, run_id) is RunState.FINISHED:
            check_whole(settings, run_id)
            run_id, before = run_id + 1, {}
            command = trimtab("tune", *tiny_options(budget_trials=BUDGET))
        elif state_of(settings, run_id) is None:  # killed before it was recorded
            command = trimtab("tune", *tiny_options(budget_trials=BUDGET))
        else:
            before = trials
            command = trimtab("tune", "--resume", str(run_id))
    code, output = command.finish()
    assert code == 0, output
    assert before.items() <= finished_trials(settings, run_id).items()
    check_whole(settings, run_id)
