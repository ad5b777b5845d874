"""Live sessions of this process: attached, one at a time, and ended with it.

A session runs in a thread of its own, and a running server has one session at most. What is asked of it
(promote, reject, detach) goes through the database.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from trimtab_db import Repository
from trimtab_db.errors import DatabaseError
from trimtab_db.records import LiveDecisionKind, LiveMode, LiveSession, NewLiveSession
from trimtab_tuner.live.episode import Rules
from trimtab_tuner.live.guards import Rails, parse_guard, parse_quiet_hours

from trimtab_agent.errors import LiveConflict, SpecError
from trimtab_agent.live.arms import DRAIN_S
from trimtab_agent.live.attachment import Attachment
from trimtab_agent.live.file_switching import put_files_back
from trimtab_agent.live.its_file import read_its_file
from trimtab_agent.live.plan import Plan
from trimtab_agent.live.restoring import Process, put_back_left_behind
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.live.seeds import seeds_for
from trimtab_agent.live.session import Session
from trimtab_agent.live.switching import put_values_back
from trimtab_agent.live.telling import Teller
from trimtab_agent.stopping import StopSignal

log = logging.getLogger(__name__)

END_S = DRAIN_S + 15.0  # so long a session may take: production is given back, then the arms finish


class AttachSpec(BaseModel):
    """What to attach to, and how far live tuning may go there.

    `server`: its name, unit, pid or port. `guards`: limits such as `p99 <= 50ms` that end an episode at once.
    `objective`: what shall become less, CPU time per request or service time. `quiet_hours`: when nothing is
    tried, as 22:00-06:00. A reply that takes longer than `slow_ms` counts as slow. With `by_reload`
    production itself has each candidate by turns, by a reload each: for servers whose connections cannot be
    shared. There are `reloads_an_hour` at most.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str = Field(min_length=1, max_length=200)
    mode: LiveMode = LiveMode.ADVISE
    guards: tuple[str, ...] = Field(default=(), max_length=16)
    objective: Literal["cost", "time"] = "cost"
    quiet_hours: str | None = None
    slow_ms: float = Field(default=1000.0, gt=0)
    by_reload: bool = False
    reloads_an_hour: int = Field(default=4, ge=2, le=3600)

    @field_validator("guards")
    @classmethod
    def _are_guards(cls, guards: tuple[str, ...]) -> tuple[str, ...]:
        for text in guards:
            parse_guard(text)
        return guards

    @field_validator("quiet_hours")
    @classmethod
    def _are_quiet_hours(cls, text: str | None) -> str | None:
        if text is not None:
            parse_quiet_hours(text)
        return text

    @property
    def rails(self) -> Rails:
        """The limits as the session keeps them."""
        return Rails(
            guards=tuple(map(parse_guard, self.guards)),
            quiet_hours=None if self.quiet_hours is None else parse_quiet_hours(self.quiet_hours),
            reloads_an_hour=self.reloads_an_hour,
        )

    def require_way(self, attachment: Attachment) -> None:
        """Raises SpecError where no candidate can be tried on that server, or not in this way."""
        if self.mode is LiveMode.ADVISE:
            return
        server = attachment.server
        if server.no_reload:
            raise SpecError("mode", f"mode: {server.no_reload} Expected advise.")
        if server.obstacles and not self.by_reload:
            raise SpecError(
                "mode",
                f"mode: {' '.join(server.obstacles)} Expected advise, or --by-reload (`by_reload`): it then "
                "has each candidate by turns with its own file, with a reload each.",
            )
        if not attachment.observer.tells_requests:
            sentence = attachment.not_observed
            raise SpecError("server", f"server = {self.server!r}: {sentence} Expected mode advise.")


@dataclass
class _Running:
    session: LiveSession
    thread: threading.Thread
    stop: StopSignal


class LiveService:
    """Attaches live tuning to servers that run here."""

    def __init__(
        self,
        repository: Repository,
        host_id: int,
        notes: Path,
        own_workloads: Path,
        machine_lock: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        """`notes` is the directory for what episodes have changed; what killed ones have left is put back.
        The user's own workloads lie in `own_workloads`.
        """
        self._repository, self._host_id = repository, host_id
        self._notes, self._machine_lock, self._own_workloads = notes, machine_lock, own_workloads
        self._running: list[_Running] = []
        self._lock = threading.Lock()
        self.end_dead()

    def attach(self, spec: AttachSpec) -> int:
        """Begins a session; its id. Raises SpecError, LiveConflict, HostError."""
        server = the_only_server(spec.server)
        if server.file is None:
            raise SpecError("server", f"server = {spec.server!r}: its configuration file is not known")
        base = read_its_file(server)
        with self._lock, ExitStack() as undone:
            self._forget_ended()
            self._require_unattached(server)
            attachment = Attachment(server, base, spec.slow_ms / 1000)
            undone.callback(attachment.close)
            spec.require_way(attachment)
            plan, stop = self._plan(spec, server), StopSignal()
            undone.callback(stop.close)
            record = self._begun(spec, attachment)
            try:
                session = Session(
                    record=record, attachment=attachment, plan=plan, repository=self._repository, stop=stop
                )
                thread = threading.Thread(target=session.run, name=f"live-{record.id}")
                thread.start()
            except BaseException as error:
                # Of a session that its process has recorded and does not run, nobody would see the end.
                with suppress(DatabaseError):
                    Teller(self._repository, record.id).ended(LiveDecisionKind.TROUBLE, f"not begun: {error}")
                raise
            self._running.append(_Running(record, thread, stop))
            undone.pop_all()
        return record.id

    def _forget_ended(self) -> None:
        """What sessions held that have ended is given back."""
        ended = [each for each in self._running if not each.thread.is_alive()]
        self._running = [each for each in self._running if each not in ended]
        for each in ended:
            each.stop.close()

    def wait(self, session_id: int, timeout_s: float | None = None) -> bool:
        """Waits for the end of a session of this process; whether it has ended."""
        for running in self._running:
            if running.session.id == session_id:
                running.thread.join(timeout_s)
                return not running.thread.is_alive()
        return True

    def end_dead(self) -> None:
        """Puts back what killed sessions of this machine have left, and ends their records."""
        for complaint in end_dead_sessions(self._repository, self._host_id, self._notes):
            log.warning("%s", complaint)

    def close(self) -> None:
        """Ends all sessions; production has everything back when it returns."""
        with self._lock:
            for running in self._running:
                running.stop.request()
            for running in self._running:
                running.thread.join(END_S)
                running.stop.close()
            self._running = []

    def _begun(self, spec: AttachSpec, attachment: Attachment) -> LiveSession:
        """The record of a session that begins."""
        server, own = attachment.server, Process.of(os.getpid())
        return self._repository.begin_live_session(
            NewLiveSession(
                host_id=self._host_id,
                target=server.target.name,
                pid=server.pid,
                addresses=tuple(listener.address for listener in server.listeners),
                unit=server.unit,
                file=attachment.base.path,
                mode=spec.mode,
                settings={**spec.model_dump(mode="json"), "not_observed": attachment.not_observed},
                process=own.pid,
                process_started=own.started,
            )
        )

    def _plan(self, spec: AttachSpec, server: RunningServer) -> Plan:
        return Plan(
            mode=spec.mode,
            rules=Rules(objective=spec.objective),
            rails=spec.rails,
            slow_s=spec.slow_ms / 1000,
            seeds=tuple(seeds_for(self._repository, self._host_id, server.target.name, self._own_workloads)),
            notes=self._notes,
            machine_lock=self._machine_lock,
            require_way=spec.require_way,
            by_reload=spec.by_reload,
        )

    def _require_unattached(self, server: RunningServer) -> None:
        """Raises LiveConflict where a session, of whatever process, is attached to that server."""
        for session in self._repository.live_sessions(self._host_id):
            if session.pid == server.pid and is_alive(session):
                raise LiveConflict(session.id, session.process)


def put_everything_back(notes: Path) -> list[str]:
    """Puts back what killed Trimtabs have noted in that directory; sentences about what resists."""
    return put_back_left_behind(notes) + put_values_back(notes) + put_files_back(notes)


def end_dead_sessions(repository: Repository, host_id: int, notes: Path) -> list[str]:
    """Puts back what killed sessions of this machine have left, and ends their records; sentences about what
    resists.
    """
    complaints = put_everything_back(notes)
    for session in repository.live_sessions(host_id):
        if session.ended_at is None and not is_alive(session):
            sentence = f"its process {session.process} has been killed; production has all connections"
            Teller(repository, session.id).ended(LiveDecisionKind.TROUBLE, sentence)
    return complaints


def is_alive(session: LiveSession) -> bool:
    """Whether a session goes on: not ended, and its process lives."""
    if session.ended_at is not None:
        return False
    return Process(session.process, session.process_started).lives()


def servers_that_answer_to(word: str) -> tuple[RunningServer, ...]:
    """The servers that a person may mean, one at least; raises SpecError."""
    servers = tuple(server for server in running_servers() if server.answers_to(word))
    if not servers:
        raise SpecError(
            "server",
            f"server = {word!r}: none of that name, unit, pid or port runs here; "
            "`trimtab live servers` lists those that do",
        )
    return servers


def the_only_server(word: str) -> RunningServer:
    """The server that a person means; raises SpecError."""
    servers = servers_that_answer_to(word)
    if len(servers) > 1:
        pids = ", ".join(str(server.pid) for server in servers)
        raise SpecError("server", f"server = {word!r}: several run here (processes {pids}); expected a pid")
    return servers[0]
