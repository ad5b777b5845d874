"""The knobs of the kernel over HTTP: what there is, in a target's space, and in a run that is asked for."""

import pytest
from trimtab_tuner.targets.kernel import NAMES


@pytest.fixture
def here(daemon):
    """The names of the knobs that can be set on this machine; skips where there is none."""
    kernel = daemon.client.get("/api/v1/host/kernel").json()
    found = {each["knob"]["name"] for each in kernel["here"]}
    assert found | {each["name"] for each in kernel["lacking"]} == NAMES
    if not found:
        pytest.skip(f"the kernel cannot be tuned here: {kernel['lacking'][0]['reason']}")
    return found


def test_space_has_the_kernels_knobs_only_where_they_are_asked_for(daemon, here):
    """With what they are set to now as their defaults."""
    without = daemon.client.get("/api/v1/targets/nginx/space").json()
    assert NAMES.isdisjoint(knob["name"] for knob in without["knobs"])
    space = daemon.client.get("/api/v1/targets/nginx/space?kernel=true").json()
    assert {knob["name"] for knob in space["knobs"]} & NAMES == here
    assert {knob["scope"] for knob in space["knobs"] if knob["name"] in NAMES} <= {"namespace", "host"}


def test_estimate_of_a_run_with_the_kernel_counts_the_factorial(daemon, here):
    """Two finalists more in each block."""
    body = {
        "target": "nginx",
        "preset": "quick",
        "settings": {"confirmation_repeats": 4, "elimination_trials": 0},
    }
    plain = daemon.client.post("/api/v1/runs/estimate", json=body).json()
    both = daemon.client.post("/api/v1/runs/estimate", json={**body, "kernel": True}).json()
    assert both["trials"] - plain["trials"] == 8


def test_knob_that_this_kernel_lacks_is_refused_with_its_reason(daemon):
    """The load of this machine itself arrives by no card that could be polled."""
    body = {"target": "nginx", "knobs": {"busy_poll": {"fixed": 50}}}
    reply = daemon.client.post("/api/v1/runs/estimate", json=body)
    assert reply.status_code == 422
    assert reply.json()["error"]["field"] == "knobs.busy_poll"
    assert "cannot be set on this machine: the load comes from this" in reply.json()["error"]["message"]
