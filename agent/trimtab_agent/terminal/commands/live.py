"""`trimtab live`: servers that carry real traffic."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from trimtab_tuner.targets.base import RenderError

from trimtab_agent.errors import SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.study.base_file import read_base
from trimtab_agent.terminal.commands.options import Commands, Json, console_for
from trimtab_agent.terminal.documents import print_json

app = Commands(name="live", help="Servers that carry real traffic.", no_args_is_help=True)


@app.command()
def servers(
    which: Annotated[
        str | None, typer.Argument(metavar="SERVER", help="One of them: its name, unit, pid or port.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the web servers that run here, or what is known of one; nothing is touched."""
    found = running_servers()
    if which is not None:
        found = tuple(server for server in found if server.answers_to(which))
        if not found:
            raise SpecError(
                "server",
                f"server = {which!r}: none of that name, unit, pid or port runs here; "
                "`trimtab live servers` lists those that do",
            )
    if as_json:
        print_json([_document(server) for server in found])
    elif which is not None:
        for server in found:
            _print_server(console_for(), server)
    elif found:
        _print_list(console_for(), found)
    else:
        print("No web server that Trimtab knows runs here, or none that this user may see.")


def _document(server: RunningServer) -> dict[str, Any]:
    values, trouble = _values(server)
    return {
        "target": server.target.name,
        "pid": server.pid,
        "processes": server.processes,
        "user": server.user,
        "addresses": [listener.address for listener in server.listeners],
        "file": str(server.file) if server.file else None,
        "unit": server.unit or None,
        "obstacles": list(server.obstacles),
        "values": values,
        "trouble": trouble or None,
    }


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
    values, trouble = _values(server)
    if trouble:
        console.print(escape(f"File: {server.file or 'not known'}. {trouble}"))
        return
    table = Table(title=f"What {server.file} sets, and what can be tuned", title_justify="left")
    for heading in ("knob", "value", "otherwise", "what it is"):
        table.add_column(heading, overflow="fold")
    space = server.target.space(cpus=len(process_layout().server))
    for knob in space.knobs:
        set_here = knob.name in values
        cells = (knob.name, str(values[knob.name]) if set_here else "", str(knob.default), knob.help)
        table.add_row(*map(escape, cells))
    console.print(table)


def _values(server: RunningServer) -> tuple[dict[str, Any], str]:
    """The values of knobs that its file sets; without them a sentence that says why."""
    if server.file is None:
        return {}, "Which file it was started with is not known."
    try:
        base = read_base(server.target, server.file)
        return dict(server.target.parse(base.expanded, len(process_layout().server))), ""
    except (SpecError, RenderError) as error:
        return {}, f"It cannot be read: {error}"
