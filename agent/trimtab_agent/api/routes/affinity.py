"""The host's topology and kernel, and affinity plans on it: preview, apply, status, restore."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from trimtab_tuner.affinity import PlanName

from trimtab_agent.affinity.service import AffinityStatus, PlannedAffinity
from trimtab_agent.api.context import ContextDep
from trimtab_agent.host.topology import Topology
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.os_settings.journal import Restored
from trimtab_agent.results.measured_plans import MeasuredPlans, measured_plans

router = APIRouter(tags=["host"])


class PlanRequest(BaseModel):
    """Which plan, for the receive queues of which devices, for how many workers on which CPUs.

    No CPUs are those that the layout gives the server.
    """

    model_config = ConfigDict(extra="forbid")

    plan: PlanName
    devices: Annotated[tuple[str, ...], Field(max_length=64)]
    workers: Annotated[int, Field(ge=1, le=4096)] = 1
    cpus: Annotated[tuple[int, ...], Field(max_length=4096)] = ()


@router.get("/host/topology", response_model=Topology)
def get_topology(context: ContextDep) -> Topology:
    """CPUs, caches, network devices with their queues, and interrupts, as they are now."""
    return context.affinity.topology()


@router.get("/host/kernel")
def get_kernel(context: ContextDep) -> Kernel:
    """The knobs of the kernel that a run can tune here, what they are set to now, and which are lacking."""
    return context.service.kernel(None)


@router.get("/affinity", response_model=AffinityStatus)
def get_affinity(context: ContextDep) -> AffinityStatus:
    """What is in force, what has drifted, and who else moves interrupts."""
    return context.affinity.status()


@router.get("/affinity/measured")
def get_measured_plans(context: ContextDep) -> MeasuredPlans:
    """Which plan the recorded runs of this machine have found to be best, and by how much."""
    return measured_plans(context.repository, context.host_id)


@router.post("/affinity/plan", response_model=PlannedAffinity)
def plan_affinity(body: PlanRequest, context: ContextDep) -> PlannedAffinity:
    """What a plan would set; touches nothing."""
    return context.affinity.plan(body.plan, body.devices, body.workers, body.cpus)


@router.post("/affinity/apply", response_model=PlannedAffinity)
def apply_affinity(body: PlanRequest, context: ContextDep) -> PlannedAffinity:
    """Puts a plan's masks into force; 409 while a run is going on."""
    return context.affinity.apply(body.plan, body.devices, body.workers, body.cpus)


@router.post("/affinity/restore", response_model=list[Restored])
def restore_affinity(context: ContextDep) -> tuple[Restored, ...]:
    """Puts every mask back as it was; 409 while a run is going on."""
    return context.affinity.restore()
