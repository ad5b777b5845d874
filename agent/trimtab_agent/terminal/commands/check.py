"""`trimtab check FILE`: what in a server's file contradicts this machine, without a load."""

from pathlib import Path
from typing import Annotated

import typer
from trimtab_tuner.checking.contradiction import Contradiction
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.wording import counted

from trimtab_agent.checked_file import asks_server, checked, failing, target_of
from trimtab_agent.terminal.commands.options import Json
from trimtab_agent.terminal.output import print_json

EXIT_CONTRADICTS = 4


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that the server is started with.")],
    target: Annotated[
        str | None,
        typer.Option(help=f"Kind of server, if neither name nor text says it: {', '.join(TARGETS)}."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what in a server's file contradicts this machine: limits, queues, CPUs, upstreams, logs, sysctl.

    Nothing is started or changed, and no server is asked. Exit code 4 if there is more than notes.
    """
    kind, looks_like = target_of(file, target)
    found = checked(kind, file)
    asking = asks_server(kind, file)
    if as_json:
        print_json(
            {
                "target": kind.name,
                "file": str(file),
                "check_command": asking,
                "found": [each.model_dump(mode="json") for each in found],
            }
        )
    else:
        if looks_like:
            print(f"{file}: this looks like {looks_like}, and is checked as one (--target says otherwise).")
        for each in found:
            _print(each)
        if found:
            print(f"{file}: {counted(len(found), 'contradiction')}.")
        else:
            print(f"{file}: nothing that contradicts this machine. The server was not asked: {asking}")
    if failing(found):
        raise typer.Exit(EXIT_CONTRADICTS)


def _print(found: Contradiction) -> None:
    where = found.file if found.line is None else f"{found.file}:{found.line}"
    print(f"{where}: {found.severity}: {found.sentence}")
    for each in found.evidence:
        print(f"    evidence: {each}")
    print(f"    remedy: {found.suggestion}\n")
