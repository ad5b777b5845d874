"""Live tuning over the API: what runs here, sessions, what is asked of them, and what is refused."""

import os
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import uvicorn
from trimtab_agent.api.local import listen_locally
from trimtab_agent.api.routes import live_tuning
from trimtab_agent.host.identity import describe_host
from trimtab_agent.live import own_file, running
from trimtab_agent.live.allowed import is_listed
from trimtab_agent.live.file_switching import SwitchedFile, digest_of
from trimtab_agent.live.listening import Listener
from trimtab_agent.live.restoring import Process
from trimtab_agent.live.running import RunningServer
from trimtab_agent.live.seeds import seeds_for
from trimtab_agent.paths import VarPaths
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.stopping import StopSignal
from trimtab_db import records
from trimtab_db.records import LiveDecisionKind, LiveMode, LiveRequest, LiveState
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

SERVERS = "/api/v1/live-tuning/servers"
SESSIONS = "/api/v1/live-tuning/sessions"


@pytest.fixture
def nginx(server_order, monkeypatch):
    """A server that runs, as if somebody else had started it."""
    monkeypatch.setattr(running, "is_measured", lambda _: False)
    with TargetServer(server_order("nginx", worker_processes=2), StopSignal()) as server:
        yield server


class Attached:
    """Stands for the service behind the API: notes what it is asked for, and begins a record."""

    def __init__(self, daemon):
        self.specs = []
        self._daemon = daemon

    def attach(self, spec):
        """The id of a session that only the database knows."""
        self.specs.append(spec)
        return begin(self._daemon).id

    def close(self):
        """Nothing goes on."""


@pytest.fixture
def attached(start_daemon):
    """Starts a daemon with such a service."""

    def start(**settings):
        daemon = start_daemon(**settings)
        daemon.app.state.context = replace(daemon.context, live=Attached(daemon))
        return daemon, daemon.app.state.context.live

    return start


def begin(daemon, **changed):
    """A session that has just begun, of this process unless said otherwise."""
    known = {
        "host_id": daemon.context.host_id,
        "target": "nginx",
        "pid": 812,
        "addresses": ("127.0.0.1:80",),
        "unit": "nginx.service",
        "file": "/etc/nginx/nginx.conf",
        "mode": LiveMode.CANARY,
        "settings": {"objective": "cost"},
        "process": os.getpid(),
        "process_started": Process.of(os.getpid()).started,
    }
    return daemon.repository.begin_live_session(records.NewLiveSession(**{**known, **changed}))


def test_finished_runs_are_seeds_with_the_traffic_that_they_were_measured_with(daemon, recorded_run):
    """Those of this machine and target; a workload of an earlier version tells nothing of its traffic."""
    repository = daemon.repository
    (old,) = seeds_for(repository, recorded_run.host_id, "core", daemon.settings.var)
    assert (old.configuration["workers"], old.gain, old.context) == (4, 0.25, None)
    assert old.source == f"run {recorded_run.id} on this host recommends it (+25 % in score on specweb99)"
    asked = parameters(WORKLOADS["specweb99"].sized(2), 1.0).model_dump(mode="json")
    run = replace(repository.run(recorded_run.id), workload_parameters=asked)
    listed = SimpleNamespace(runs=lambda **_: [SimpleNamespace(run=run)])
    (seed,) = seeds_for(listed, recorded_run.host_id, "core", daemon.settings.var)
    assert 5_000 < seed.context.reply_bytes < 50_000
    assert seed.context.requests_per_connection > 2
    assert seeds_for(repository, recorded_run.host_id, "nginx", daemon.settings.var) == []


@pytest.mark.live
def test_server_that_runs_is_listed_and_may_not_be_attached_to_unless_the_operator_lists_it(
    start_daemon, nginx
):
    """With what its file sets, as the command line shows it."""
    daemon = start_daemon()
    address = f"127.0.0.1:{nginx.port}"
    (found,) = (each for each in daemon.client.get(SERVERS).json() if address in each["addresses"])
    assert (found["target"], found["attachable"], found["obstacles"]) == ("nginx", False, [])
    assert found["values"]["worker_processes"] == 2


@pytest.mark.live
def test_listed_server_is_attached_to_by_its_process(attached, nginx):
    """What has been checked is what the session gets, whoever takes the port meanwhile."""
    daemon, service = attached(live_servers=str(nginx.port))
    reply = daemon.client.post(SESSIONS, json={"server": str(nginx.port), "guards": ["p99 <= 50ms"]})
    assert reply.status_code == 201
    (spec,) = service.specs
    assert (spec.server, spec.mode, spec.guards) == (str(nginx.pids[0]), LiveMode.ADVISE, ("p99 <= 50ms",))
    assert reply.json()["id"] == daemon.client.get(SESSIONS).json()[0]["id"]
    assert any(each["attachable"] for each in daemon.client.get(SERVERS).json())


@pytest.mark.parametrize("listed", ["", "apache2", "/usr/sbin/no-such-program,1"])
@pytest.mark.live
def test_server_that_is_not_listed_is_refused_over_the_network(attached, nginx, listed):
    """403, the sentence names the setting, and nothing begins."""
    daemon, service = attached(live_servers=listed)
    reply = daemon.client.post(SESSIONS, json={"server": str(nginx.port)})
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "server-not-listed")
    assert "TRIMTAB_LIVE_SERVERS" in reply.json()["error"]["message"]
    assert (service.specs, daemon.client.get(SESSIONS).json()) == ([], [])


@pytest.mark.live
def test_any_server_is_attached_to_through_the_daemons_own_socket(attached, nginx):
    """Its user may attach on the command line as well."""
    daemon, service = attached()
    config = uvicorn.Config(daemon.app, log_config=None, access_log=False)
    local = uvicorn.Server(config)
    with listen_locally(daemon.settings.var) as listener:
        thread = threading.Thread(target=local.run, args=([listener],))
        thread.start()
        path = VarPaths(daemon.settings.var.resolve()).daemon_socket
        directory = os.open(path.parent, os.O_PATH)
        try:
            transport = httpx.HTTPTransport(uds=f"/proc/self/fd/{directory}/{path.name}")
            with httpx.Client(transport=transport, base_url="http://daemon") as client:
                reply = client.post(SESSIONS, json={"server": str(nginx.port)})
                servers = client.get(SERVERS).json()
        finally:
            local.should_exit = True
            thread.join()
            os.close(directory)
    assert (reply.status_code, len(service.specs)) == (201, 1)
    assert all(each["attachable"] for each in servers)


@pytest.mark.parametrize(
    "body",
    [
        {"server": "no-such-server"},
        {"server": ""},
        {},
        {"server": "80", "mode": "reckless"},
        {"server": "80", "file": "/etc/passwd"},
    ],
)
def test_senseless_attachment_is_refused(attached, body):
    """422 with a sentence, and nothing begins."""
    daemon, service = attached()
    reply = daemon.client.post(SESSIONS, json=body)
    assert (reply.status_code, bool(reply.json()["error"]["message"])) == (422, True)
    assert service.specs == []


def test_foreign_page_cannot_attach_nor_detach(attached):
    """The rules at the door hold here as well."""
    daemon, _ = attached()
    session = begin(daemon)
    for path in (SESSIONS, f"{SESSIONS}/{session.id}/detach"):
        reply = daemon.client.post(path, headers={"Origin": "http://evil.example"}, json={"server": "80"})
        assert reply.status_code == 403
    assert daemon.repository.live_session(session.id).asked is None


def test_session_has_its_decisions_and_incumbents(daemon):
    """Everything that the page shows but the samples."""
    session = begin(daemon)
    proposal = records.NewLiveDecision(
        session_id=session.id,
        kind=LiveDecisionKind.PROPOSAL,
        sentence="Would try two workers.",
        configuration={"worker_processes": [1, 2]},
        evidence={"source": "run 3"},
    )
    daemon.repository.add_live_decision(proposal)
    daemon.repository.set_live_incumbents(session.host_id, session.target, session.file, {"contexts": []})
    shown = daemon.client.get(f"{SESSIONS}/{session.id}").json()
    (decision,) = shown["decisions"]
    assert decision["configuration"] == {"worker_processes": [1, 2]}
    assert (shown["state"], shown["dead"], shown["incumbents"]) == ("observing", False, {"contexts": []})
    assert shown["addresses"] == ["127.0.0.1:80"]


def test_samples_are_those_of_the_last_hour_or_since_a_moment(daemon):
    """What an arm has not told is null."""
    session = begin(daemon)
    latest = session.started_at
    for age in (timedelta(hours=2), timedelta(seconds=4), timedelta()):
        data = {"share": 0.05, "canary": {"requests_per_s": 20.0}, "change": {"cost": [-0.1, None]}}
        daemon.repository.add_live_sample(session.id, records.LiveSample(at=latest - age, data=data))
    path = f"{SESSIONS}/{session.id}/samples"
    samples = daemon.client.get(path).json()
    assert len(samples) == 2
    assert samples[0]["data"]["canary"]["requests_per_s"] == 20.0
    assert samples[0]["data"]["canary"]["cpu_s_per_1000"] is None
    assert samples[0]["data"]["change"] == {"cost": [-0.1, None], "errors": None, "time": None}
    (last,) = daemon.client.get(path, params={"since": samples[0]["at"]}).json()
    assert last["at"] == samples[1]["at"]
    long_ago = (latest - timedelta(hours=3)).isoformat()
    assert len(daemon.client.get(path, params={"since": long_ago}).json()) == 3


@pytest.mark.parametrize("request_", [LiveRequest.PROMOTE, LiveRequest.REJECT])
def test_answer_reaches_only_a_session_that_waits_for_it(daemon, request_):
    """409 in every other state."""
    session = begin(daemon)
    path = f"{SESSIONS}/{session.id}/{request_}"
    reply = daemon.client.post(path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "live-request-refused")
    assert daemon.repository.take_live_request(session.id) is None
    daemon.repository.update_live_session(session.id, state=LiveState.WAITING)
    reply = daemon.client.post(path)
    assert (reply.status_code, reply.json()["asked"]) == (202, request_)
    assert daemon.repository.take_live_request(session.id) is request_


def test_session_that_has_ended_is_asked_nothing(daemon):
    """409, and its record stays as it is."""
    session = begin(daemon)
    daemon.repository.update_live_session(session.id, state=LiveState.ENDED)
    for word in LiveRequest:
        assert daemon.client.post(f"{SESSIONS}/{session.id}/{word}").status_code == 409


def test_detach_reaches_a_session_in_any_state(daemon):
    """Whoever wants out gets out."""
    session = begin(daemon)
    daemon.repository.update_live_session(session.id, state=LiveState.PROMOTING)
    assert daemon.client.post(f"{SESSIONS}/{session.id}/detach").status_code == 202
    assert daemon.repository.take_live_request(session.id) is LiveRequest.DETACH


def test_session_whose_process_is_gone_is_dead_and_detached_by_its_record(daemon):
    """Nobody would take the word."""
    dead = begin(daemon, process=2**22)  # no pid is that large (proc_sys_kernel(5))
    reused = begin(daemon, process_started=1)  # in a container every daemon may have the same pid
    alive = begin(daemon)
    listed = {each["id"]: each["dead"] for each in daemon.client.get(SESSIONS).json()}
    assert listed == {dead.id: True, reused.id: True, alive.id: False}
    reply = daemon.client.post(f"{SESSIONS}/{dead.id}/detach").json()
    assert (reply["state"], reply["dead"], reply["asked"]) == ("ended", False, None)


def test_detach_of_a_dead_session_puts_back_what_nobody_else_has(daemon, tmp_path):
    """Its keeper was killed too."""
    file, notes = tmp_path / "nginx.conf", VarPaths(daemon.settings.var.resolve()).live_notes
    file.write_text("own\n")
    backup = own_file.name_beside(file)
    own_file.keep_as(backup, file)
    own_file.write(file, "a candidate\n")
    gone = Process(2**22, 1)
    notes.mkdir(parents=True, exist_ok=True)
    SwitchedFile(
        agent=gone,
        production=gone,
        boot_id="another",
        file=str(file),
        backup=str(backup),
        reload_signal=1,
        check_command=("true",),
        own=digest_of("own\n"),
        ours=(digest_of("a candidate\n"),),
    ).write(notes / "1-2.file.json")
    dead = begin(daemon, process=gone.pid)
    assert daemon.client.post(f"{SESSIONS}/{dead.id}/detach").json()["state"] == "ended"
    assert file.read_text() == "own\n"
    assert not list(notes.iterdir())


def test_session_of_another_machine_is_asked_and_not_judged(daemon):
    """Whether its process lives is not known here, where that number means another one or none."""
    host = replace(describe_host(daemon.settings.var), machine_id="0" * 32)
    session = begin(daemon, host_id=daemon.repository.register_host(host), process=2**22)
    assert daemon.client.get(f"{SESSIONS}/{session.id}").json()["dead"] is False
    assert daemon.client.post(f"{SESSIONS}/{session.id}/detach").status_code == 202
    assert daemon.repository.live_session(session.id).ended_at is None
    assert daemon.repository.take_live_request(session.id) is LiveRequest.DETACH


@pytest.mark.parametrize("path", ["", "/samples", "/promote", "/reject", "/detach"])
def test_session_that_does_not_exist_is_not_found(empty_daemon, path):
    """404 with the sentence of the database."""
    method = "GET" if path in ("", "/samples") else "POST"
    reply = empty_daemon.client.request(method, f"{SESSIONS}/4711{path}")
    assert (reply.status_code, reply.json()["error"]["message"]) == (404, "There is no live session 4711.")


def server(**changes):
    """A server that was found."""
    known = {
        "target": TARGETS["nginx"],
        "pid": 812,
        "program": Path("/usr/sbin/nginx"),
        "processes": 3,
        "user": "root",
        "listeners": (Listener("192.0.2.1", 80, 6),),
        "file": Path("/etc/nginx/nginx.conf"),
        "unit": "nginx.service",
        "obstacles": (),
    }
    return RunningServer(**{**known, **changes})


@pytest.mark.parametrize("word", ["nginx", "nginx.service", "/usr/sbin/nginx", "80"])
def test_server_is_listed_by_unit_program_and_port(word):
    """What the operator knows of it."""
    assert is_listed(server(), ("h2o", word))


@pytest.mark.parametrize("word", ["812", "8", "/usr/sbin", "service", "192.0.2.1:80"])
def test_server_is_not_listed_by_anything_else(word):
    """Nor by a pid, which another server may have tomorrow."""
    assert not is_listed(server(), (word,))


def test_list_has_no_word_of_a_file_that_is_not_understood(start_daemon, monkeypatch, tmp_path):
    """Who asks over the network may not read it; the command line tells."""
    file = tmp_path / "nginx.conf"
    file.write_text("worker_processes 1; } secret\n")
    broken = server(pid=os.getpid(), file=file)
    monkeypatch.setattr(live_tuning, "production_servers", lambda: (broken,))
    (found,) = start_daemon().client.get(SERVERS).json()
    said = f"Its file could not be read: `trimtab live servers {os.getpid()}` says why."
    assert (found["file"], found["values"], found["trouble"]) == (str(file), {}, said)


def test_server_without_a_unit_is_not_listed_by_the_name_of_its_kind():
    """Somebody's own nginx is not the one of the system."""
    assert not is_listed(server(unit=""), ("nginx", ""))
