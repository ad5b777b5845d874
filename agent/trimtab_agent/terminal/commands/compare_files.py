"""`trimtab compare --base OLD --base NEW`: measures two files of a server against each other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from trimtab_db import Repository

from trimtab_agent.errors import SpecError
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.settings import AgentSettings
from trimtab_agent.terminal.commands.options import console_for
from trimtab_agent.terminal.commands.starting import carried_out, make_spec, parse_setting
from trimtab_agent.terminal.documents import run_document
from trimtab_agent.terminal.output import print_json
from trimtab_agent.terminal.report import print_people, resume_hint

PRESET = "compare"
EXIT_LOST = 4
MOST_LOSS = "2%"

Files = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="The old file of the server; once more: the new one."),
]
MostLoss = Annotated[
    str,
    typer.Option(metavar="PERCENT", help="With --base: how much capacity the new file may lose."),
]


def compare_files(
    settings: AgentSettings,
    files: Sequence[Path],
    most_loss: str,
    set_: Sequence[str] | None,
    *,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of `make_spec`
) -> None:
    """Measures the two files in a run; raises Exit with `EXIT_LOST` where the new one loses too much, and
    what `carried_out` raises.
    """
    if len(files) != 2:
        given = "one file" if len(files) == 1 else f"{len(files)} files"
        raise SpecError("base", f"--base: {given} given; expected two, --base OLD --base NEW")
    spec = make_spec(
        preset=PRESET,
        base=files[0],
        new_base=files[1],
        knobs=None,
        settings=[*(parse_setting(text) for text in set_ or ()), ("most_loss", _share(most_loss))],
        **options,
    )
    console = console_for(stderr=as_json)
    lost = False

    def show(repository: Repository, run_id: int) -> None:
        nonlocal lost
        run = repository.run(run_id)
        outcome = Outcome.model_validate(run.outcome) if run.outcome else None
        lost = outcome is not None and outcome.files is not None and outcome.files.loss.verdict == "lost"
        if as_json:
            print_json(run_document(repository, run_id))
            return
        if outcome is not None:
            print_people(console, outcome)
            console.print(outcome.sentence, style="bold", markup=False)
        for line in resume_hint(run):
            console.print(line)

    carried_out(settings, console, lambda runs: runs.start(spec), show)
    if lost:
        raise typer.Exit(EXIT_LOST)


def _share(text: str) -> float:
    """`2%`, `2 %` or `2` as a share of 1; raises SpecError."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise SpecError("most_loss", f"--most-loss {text}: expected percent from 0 to below 100, as in 2%")
    return share
