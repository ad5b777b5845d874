"""The fleet: who is in it, what each does; a station that is to leave, or to be forgotten."""

from typing import Annotated

from fastapi import APIRouter, Path

from trimtab_agent.api.context import ContextDep
from trimtab_agent.fleet.overview import FleetView, drain, forget, overview

router = APIRouter(tags=["fleet"])
StationName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]


@router.get("/fleet")
def get_fleet(context: ContextDep) -> FleetView:
    """The stations of the fleet, by name. `complaint` says why the scheduler could not be asked."""
    return overview(context.settings, context.repository)


@router.post("/fleet/{name}/drain", status_code=204)
def drain_station(name: StationName, context: ContextDep) -> None:
    """Has a station leave when what it carries out has come to its end."""
    drain(context.settings, name)


@router.delete("/fleet/{name}", status_code=204)
def forget_station(name: StationName, context: ContextDep) -> None:
    """Forgets a station that has left for good; what was measured there stays."""
    forget(context.settings, context.repository, name)
