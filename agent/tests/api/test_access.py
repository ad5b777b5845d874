"""Who is let in: names, origins, tokens, and the headers that keep browsers careful."""

import pytest
from trimtab_agent.api.daemon import _elsewhere, _url
from trimtab_agent.errors import HostError
from trimtab_agent.settings import AgentSettings

TOKEN = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("LOCALHOST:{port}", 200),
        ("[::1]:{port}", 200),
        ("tuner.example:{port}", 200),
        ("tuner.example", 200),
        ("proxy.example:444", 200),
        ("proxy.example:445", 400),
        ("localhost", 400),
        ("localhost:1", 400),
        ("evil.example:{port}", 400),
        ("127.0.0.1.evil.example:{port}", 400),
        ("[::1", 400),
        pytest.param("localhost:" + "1" * 5000, 400, id="digits"),
        ("", 400),
    ],
)
def test_only_names_of_the_daemon_are_answered(empty_daemon, host, status):
    """A page whose own name points to 127.0.0.1 gets nothing, neither from the API nor of the UI."""
    for path in ("/api/v1/health", "/"):
        response = empty_daemon.client.get(path, headers={"Host": host.format(port=empty_daemon.port)})
        assert (response.status_code == 400) == (status == 400)
        if status == 400:
            assert response.json()["error"]["code"] == "unknown-host"


@pytest.mark.parametrize(
    ("method", "path", "origin", "refused"),
    [
        ("POST", "/api/v1/runs/1/stop", "http://127.0.0.1:{port}", False),
        ("POST", "/api/v1/runs/1/stop", None, False),
        ("POST", "/api/v1/runs/1/stop", "http://localhost:{port}", True),
        ("POST", "/api/v1/runs/1/stop", "http://127.0.0.1:1", True),
        ("POST", "/api/v1/runs/1/stop", "https://evil.example", True),
        ("POST", "/api/v1/runs/1/stop", "null", True),
        ("POST", "/api/v1/runs/1/stop", "http://[", True),
        ("GET", "/api/v1/live", "https://evil.example", True),
        ("GET", "/api/v1/health", "https://evil.example", False),
    ],
)
def test_other_origins_change_nothing_and_watch_nothing(empty_daemon, method, path, origin, refused):
    """A page of another site may send requests; those with an effect and the stream are refused."""
    headers = {} if origin is None else {"Origin": origin.format(port=empty_daemon.port)}
    response = empty_daemon.client.request(method, path, headers=headers)
    assert (response.status_code == 403) == refused
    assert "access-control-allow-origin" not in response.headers
    if refused:
        assert response.json()["error"]["code"] == "foreign-origin"


@pytest.mark.parametrize("path", ["/", "/api/v1/health", "/api/v1/nothing", "/api/v1/runs?limit=x"])
def test_every_answer_carries_the_security_headers(empty_daemon, path):
    """Successes, refusals and pages alike."""
    headers = empty_daemon.client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_token_is_asked_for_everywhere_but_for_health(start_daemon):
    """The pages of the UI hold no secret and load without it; the API does not answer."""
    daemon = start_daemon(token=TOKEN)
    assert daemon.client.get("/api/v1/health").json()["token_required"] is True
    assert daemon.client.get("/").status_code == 503  # not built here, but not 401
    for path in ("/api/v1/runs", "/api/v1/live", "/api/v1/nothing"):
        response = daemon.client.get(path)
        assert (response.status_code, response.json()["error"]["code"]) == (401, "token-required")
    for shown in ("wrong", TOKEN[:-1], TOKEN + "0"):
        response = daemon.client.get("/api/v1/runs", headers={"Authorization": f"Bearer {shown}"})
        assert response.status_code == 401
    response = daemon.client.get("/api/v1/runs", headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200


def test_browser_exchanges_the_token_for_a_cookie_no_script_can_read(start_daemon):
    """The cookie opens the API; it does not contain the token."""
    daemon = start_daemon(token=TOKEN)
    wrong = daemon.client.post("/api/v1/session", json={"token": "guess"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "wrong-token")
    reply = daemon.client.post("/api/v1/session", json={"token": TOKEN})
    cookie = reply.headers["set-cookie"]
    assert reply.status_code == 204
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert daemon.client.get("/api/v1/runs").status_code == 200
    daemon.client.cookies.clear()
    forged = daemon.client.get("/api/v1/runs", headers={"Cookie": "trimtab_session=forged"})
    assert forged.status_code == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "tuner.example"])  # noqa: S104
def test_daemon_that_others_can_reach_needs_a_token(host, tmp_path):
    """The sentence names the address and what to set."""
    with pytest.raises(HostError, match=f"{host} can be reached from other machines: set TRIMTAB_TOKEN"):
        AgentSettings(host=host).access_token()
    assert AgentSettings(host=host, without_token=True).access_token() is None
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert AgentSettings(host=host, token_file=file).access_token() == TOKEN


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback_needs_no_token(host):
    """Whoever can reach it could start a daemon himself."""
    assert AgentSettings(host=host).access_token() is None


def test_short_or_missing_token_is_refused(tmp_path):
    """A token is a secret of some length; a file that cannot be read is named."""
    with pytest.raises(HostError, match="the token has 6 characters: expected at least 16"):
        AgentSettings(token="x" * 6).access_token()
    with pytest.raises(HostError, match=r"the token file .*/none cannot be read"):
        AgentSettings(token_file=tmp_path / "none").access_token()


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"]
)
def test_body_that_a_form_can_send_is_not_taken(empty_daemon, kind):
    """Another site can send such a one without asking first."""
    reply = empty_daemon.client.post("/api/v1/runs/1/stop", content="a=1", headers={"Content-Type": kind})
    assert (reply.status_code, reply.json()["error"]["code"]) == (415, "not-json")
    assert empty_daemon.client.post("/api/v1/runs/1/stop").status_code == 404


def test_data_is_not_kept_by_browsers(empty_daemon):
    """Whoever uses the machine later finds none of it; the UI's own files may be kept."""
    assert empty_daemon.client.get("/api/v1/runs").headers["cache-control"] == "no-store"
    assert empty_daemon.client.get("/").headers.get("cache-control") != "no-store"


def test_cookie_behind_tls_is_for_tls_only(start_daemon):
    """A proxy on this machine says that its client spoke TLS."""
    daemon = start_daemon(token=TOKEN)
    body = {"token": TOKEN}
    plain = daemon.client.post("/api/v1/session", json=body)
    behind = daemon.client.post("/api/v1/session", json=body, headers={"X-Forwarded-Proto": "https"})
    assert "secure" not in plain.headers["set-cookie"].lower()
    assert "secure" in behind.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    ("host", "extra", "url", "elsewhere"),
    [
        ("0.0.0.0", (), "http://127.0.0.1:8080", "set in TRIMTAB_EXTRA_HOSTS"),  # noqa: S104
        ("::", (), "http://[::1]:8080", "set in TRIMTAB_EXTRA_HOSTS"),
        (
            "0.0.0.0",  # noqa: S104
            ("tuner.example", "a.example:443"),
            "http://127.0.0.1:8080",
            "http://tuner.example:8080, http://a.example:443",
        ),
        ("127.0.0.1", (), "http://127.0.0.1:8080", ""),
    ],
)
def test_address_that_is_printed_can_be_opened(host, extra, url, elsewhere):
    """0.0.0.0 is no address to go to; which names other machines may use is said beside it."""
    settings = AgentSettings(host=host, extra_hosts=extra, without_token=True)
    assert _url(settings, 8080) == url
    said = _elsewhere(settings, 8080)
    assert elsewhere in said
    assert bool(said) == bool(elsewhere)
