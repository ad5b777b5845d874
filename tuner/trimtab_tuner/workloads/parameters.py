"""What is recorded of a workload: all that tells it from another of the same name.

The seed is the workload's own and not the run's, so that runs with different seeds face the same requests and
can be compared.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from trimtab_tuner.clients import Clients
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.conditions import Conditions
from trimtab_tuner.workloads.definition import Definition
from trimtab_tuner.workloads.drawn import DEFAULT_SEED


class WorkloadParameters(Frozen):
    """A definition with its conditions, the seed of its log, and the factor of its think times.

    `site` is the directory of this machine whose files are asked for, where they are not made.
    """

    definition: Definition
    seed: Annotated[int, Field(ge=0)]
    time_scale: Annotated[float, Field(gt=0, le=10)]
    site: Annotated[str | None, Field(exclude_if=lambda site: site is None)] = None


def parameters(definition: Definition, time_scale: float, site: str | None = None) -> WorkloadParameters:
    """The parameters of a workload with its think times multiplied by `time_scale`."""
    return WorkloadParameters(definition=definition, seed=DEFAULT_SEED, time_scale=time_scale, site=site)


def recorded_parameters(recorded: Mapping[str, Any]) -> WorkloadParameters:
    """Parameters as they were recorded, by this version or an earlier one. Raises ValueError."""
    if "definition" not in recorded:  # before there were definitions
        definition = WORKLOADS["specweb99"].sized(recorded["directories"])
        return WorkloadParameters(
            definition=definition, seed=recorded["seed"], time_scale=recorded["time_scale"]
        )
    return WorkloadParameters.model_validate(recorded)


def clients_of(recorded: Mapping[str, Any]) -> Clients:
    """How clients behave, by recorded parameters."""
    return Clients.model_validate(recorded.get("definition", {}).get("clients", {}))


def conditions_of(recorded: Mapping[str, Any]) -> Conditions:
    """Under which conditions they meet the server, by recorded parameters."""
    return Conditions.model_validate(recorded.get("definition", {}).get("conditions", {}))


def workload_label(name: str, recorded: Mapping[str, Any]) -> str:
    """The workload's name, with the conditions that are unusual: results under others do not compare."""
    conditions = conditions_of(recorded)
    unusual = [
        *((f"{conditions.memory} memory",) if conditions.memory != "unlimited" else ()),
        *(("cold start",) if conditions.start == "cold" else ()),
        *((f"{conditions.link} link",) if conditions.link != "loopback" else ()),
    ]
    return f"{name} ({', '.join(unusual)})" if unusual else name
