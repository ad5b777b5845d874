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
