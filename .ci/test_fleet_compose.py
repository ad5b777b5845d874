"""The fleet of the compose file: both stations join, and a run started over HTTP is carried out by both.

Two stations on one machine disturb each other, so no figure is looked at. Needs a Docker engine and nothing
on ports 8080 and 8081; `make test-fleet` runs it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import test_compose
from test_compose import RUN, WAIT_S

PROJECT = "trimtab-ci-fleet"
URL = "http://127.0.0.1:8081"
STATIONS = ["web1", "web2"]
SERVICES = {"trimtab", "controller", "scheduler", "database", *STATIONS}


def compose(*arguments: str) -> str:
    """Runs Compose on a project of its own."""
    return test_compose.compose(*arguments, project=PROJECT, profile="fleet")


@pytest.fixture(scope="module")
def controller() -> Iterator[httpx.Client]:
    """The daemon that decides; everything is taken down with its volumes afterwards."""
    compose("build", "controller", "database")
    try:
        compose("up", "--detach")
        # As the browser's requests come: from a page of the daemon's own.
        with httpx.Client(base_url=URL, timeout=120, headers={"Origin": URL}) as client:
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


def _asked(query: str) -> list[list[str]]:
    """The rows that the fleet's database answers."""
    psql = ("psql", "--host", "localhost", "--username", "trimtab", "--tuples-only", "--no-align")
    said = compose("exec", "-T", "database", *psql, "--command", query, "trimtab")
    return [line.split("|") for line in said.split()]


@pytest.mark.timeout(2400)
def test_run_from_the_browser_uses_both_stations(controller: httpx.Client) -> None:
    """Each has carried out trials of the search and of the confirmation, and recorded them under leases."""
    _until("the stations do not join", lambda: set(STATIONS) <= _stations(controller).keys())
    running = compose("ps", "--services", "--filter", "status=running").split()
    assert set(running) == SERVICES
    assert "<title>Trimtab" in controller.get("/tune").text
    body = {**RUN, "hosts": STATIONS, "settings": {**RUN["settings"], "confirmation_repeats": 4}}
    started = controller.post("/api/v1/runs", json=body)
    assert started.status_code == 201, started.text
    run_id = started.json()["id"]

    def ended() -> dict[str, Any] | None:
        run: dict[str, Any] = controller.get(f"/api/v1/runs/{run_id}").raise_for_status().json()
        return None if run["state"] == "running" else run

    run = _until("the run does not end", ended)
    assert run["state"] == "finished", run
    assert run["outcome"]["over_hosts"]["confirmed_on"] == STATIONS
    by_purpose = _asked(
        "SELECT trial.purpose, count(DISTINCT trial.host_id) FROM trial JOIN booking "
        "ON booking.run_id = trial.run_id AND booking.trial_number = trial.number "
        "WHERE booking.committed_at IS NOT NULL AND trial.purpose IN ('search', 'confirmation') "
        "GROUP BY trial.purpose ORDER BY trial.purpose"
    )
    assert by_purpose == [["confirmation", "2"], ["search", "2"]]
    ((trials, results),) = _asked(
        "SELECT (SELECT count(*) FROM trial WHERE verdict <> 'aborted'), "
        "(SELECT count(*) FROM booking WHERE committed_at IS NOT NULL)"
    )
    assert trials == results
    idle = _until("the leases do not end", lambda: _all_free(controller))
    assert {name: station["settled"] for name, station in idle.items()} == dict.fromkeys(STATIONS, True)


def _all_free(client: httpx.Client) -> dict[str, dict[str, Any]] | None:
    """The stations, when none holds a lease."""
    stations = _stations(client)
    return stations if stations and all(each["run_id"] is None for each in stations.values()) else None


def test_nobody_else_reaches_the_database(controller: httpx.Client) -> None:
    """It publishes no port, and its network leads nowhere."""
    assert controller.get("/api/v1/health").status_code == 200
    container = compose("ps", "--quiet", "database").strip()
    ports = subprocess.run(["docker", "port", container], capture_output=True, text=True, check=True)
    assert ports.stdout == ""
