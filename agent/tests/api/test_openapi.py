"""The OpenAPI document: committed, served, and complete enough to generate a client from."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from trimtab_agent.api import trial_schemas
from trimtab_agent.api.openapi import document
from trimtab_trials import measurement

COMMITTED = Path(__file__).parents[3] / "webui" / "openapi.json"


def test_committed_document_is_that_of_the_code():
    """Otherwise: `.venv/bin/python -m trimtab_agent.api.openapi > webui/openapi.json`."""
    assert COMMITTED.read_text() == document()


def test_served_document_is_the_same(daemon):
    """Who generates a client from a running daemon gets the same one."""
    assert daemon.client.get("/api/v1/openapi.json").json() == json.loads(document())


def test_every_operation_documents_its_reply_and_its_errors():
    """No operation without a sentence, a unique name, a typed success and the error body."""
    operations = [
        operation for path in json.loads(document())["paths"].values() for operation in path.values()
    ]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["description"]
        (success,) = [reply for status, reply in operation["responses"].items() if status.startswith("2")]
        contents = success.get("content", {}).values()
        assert all(content.get("schema") or content.get("itemSchema") for content in contents)
        for status in ("4XX", "5XX"):
            (error,) = operation["responses"][status]["content"].values()
            assert error["schema"] == {"$ref": "#/components/schemas/ErrorBody"}


@pytest.mark.parametrize(
    ("view", "kind"),
    [
        (trial_schemas.RequestCounts, measurement.RequestCounts),
        (trial_schemas.SessionCounts, measurement.SessionCounts),
        (trial_schemas.SizeClassCounts, measurement.SizeClassCounts),
        (trial_schemas.Latency, measurement.Latency),
        (trial_schemas.Measurement, measurement.Measurement),
    ],
)
def test_views_have_the_fields_of_what_they_show(view, kind):
    """Lists of trials are written from the dataclasses themselves."""
    assert set(view.model_fields) == {field.name for field in fields(kind)}


def test_errors_are_documented_as_the_json_that_they_are():
    """Also of what answers with HTML, CSV, a ZIP or text."""
    for path, operations in json.loads(document())["paths"].items():
        for operation in operations.values():
            for status in ("4XX", "5XX"):
                assert set(operation["responses"][status]["content"]) == {"application/json"}, path


def test_report_of_no_run_is_refused_as_documented(empty_daemon):
    """422 in words, in JSON, although a report is HTML."""
    for path in ("report.html", "trials.csv", "exports/zip"):
        reply = empty_daemon.client.get(f"/api/v1/runs/{2**70}/{path}")
        assert (reply.status_code, reply.headers["content-type"]) == (422, "application/json")
        assert "expected less than or equal to 2147483647" in reply.json()["error"]["message"]
