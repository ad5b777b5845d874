"""`trimtab targets`: the servers that can be tuned, and the knobs of one."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from trimtab_tuner.space import Knob
from trimtab_tuner.targets import TARGETS

from trimtab_agent.errors import BinaryMissing, SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.station.processes.programs import server_program
from trimtab_agent.terminal.commands.options import Json, Var, console_for, settings_of
from trimtab_agent.terminal.output import print_json


def targets(
    name: Annotated[str | None, typer.Argument(metavar="TARGET", help="One of them.")] = None,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """List the servers that can be tuned, or the knobs of one."""
    if name is None:
        _list(as_json, {target: _program(target, var) for target in TARGETS})
        return
    if name not in TARGETS:
        raise SpecError("target", f"target = {name!r}: expected one of {', '.join(TARGETS)}")
    target, cpus = TARGETS[name], len(process_layout().server)
    space = target.space(cpus=cpus)
    expert = target.expert(cpus)
    if as_json:
        print_json({"name": name, "space": space.model_dump(mode="json"), "expert": expert})
        return
    free = {knob.name for knob in space.free}
    table = Table(title=f"{name}: {target.help}", title_justify="left")
    for heading in ("knob", "values", "default", "expert", "tuned", "what it is"):
        table.add_column(heading, overflow="fold")
    for knob in space.knobs:
        tuned = "yes" if knob.name in free else ""
        cells = (knob.name, _values(knob), str(knob.default), str(expert[knob.name]), tuned, knob.help)
        table.add_row(*map(escape, cells))
    console_for().print(table)


def _values(knob: Knob) -> str:
    values = f"{knob.low}–{knob.high}" if knob.kind == "integer" else ", ".join(map(str, knob.choices))
    return f"{values} {knob.unit}".strip()


def _program(name: str, var: Var) -> tuple[bool, str]:
    """Whether the server's program is there, and where, or what is to be done."""
    try:
        return True, str(server_program(TARGETS[name], settings_of(var=var).httpd_path))
    except BinaryMissing as error:
        return False, error.sentence


def _list(as_json: bool, programs: dict[str, tuple[bool, str]]) -> None:
    if as_json:
        print_json(
            [
                {"name": name, "help": TARGETS[name].help, "installed": there, "program": where}
                for name, (there, where) in programs.items()
            ]
        )
        return
    for name, (_, where) in programs.items():
        print(f"{name:10} {TARGETS[name].help}\n           {where}")
