"""The command line: `trimtab up | tune | capacity | runs | show | name | archive | check | compare | export |
delete | replay | targets | live | host | affinity | load | station | fleet | study | workload | db`.

Exit codes
    0    done; for `tune` and `capacity`: the run has finished, whether or not it found a gain
    1    failed: the run, the machine or the database; the sentence on standard error says why
    2    bad input: an option, a knob, a setting, a run number
    3    conflict: another run is running, or the run is in no state for that
    4    of `compare --base OLD --base NEW`: the new file loses more than it may; of `check`: the file
         contradicts this machine
    130  the run was stopped, by Ctrl-C, SIGTERM or in the browser; what was measured is kept, and it can be
         resumed

With `--json` a command prints one JSON document on standard output and shows progress, if any, on standard
error.  Errors are then the API's error body.
"""

import io
import json
import logging
import os
import sys
from typing import Annotated, NoReturn

import typer
from trimtab_tuner.wording import counted

from trimtab_agent import __version__
from trimtab_agent.errors import TrimtabError
from trimtab_agent.terminal.commands.options import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    Commands,
    Json,
    Var,
    settings_of,
)
from trimtab_agent.terminal.on_demand import CommandsOnDemand
from trimtab_agent.terminal.output import print_json

app = Commands(
    name="trimtab",
    cls=CommandsOnDemand,
    help="Finds the configuration at which a web server performs best on this machine.",
    epilog="Exit codes: 0 done, 1 failed, 2 bad input, 3 conflict, 4 a file that loses or contradicts the "
    "machine, 130 stopped.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
database_app = Commands(name="db", help="The database.", no_args_is_help=True)
app.add_typer(database_app)


# By the kind of what is not there: which command lists what is.
LISTED = {
    "run": ("`trimtab runs` lists the runs there are.",),
    "live session": ("`trimtab live status` shows the sessions that go on.",),
    "station": ("`trimtab fleet status` lists the stations there are.",),
}

# Nobody sees a line of the daemon when it is written, so each says when that was.
DAEMON_LOG = logging.Formatter("%(asctime)s trimtab: %(message)s", "%Y-%m-%d %H:%M:%S %z")


def main() -> None:
    """Runs the command line; every failure that we know of is one sentence and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # Names of files need not be text, and not every terminal has a bar's blocks.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _run()
    except OSError:
        # Where nothing is buffered, what could not be written is lost: more shows whether it was the output.
        _write_out("\n")
        raise
    except SystemExit:
        _write_out()
        raise


def _run() -> None:
    logging.basicConfig(format="trimtab: %(message)s", level=logging.WARNING)
    try:
        # Without --json the parser shows its own errors, beside how the command is used, and exits.
        code = app(standalone_mode="--json" not in sys.argv)
    except typer.TyperException as error:
        option = getattr(getattr(error, "param", None), "name", None)
        _fail(error.format_message(), EXIT_BAD_INPUT, "bad-usage", option)
    except TrimtabError as error:
        _fail(error.sentence, error.exit_code, error.code, getattr(error, "field", None))
    except Exception as error:
        _fail_by_database(error)
        raise
    sys.exit(code or 0)


def _write_out(more: str = "") -> None:
    """Writes what is left of the output, and more; where that fails, it is why the program ends, whatever
    else was.
    """
    if sys.stdout is None:  # closed by whoever has started us
        return
    try:
        sys.stdout.write(more)
        sys.stdout.flush()
    except OSError as error:
        # Else it would be tried once more at the very end, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # who reads has seen enough
            sys.exit(EXIT_FAILED)
        _fail(f"the output cannot be written: {error.strerror}", EXIT_FAILED, "output")


def _fail_by_database(error: Exception) -> None:
    """Ends the program where the error is one of the database's, which most commands need not load."""
    from trimtab_db.errors import DatabaseError, RecordNotFoundError

    if isinstance(error, RecordNotFoundError):
        _fail(" ".join((str(error), *LISTED.get(error.kind, ()))), EXIT_BAD_INPUT, "not-found")
    if isinstance(error, DatabaseError):
        _fail(str(error), EXIT_FAILED, "database")


def _fail(sentence: str, exit_code: int, code: str, field: str | None = None) -> NoReturn:
    if "--json" in sys.argv:
        error = {"code": code, "message": sentence, **({"field": field} if field else {})}
        print(json.dumps({"error": error}))
    print(f"trimtab: {sentence}", file=sys.stderr)
    sys.exit(exit_code)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Finds the configuration at which a web server performs best on this machine."""
    if version:
        print(f"trimtab {__version__}")
        raise typer.Exit


@app.command()
def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    var: Var = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="On simulated measurements, in a folder of their own: to look round."),
    ] = False,
) -> None:
    """Start the daemon with its API and web UI."""
    # The web framework takes half a second to load, which the other commands need not pay.
    from trimtab_agent.api.daemon import run_daemon
    from trimtab_agent.simulated.demo import demo_folder, mark

    for handler in logging.getLogger().handlers:
        handler.setFormatter(DAEMON_LOG)
    settings = settings_of(var=var, host=host, port=port)
    if demo:
        settings = settings.model_copy(update={"var": var or demo_folder(settings.var)})
        mark(settings.var)
    run_daemon(settings)


@database_app.command()
def upgrade(var: Var = None, as_json: Json = False) -> None:
    """Make the database, or bring its schema up to date."""
    from trimtab_agent.runtime import open_repository

    settings = settings_of(var=var)
    with open_repository(settings) as repository:
        if as_json:
            print_json({"runs": repository.count_runs()})
        else:
            print(f"The database is up to date; it holds {counted(repository.count_runs(), 'run')}.")


if __name__ == "__main__":
    main()
