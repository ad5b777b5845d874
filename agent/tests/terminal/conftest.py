"""The command line in this process, and a run that a command is met in the middle of."""

import os
import sys
from collections.abc import Callable, Iterator

import pytest
from empty_databases import empty_sqlite
from live_support import tiny_options
from trimtab_agent.paths import VarPaths
from trimtab_agent.settings import AgentSettings
from trimtab_agent.terminal.main import main


@pytest.fixture
def trimtab_here(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """The command line in this process, for what ends before anything has been started."""
    monkeypatch.setenv("TRIMTAB_VAR", str(settings.var))
    allowed = os.sched_getaffinity(0)

    def run(*arguments: str) -> tuple[int, str, str]:
        empty_sqlite(VarPaths(settings.var).database)
        monkeypatch.setattr(sys, "argv", ["trimtab", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capfd.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    yield run
    os.sched_setaffinity(0, allowed)


@pytest.fixture(params=["simulated", pytest.param("measured", marks=pytest.mark.live)])
def going_on(request: pytest.FixtureRequest) -> list[str]:
    """Options of a run that calibrates until it is stopped; to be asked for before a daemon."""
    if request.param == "simulated":
        request.getfixturevalue("simulated").hold(trial=1, rate=2)
        return tiny_options()
    # Slow enough to be met in the middle, and no longer than needed to get there.
    return tiny_options(rate_duration_s=5.0, calibration_step_s=5.0)
