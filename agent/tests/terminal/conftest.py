"""A run that a command is met in the middle of."""

import pytest
from live_support import tiny_options


@pytest.fixture(params=["simulated", pytest.param("measured", marks=pytest.mark.live)])
def going_on(request: pytest.FixtureRequest) -> list[str]:
    """Options of a run that calibrates until it is stopped; to be asked for before a daemon."""
    if request.param == "simulated":
        request.getfixturevalue("simulated").hold(trial=1, rate=2)
        return tiny_options()
    # Slow enough to be met in the middle, and no longer than needed to get there.
    return tiny_options(rate_duration_s=5.0, calibration_step_s=5.0)
