"""`trimtab study thesis`: the thesis' comparison of server architectures, measured again on this machine."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from trimtab_db.records import RunState
from trimtab_tuner.thesis.plan import FULL, SHORT, StudyPlan
from trimtab_tuner.wording import counted

from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.results.thesis_page import StudyResult, figures, thesis_markdown
from trimtab_agent.runtime import Runtime, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.study.runs import RunService
from trimtab_agent.study.study import RunEnd
from trimtab_agent.study.thesis_result import result_of
from trimtab_agent.study.thesis_steps import CAPACITY, Recorded, Step
from trimtab_agent.study.thesis_time import StudyClock
from trimtab_agent.terminal.commands.options import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    Commands,
    Json,
    Var,
    console_for,
    say_if_demo,
    settings_of,
)
from trimtab_agent.terminal.daemon import find_daemon
from trimtab_agent.terminal.follow import Follower, RunsHere
from trimtab_agent.terminal.output import print_json, write_text

app = Commands(name="study", help="Series of runs that answer a question.", no_args_is_help=True)


@app.command()
def thesis(
    short: Annotated[bool, typer.Option("--short", help="Six servers, about an hour.")] = False,
    full: Annotated[bool, typer.Option("--full", help="All nine servers on 3.3 GB of files: days.")] = False,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a Markdown page, with its figures (SVG) beside it."),
    ] = None,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Compare architectures at three memory sizes as the thesis did; what is recorded is not measured again.

    Stop it at any time: the same command goes on where it was.
    """
    if short == full:
        raise SpecError("short", "trimtab study thesis: expected either --short or --full")
    if page is not None and not page.absolute().parent.is_dir():
        raise SpecError("page", f"--page {page}: expected a file in a directory that exists")
    console = console_for(stderr=as_json)
    settings = settings_of(var=var)
    result, code = carry_out(SHORT if short else FULL, settings, console)
    say_if_demo(settings, console)
    if page is not None:
        write_page(result, page)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        print(thesis_markdown(result, {}))
    if code:
        raise typer.Exit(code)


def write_page(result: StudyResult, page: Path) -> None:
    """The page, and beside it a file for each figure that begins with the page's name; raises HostError."""
    drawn = figures(result)
    images = {name: f"{page.stem}-{name}" for name in drawn}
    for name, svg in drawn.items():
        write_text(page.with_name(images[name]), svg)
    write_text(page, thesis_markdown(result, images))


def carry_out(plan: StudyPlan, settings: AgentSettings, console: Console) -> tuple[StudyResult, int]:
    """Takes the steps that are left; the result, and the exit code: that of a failure where a run failed.

    The others go on where one fails. Raises Exit when the study is stopped, and what starting a run raises.
    """
    with find_daemon(settings) as daemon:
        if daemon is not None:
            raise HostError(
                f"the daemon {daemon} uses the directory {settings.var}; stop it, or give the study a "
                "directory of its own with --var"
            )
    with open_runtime(settings) as runtime:
        study = _Study(plan, runtime, console)
        recorded = study.carry_out()
        return result_of(
            recorded, runtime.repository, runtime.repository.host(runtime.host_id)
        ), study.exit_code


class _Study:
    """A study that goes on in this process."""

    def __init__(self, plan: StudyPlan, runtime: Runtime, console: Console) -> None:
        self._plan = plan
        self._runtime = runtime
        self._console = console
        self._clock = StudyClock(runtime.service)
        self._set_aside: set[tuple[str, str]] = set()

    @property
    def exit_code(self) -> int:
        """0, or that of a failure where a run has failed."""
        return EXIT_FAILED if self._set_aside else 0

    def carry_out(self) -> Recorded:
        """What is recorded once all steps are taken that can be; raises Exit when it is stopped."""
        recorded, left = self._look()
        first = len(left)
        if left:
            say_if_demo(self._runtime.settings, self._console)
            self._console.print(
                f"The {self._plan.name} form has {counted(first, 'step')} left and takes "
                f"{in_hours(self._clock.left_s(left))} on a quiet machine. Stop it at any time: the same "
                "command goes on where it was."
            )
        runs = RunsHere(self._runtime.service, self._runtime.broadcaster)
        with Follower(self._console, runs) as follower:
            while left:
                eta = in_hours(self._clock.left_s(left))
                self._console.print(f"[{first - len(left) + 1}/{first}] {left[0]}; ETA {eta}", markup=False)
                self._take(left[0], follower)
                recorded, left = self._look()
                first = max(first, len(left))
        return recorded

    def _look(self) -> tuple[Recorded, list[Step]]:
        """What is recorded, and the steps that can be taken."""
        recorded = Recorded(self._runtime.repository, self._plan, self._runtime.host_id)
        left = [
            step
            for step in recorded.left()
            if step.cell not in self._set_aside and (step.memory, CAPACITY) not in self._set_aside
        ]
        return recorded, left

    def _take(self, step: Step, follower: Follower) -> None:
        began = time.monotonic()
        run_id = _begin(self._runtime.service, step)
        end: RunEnd = follower.follow(self._runtime.repository.run(run_id))
        if end.state is RunState.FINISHED:
            self._clock.took(step, time.monotonic() - began)
        elif end.state is RunState.FAILED:
            self._console.print(f"Run {run_id} failed and is left out: {end.error}", markup=False)
            self._set_aside.add(step.cell)
        else:
            self._console.print("Stopped; the same command goes on where it was.")
            raise typer.Exit(EXIT_INTERRUPTED)


def _begin(service: RunService, step: Step) -> int:
    if step.run_id is None:
        return service.start(step.spec)
    if step.trial is None:
        return service.resume(step.run_id)
    return service.repeat(step.run_id, step.trial)


def in_hours(seconds: float) -> str:
    """A duration for people: `50 min`, `3.5 h`, `2.6 days`."""
    if seconds < 5400:
        return f"{max(1, round(seconds / 60))} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
