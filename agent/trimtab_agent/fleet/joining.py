"""A machine as a station of the fleet, from its joining to its leaving."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from distributed.comm import get_address_host
from trimtab_db import Repository, open_database
from trimtab_db.errors import DatabaseError
from trimtab_db.records import StationRole, StationState

from trimtab_agent.errors import FleetError, HostError
from trimtab_agent.fleet.credentials import checked_name, name_in, security_of
from trimtab_agent.fleet.engine import normal_address
from trimtab_agent.fleet.facts import condition, facts_of
from trimtab_agent.fleet.generating import Generating
from trimtab_agent.fleet.generator_orders import ENGAGE
from trimtab_agent.fleet.member import ABORT, DRAIN, Member, Membership
from trimtab_agent.fleet.station_host import StationHost
from trimtab_agent.fleet.trial_process import TrialProcess
from trimtab_agent.fleet.work import Here
from trimtab_agent.host.cpu_layout import process_cpus, process_layout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.paths import VarPaths
from trimtab_agent.settings import AgentSettings

log = logging.getLogger(__name__)

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Joining:
    """How a machine joins; `trials` is the command of its trial process."""

    settings: AgentSettings
    scheduler: str
    name: str | None
    trials: Sequence[str]
    say: Say


def join_as_generator(joining: Joining) -> None:
    """Generates load for stations until it is told to leave; raises FleetError, HostError, RunConflict."""
    settings, paths = joining.settings, VarPaths(joining.settings.var.resolve())
    cpus = process_cpus()
    with MachineLock(settings.machine_lock, paths.var):
        generating = Generating(settings.load_path, cpus, paths.fleet / "sessions")

        async def last() -> None:
            async def drain() -> None:
                """Leaves when the station that it works for has hung up; who asks for it need not wait."""
                generating.when_idle(membership.leave)

            membership = Membership(
                _member(
                    joining,
                    StationRole.GENERATOR,
                    doing=lambda: {"doing": generating.doing, "busy": generating.busy.share},
                    handlers={ENGAGE: generating.engage, DRAIN: drain},
                )
            )
            _on_signals(membership.leave)
            await membership.last()

        try:
            asyncio.run(last())
        finally:
            generating.close()
    joining.say("It has left the fleet.")


def join_as_server(joining: Joining) -> None:
    """Carries out booked trials until it is told to leave, and leaves when the machine's settings are back.

    Raises FleetError, HostError, RunConflict, DatabaseError.
    """
    settings, paths = joining.settings, VarPaths(joining.settings.var.resolve())
    if settings.database_url is None:
        raise FleetError(
            "a station of servers records in the fleet's database: set TRIMTAB_DATABASE_URL to its "
            "postgresql:// address"
        )
    with ExitStack() as opened:
        repository = open_database(settings.database_url.get_secret_value())
        opened.callback(repository.close)
        name = _name_of(joining)
        trials = TrialProcess(
            [*joining.trials, "--name", name],
            {
                "TRIMTAB_VAR": str(paths.var),
                "TRIMTAB_FLEET_CREDENTIALS": str(settings.credentials.resolve()),
                # Its journal lies on its own disk, so that settings are put back whatever the network does.
                "TRIMTAB_DATABASE_URL": "",
            },
            paths.fleet / "trials.log",
        )
        opened.callback(trials.close)
        _ServerStation(joining, name, repository, trials, paths).last()


class _ServerStation:
    """One stay of a server station in the fleet."""

    def __init__(
        self, joining: Joining, name: str, repository: Repository, trials: TrialProcess, paths: VarPaths
    ) -> None:
        self._joining = joining
        self._name = name
        self._repository = repository
        self._host_id = repository.register_host(describe_host(paths.var))
        self._host = StationHost(name, repository, trials, paths.fleet / "uncommitted", self._tell)
        self._trials = trials
        self._membership: Membership | None = None
        self._member: Member | None = None

    def last(self) -> None:
        """From joining to leaving."""
        self._host.open()
        Here.worker = self._host
        try:
            asyncio.run(self._belong())
        finally:
            Here.worker = None
            self._host.close()
        self._say_goodbye()

    async def _belong(self) -> None:
        self._member = member = _member(
            self._joining,
            StationRole.SERVER,
            doing=lambda: {"doing": self._host.doing, "busy": self._host.busy.share},
            handlers={DRAIN: self._drain, ABORT: self._abort},
            on_joined=self._joined,
        )
        self._membership = membership = Membership(member)
        _on_signals(membership.leave)
        await membership.last()

    def _joined(self, address: str) -> None:
        """Notes where the station is now, as soon as the database takes that."""

        def register() -> None:
            assert self._member is not None  # noqa: S101 - it has joined
            while not self._host.leaving:
                try:
                    self._repository.register_station(
                        self._name,
                        StationRole.SERVER,
                        self._host_id,
                        address,
                        dict(self._member.facts),
                        settled=self._host.settled,
                    )
                except DatabaseError as error:
                    log.warning("%s", error)
                    threading.Event().wait(1.0)
                else:
                    self._joining.say(joined_sentence(self._name, address))
                    return

        threading.Thread(target=register, name="register", daemon=True).start()

    def _tell(self, booking_id: int, event: dict[str, Any]) -> None:
        if self._membership is not None:
            self._membership.tell({"booking": booking_id, **event})

    async def _drain(self) -> None:
        """Leaves when what goes on has come to its end."""
        membership = self._membership

        def wait() -> None:
            self._set_state(StationState.DRAINING)
            self._host.wait_until_idle()
            if membership is not None:
                membership.leave()

        threading.Thread(target=wait, name="drain", daemon=True).start()

    async def _abort(self, booking_id: int, token: int) -> None:
        self._host.abort(booking_id, token)

    def _say_goodbye(self) -> None:
        self._set_state(StationState.LEFT)
        if not self._trials.settled:
            raise HostError(
                "the trial process did not say that this machine's settings are back; "
                "`trimtab affinity restore` puts back what its journal names"
            )
        self._joining.say(f"{self._name} has left the fleet; its settings are as they were.")

    def _set_state(self, state: StationState) -> None:
        try:
            self._repository.set_station_state(self._name, state)
        except DatabaseError as error:
            log.warning("%s", error)


def _member(
    joining: Joining,
    role: StationRole,
    *,
    doing: Callable[[], dict[str, Any]],
    handlers: Mapping[str, Callable[..., Any]],
    on_joined: Callable[[str], None] | None = None,
) -> Member:
    settings, paths = joining.settings, VarPaths(joining.settings.var.resolve())
    name = _name_of(joining)
    paths.fleet.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Member(
        scheduler=normal_address(joining.scheduler),
        name=name,
        role=role.value,
        security=security_of(settings.credentials),
        folder=paths.fleet / "engine",
        facts=facts_of(role.value, describe_host(paths.var), settings.httpd_path, process_layout()),
        condition=lambda: {**condition(), **doing()},
        handlers=handlers,
        on_joined=on_joined or (lambda address: joining.say(joined_sentence(name, address))),
    )


def _name_of(joining: Joining) -> str:
    return name_in(joining.settings.credentials) if joining.name is None else checked_name(joining.name)


def joined_sentence(name: str, address: str) -> str:
    """That a station is in the fleet, and where others reach it; from this machine alone, if it has found its
    scheduler by an address of the loopback, as that of a machine's own name often is.
    """
    said = f"{name} is in the fleet, at {address}."
    if not ip_address(get_address_host(address)).is_loopback:
        return said
    return (
        f"{said} Other machines do not reach it there: if there are any, have it join the scheduler by an "
        "address that they use too."
    )


def _on_signals(leave: Callable[[], None]) -> None:
    """The first signal has the station leave; later ones change nothing, as leaving takes its time."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: leave())
