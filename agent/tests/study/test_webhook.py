"""Whoever asked for it is told that a run has ended."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from live_support import tiny_spec
from pydantic import SecretStr
from trimtab_agent.runtime import open_runtime
from trimtab_agent.study.study import Study
from trimtab_db.errors import DatabaseLockedError
from trimtab_db.records import RunState


@pytest.fixture(autouse=True)
def held(simulated):
    """The runs here are simulated ones that wait in their first trial: whoever stops them finds it there."""
    simulated.hold(trial=1)


class Listener(HTTPServer):
    """Answers every request with `status`, and keeps what was posted."""

    def __init__(self, status):
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.posted = status, []

    @property
    def url(self):
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    def do_POST(self):
        """Keeps the body."""
        length = int(self.headers["Content-Length"])
        self.server.posted.append((self.path, json.loads(self.rfile.read(length))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        """Nothing to standard error."""


@pytest.fixture(params=[204, 500])
def listener(request):
    """A listener in a thread of its own."""
    server = Listener(request.param)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("listener", [204], indirect=True)
def test_end_that_the_database_has_refused_is_posted_as_it_was(settings, listener, monkeypatch):
    """And not as the state that is still recorded."""

    def refused(*_, **__):
        raise DatabaseLockedError("The database is locked.")

    with open_runtime(settings.model_copy(update={"webhook": SecretStr(listener.url)})) as runtime:
        run_id = runtime.service.start(tiny_spec(budget_trials=1, confirmation_repeats=0))
        monkeypatch.setattr(Study, "_record_end", refused)
        runtime.service.stop(run_id)
        runtime.service.wait()
    ((_, posted),) = listener.posted
    assert (posted["state"], posted["error"]) == ("failed", "The database is locked.")


def test_end_of_a_run_is_posted_and_a_refusal_is_told(settings, listener):
    """Whatever the listener answers, the run has ended as it has."""
    with open_runtime(settings.model_copy(update={"webhook": SecretStr(listener.url)})) as runtime:
        run_id = runtime.service.start(tiny_spec(budget_trials=1, confirmation_repeats=0))
        runtime.service.stop(run_id)
        runtime.service.wait()
        run = runtime.repository.run(run_id)
        told = [event.message for event in runtime.repository.events(run_id)]
    assert run.state is RunState.STOPPED
    ((path, posted),) = listener.posted
    assert path == "/hook"
    assert (posted["event"], posted["run_id"], posted["state"]) == ("run-ended", run_id, "stopped")
    assert posted["text"].startswith(f"Trimtab: run {run_id} (core, specweb99) is stopped.")
    refused = [sentence for sentence in told if sentence.startswith("The webhook could not be told")]
    assert len(refused) == (listener.status == 500)
