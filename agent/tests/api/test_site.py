"""The web UI is served beside the API: files, deep links, and a page that says how to build it."""

import pytest


@pytest.fixture
def site(start_daemon, tmp_path):
    """A daemon with a build of two files."""
    assets = tmp_path / "dist" / "assets"
    assets.mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text("<title>Trimtab</title>")
    (assets / "index-1a2b3c.js").write_text("export {};")
    (tmp_path / "secret.txt").write_text("secret")
    return start_daemon()


@pytest.mark.parametrize("path", ["/", "/index.html", "/runs/7", "/runs/7/trials/3?rate=2", "/live"])
def test_deep_link_yields_the_first_page(site, path):
    """The UI finds its own way; the page is asked for anew each time."""
    response = site.client.get(path)
    assert (response.status_code, response.text) == (200, "<title>Trimtab</title>")
    assert response.headers["cache-control"] == "no-cache"


def test_asset_is_kept_by_the_browser(site):
    """Its name changes with its contents."""
    response = site.client.get("/assets/index-1a2b3c.js")
    assert (response.status_code, response.text) == (200, "export {};")
    assert response.headers["content-type"].startswith("text/javascript")
    assert "immutable" in response.headers["cache-control"]


@pytest.mark.parametrize(
    "path", ["/assets/index-old.js", "/favicon.png", "/..%2fsecret.txt", "/%2e%2e/secret.txt"]
)
def test_missing_file_is_404_and_nothing_outside_is_served(site, path):
    """A script that is gone must not turn out to be a page."""
    response = site.client.get(path)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not-found"


def test_page_takes_no_post(site):
    """405 in the canonical form."""
    response = site.client.post("/runs/7")
    assert (response.status_code, response.json()["error"]["code"]) == (405, "method-not-allowed")


def test_page_says_how_to_build_the_ui_when_it_is_not_built(daemon):
    """The API works all the same."""
    response = daemon.client.get("/runs/7")
    assert response.status_code == 503
    assert "make up" in response.text
    assert daemon.client.get("/api/v1/health").status_code == 200
    assert daemon.client.post("/").status_code == 405


@pytest.fixture
def docs(start_daemon, tmp_path):
    """A daemon with documentation of two pages."""
    (tmp_path / "docs" / "install").mkdir(parents=True)
    (tmp_path / "docs" / "index.html").write_text("first page")
    (tmp_path / "docs" / "install" / "index.html").write_text("installing")
    (tmp_path / "secret.txt").write_text("secret")
    return start_daemon()


@pytest.mark.parametrize(
    ("path", "text"),
    [("/docs", "first page"), ("/docs/", "first page"), ("/docs/install", "installing")],
)
def test_documentation_is_served_under_the_policy_of_every_page(path, text, docs):
    """With or without the slash at the end."""
    response = docs.client.get(path, follow_redirects=True)
    assert (response.status_code, response.text) == (200, text)
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in response.headers["content-security-policy"]


def test_health_says_whether_the_documentation_is_served(docs):
    """So that the web UI leads to it only where it is."""
    assert docs.client.get("/api/v1/health").json()["documentation"] is True


@pytest.mark.parametrize("path", ["/docs/gone/", "/docs/gone.js", "/docs/..%2fsecret.txt"])
def test_missing_page_of_the_documentation_is_404(path, docs):
    """And not the first page of the UI."""
    response = docs.client.get(path)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not-found")


def test_page_says_how_to_build_the_documentation_when_it_is_not_built(daemon):
    """Whatever page of it was asked for."""
    response = daemon.client.get("/docs/install/")
    assert response.status_code == 503
    assert "make docs" in response.text
