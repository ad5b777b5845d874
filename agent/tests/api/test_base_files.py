"""A run that begins with files of the host: in the browser only with those that the operator lists."""

import pytest

NGINX = """worker_processes 1;
events { worker_connections 512; }
http { server { listen 80; root /srv; } }
"""


@pytest.fixture
def files(tmp_path):
    """Two files that make sense; only the first is listed."""
    listed, other = tmp_path / "listed.conf", tmp_path / "other.conf"
    for file in (listed, other):
        file.write_text(NGINX)
    return listed, other


def test_listed_file_may_be_named_and_no_other(start_daemon, files):
    """The estimate reads it, and the catalogue says which may be named."""
    listed, other = files
    client = start_daemon(base_files=str(listed)).client
    body = {"target": "nginx", "preset": "quick"}
    answer = client.post("/api/v1/runs/estimate", json={**body, "base": str(listed)})
    assert answer.status_code == 200, answer.text
    told = client.post("/api/v1/runs/told", json={**body, "base": str(listed)})
    assert told.status_code == 200, told.text
    nginx = next(each for each in client.get("/api/v1/targets").json() if each["name"] == "nginx")
    assert nginx["base_files"] == [str(listed)]
    for path in (str(other), f"{listed.parent}/x/../{listed.name}", f"{listed}/"):
        refused = client.post("/api/v1/runs/estimate", json={**body, "base": path})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")
        assert "TRIMTAB_BASE_FILES" in refused.json()["error"]["message"]


def test_without_a_list_no_file_may_be_named(daemon, files):
    """As it is unless the operator says otherwise."""
    for request in ("estimate", "told"):
        body = {"target": "nginx", "base": str(files[0])}
        refused = daemon.client.post(f"/api/v1/runs/{request}", json=body)
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")


def test_a_directory_is_served_only_if_it_is_listed(start_daemon, files):
    """By exactly that path; a listed one is looked at."""
    listed, _ = files
    client = start_daemon(base_files=str(listed), sites="/srv/a,/srv/b").client
    body = {"target": "nginx", "base": str(listed), "workload": "specweb99"}
    for path, said in (
        ("/srv/c", "TRIMTAB_SITES"),
        ("/srv/a/..", "TRIMTAB_SITES"),
        ("/srv/b", "expected one that `trimtab workload learn` has made"),
    ):
        refused = client.post("/api/v1/runs/estimate", json={**body, "site": path})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "site")
        assert said in refused.json()["error"]["message"]
