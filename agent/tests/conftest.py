"""Fixtures for the tests with real servers: the programs, a runtime of the test's own, the command line."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from live_support import Listener, Tune
from trimtab_agent.runtime import Runtime, open_runtime
from trimtab_agent.settings import Settings


@pytest.fixture(scope="session")
def programs() -> Settings:
    """The settings of a checkout; fails if the C programs have not been built."""
    settings = Settings()
    for program in (settings.httpd_path, settings.load_path):
        if not program.is_file():
            pytest.fail(f"{program} is not built; run `make build` first")
    return settings


@pytest.fixture
def settings(tmp_path: Path, programs: Settings) -> Settings:
    """Settings with a `var` of the test's own."""
    return Settings(var=tmp_path / "var", httpd_path=programs.httpd_path, load_path=programs.load_path)


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    """Everything that runs experiments; whatever goes on at the end of the test is stopped."""
    allowed = os.sched_getaffinity(0)
    with open_runtime(settings) as parts:
        yield parts
    os.sched_setaffinity(0, allowed)


@pytest.fixture
def listener(runtime: Runtime) -> Listener:
    """Listens from before the run starts."""
    return Listener(runtime.broadcaster)


@pytest.fixture
def trimtab(settings: Settings) -> Iterator[Callable[..., Tune]]:
    """Starts commands of the command line; those that still run at the end of the test are killed."""
    started: list[Tune] = []

    def start(*arguments: str) -> Tune:
        started.append(Tune(settings, *arguments))
        return started[-1]

    yield start
    for command in started:
        command.process.kill()
        command.process.wait()
        if command.process.stdout is not None:
            command.process.stdout.close()
