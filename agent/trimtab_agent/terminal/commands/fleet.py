"""`trimtab fleet`: the scheduler, who may join it, who is in it, and who is to leave."""

import asyncio
import platform
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trimtab_agent.errors import FleetError
from trimtab_agent.fleet.credentials import make_authority, make_member, security_of, valid_until
from trimtab_agent.fleet.overview import drain as drain_station
from trimtab_agent.fleet.overview import forget as forget_station
from trimtab_agent.fleet.overview import overview
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import open_to_read
from trimtab_agent.terminal.commands.options import (
    Commands,
    Json,
    Var,
    console_for,
    settings_of,
    settings_to_read,
)
from trimtab_agent.terminal.output import print_json

app = Commands(name="fleet", help="Stations on several hosts.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="STATION", help="Name of the station.")]


@app.callback()
def group() -> None:
    """Stations on several hosts."""


@app.command()
def serve(
    listen: Annotated[str, typer.Option(help="Address to listen on; all of them if not given.")] = "",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8786,
    var: Var = None,
) -> None:
    """Run the scheduler, which connects the stations; it keeps nothing and may be started anew."""
    settings = settings_of(var=var)
    folder = VarPaths(settings.var.resolve()).fleet
    make_authority(folder)
    if not settings.credentials.exists():
        make_member(folder, platform.node().partition(".")[0] or "scheduler", settings.credentials)
    security = security_of(settings.credentials)
    from trimtab_agent.fleet.scheduler import serve as serve_fleet

    async def last() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await serve_fleet(listen, port, security, folder / "engine", say, stop)

    def say(address: str) -> None:
        print(f"The scheduler listens at {address}. A host joins with what `trimtab fleet invite` writes.")

    asyncio.run(last())


@app.command()
def invite(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the host, such as web1.")],
    output: Annotated[Path | None, typer.Option(help="File to write; NAME.pem if not given.")] = None,
    var: Var = None,
) -> None:
    """Make the credentials with which a host may join. Whoever has the file is a member of the fleet."""
    settings = settings_of(var=var)
    path = output or Path(f"{name}.pem")
    if path.exists():
        raise FleetError(f"{path} is there already: expected another name, or --output")
    make_member(VarPaths(settings.var.resolve()).fleet, name, path)
    print(
        f"{path} makes a host a member until {valid_until(path):%Y-%m-%d}. Copy it there over a safe way; "
        f"there:\n  trimtab station join tls://THIS_HOST --role server --credentials {path.name}"
    )


@app.command()
def status(as_json: Json = False, var: Var = None) -> None:
    """Say who is in the fleet, what each does, and who holds which lease."""
    settings = settings_to_read(var, recorded=False)
    with open_to_read(settings) as repository:
        seen = overview(settings, repository)
    if as_json:
        print_json(seen.model_dump(mode="json"))
        return
    console = console_for()
    if seen.complaint:
        console.print(seen.complaint, style="yellow")
    table = Table("station", "role", "state", "does", "lease until (UTC)", "CPUs", "kernel", "servers")
    for station in seen.stations:
        table.add_row(
            station.name,
            station.role,
            station.state,
            station.doing or "nothing",
            "" if station.booked_until is None else f"{station.booked_until:%H:%M:%S}",
            str(station.cpus),
            station.kernel,
            ", ".join(f"{name} {version}" for name, version in station.servers.items()),
        )
    console.print(table)


@app.command()
def drain(name: Name, var: Var = None) -> None:
    """Have a station leave when what it carries out has come to its end."""
    drain_station(settings_to_read(var, recorded=False), name)
    print(f"{name} leaves when what it does has come to its end.")


@app.command()
def forget(name: Name, var: Var = None) -> None:
    """Forget a station that has left for good; what was measured there stays."""
    settings = settings_to_read(var)
    with open_to_read(settings) as repository:
        forget_station(settings, repository, name)
    print(f"{name} is forgotten. To keep its host out, see docs/fleet.md on credentials.")
