"""Every failure has the one canonical body, and says no more than it should."""

import sqlite3

import pytest
from trimtab_db import Repository, engines


def error_of(response) -> dict[str, str | None]:
    """The error of a reply, after a check that the body has the canonical shape and nothing else."""
    body = response.json()
    assert list(body) == ["error"]
    assert sorted(body["error"]) == ["code", "field", "message"]
    assert body["error"]["message"].endswith(".") or body["error"]["message"][-1].isalnum()
    return body["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1/nothing", 404, "not-found"),
        ("GET", "/api", 404, "not-found"),
        ("POST", "/api/v1/nothing", 404, "not-found"),
        ("GET", "/api/v1/runs/4711", 404, "not-found"),
        ("GET", "/api/v1/runs/4711/trials", 404, "not-found"),
        ("GET", "/api/v1/runs/4711/trials/1", 404, "not-found"),
        ("GET", "/api/v1/runs/4711/events", 404, "not-found"),
        ("GET", "/api/v1/runs/4711/exports", 404, "not-found"),
        ("GET", "/api/v1/runs/4711/exports/nginx/download", 404, "not-found"),
        ("POST", "/api/v1/runs/4711/stop", 404, "not-found"),
        ("POST", "/api/v1/runs/4711/resume", 404, "not-found"),
        ("GET", "/api/v1/targets/nothing/space", 404, "not-found"),
        ("DELETE", "/api/v1/runs", 405, "method-not-allowed"),
        ("POST", "/api/v1/health", 405, "method-not-allowed"),
        ("GET", "/api/v1/runs/0", 422, "bad-request"),
        ("GET", "/api/v1/runs/99999999999999999999", 422, "bad-request"),
        ("GET", "/api/v1/runs?limit=0", 422, "bad-request"),
        ("GET", "/api/v1/counters?seconds=soon", 422, "bad-request"),
    ],
)
def test_refused_request_has_status_and_code(empty_daemon, method, path, status, code):
    """Also a browser, which would rather have a page, gets the error from the API."""
    response = empty_daemon.client.request(method, path, headers={"Accept": "text/html"})
    assert (response.status_code, error_of(response)["code"]) == (status, code)


def test_unknown_run_is_told_in_one_sentence(empty_daemon):
    """Whatever was wanted of it, and without advice for another place than this."""
    path = "/api/v1/runs/4711"
    posts = [empty_daemon.client.post(f"{path}/{verb}") for verb in ("stop", "resume", "pause")]
    told = [error_of(response)["message"] for response in (empty_daemon.client.get(path), *posts)]
    assert set(told) == {"There is no run 4711."}


def test_method_that_is_not_allowed_comes_with_those_that_are(empty_daemon):
    """405 carries the Allow header with all of the path, whichever route of it has which."""
    allowed = {"runs/1/stop": "POST", "runs": "GET, HEAD, POST", "runs/1": "GET, HEAD, PATCH, DELETE"}
    allowed["health"] = "GET, HEAD"
    for path, methods in allowed.items():
        response = empty_daemon.client.put(f"/api/v1/{path}")
        assert (response.status_code, response.headers["allow"]) == (405, methods)
    outside = empty_daemon.client.put("/anything")
    assert (outside.status_code, outside.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ('{"seed": "x"}', "seed", "seed = 'x': expected a valid integer"),
        ('{"sed": 1}', "sed", "sed: there is no such field here."),
        ('{"knobs": {"workers": {"most": 4}}}', "knobs.workers.most", "there is no such field"),
        ("[1]", None, "The body = [1]: expected"),
        ("", None, "The body is missing."),
        ('{"preset": ', None, "The body is not JSON"),
        ('{"preset": "slow"}', "preset", "slow"),
        ('{"target": "iis"}', "target", "iis"),
        # Who may start a run through a browser may not therefore read or run the host's files.
        ('{"target": "nginx", "base": "/etc/nginx/nginx.conf"}', "base", "trimtab tune --base FILE"),
        # JSON may name half a character, which no reply can carry.
        ('{"knobs": {"\\ud800": {"fixed": 1}}}', "knobs.\\ud800", "\\ud800"),
        ('{"defaults": {"\\ud800": 1}}', "defaults.\\ud800", "\\ud800"),
        ('{"budget_trials": 0}', "budget_trials", "too small for one trial"),
        ('{"knobs": {"workers": {"fixed": 0}}}', "knobs.workers", "workers"),
        ('{"settings": {"ladder_points": 1}}', "settings.ladder_points", "ladder_points"),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/runs/estimate"])
def test_bad_specification_names_its_field(empty_daemon, path, body, field, message):
    """422 says which field, which value, and what was expected; nothing is recorded."""
    response = empty_daemon.client.post(path, content=body, headers={"Content-Type": "application/json"})
    error = error_of(response)
    assert (response.status_code, error["field"]) == (422, field)
    assert message in error["message"]
    assert empty_daemon.repository.count_runs() == 0


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"preset": "\xff"}', "its byte 13 is not UTF-8"),
        (b"[" * 100_000, "it has too many lists and objects in each other"),
        (b'{"seed": ' + b"1" * 5000 + b"}", "one of its numbers has too many digits"),
    ],
    ids=["no UTF-8", "too deep", "too many digits"],
)
def test_body_that_no_reader_of_json_takes_is_refused_as_one(empty_daemon, body, why):
    """With the code of any other that is no JSON."""
    for path in ("/api/v1/runs", "/api/v1/runs/estimate"):
        response = empty_daemon.client.post(path, content=body, headers={"Content-Type": "application/json"})
        error = error_of(response)
        assert (response.status_code, error["code"]) == (422, "bad-json")
        assert error["message"] == f"The body is not JSON: {why}."


def test_body_beyond_a_mebibyte_is_refused(empty_daemon):
    """Nobody can fill the daemon's memory."""
    announced = empty_daemon.client.post("/api/v1/runs", json={"preset": "x" * (1 << 20)})
    assert (announced.status_code, error_of(announced)["code"]) == (413, "body-too-large")
    chunked = empty_daemon.client.post(
        "/api/v1/runs",
        content=(b" " * 65536 for _ in range(17)),
        headers={"Content-Type": "application/json"},
    )
    assert (chunked.status_code, error_of(chunked)["code"]) == (413, "body-too-large")


def test_unexpected_failure_tells_nothing_of_the_inside(daemon, monkeypatch):
    """The reply to a defect is canonical and guarded like any other; the particulars go to the log."""

    def fail(*_args: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(Repository, "count_runs", fail)
    response = daemon.client.get("/api/v1/health")
    assert response.status_code == 500
    assert error_of(response)["code"] == "internal"
    assert "swordfish" not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"


def test_locked_database_is_a_503_that_invites_to_try_again(start_daemon, monkeypatch):
    """Another process keeps the write lock: nothing is lost, and a moment later it works."""
    monkeypatch.setattr(engines, "BUSY_TIMEOUT_S", 0.05)
    daemon = start_daemon(httpd_path="/bin/true", load_path="/bin/true")
    other = sqlite3.connect(daemon.settings.var / "trimtab.db", isolation_level=None, timeout=60)
    other.execute("BEGIN IMMEDIATE")
    response = daemon.client.post("/api/v1/runs", json={})
    other.execute("ROLLBACK")
    other.close()
    assert (response.status_code, error_of(response)["code"]) == (503, "database-locked")
    assert response.headers["retry-after"] == "1"
    assert daemon.client.get("/api/v1/runs").json() == {"runs": [], "total": 0}


def test_missing_programs_are_a_503_that_says_how_to_build_them(start_daemon, tmp_path):
    """A checkout without the C build can show everything but start nothing."""
    daemon = start_daemon(httpd_path=tmp_path / "trimtab-httpd")
    response = daemon.client.post("/api/v1/runs", json={})
    error = error_of(response)
    assert (response.status_code, error["code"]) == (503, "binary-missing")
    assert "make build" in error["message"]
