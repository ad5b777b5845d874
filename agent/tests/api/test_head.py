"""HEAD of the API: what GET says before its body."""

import pytest
from waiting import until


def fields(reply):
    """All but when it was sent."""
    return {name: value for name, value in reply.headers.items() if name != "date"}


@pytest.mark.parametrize(
    "path",
    ["health", "runs", "runs/{run}", "runs/{run}/trials.csv", "runs/{run}/report.html", "openapi.json"],
)
def test_head_is_the_head_of_get(daemon, recorded_run, path, caplog):
    """The same status and fields, and no body, also of what comes in pieces; that is no error to anybody."""
    address = f"/api/v1/{path.format(run=recorded_run.id)}"
    got, head = daemon.client.get(address), daemon.client.head(address)
    assert got.content
    assert (head.status_code, head.content) == (200, b"")
    assert fields(head) == fields(got)
    assert not caplog.records


def test_head_of_the_live_stream_ends_and_leaves_no_listener(daemon):
    """GET goes on for as long as somebody listens."""
    head = daemon.client.head("/api/v1/live")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")
    until(lambda: not daemon.context.broadcaster._subscriptions)


@pytest.mark.parametrize(("path", "status"), [("runs/4711", 404), ("runs/0", 422), ("runs/1/stop", 405)])
def test_head_of_what_cannot_be_got_has_the_status_alone(daemon, path, status):
    """405 with the methods that there are."""
    head = daemon.client.head(f"/api/v1/{path}")
    assert (head.status_code, head.content) == (status, b"")
    assert head.headers.get("allow") == ("POST" if status == 405 else None)


def test_document_of_the_api_names_no_head(daemon):
    """It goes without saying, and each operation stands once."""
    document = daemon.client.get("/api/v1/openapi.json").json()
    assert not [path for path, operations in document["paths"].items() if "head" in operations]
