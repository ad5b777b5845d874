"""The OpenAPI document: committed, served, and complete enough to generate a client from."""

import json
from pathlib import Path

from trimtab_agent.api.openapi import document

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
