"""The stations of a run: this machine's own, with its own generator or those of others; or hosts of a fleet.

The engine takes a second to load, which runs on this machine alone need not pay: so it is loaded where it is
used.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trimtab_db import Repository, records
from trimtab_db.records import StationRole
from trimtab_tuner.fleet.classes import HostClass, held_back, strata_of
from trimtab_tuner.wording import counted

from trimtab_agent.errors import FleetError, SpecError
from trimtab_agent.fleet.trial_stations import MakeLoad, TrialStation
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.load_source import LoadSource

if TYPE_CHECKING:
    from distributed.security import Security

    from trimtab_agent.fleet.controller import Present
    from trimtab_agent.fleet.work import AtGenerator

ALL = "all"
AWAY_S = 30.0


@dataclass(frozen=True)
class Wanted:
    """The stations that a run asks for: hosts by their names, or `ALL`; generators, and how many of them load
    one server together.
    """

    hosts: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()
    generators_each: int = 1


@dataclass(frozen=True)
class Chosen:
    """What a run is carried out on: `cpus` is how many the server has where it has least, `fleet` and
    `layout` are recorded with it, and `version` is that of the target's server; None for this machine.
    `loaded_at` is the address of this machine at which others load it, None where its load is its own.
    """

    cpus: int
    layout: dict[str, Any]
    fleet: dict[str, Any] | None = None
    version: str | None = None
    loaded_at: str | None = None

    @property
    def over_hosts(self) -> bool:
        """Whether hosts of the fleet carry its trials out."""
        return bool(self.fleet and self.fleet["hosts"])


class RunStations:
    """Chooses stations for runs, and makes them.

    `make_own` makes that of this machine for a run, with where its loads come from if not from it.
    """

    def __init__(
        self,
        settings: AgentSettings,
        repository: Repository,
        own: CpuLayout,
        make_own: Callable[[int, MakeLoad | None], TrialStation],
    ) -> None:
        self._settings = settings
        self._repository = repository
        self._own = own
        self._make_own = make_own

    def choose(self, wanted: Wanted, target: str, seed: int) -> Chosen:
        """What a run that asks for this gets; raises SpecError, FleetError."""
        if not wanted.hosts and not wanted.generators:
            return Chosen(len(self._own.server), self._own.document())
        from trimtab_agent.fleet.controller import Fleet
        from trimtab_agent.fleet.engine import own_address

        with Fleet(self._settings.fleet, self._settings.credentials) as fleet:
            generators = fleet.generators(wanted.generators)
            if wanted.hosts:
                return self._on_hosts(fleet.present(), wanted, target, seed)
        layout = self._own.whole(wanted.generators)
        return Chosen(
            len(layout.server),
            layout.document(),
            {"hosts": {}, "generators": list(wanted.generators)},
            loaded_at=own_address(generators[0].address),
        )

    def _on_hosts(self, present: Mapping[str, "Present"], wanted: Wanted, target: str, seed: int) -> Chosen:
        if self._repository.embedded:
            raise SpecError(
                "hosts",
                "hosts: stations on several hosts record in one database; expected TRIMTAB_DATABASE_URL with "
                "a postgresql:// address",
            )
        servers = {name: each for name, each in present.items() if each.role == StationRole.SERVER}
        names = sorted(servers) if wanted.hosts == (ALL,) else list(wanted.hosts)
        if missing := [name for name in names if name not in servers]:
            raise SpecError(
                "hosts",
                f"hosts = {', '.join(missing)}: no such server station is in the fleet; in it now: "
                f"{', '.join(sorted(servers)) or 'none'}",
            )
        if not names:
            raise SpecError("hosts", "hosts = all: no server station is in the fleet")
        if lacking := [name for name in names if target not in servers[name].facts["servers"]]:
            raise SpecError(
                "hosts", f"hosts = {', '.join(lacking)}: the server of {target} is not installed there"
            )
        recorded = {each.name: each for each in self._repository.stations(StationRole.SERVER)}
        if unknown := [name for name in names if name not in recorded]:
            raise SpecError(
                "hosts",
                f"hosts = {', '.join(unknown)}: in the fleet, but not in this database; expected the same "
                "TRIMTAB_DATABASE_URL there as here",
            )
        if 0 < len(wanted.generators) < wanted.generators_each:
            raise SpecError(
                "generators_each",
                f"generators_each = {wanted.generators_each}: expected at most {len(wanted.generators)}, as "
                "many as there are generators",
            )
        layouts = {name: servers[name].facts["layout"] for name in names}
        part = "all" if wanted.generators else "server"
        cpus = min(len(layout[part]) for layout in layouts.values())
        classes = {name: class_of(servers[name], target, len(layouts[name][part])) for name in names}
        strata = strata_of(classes)
        versions = Counter(classes[name].server for name in names)
        fleet = {
            "hosts": {
                name: {
                    "host_id": recorded[name].host_id,
                    "class": classes[name].model_dump(mode="json"),
                    "stratum": strata[name],
                }
                for name in names
            },
            "generators": list(wanted.generators),
            "generators_each": wanted.generators_each if wanted.generators else 0,
            "held_back": list(held_back(classes, seed)),
        }
        smallest = min(layouts.values(), key=lambda layout: len(layout[part]))
        loaded = (
            f"loaded by {', '.join(wanted.generators)}" if wanted.generators else "each with its own load"
        )
        layout = {
            "server": smallest[part],
            "generator": smallest[part if wanted.generators else "generator"],
            "sentence": f"{counted(len(names), 'host')} of the fleet ({', '.join(names)}), {loaded}",
            "reason": "",
        }
        return Chosen(cpus, layout, fleet, versions.most_common(1)[0][0])

    @contextmanager
    def of(self, run_id: int) -> Iterator[list[TrialStation]]:
        """The stations of a run, for whoever holds its lock; raises HostError, FleetError, DatabaseError.

        What holds them together goes at the end; whoever gets them closes them before.
        """
        run = self._repository.run(run_id)
        fleet = run.fleet or {"hosts": {}, "generators": []}
        names = tuple(fleet["generators"])
        if not fleet["hosts"]:
            yield [self._make_own(run_id, self._load_of(run, names) if names else None)]
            return
        from trimtab_agent.fleet.controller import Fleet
        from trimtab_agent.fleet.remote_station import RemoteStation
        from trimtab_agent.fleet.watching import Watching

        with (
            Fleet(self._settings.fleet, self._settings.credentials) as connected,
            Watching(connected, self._repository) as watching,
        ):
            watching.look()
            present = connected.present()
            stations = [
                RemoteStation(
                    connected, self._repository, run_id, present[name], names, fleet["generators_each"]
                )
                for name in fleet["hosts"]
                if name in present
            ]
            if not stations:
                raise FleetError(f"none of the hosts of run {run_id} is in the fleet")
            for station in stations:
                station.abort_left_behind()
            yield list(stations)

    def changes(self, run: records.Run) -> str:
        """What has changed of a run's hosts since it began, in words; empty if nothing has."""
        from trimtab_agent.fleet.controller import Fleet

        with Fleet(self._settings.fleet, self._settings.credentials) as fleet:
            present = fleet.present()
        changed = []
        for name, host in (run.fleet or {"hosts": {}})["hosts"].items():
            station = present.get(name)
            if station is None or run.target not in station.facts["servers"]:
                continue  # it is lost to the run, and may come back
            was = HostClass.model_validate(host["class"])
            now = class_of(station, run.target, was.cpus)
            if was != now:
                changed.append(f"{name}: was {was.sentence}, is {now.sentence}")
        return "; ".join(changed)

    def _load_of(self, run: records.Run, names: tuple[str, ...]) -> Callable[[], Any]:
        """Makes the load of a trial. The generators are looked up for each: one that was started anew has
        another address. One that is away, or a scheduler that is, may be back in a moment.
        """

        @contextmanager
        def load() -> Iterator[LoadSource]:
            from trimtab_agent.fleet.shared_load import SharedLoad

            deadline = time.monotonic() + AWAY_S
            while True:
                try:
                    generators, security = self._generators_now(names)
                except FleetError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(1.0)
                else:
                    break
            with SharedLoad(generators, security, f"run {run.id} of {run.host}") as shared:
                yield shared

        return load

    def _generators_now(self, names: tuple[str, ...]) -> "tuple[tuple[AtGenerator, ...], Security]":
        from trimtab_agent.fleet.controller import Fleet

        with Fleet(self._settings.fleet, self._settings.credentials) as fleet:
            return fleet.generators(names), fleet.security


def class_of(station: "Present", target: str, cpus: int) -> HostClass:
    """What makes a station comparable with others, for a target on so many of its CPUs."""
    host = station.host
    cards = sorted({_card(card) for card in station.facts["network_cards"]})
    return HostClass(
        cpu_model=host.cpu_model,
        cpus=cpus,
        kernel=host.kernel,
        network_cards=tuple(cards),
        server=station.facts["servers"][target],
    )


def _card(card: dict[str, Any]) -> str:
    speed = card["speed_mbps"]
    return f"{card['driver'] or 'virtual'}" + (f" {speed} Mbit/s" if speed else "")
