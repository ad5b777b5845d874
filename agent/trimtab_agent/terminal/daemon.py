"""Runs that the daemon of the same directory carries out, asked for through its socket (`api/local.py`).

Whoever tunes in a terminal beside a daemon sees the same as without one: what happens comes through the
API's live stream, what was measured is read from the database. Ctrl-C stops the run in the daemon; a
terminal that is closed leaves it to the daemon.
"""

import json
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
from httpx_sse import EventSource, connect_sse
from trimtab_db import Repository
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.records import RunState

from trimtab_agent.broadcast import Event
from trimtab_agent.errors import HostError, RunNotRunning, TrimtabError
from trimtab_agent.host.lock import holder_of
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import interrupt_if_dead
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.own_file_report import OwnFileReport
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.study import RunEnd

REPLY_S = 60.0  # the daemon may be clearing up behind a run that was killed
RECORDED_EVERY_S = 0.2
API = "http://daemon/api/v1"
ENDED = {state.value for state in RunState} - {RunState.RUNNING.value}


class Refused(TrimtabError):
    """What the daemon would not do, in its own words."""

    def __init__(self, status: int, code: str, sentence: str, field: str | None) -> None:
        super().__init__(sentence)
        self.code, self.field = code, field
        self.exit_code = {422: 2, 409: 3}.get(status, 1)


@contextmanager
def find_daemon(settings: AgentSettings) -> Iterator["Daemon | None"]:
    """The daemon of this directory; None if none listens there to this user."""
    paths = VarPaths(settings.var.resolve())
    with ExitStack() as opened:
        try:
            # By way of a descriptor: unix(7) gives a path 107 bytes, and directories lie deeper.
            directory = os.open(paths.var, os.O_PATH | os.O_DIRECTORY)
            opened.callback(os.close, directory)
            path = f"/proc/self/fd/{directory}/{paths.daemon_socket.name}"
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(path)
        except OSError:
            yield None
            return
        transport = httpx.HTTPTransport(uds=path)
        client = opened.enter_context(httpx.Client(transport=transport, base_url=API, timeout=REPLY_S))
        yield Daemon(client, settings, opened)


class Daemon:
    """The daemon as whoever carries out a run that this process asks for and follows."""

    def __init__(self, client: httpx.Client, settings: AgentSettings, opened: ExitStack) -> None:
        self.arrived = threading.Event()
        self._client = client
        self._settings = settings
        self._opened = opened
        self._repository: Repository
        self._stream: EventSource
        self._events: deque[Event] = deque()
        self._over = threading.Event()
        self._failed = False

    def __str__(self) -> str:
        """Where it is and which process: `at http://127.0.0.1:8080 (process 12)`."""
        holder = self._holder()
        return f"at {holder.get('url', 'its socket')} (process {holder.get('pid', 'unknown')})"

    def listen(self, repository: Repository) -> "Daemon":
        """Begins to listen; `repository` is the database of this process. Raises HostError, also if the
        daemon records in another one.
        """
        theirs = self._holder().get("database")
        if theirs != repository.place:
            raise HostError(
                f"the daemon {self} records in the database {theirs}, this command in {repository.place}; "
                "expected the same TRIMTAB_DATABASE_URL"
            )
        self._repository = repository
        with self._reached():
            connection = connect_sse(self._client, "GET", "live", timeout=httpx.Timeout(REPLY_S, read=None))
            self._stream = self._opened.enter_context(connection)
            self._stream.response.raise_for_status()
        return self

    def start(self, spec: RunSpec) -> int:
        """Starts a run and returns its number; raises Refused, RecordNotFoundError, HostError."""
        return self._followed("runs", spec.model_dump(mode="json", exclude_none=True))

    def told(self, spec: RunSpec) -> OwnFileReport:
        """What happens to the user's own file in such a run; raises what `start` does."""
        return OwnFileReport.model_validate(
            self._ask("runs/told", spec.model_dump(mode="json", exclude_none=True))
        )

    def resume(self, run_id: int, even_if_changed: bool = False) -> int:
        """Goes on with a run and returns its number; raises what `start` does."""
        return self._followed(f"runs/{run_id}/resume{'?even_if_changed=true' * even_if_changed}")

    def stop(self, run_id: int) -> None:
        """Asks it to stop; raises RunNotRunning when it has just ended, Refused, HostError."""
        try:
            self._ask(f"runs/{run_id}/stop")
        except Refused as error:
            if error.code != RunNotRunning.code:
                raise
            raise RunNotRunning(run_id) from error

    def events(self) -> list[Event]:
        """What has happened since the last call."""
        return [self._events.popleft() for _ in range(len(self._events))]

    def ended(self) -> bool:
        """Whether the run has, or the daemon."""
        return self._over.is_set()

    def end(self, run_id: int) -> RunEnd:
        """As it is recorded; a daemon that ends says so before its run has come to its end.

        What a full disk has kept it from recording is told as the daemon has told it.
        """
        while (run := self._repository.run(run_id)).state is RunState.RUNNING:
            interrupt_if_dead(self._repository, self._settings)
            time.sleep(RECORDED_EVERY_S)
        if self._failed and run.state is RunState.INTERRUPTED:
            return RunEnd(run_id, RunState.FAILED, "what came of it could not be recorded")
        return RunEnd(run_id, run.state, run.error)

    def _followed(self, path: str, body: dict[str, Any] | None = None) -> int:
        run_id: int = self._ask(path, body)["id"]
        threading.Thread(target=self._read, args=(run_id,), name="events", daemon=True).start()
        return run_id

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with self._reached():
            reply = self._client.post(path, json=body)
        answer: dict[str, Any] = reply.json()
        if reply.is_success:
            return answer
        error = answer["error"]
        if reply.status_code == httpx.codes.NOT_FOUND:
            raise RecordNotFoundError(error["message"], "run")
        raise Refused(reply.status_code, error["code"], error["message"], error["field"])

    def _read(self, run_id: int) -> None:
        """What the thread of the stream does: hands on its events, until the run or the stream ends."""
        try:
            for event in self._stream.iter_sse():
                data = json.loads(event.data)
                self._events.append(Event(int(event.id or 0), event.event, data))
                self.arrived.set()
                if event.event == "run" and data["run_id"] == run_id and data["state"] in ENDED:
                    self._failed = data["state"] == RunState.FAILED.value
                    return
                # A terminal that was stopped for long has missed events; the end may be among them.
                if event.event == "lost" and self._is_over(run_id):
                    return
        except httpx.TransportError:
            return  # the daemon was killed
        finally:
            self._over.set()
            self.arrived.set()

    def _is_over(self, run_id: int) -> bool:
        """Whether what is recorded says so, or that there is no such run any more."""
        try:
            return self._repository.run(run_id).state is not RunState.RUNNING
        except RecordNotFoundError:
            return True

    def _holder(self) -> dict[str, Any]:
        return holder_of(VarPaths(self._settings.var).daemon_lock)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            raise HostError(f"the daemon {self} does not answer: {error}") from error
