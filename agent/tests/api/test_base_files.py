"""A run that begins with files of the host: in the browser only with those that the operator lists."""

from pathlib import Path

import pytest
from trimtab_agent.api import uploads
from trimtab_agent.host.own_cpus import given_cpus, pinned_to
from trimtab_agent.simulated.demo import mark

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
    for asked in ("told", "checked"):
        answer = client.post(f"/api/v1/runs/{asked}", json={**body, "base": str(listed)})
        assert answer.status_code == 200, answer.text
    nginx = next(each for each in client.get("/api/v1/targets").json() if each["name"] == "nginx")
    assert nginx["base_files"] == [str(listed)]
    for path in (str(other), f"{listed.parent}/x/../{listed.name}", f"{listed}/"):
        refused = client.post("/api/v1/runs/estimate", json={**body, "base": path})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")
        assert "TRIMTAB_BASE_FILES" in refused.json()["error"]["message"]


def test_the_cpu_that_trimtab_leaves_to_the_server_is_not_taken_for_missing(start_daemon, tmp_path):
    """The daemon keeps to some CPUs itself; a file with a worker for each of all is right."""
    cpus = given_cpus()
    file = tmp_path / "auto.conf"
    file.write_text(NGINX.replace("worker_processes 1", f"worker_processes {len(cpus)}"))
    client = start_daemon(base_files=str(file)).client
    body = {"target": "nginx", "preset": "quick", "base": str(file)}
    asked = client.post("/api/v1/runs/checked", json=body).json()
    with pinned_to(cpus[:1]):
        assert client.post("/api/v1/runs/checked", json=body).json() == asked


def test_without_a_list_no_file_may_be_named(daemon, files):
    """As it is unless the operator says otherwise."""
    for request in ("estimate", "told", "checked"):
        body = {"target": "nginx", "base": str(files[0])}
        refused = daemon.client.post(f"/api/v1/runs/{request}", json=body)
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")


@pytest.mark.parametrize("body", [{"target": "nginx"}, {"target": "nothing", "base": "/srv/listed.conf"}])
def test_what_is_no_file_of_a_server_is_not_checked(start_daemon, body):
    """The answer says what is missing."""
    client = start_daemon(base_files="/srv/listed.conf").client
    refused = client.post("/api/v1/runs/checked", json=body)
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


def send(client, content, called="own.conf", target="nginx", **asked):
    """What the daemon answers to a whole file."""
    return client.post(
        f"/api/v1/targets/{target}/files",
        content=content,
        params={"called": called, **asked},
        headers={"Content-Type": "application/octet-stream"},
    )


def test_whole_file_is_sent_told_of_and_begins_a_run(start_daemon):
    """Its bytes are kept; what the run would do to it and what contradicts the machine is told before."""
    daemon = start_daemon(uploads=True)
    client, content = daemon.client, NGINX.replace("\n", "\r\n").encode() + b"# caf\xe9\n"
    sent = send(client, content)
    assert sent.status_code == 201, sent.text
    path = sent.json()["path"]
    kept = Path(path)
    assert kept.read_bytes() == content
    assert kept.is_relative_to(daemon.settings.var)
    nginx = next(each for each in client.get("/api/v1/targets").json() if each["name"] == "nginx")
    assert path.startswith(f"{nginx['uploads']}/")
    body = {"target": "nginx", "preset": "quick", "base": path}
    assert client.post("/api/v1/runs/estimate", json=body).status_code == 200
    told = client.post("/api/v1/runs/told", json=body)
    assert told.status_code == 200, told.text
    assert "listen 80" in str(told.json()["lines"])
    assert client.post("/api/v1/runs/checked", json=body).json()["path"] == path


def test_file_that_is_sent_is_one_of_its_target_alone(start_daemon):
    """Under another target's name, or beside it, nothing lies that may be named."""
    client = start_daemon(uploads=True).client
    path = send(client, NGINX.encode()).json()["path"]
    Path(path).with_name("other.conf").write_text(NGINX)
    for target, named in (("lighttpd", path), ("nginx", f"{path}/../own.conf"), ("nginx", f"{path}x")):
        refused = client.post("/api/v1/runs/estimate", json={"target": target, "base": named})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"include a.conf;\ninclude b/*.conf;\n{NGINX}", "own.conf includes a.conf, b/*.conf"),
        (f"load_module own.so;\n{NGINX}", "own.conf, line 1: load_module own.so"),
        (
            NGINX.replace("root /srv;", "location / { proxy_pass http://10.0.0.1; }"),
            "has no other server asked",
        ),
        ('server.document-root = "/srv"\n', "looks like a lighttpd.conf"),
        ("\x7fELF\x00", "own.conf: expected a text, and this has control characters in it"),
        (" \n", "own.conf: expected a configuration, and this is empty"),
    ],
)
def test_file_that_brings_more_than_settings_is_refused(start_daemon, content, said):
    """With what stands in the way, and the ways that are open."""
    daemon = start_daemon(uploads=True)
    refused = send(daemon.client, content.encode())
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")
    message = refused.json()["error"]["message"]
    assert said in message
    assert "expected" in message
    assert not list(daemon.settings.var.glob("uploads/*/*"))


def test_no_file_is_taken_unless_the_operator_allows_it(daemon):
    """Nor one that is too large, nor one for a database, nor for what there is not."""
    refused = send(daemon.client, NGINX.encode())
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "base")
    nginx = next(each for each in daemon.client.get("/api/v1/targets").json() if each["name"] == "nginx")
    assert nginx["uploads"] is None
    assert send(daemon.client, NGINX.encode(), target="nothing").status_code == 404


def test_file_that_is_too_large_or_of_a_database_is_not_taken(start_daemon):
    """A body has at most a mebibyte."""
    client = start_daemon(uploads=True).client
    assert send(client, b"#" * (2**20 + 1)).status_code == 413
    assert send(client, b"[mysqld]\n", target="mariadb").status_code == 422


def test_name_that_is_a_path_is_not_used_and_old_files_make_room(start_daemon, monkeypatch):
    """The file is then called as its server's usually is."""
    monkeypatch.setattr(uploads, "KEPT", 2)
    daemon = start_daemon(uploads=True)
    paths = [
        Path(send(daemon.client, f"{NGINX}# {number}\n".encode(), called="../x").json()["path"])
        for number in range(4)
    ]
    assert {path.name for path in paths} == {"nginx.conf"}
    assert [path.exists() for path in paths] == [False, False, True, True]


def test_file_that_cannot_be_kept_is_told_of_in_a_sentence(start_daemon):
    """As on a full disk; here a file is in the way of the folder."""
    daemon = start_daemon(uploads=True)
    folder = daemon.settings.var / "uploads" / "nginx"
    folder.parent.mkdir()
    folder.write_text("in the way")
    refused = send(daemon.client, NGINX.encode(), called="own.conf")
    assert refused.status_code == 503, refused.text
    assert refused.json()["error"]["message"].startswith(f"own.conf cannot be kept in {folder}: ")


def test_file_that_is_replaced_goes(start_daemon):
    """The same bytes are no other file; a path that nobody was given is none either."""
    daemon = start_daemon(uploads=True)
    first = Path(send(daemon.client, NGINX.encode()).json()["path"])
    again = send(daemon.client, NGINX.encode(), replaces=str(first))
    assert Path(again.json()["path"]) == first
    listed = first.with_name("..")
    for replaced, left in ((listed, True), (first, False)):
        changed = f"{NGINX}# {left}\n".encode()
        kept = Path(send(daemon.client, changed, replaces=str(replaced)).json()["path"])
        assert kept.read_bytes() == changed
        assert first.exists() is left


def test_demo_takes_files_without_being_told_to(start_daemon, tmp_path):
    """No server is started there."""
    mark(tmp_path / "var")
    assert send(start_daemon().client, NGINX.encode()).status_code == 201
