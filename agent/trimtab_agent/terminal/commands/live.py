"""`trimtab live`: servers that carry real traffic."""

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from trimtab_db import Repository
from trimtab_db.records import LiveDecision, LiveMode, LiveRequest, LiveSession, LiveState
from trimtab_tuner.live.accept_limit_policy import Second as LimitedSecond
from trimtab_tuner.live.guards import parse_guard, parse_quiet_hours
from trimtab_tuner.live.replicas_policy import ReplicasPolicy, Second
from trimtab_tuner.targets.base import space_of
from trimtab_tuner.wording import counted, in_percent

from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.live.accept_limit import adapt_accept_limit
from trimtab_agent.live.describing import server_document, values_of
from trimtab_agent.live.replicas import adapt_replicas
from trimtab_agent.live.running import RunningServer, production_servers
from trimtab_agent.live.service import (
    END_S,
    AttachSpec,
    end_dead_sessions,
    is_alive,
    put_everything_back,
    servers_that_answer_to,
    the_only_server,
)
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_live, open_to_read
from trimtab_agent.stopping import StopSignal
from trimtab_agent.terminal.commands.options import (
    LARGEST_ID,
    Commands,
    Json,
    Var,
    console_for,
    refusal,
    settings_of,
    settings_to_read,
)
from trimtab_agent.terminal.documents import live_session_document
from trimtab_agent.terminal.output import print_json
from trimtab_agent.terminal.signals import stopped_by_signals

FOLLOW_EVERY_S = 0.5
DECISIONS_SHOWN = 10
EXAMPLES = """Examples:

trimtab live servers             which web servers run here
trimtab live attach nginx        observe one: what to try on it, and why
trimtab live attach nginx --mode canary --guard 'p99 <= 50ms'
trimtab live status              in another terminal: what it does now
trimtab live promote             agree to what has been shown to be better
trimtab live detach              the way out, at once; Ctrl-C is another

docs/live-tuning.md: how it decides, what it can break, how to undo it"""

app = Commands(
    name="live",
    help="Tune a server while it carries real traffic.\n\n"
    "A change is tried on a share of the connections, beside a fresh copy of today's configuration. It is "
    "promoted only when it has been shown to be better, and loses its connections at once when it does harm. "
    "Unless you choose a mode, nothing is tried: Trimtab observes, and says what it would try.",
    epilog=EXAMPLES,
    no_args_is_help=True,
)


class Objective(StrEnum):
    """What a session makes less: CPU time per request, or service time."""

    COST = "cost"
    TIME = "time"


Session = Annotated[
    int | None,
    typer.Argument(
        metavar="SESSION",
        help="Number of the session; without it, the only one there is.",
        min=1,
        max=LARGEST_ID,
    ),
]


@app.command()
def servers(
    which: Annotated[
        str | None, typer.Argument(metavar="SERVER", help="One of them: its name, unit, pid or port.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the web servers that run here, or say what is known of one; nothing is touched.

    Those that Trimtab has started itself, for a trial, are left out.
    """
    found = production_servers() if which is None else servers_that_answer_to(which)
    if as_json:
        print_json([server_document(server) for server in found])
    elif which is not None:
        for server in found:
            _print_server(console_for(), server)
    elif found:
        _print_list(console_for(), found)
    else:
        print("No web server that Trimtab knows runs here, or none that this user may see.")


@app.command(
    epilog="A guard limits the service time (mean, p50, p90, p99 or p999, in us, ms or s), errors or cpu "
    "(in %), or queue (connections that wait). What breaks one is given up at once."
)
def attach(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="Its name, unit, pid or port.")],
    mode: Annotated[
        LiveMode,
        typer.Option(
            help="advise says what it would try and touches nothing; canary tries it on a share of the "
            "connections and asks you before it promotes; auto promotes by itself."
        ),
    ] = LiveMode.ADVISE,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="What must hold at any time: 'p99 <= 50ms', 'errors <= 0.1%'; again for more.",
        ),
    ] = None,
    quiet_hours: Annotated[
        str | None,
        typer.Option(metavar="BEGIN-END", help="When nothing is tried, in local time: 22:00-06:00."),
    ] = None,
    objective: Annotated[
        Objective,
        typer.Option(help="What shall become less: cost (CPU time per request) or time (service time)."),
    ] = Objective.COST,
    by_reload: Annotated[
        bool,
        typer.Option(
            "--by-reload",
            help="Start nothing beside the server: it has each candidate by turns with its own file, with a "
            "reload each. For servers whose connections cannot be shared.",
        ),
    ] = False,
    reloads: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="So many reloads an hour at most; a promotion and the way back are two.",
            min=2,
            max=3600,
        ),
    ] = 4,
    var: Var = None,
) -> None:
    """Attach live tuning to a running server, until Ctrl-C or `trimtab live detach`."""
    settings = settings_of(var=var)
    for text in guard or ():
        _require("--guard", parse_guard, text)
    if quiet_hours is not None:
        _require("--quiet-hours", parse_quiet_hours, quiet_hours)
    try:
        spec = AttachSpec.model_validate(
            {
                "server": server,
                "mode": mode,
                "guards": guard or [],
                "objective": objective.value,
                "quiet_hours": quiet_hours,
                "by_reload": by_reload,
                "reloads_an_hour": reloads,
            }
        )
    except ValidationError as error:
        raise refusal(error) from error
    console, stop = console_for(), StopSignal()
    with open_live(settings) as (repository, service), stopped_by_signals(stop.request):
        session_id = service.attach(spec)
        console.print(f"Live session {session_id}. Ctrl-C, or `trimtab live detach`, gives everything back.")
        _follow(console, repository, session_id, stop)
    console.print("Detached: production has all connections.")


@app.command()
def status(as_json: Json = False, var: Var = None) -> None:
    """Say what live tuning does now, and the latest decisions."""
    with open_to_read(settings_to_read(var)) as repository:
        alive = _alive(repository)
        if as_json:
            print_json([live_session_document(repository, each) for each in alive])
        elif not alive:
            print("Live tuning is attached to no server.")
        for session in alive if not as_json else ():
            _print_session(console_for(), repository, session)


@app.command()
def promote(session: Session = None, var: Var = None) -> None:
    """Agree to what a session in mode canary has shown to be better: production's file gets it."""
    _ask(var, session, LiveRequest.PROMOTE)


@app.command()
def reject(session: Session = None, var: Var = None) -> None:
    """Reject what a session in mode canary has shown: it goes on with something else."""
    _ask(var, session, LiveRequest.REJECT)


@app.command()
def detach(session: Session = None, var: Var = None) -> None:
    """End a session at once: all new connections go to production again, and everything is put back."""
    settings = settings_to_read(var)
    with open_to_read(settings) as repository:
        chosen = _chosen(repository, session, _open(repository))
        repository.ask_live_session(chosen.id, LiveRequest.DETACH)
        deadline = time.monotonic() + END_S
        while is_alive(repository.live_session(chosen.id)) and time.monotonic() < deadline:
            time.sleep(0.1)
        ended = repository.live_session(chosen.id)
        if is_alive(ended):
            raise HostError(
                f"live session {ended.id} (process {ended.process}) has not ended in {END_S:.0f} s"
            )
        notes = VarPaths(settings.var.resolve()).live_notes
        for complaint in end_dead_sessions(repository, ended.host_id, notes):
            print(complaint, file=sys.stderr)
    print(f"Live session {ended.id} has ended; production has all connections.")


@app.command()
def accept_limit(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="Its name, unit, pid or port.")],
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Adapt the accept limit of a trimtab-httpd to its load, every second until Ctrl-C.

    Each second is a line; with --json it is an object. At the end the server has its own limit again.
    """
    notes = VarPaths(settings_of(var=var).var.resolve()).live_notes
    found, stop = the_only_server(server), StopSignal()

    def tell(second: LimitedSecond, limit: str) -> None:
        fields = {"open": second.open, "waiting": second.waiting, "requests_rps": second.throughput_rps}
        if as_json:
            line = json.dumps({**fields, "service_s": second.service_s, "accept_limit": limit})
        else:
            columns = (*fields.values(), 1000 * second.service_s)
            line = (
                f"{datetime.now():%H:%M:%S}" + "".join(f"{each:>12,.5g}" for each in columns) + f"{limit:>14}"
            )
        print(line, flush=True)

    if not as_json:
        headings = ("open", "waiting", "requests/s", "service, ms")
        print("time    " + "".join(f"{each:>12}" for each in headings) + f"{'accept limit':>14}")
    complaints = put_everything_back(notes)
    with stopped_by_signals(stop.request):
        complaints += adapt_accept_limit(found, notes, stop, seed=time.time_ns(), tell=tell)
    for complaint in complaints:
        print(complaint, file=sys.stderr)


@app.command()
def replicas(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="Its name, unit, pid or port.")],
    number: Annotated[
        int | None,
        typer.Option(
            "--number", metavar="N", help="So many beside it; otherwise one less than CPUs.", min=1, max=64
        ),
    ] = None,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Switch replicas of a server on and off by the share of dynamic requests, until Ctrl-C.

    For each kind of traffic it is found out first, in a few minutes, whether replicas serve it better. Each
    second is a line; with --json it is an object. At the end the server is alone on its ports again.
    """
    notes = VarPaths(settings_of(var=var).var.resolve()).live_notes
    found, stop = the_only_server(server), StopSignal()
    count = number or max(1, len(process_layout().server) - 1)
    said = ""

    def tell(second: Second, policy: ReplicasPolicy) -> None:
        nonlocal said
        share = second.dynamic / second.requests if second.requests else 0.0
        fields = {
            "requests": second.requests,
            "dynamic_share": round(share, 4),
            "cpu_s": round(second.cpu_s, 4),
            "replicas": count if policy.on else 0,
        }
        if as_json:
            print(json.dumps({**fields, "trying": policy.is_trying, "said": policy.said}), flush=True)
            return
        note = f"  {policy.said}" if policy.said != said else ""
        said = policy.said
        line = f"{datetime.now():%H:%M:%S}{second.requests:>12,}{share:>10.0%}{second.cpu_s:>10.2f}"
        print(f"{line}{fields['replicas']:>10}{note}", flush=True)

    if not as_json:
        print(f"time    {'requests':>12}{'dynamic':>10}{'CPU s':>10}{'replicas':>10}")
    complaints = put_everything_back(notes)
    with stopped_by_signals(stop.request):
        complaints += adapt_replicas(found, notes, stop, count=count, seed=time.time_ns(), tell=tell)
    for complaint in complaints:
        print(complaint, file=sys.stderr)


def _require(option: str, parse: Callable[[str], object], text: str) -> None:
    """Raises SpecError for a text that the option does not take."""
    try:
        parse(text)
    except ValueError as error:
        raise SpecError(option.removeprefix("--").replace("-", "_"), f"{option} {error}") from error


def _ask(var: Path | None, session: int | None, request: LiveRequest) -> None:
    with open_to_read(settings_to_read(var)) as repository:
        chosen = _chosen(repository, session, _alive(repository))
        if chosen.state is not LiveState.WAITING:
            raise SpecError(
                "session",
                f"live session {chosen.id} waits for nobody now ({chosen.sentence}): expected one that does",
            )
        repository.ask_live_session(chosen.id, request)
        print(f"Live session {chosen.id} has been told to {request}.")


def _chosen(repository: Repository, session_id: int | None, among: list[LiveSession]) -> LiveSession:
    """The session that is meant; raises SpecError."""
    if session_id is None and len(among) == 1:
        return among[0]
    if session_id is None:
        number = counted(len(among), "server")
        raise SpecError("session", f"live tuning is attached to {number}: expected the number of a session")
    session = repository.live_session(session_id)
    if session.id not in {each.id for each in _of_machine(repository)}:
        raise SpecError("session", f"live session {session.id} is another machine's: expected one of this")
    return session


def _alive(repository: Repository) -> list[LiveSession]:
    """The sessions on this machine that go on."""
    return [session for session in _open(repository) if is_alive(session)]


def _open(repository: Repository) -> list[LiveSession]:
    """Those that have not ended, also for the reason that their process was killed."""
    return [session for session in _of_machine(repository) if session.ended_at is None]


def _of_machine(repository: Repository) -> tuple[LiveSession, ...]:
    """All sessions of this machine; others may record in the same database."""
    return repository.live_sessions(repository.register_host(describe_host(Path("/"))))


def _follow(console: Console, repository: Repository, session_id: int, stop: StopSignal) -> None:
    """Prints what a session does, until it ends or a stop is requested."""
    told, sentence = 0, ""
    while True:
        session = repository.live_session(session_id)
        for decision in repository.live_decisions(session_id)[told:]:
            _print_decision(console, decision)
            told += 1
        if session.ended_at is not None:
            return
        if session.sentence != sentence:
            sentence = session.sentence
            console.print(escape(f"          {sentence}"), style="dim")
        if stop.wait(FOLLOW_EVERY_S):
            return


def _print_session(console: Console, repository: Repository, session: LiveSession) -> None:
    console.print(
        escape(
            f"Live session {session.id}: {session.target}, process {session.pid}, mode {session.mode}; "
            f"{session.sentence}"
        )
    )
    for decision in repository.live_decisions(session.id)[-DECISIONS_SHOWN:]:
        _print_decision(console, decision)


def _print_decision(console: Console, decision: LiveDecision) -> None:
    at = f"{decision.at.astimezone():%H:%M:%S}"
    share = f" ({in_percent(decision.share)} of the connections)" if decision.share else ""
    console.print(escape(f"{at}  {decision.kind}: {decision.sentence}{share}"))


def _print_list(console: Console, found: tuple[RunningServer, ...]) -> None:
    table = Table()
    for heading in ("server", "pid", "listens on", "file", "unit", "connections can be shared"):
        table.add_column(heading, overflow="fold")
    for server in found:
        cells = (
            server.target.name,
            str(server.pid),
            ", ".join(listener.address for listener in server.listeners),
            str(server.file or "not known"),
            server.unit or "none",
            " ".join(server.obstacles) or "yes",
        )
        table.add_row(*map(escape, cells))
    console.print(table)


def _print_server(console: Console, server: RunningServer) -> None:
    addresses = ", ".join(listener.address for listener in server.listeners) or "no port"
    console.print(
        escape(
            f"{server.target.name}, process {server.pid} of {server.user}"
            f"{f' ({server.unit})' if server.unit else ''}, {server.processes} processes, on {addresses}"
        )
    )
    shared = " ".join(server.obstacles)
    console.print(escape(f"Connections can be shared: {f'no. {shared}' if shared else 'yes.'}"))
    console.print(
        escape(f"It can take up a changed file: {f'no. {server.no_reload}' if server.no_reload else 'yes.'}")
    )
    values, trouble = values_of(server)
    if trouble:
        console.print(escape(f"File: {server.file or 'not known'}. {trouble}"))
        return
    table = Table(title=f"What {server.file} sets, and what can be tuned", title_justify="left")
    for heading in ("knob", "value", "otherwise", "what it is"):
        table.add_column(heading, overflow="fold")
    space = space_of(server.target, values, len(process_layout().server))
    for knob in space.knobs:
        set_here = knob.name in values
        cells = (knob.name, str(values[knob.name]) if set_here else "", str(knob.default), knob.help)
        table.add_row(*map(escape, cells))
    console.print(table)
