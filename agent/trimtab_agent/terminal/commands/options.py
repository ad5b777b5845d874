"""What the commands share: how they are parsed, options, exit codes, settings, the console."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console
from typer.core import TyperCommand, TyperOption

from trimtab_agent.errors import SpecError
from trimtab_agent.settings import AgentSettings

PLAIN_COLUMNS = 100_000  # more than any sentence or table has
LARGEST_ID = 2**31 - 1  # beyond 64 bits no database can be asked
Function = TypeVar("Function", bound=Callable[..., Any])

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Var = Annotated[Path | None, typer.Option("--var", help="Directory for everything that Trimtab records.")]


def possible_runs(value: int | list[int] | None) -> int | list[int] | None:
    """What was given, unless there can be no such run: no database can be asked for it. Raises
    RecordNotFoundError.
    """
    for number in value if isinstance(value, list) else (value or 1,):
        if number > LARGEST_ID:
            # Not for commands that ask no database: it takes a third of a second to load.
            from trimtab_db.errors import RecordNotFoundError

            raise RecordNotFoundError(f"There is no run {number}.", "run")
    return value


RunId = Annotated[
    int, typer.Argument(metavar="RUN", help="Number of the run.", min=1, callback=possible_runs)
]


class OnceCommand(TyperCommand):
    """A command whose options with one value are refused when given twice: which is meant nobody can tell."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - its class is private
        """What is left of the arguments; raises BadParameter."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(given).items():
            if not isinstance(option, TyperOption) or option.multiple or option.is_flag:
                continue
            if times > 1:
                raise typer.BadParameter("given more than once; expected one value", ctx=ctx, param=option)
        return super().parse_args(ctx, args)


class Commands(typer.Typer):
    """A group of such commands."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:  # noqa: ANN401
        """As of any Typer."""
        return super().command(name, cls=OnceCommand, **options)


def settings_of(**options: object) -> AgentSettings:
    """The settings from the environment, with the options that were given. Raises SpecError."""
    try:
        return AgentSettings(**{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        raise refusal(error) from error


def settings_to_read(var: Path | None, *, recorded: bool = True) -> AgentSettings:
    """The settings of a command that only looks at what is there, and opens it by `open_to_read`.

    Raises SpecError where a directory is named that does not exist or, if it asks for what is `recorded`, has
    no database: it may be misspelt.
    """
    settings = settings_of(var=var)
    if var is not None and not var.is_dir():
        raise SpecError("var", f"there is nothing at {var}: no such directory")
    if var is not None and recorded and not settings.has_database:
        raise SpecError("var", f"there is nothing at {var}: no database of Trimtab's is in that directory")
    return settings


def refusal(error: ValidationError) -> SpecError:
    """The first complaint of a model, as a sentence about the field."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    reason = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    return SpecError(name, f"{name} = {first['input']!r}: {reason}")


def console_for(*, stderr: bool = False) -> Console:
    """Where there is no terminal to fit into, nothing is wrapped, so that a search finds whole sentences;
    COLUMNS says otherwise.
    """
    console = Console(stderr=stderr, highlight=False)
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return console
    return Console(stderr=stderr, highlight=False, width=PLAIN_COLUMNS)


def say_if_demo(settings: AgentSettings, console: Console) -> None:
    """A line that all is simulated, where it is: nobody takes the figures below it for the machine's."""
    if settings.demo:
        from trimtab_agent.simulated.demo import SAID  # with all that is simulated

        console.print(f"{SAID}. No server is started, and nothing is measured.")
