"""Who is in the fleet, what each does, and who holds which lease: for the terminal and the API."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict
from trimtab_db import Repository, records
from trimtab_db.records import StationRole, StationState
from trimtab_trials.host import Host

from trimtab_agent.errors import FleetError
from trimtab_agent.settings import AgentSettings

if TYPE_CHECKING:
    from trimtab_agent.fleet.controller import Present

RUNS_LOOKED_AT = 50


class _View(BaseModel):
    """Immutable; in the API's document every field is always there."""

    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)


class NetworkCard(_View):
    """A network card of a station; None where its kernel does not say."""

    name: str
    driver: str | None
    speed_mbps: int | None


class StationView(_View):
    """A station as the engine and the database know it.

    Its `state` is `ready`, `draining` or `left`; `absent` if the engine does not know it although it has not
    left; `unrecorded` if the engine knows a server station that this database does not: it has just come, or
    records in another one. `doing` is what it says itself, `busy` the share of the last hour in which it did
    something, `booked_until` the end of its lease by the database's clock. `level` is what the default did
    there in the newest run on several hosts, beside the mean host; `level_before` the same in the run before,
    of the same server and workload.
    """

    name: str
    role: str
    state: str
    doing: str
    address: str
    settled: bool
    run_id: int | None
    trial: int | None
    booked_until: datetime | None
    last_seen: datetime | None
    busy: float | None
    machine_id: str
    cpu_model: str
    cpus: int
    kernel: str
    memory_bytes: int
    free_memory_bytes: int | None
    cpu_percent: float | None
    network_cards: tuple[NetworkCard, ...]
    servers: dict[str, str]
    trimtab: str
    protocol: int
    level: float | None
    level_before: float | None


class FleetView(_View):
    """The fleet; `complaint` says why its scheduler could not be asked, empty if it could."""

    scheduler: str
    complaint: str
    stations: tuple[StationView, ...]


def overview(settings: AgentSettings, repository: Repository) -> FleetView:
    """Asks both; raises DatabaseError."""
    complaint: str = ""
    present: Mapping[str, Present] = {}
    try:
        present = _present(settings)
    except FleetError as error:
        complaint = error.sentence
    recorded = {station.name: station for station in repository.stations()}
    held = {booking.id: booking for booking in repository.bookings_held()}
    levels = _levels(repository) if recorded else ({}, {})
    return FleetView(
        scheduler=settings.fleet,
        complaint=complaint,
        stations=tuple(
            _seen(name, recorded.get(name), present.get(name), held, levels)
            for name in sorted(recorded.keys() | present.keys())
        ),
    )


def drain(settings: AgentSettings, name: str) -> None:
    """Has a station leave when what it carries out has come to its end; raises FleetError."""
    from trimtab_agent.fleet.controller import Fleet
    from trimtab_agent.fleet.member import DRAIN

    with Fleet(settings.fleet, settings.credentials) as fleet:
        present = fleet.present()
        if name not in present:
            there = ", ".join(sorted(present)) or "nobody"
            raise FleetError(f"{name} is not in the fleet; in it now: {there}")
        fleet.tell(present[name].address, DRAIN)


def forget(settings: AgentSettings, repository: Repository, name: str) -> None:
    """Forgets a station that has left; what was measured there stays.

    Raises FleetError while it is in the fleet, RecordNotFoundError, RecordConflictError.
    """
    repository.station(name)
    present = _present(settings)
    if name in present:
        raise FleetError(f"{name} is in the fleet: `trimtab fleet drain {name}` has it leave")
    repository.left_stations(sorted(present))
    repository.forget_station(name)


def _present(settings: AgentSettings) -> "Mapping[str, Present]":
    # The engine takes a second to load, which whoever has no fleet need not pay.
    if not settings.credentials.exists():
        raise FleetError(
            f"this machine is no member of a fleet: {settings.credentials} is not there (docs/fleet.md)"
        )
    from trimtab_agent.fleet.controller import Fleet

    with Fleet(settings.fleet, settings.credentials) as fleet:
        return fleet.present()


Levels = tuple[Mapping[str, float], Mapping[str, float]]


def _levels(repository: Repository) -> Levels:
    """The levels of hosts in the newest run on several that has an outcome, and in the one like it before."""
    found: list[dict[str, float]] = []
    like: tuple[str, Any] | None = None
    for summary in repository.runs()[:RUNS_LOOKED_AT]:
        run = summary.run
        over_hosts = (run.outcome or {}).get("over_hosts")
        if over_hosts is None or (like is not None and like != (run.target, run.workload_parameters)):
            continue
        like = run.target, run.workload_parameters
        found.append({host["name"]: host["level"] for host in over_hosts["hosts"] if host["level"]})
        if len(found) == 2:
            break
    newest, before = [*found, {}, {}][:2]
    return newest, before


def _seen(
    name: str,
    recorded: records.Station | None,
    present: "Present | None",
    held: Mapping[int, records.Booking],
    levels: Levels,
) -> StationView:
    facts: dict[str, Any] = {}
    if present is not None:
        facts = present.facts
    elif recorded is not None:
        facts = recorded.facts
    host = Host(**facts["host"])
    booking = None if recorded is None or recorded.booking_id is None else held.get(recorded.booking_id)
    now = {} if present is None else present.condition
    return StationView(
        name=name,
        role=facts["role"],
        state=_state(facts["role"], recorded, present),
        doing=now.get("doing", ""),
        address=present.address if present is not None else recorded.address if recorded else "",
        settled=recorded is None or recorded.settled,
        run_id=None if booking is None else booking.run_id,
        trial=None if booking is None else booking.trial_number,
        booked_until=None if recorded is None else recorded.booked_until,
        last_seen=None if present is None else datetime.fromtimestamp(present.last_seen, UTC),
        busy=now.get("busy"),
        machine_id=host.machine_id,
        cpu_model=host.cpu_model,
        cpus=len(facts["layout"]["all"]),
        kernel=host.kernel,
        memory_bytes=host.memory_bytes,
        free_memory_bytes=now.get("free_memory_bytes"),
        cpu_percent=now.get("cpu_percent"),
        network_cards=tuple(NetworkCard(**card) for card in facts["network_cards"]),
        servers=facts["servers"],
        trimtab=facts["versions"]["trimtab"],
        protocol=facts["versions"]["protocol"],
        level=levels[0].get(name),
        level_before=levels[1].get(name),
    )


def _state(role: str, recorded: records.Station | None, present: "Present | None") -> str:
    if recorded is None:
        # No study on several hosts has used the generator yet.
        return StationState.READY.value if role == StationRole.GENERATOR else "unrecorded"
    if present is None and recorded.state is not StationState.LEFT:
        return "absent"
    return recorded.state.value
