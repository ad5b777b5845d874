"""kill -9 while knobs of the kernel are set: the next start puts all of them back.

A real run is killed, at instants from the seed TRIMTAB_KILL_SEED; every knob of this machine's kernel is read
before the run and after the next start. Every other kill comes only once a knob has been seen changed, so
that there is something to put back. Three times in the ordinary tests; `make test-kernel-kill` sets
TRIMTAB_KILLS=200.
"""

import os
import random
import subprocess
import time

import pytest
from live_support import WAIT_S, tiny_options
from trimtab_agent.runtime import open_runtime

pytestmark = [pytest.mark.live, pytest.mark.kernel]

KILLS = int(os.environ.get("TRIMTAB_KILLS", "3"))
SEED = int(os.environ.get("TRIMTAB_KILL_SEED", "1"))
LONGEST_S = 4.0
SOON_S = 0.8
POLL_S = 0.002
# In force in every trial, the calibration included; the search tries others on top.
OPTIONS = (
    "--kernel",
    "--knob=swappiness=7",
    "--knob=vfs_cache_pressure=150",
    "--knob=tcp_notsent_lowat=16384",
    "--knob=tcp_wmem_default=32768",
    "--knob=tcp_fin_timeout=31",
    "--strategy=random",
)


def killed(command, instants, kernel_now, before, *, changed):
    """Kills the command at a random instant, or soon after a knob has changed; whether it still ran then."""
    if changed:
        deadline = time.monotonic() + WAIT_S
        while kernel_now() == before:
            assert time.monotonic() < deadline, "no knob was ever set"
            if command.process.poll() is not None:
                return False
            time.sleep(POLL_S)
    try:
        command.process.wait(instants.uniform(0, SOON_S if changed else LONGEST_S))
    except subprocess.TimeoutExpired:
        command.process.kill()
        command.process.wait()
        return True
    return False


@pytest.mark.timeout(60 + 40 * KILLS)
def test_run_killed_at_random_instants_leaves_no_knob_of_the_kernel_changed(trimtab, settings, kernel_now):
    """However many were set at that instant, and however far the journal had come."""
    before, instants = kernel_now(), random.Random(SEED)
    kills = left = 0
    while kills < KILLS:
        command = trimtab("tune", *OPTIONS, *tiny_options())
        kills += killed(command, instants, kernel_now, before, changed=kills % 2 == 0)
        left += kernel_now() != before
        with open_runtime(settings) as runtime:
            assert runtime.affinity.journal.in_force() == ()
            assert kernel_now() == before
    print(f"{kills} kills, knobs of the kernel were changed at {left} of them")
    assert left > 0
