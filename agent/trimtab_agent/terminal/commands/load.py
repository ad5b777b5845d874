"""`trimtab load compare`: the load generator beside others."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

import typer
from rich.table import Table

from trimtab_agent.errors import SpecError
from trimtab_agent.host.cpu_layout import format_cpus, process_layout
from trimtab_agent.runtime import machine_lock
from trimtab_agent.station.generator_peers import Agreement, PeerComparison, compare, own_server
from trimtab_agent.station.processes.programs import require_built
from trimtab_agent.stopping import StopSignal
from trimtab_agent.terminal.commands.options import Commands, Json, Var, console_for, settings_of
from trimtab_agent.terminal.output import print_json

app = Commands(name="load", help="The load generator.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """The load generator."""


@app.command("compare")
def compare_loads(
    url: Annotated[
        str | None, typer.Option(help="What to ask for; without it a 1 KB file of a server started for it.")
    ] = None,
    connections: Annotated[int, typer.Option(min=1, max=1000, help="Connections of the closed loop.")] = 64,
    rate: Annotated[
        float | None,
        typer.Option(min=1, help="Requests a second of the open loop; without it well below saturation."),
    ] = None,
    duration: Annotated[int, typer.Option(min=1, max=3600, help="Seconds of each measurement.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds; each drives both generators.")] = 5,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Drive one server with trimtab-load, wrk (closed loop) and httperf (open loop), and compare."""
    if url is not None and not url.startswith("http://"):
        raise SpecError("url", f"url {url}: expected http://HOST[:PORT]/PATH")
    settings, layout = settings_of(var=var), process_layout()
    progress = console_for(stderr=True)
    where = f"generators on CPU {format_cpus(layout.generator)}"
    with ExitStack() as stack:
        stack.enter_context(machine_lock(settings))
        log = stack.enter_context(NamedTemporaryFile(prefix="trimtab-load-", suffix=".log"))
        if url is None:
            where = f"trimtab-httpd on CPU {format_cpus(layout.server)}, {where}"
            httpd = require_built(settings.httpd_path)
            url = stack.enter_context(own_server(httpd, layout, StopSignal()))
        agreements = compare(
            PeerComparison(
                url=url,
                program=require_built(settings.load_path),
                connections=connections,
                rate_rps=rate,
                duration_s=duration,
                rounds=rounds,
                cpus=layout.generator,
                log=Path(log.name),
            ),
            lambda line: progress.print(line, style="dim"),
        )
    if as_json:
        print_json({"url": url, "layout": where, "comparisons": [a.document() for a in agreements]})
        return
    console = console_for()
    console.print(f"{url}, {where}")
    console.print(_table(agreements))


def _table(agreements: list[Agreement]) -> Table:
    table = Table()
    for heading in (
        "loop",
        "trimtab-load, replies/s",
        "peer",
        "its replies/s",
        "ratio",
        "of rounds",
        "agree",
    ):
        table.add_column(heading)
    for one in agreements:
        table.add_row(
            one.loop,
            f"{sum(one.ours_rps) / len(one.ours_rps):,.0f}",
            one.peer,
            f"{sum(one.peer_rps) / len(one.peer_rps):,.0f}",
            f"{one.ratio:.3f}",
            f"{min(one.ratios):.3f} to {max(one.ratios):.3f}",
            f"within {one.limit * 100:g} %" if one.agrees else f"no: beyond {one.limit * 100:g} %",
        )
    return table
