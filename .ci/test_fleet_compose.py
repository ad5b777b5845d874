"""The fleet of the compose file: both stations join, and a run started over HTTP is carried out by both.

Two stations on one machine disturb each other, so no figure is looked at. Needs a Docker engine and nothing
on port 8080; `make test-fleet` runs it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import test_compose
from test_compose import RUN, URL, WAIT_S

PROJECT = "trimtab-ci-fleet"
SERVICES = {"controller", "scheduler", "web1", "web2", "database"}


def compose(*arguments: str) -> str:
    """Runs Compose on a project of its own."""
    return test_compose.compose(*arguments, project=PROJECT, profile="fleet")


@pytest.fixture(scope="module")
def controller() -> Iterator[httpx.Client]:
    """The daemon that decides; everything is taken down with its volumes afterwards."""
    compose("build", "controller", "database")
    try:
        compose("up", "--detach", "controller")
        with httpx.Client(base_url=URL, timeout=120) as client:
            yield client
    finally:
        print(compose("logs", "--tail", "50"))
        compose("down", "--volumes")


def _until(what: str, look: Any) -> Any:  # noqa: ANN401 - whatever it finds
    deadline_s = time.monotonic() + WAIT_S
    while not (found := look()):
        assert time.monotonic() < deadline_s, f"{what}\n{compose('logs', '--tail', '50')}"
        time.sleep(1.0)
    return found


def _stations(client: httpx.Client) -> dict[str, dict[str, Any]]:
    try:
        seen = client.get("/api/v1/fleet").raise_for_status().json()
    except httpx.HTTPError:
        return {}
    return {each["name"]: each for each in seen["stations"] if each["state"] == "ready"}


@pytest.mark.timeout(2400)
def test_run_from_the_browser_uses_both_stations(controller: httpx.Client) -> None:
    """Both are booked in PostgreSQL, and both have recorded results there."""
    _until("the stations do not join", lambda: {"web1", "web2"} <= _stations(controller).keys())
    running = compose("ps", "--services", "--filter", "status=running").split()
    assert set(running) == SERVICES
    body = {**RUN, "hosts": ["all"], "settings": {**RUN["settings"], "confirmation_repeats": 4}}
    started = controller.post("/api/v1/runs", json=body)
    assert started.status_code == 201, started.text
    run_id = started.json()["id"]

    def ended() -> dict[str, Any] | None:
        run: dict[str, Any] = controller.get(f"/api/v1/runs/{run_id}").raise_for_status().json()
        return None if run["state"] == "running" else run

    run = _until("the run does not end", ended)
    assert run["state"] == "finished", run
    asked = "SELECT count(DISTINCT host_id) FROM booking WHERE committed_at IS NOT NULL"
    query = (
        "psql",
        "--host",
        "localhost",
        "--username",
        "trimtab",
        "--tuples-only",
        "--command",
        asked,
        "trimtab",
    )
    assert int(compose("exec", "-T", "database", *query)) == 2


def test_nobody_else_reaches_the_database(controller: httpx.Client) -> None:
    """It publishes no port, and its network leads nowhere."""
    assert controller.get("/api/v1/health").status_code == 200
    container = compose("ps", "--quiet", "database").strip()
    ports = subprocess.run(["docker", "port", container], capture_output=True, text=True, check=True)
    assert ports.stdout == ""
