"""`trimtab affinity plan | apply | status | restore`: which CPU serves which receive queue.

What is applied is journalled first and stays until `trimtab affinity restore`, or until the next boot.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from trimtab_tuner.affinity import PlanName

from trimtab_agent.affinity.balancers import ban_interrupts, irqbalance_socket, unban_interrupts
from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.errors import HostError, SpecError
from trimtab_agent.os_settings.journal import Applied
from trimtab_agent.runtime import affinity_service, open_repository, open_to_read, this_host
from trimtab_agent.settings import AgentSettings
from trimtab_agent.terminal.commands.options import (
    EXIT_FAILED,
    Commands,
    Json,
    Var,
    settings_of,
    settings_to_read,
)
from trimtab_agent.terminal.output import print_json

app = Commands(
    name="affinity", help="Which CPU serves which worker and which receive queue.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(metavar="PLAN", help=f"One of {', '.join(get_args(PlanName))}.")]
Device = Annotated[
    list[str] | None,
    typer.Option("--device", help="Network device; again for more. Default: all that are up."),
]
Workers = Annotated[int, typer.Option(min=1, help="Workers of the server that the plan is for.")]
Cpu = Annotated[list[int] | None, typer.Option("--cpu", help="CPU of the server; again for more.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and touch nothing.")]


@contextmanager
def _service(settings: AgentSettings, *, reads: bool = True) -> Iterator[AffinityService]:
    """The service on the database, which is made for whoever does not only read."""
    open_one = open_to_read if reads else open_repository
    with open_one(settings) as repository:
        host = this_host(settings, keep_id=settings.has_database)
        yield affinity_service(settings, repository, repository.register_host(host))


@app.command()
def plan(
    name: Name,
    device: Device = None,
    workers: Workers = 1,
    cpu: Cpu = None,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Show what a plan would set on this host."""
    _plan_or_apply(name, device, workers, cpu, dry_run=True, as_json=as_json, var=var)


@app.command()
def apply(
    name: Name,
    device: Device = None,
    workers: Workers = 1,
    cpu: Cpu = None,
    dry_run: DryRun = False,
    ban: Annotated[
        bool, typer.Option("--ban", help="Ask irqbalance to leave the interrupts of the plan alone.")
    ] = False,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Put a plan's masks into force; they stay until `trimtab affinity restore`."""
    _plan_or_apply(name, device, workers, cpu, dry_run=dry_run, as_json=as_json, var=var, ban=ban)


@app.command()
def status(as_json: Json = False, var: Var = None) -> None:
    """Show what is in force, what has drifted, and who else moves interrupts."""
    with _service(settings_to_read(var)) as service:
        found = service.status()
    if as_json:
        print_json(asdict(found))
        return
    if not found.settings:
        print("Nothing is in force: every mask is the machine's own.")
    _print_settings(found.settings)
    for sentence in found.drift:
        print(f"Drifted: {sentence}")
    for balancer in found.balancers:
        print(f"{balancer.name} runs (process {balancer.pid}): it {balancer.would_undo}")


@app.command()
def restore(
    dry_run: DryRun = False,
    unban: Annotated[
        bool, typer.Option("--unban", help="Let irqbalance move the interrupts again that are put back.")
    ] = False,
    as_json: Json = False,
    var: Var = None,
) -> None:
    """Put every mask back as it was before."""
    if dry_run:
        status(as_json=as_json, var=var)
        return
    with _service(settings_to_read(var)) as service:
        lines = service.restore()
    if unban:
        _ask_irqbalance(
            unban_interrupts, _interrupts(line.path for line in lines if line.state == "restored")
        )
    if as_json:
        print_json([asdict(line) for line in lines])
    else:
        for line in lines:
            print(f"{line.path}: {line.value} {line.state}{f' ({line.reason})' if line.reason else ''}")
        if not lines:
            print("Nothing was in force.")
    if any(line.state == "failed" for line in lines):
        raise typer.Exit(EXIT_FAILED)


def _plan_or_apply(
    name: str,
    device: list[str] | None,
    workers: int,
    cpu: list[int] | None,
    *,
    dry_run: bool,
    as_json: bool,
    var: Var,
    ban: bool = False,
) -> None:
    if name not in get_args(PlanName):
        raise SpecError("plan", f"plan {name!r}: expected one of {', '.join(get_args(PlanName))}")
    plan_name = cast("PlanName", name)
    settings = settings_to_read(var, recorded=False) if dry_run else settings_of(var=var)
    with _service(settings, reads=dry_run) as service:
        devices = device or [nic.name for nic in service.topology().devices if nic.up and nic.name != "lo"]
        act = service.plan if dry_run else service.apply
        planned = act(plan_name, devices, workers, cpu or ())
        others = service.status().balancers
    if ban and not dry_run:
        _ask_irqbalance(ban_interrupts, _interrupts(setting.path for setting in planned.settings))
    if as_json:
        print_json({**asdict(planned), "balancers": [asdict(balancer) for balancer in others]})
    else:
        print(planned.sentence)
        _print_settings(planned.settings)
        for balancer in others:
            offer = "; --ban asks it to leave them alone" if balancer.can_ban and not ban else ""
            print(f"{balancer.name} runs (process {balancer.pid}): it {balancer.would_undo}{offer}")
    if any(setting.state == "refused" for setting in planned.settings) and not dry_run:
        raise typer.Exit(EXIT_FAILED)


def _interrupts(paths: Iterable[str]) -> list[int]:
    """The interrupts among the settings."""
    return [int(found[1]) for path in paths if (found := re.match(r"/proc/irq/(\d+)/", path))]


def _ask_irqbalance(request: Callable[[Path, list[int]], tuple[int, ...]], irqs: list[int]) -> None:
    """Bans interrupts, or takes that back, and says what is banned then. Raises HostError."""
    path = irqbalance_socket()
    if path is None:
        raise HostError("irqbalance has no socket here: there is nobody to ask")
    try:
        banned = request(path, irqs)
    except OSError as error:
        raise HostError(f"irqbalance does not answer on {path}: {error}") from error
    numbers = ", ".join(map(str, banned)) or "none"
    print(f"irqbalance leaves these interrupts alone until it is restarted: {numbers}", file=sys.stderr)


def _print_settings(settings: tuple[Applied, ...]) -> None:
    for setting in settings:
        reason = f": {setting.reason}" if setting.reason else ""
        why = f"  ({setting.why})" if setting.why else ""
        print(f"{setting.path}: {setting.before or '?'} → {setting.after} {setting.state}{reason}{why}")
