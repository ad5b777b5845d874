"""What the commands that start a run share: its options, who carries it out, and how it ends."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console
from trimtab_db import Repository
from trimtab_db.records import RunState
from trimtab_tuner.protocols import DEFAULT_WORKLOADS
from trimtab_tuner.targets import TARGETS

from trimtab_agent.errors import SpecError
from trimtab_agent.host.cpu_layout import process_layout
from trimtab_agent.host.own_cpus import pinned_to
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.runtime import only_looking, open_repository, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.simulated.demo import NO_SERVER_ASKED
from trimtab_agent.study import own_upstream
from trimtab_agent.study.own_file_report import OwnFileReport
from trimtab_agent.study.run_spec import KnobSpec, RunSpec
from trimtab_agent.terminal.commands.options import EXIT_FAILED, EXIT_INTERRUPTED, refusal, say_if_demo
from trimtab_agent.terminal.daemon import find_daemon
from trimtab_agent.terminal.follow import Follower, Runs, RunsHere
from trimtab_agent.workloads.choice import is_path, read_definition_file

Value = TypeVar("Value")

Target = Annotated[str, typer.Option(help=f"Kind of server: {', '.join(TARGETS)}.")]
Base = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Your own configuration file: its values are the defaults of the run."),
]
WorkloadName = Annotated[
    str | None,
    typer.Option(
        help="What clients ask for: a name of `trimtab workload list`, or a TOML file's path. Without it "
        + ", ".join(f"{name} ({protocol})" for protocol, name in DEFAULT_WORKLOADS.items())
        + "."
    ),
]
Upstreams = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=…",
        help="With --base: have Trimtab's upstream take the place of this one, as fast as the log says "
        "(NAME=measured) or in a mean time (NAME=20ms). May be given for each upstream.",
    ),
]
Memory = Annotated[str | None, typer.Option(help="unlimited, in-memory, moderate-io or heavy-io.")]
Start = Annotated[str | None, typer.Option(help="Caches at the start of a trial: warm or cold.")]
Link = Annotated[str | None, typer.Option(help="loopback, hundred-megabit, gigabit or eight-gigabit.")]
Knobs = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=…", help="Narrow a knob: name=low:high, name=value or name=a,b."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Override a setting of the preset."),
]


def carried_out(
    settings: AgentSettings,
    console: Console,
    begin: Callable[[Runs], int],
    show: Callable[[Repository, int], None],
    *,
    resumed: bool = False,
) -> None:
    """Has a run begin, shows how it goes on and, at its end, what `show` prints of it.

    A run that is `resumed` keeps the CPUs that it had. That of a demo is said to be one before it begins, and
    once more before its figures. Raises Exit with the code of a run that failed or
    was stopped, and what `begin` raises.
    """
    layout = process_layout()
    with _runs(settings, console) as (repository, runs), Follower(console, runs) as follower:
        say_if_demo(settings, console)
        run_id = begin(runs)
        run = repository.run(run_id)
        console.print(f"Run {run_id}: {run.layout['sentence']}")
        if why := run.layout.get("reason"):
            console.print(f"CPUs: {why}")
        if list(layout.server) != run.layout["server"] and run.fleet is None and not resumed:
            console.print("This command may use other CPUs, but the daemon's hold.")
        end = follower.follow(run)
        say_if_demo(settings, console)
        show(repository, run_id)
        run = repository.run(run_id)
    if end.state is RunState.FAILED:
        print(f"trimtab: run {run_id} failed: {end.error}", file=sys.stderr)
        raise typer.Exit(EXIT_FAILED)
    if end.state is not RunState.FINISHED:
        raise typer.Exit(EXIT_INTERRUPTED)
    if run.outcome is not None and (why := Outcome.model_validate(run.outcome).without_answer):
        print(f"trimtab: run {run_id} has no answer: {why}", file=sys.stderr)
        raise typer.Exit(EXIT_FAILED)


def told_before(settings: AgentSettings, console: Console, spec: RunSpec) -> OwnFileReport:
    """What happens to the user's own file in such a run; raises what starting it does. Nothing is started.

    In a demo it says that its server was not asked.
    """
    if settings.demo:
        console.print(NO_SERVER_ASKED)
    keep_id = settings.has_database
    with (
        only_looking(settings) as looking,
        _runs(looking, console, samples=False, keep_id=keep_id) as (_, runs),
    ):
        return runs.told(spec)


@contextmanager
def _runs(
    settings: AgentSettings, console: Console, *, samples: bool = True, keep_id: bool = True
) -> Iterator[tuple[Repository, Runs]]:
    """Who carries the run out: the daemon of this directory where one runs, or else this process."""
    with find_daemon(settings) as daemon:
        if daemon is None:
            with open_runtime(settings, samples=samples, keep_id=keep_id) as runtime:
                yield runtime.repository, RunsHere(runtime.service, runtime.broadcaster)
            return
        console.print(f"The daemon {daemon} carries the run out.", markup=False)
        # What is shown here must not slow the server down.
        with pinned_to(process_layout().generator), open_repository(settings) as repository:
            yield repository, daemon.listen(repository)


def make_spec(
    *,
    workload: str | None,
    base: Path | None,
    upstreams: Sequence[str] | None = None,
    new_base: Path | None = None,
    knobs: Sequence[str] | None,
    settings: Sequence[tuple[str, Any]],
    **fields: Any,  # noqa: ANN401 - checked by the model
) -> RunSpec:
    """The specification of a run from its options: `knobs` as they were given, `settings` in pairs.

    Raises SpecError.
    """
    definition = read_definition_file(Path(workload)) if workload and is_path(workload) else None
    try:
        spec = RunSpec(
            workload=workload if definition is None else definition.name,
            definition=definition,
            base=None if base is None else str(base.absolute()),
            upstreams=_each_once("--upstream", [_parse_upstream(text) for text in upstreams or ()]),
            new_base=None if new_base is None else str(new_base.absolute()),
            knobs=_each_once("--knob", [_parse_knob(text) for text in knobs or ()]),
            settings=_each_once("--set", settings),
            **fields,
        )
    except ValidationError as error:
        raise refusal(error) from error
    for name, value in spec.model_dump().items():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:  # a file may be called so, and nobody could record it
            raise SpecError(name, f"{name} = {value!r}: expected text in UTF-8") from error
    return spec


def _parse_upstream(text: str) -> tuple[str, str]:
    """`app=measured` or `app=20ms`."""
    name, _, how = text.rpartition("=")
    if not name or not how:
        raise SpecError("upstreams", f"--upstream {text}: expected NAME={own_upstream.MEASURED} or NAME=TIME")
    return name, how


def _each_once(option: str, named: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    """What the option was given for; which of two values is meant nobody can tell."""
    found = dict(named)
    if len(found) < len(named):
        names = [name for name, _ in named]
        twice = next(name for name in names if names.count(name) > 1)
        raise SpecError(twice, f"{option} {twice}: given more than once; expected one value")
    return found


def _parse_knob(text: str) -> tuple[str, KnobSpec]:
    """`name=low:high`, `name=value` or `name=a,b`."""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise SpecError("knob", f"--knob {text}: expected NAME=LOW:HIGH, NAME=VALUE or NAME=A,B")
    if ":" in value:
        low, _, high = value.partition(":")
        try:
            return name, KnobSpec(low=int(low), high=int(high))
        except ValueError as error:
            raise SpecError(f"knobs.{name}", f"--knob {text}: expected two integers LOW:HIGH") from error
    if "," in value:
        return name, KnobSpec(choices=tuple(_value(part) for part in value.split(",")))
    return name, KnobSpec(fixed=_value(value))


def parse_setting(text: str) -> tuple[str, Any]:
    """`field=value`, the value as JSON, or else as a word."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SpecError("settings", f"--set {text}: expected FIELD=VALUE")
    try:
        return name, json.loads(value, parse_constant=str, parse_float=_finite)
    except (ValueError, RecursionError):
        return name, value


def _finite(text: str) -> float | str:
    """A number; as a word what is beyond all numbers, which JSON could not hand on."""
    number = float(text)
    return number if math.isfinite(number) else text


def _value(text: str) -> int | str:
    """A knob's value: an integer if it looks like one."""
    try:
        return int(text)
    except ValueError:
        return text
