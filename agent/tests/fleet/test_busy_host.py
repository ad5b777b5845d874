"""A host at full load is not taken for dead: half a minute of what `make bench-fleet` measures in an hour."""

import fleet_busy
import pytest

pytestmark = [pytest.mark.live, pytest.mark.kernel, pytest.mark.timeout(1200)]
SECONDS = 30


def test_host_whose_cpus_others_have_is_not_taken_for_dead(database_url):
    """It carries its trials out, each once."""
    ours, theirs, taken = fleet_busy.measured(SECONDS, database_url)
    assert taken > 0.9
    assert (ours.removed, ours.twice) == (0, 0)
    assert ours.done > 0
    assert theirs.done > 0
