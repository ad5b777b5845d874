"""The host's topology and affinity plans over the API."""

import os
from pathlib import Path

import psutil
import pytest
from trimtab_agent.host.lock import MachineLock

STEERING = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
PLAN = {"plan": "interrupt", "devices": ["lo"], "cpus": [0]}


def test_topology_has_this_machines_cpus(daemon):
    """Read anew with each request."""
    shown = daemon.client.get("/api/v1/host/topology").json()
    assert len(shown["cpus"]) == psutil.cpu_count()
    assert "lo" in [device["name"] for device in shown["devices"]]


@pytest.mark.kernel
@pytest.mark.skipif(not os.access(STEERING, os.W_OK), reason=f"{STEERING} cannot be written here")
def test_a_plan_is_previewed_applied_shown_and_put_back(daemon):
    """The same that the command line does."""
    before = STEERING.read_text()
    planned = daemon.client.post("/api/v1/affinity/plan", json=PLAN).json()
    assert (planned["settings"][0]["state"], STEERING.read_text()) == ("planned", before)
    try:
        applied = daemon.client.post("/api/v1/affinity/apply", json=PLAN).json()
        assert applied["settings"][0]["state"] == "applied"
        status = daemon.client.get("/api/v1/affinity").json()
        assert [line["path"] for line in status["settings"]] == [str(STEERING)]
        assert status["drift"] == []
    finally:
        restored = daemon.client.post("/api/v1/affinity/restore").json()
    assert [line["state"] for line in restored] == ["restored"]
    assert STEERING.read_text() == before


@pytest.mark.parametrize(
    "change",
    [{"plan": "diagonal"}, {"devices": ["nosuch0"]}, {"cpus": [4000]}, {"workers": 0}, {"mask": "3"}],
)
def test_a_senseless_plan_is_refused(daemon, change):
    """422 with the sentence, and nothing is touched."""
    reply = daemon.client.post("/api/v1/affinity/apply", json={**PLAN, **change})
    assert reply.status_code == 422
    assert reply.json()["error"]["message"]
    assert daemon.client.get("/api/v1/affinity").json()["settings"] == []


def test_masks_are_left_alone_while_a_run_goes_on(daemon):
    """409 for apply and restore, the preview still works."""
    lock = MachineLock(daemon.settings.machine_lock, daemon.settings.var)
    try:
        assert daemon.client.post("/api/v1/affinity/apply", json=PLAN).status_code == 409
        assert daemon.client.post("/api/v1/affinity/restore").status_code == 409
        assert daemon.client.post("/api/v1/affinity/plan", json=PLAN).status_code == 200
    finally:
        lock.release()
