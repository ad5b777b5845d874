"""What the fleet's engine may ask a station for: these functions, by their names, each with one JSON text.

They run in a thread of the station's process, which hands on what is asked to its trial process and answers
in JSON as well; nothing is ever raised through the engine.
"""

from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import Field, ValidationError
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.workloads.definition import first_error_sentence
from trimtab_tuner.workloads.parameters import WorkloadParameters


class AtGenerator(Frozen):
    """A generator that the job's server is loaded by."""

    name: str
    address: str


class WorkOrder(Frozen):
    """A booked repetition: what the station needs beside what stands in its booking.

    `trial` names its logs, `lease_s` is how long each renewal lasts.
    """

    run_id: int
    booking_id: int
    token: int
    trial: int
    lease_s: Annotated[float, Field(gt=0)]
    job: TrialJob
    generators: tuple[AtGenerator, ...] = ()


class Answer(Frozen):
    """What became of an order.

    `committed`: its result stands in the database. `lost`: the lease had ended. `failed`: the machine could
    not carry it out, and it was given back; `sentence` says why, `code` what kind of error. `busy`: the
    station carries something else out.
    """

    what: Literal["committed", "lost", "failed", "busy", "prepared"]
    sentence: str = ""
    code: str = ""


class Worker(Protocol):
    """Whoever carries work out in this process."""

    def carry_out(self, order: WorkOrder) -> Answer:
        """Carries out what is booked; returns when that has come to its end, whatever that is."""
        ...

    def prepare(self, workload: WorkloadParameters) -> Answer:
        """Makes ready what jobs with this workload need."""
        ...


class Here:
    """The station of this process."""

    worker: ClassVar[Worker | None] = None


def carry_out(order: str) -> str:
    """A `WorkOrder`; an `Answer`."""
    if Here.worker is None:
        return _failed("no station works in this process")
    try:
        asked = WorkOrder.model_validate_json(order)
    except ValidationError as error:
        return _not_understood(error)
    return Here.worker.carry_out(asked).model_dump_json()


def prepare(workload: str) -> str:
    """`WorkloadParameters`; an `Answer`."""
    if Here.worker is None:
        return _failed("no station works in this process")
    try:
        asked = WorkloadParameters.model_validate_json(workload)
    except ValidationError as error:
        return _not_understood(error)
    return Here.worker.prepare(asked).model_dump_json()


def _not_understood(error: ValidationError) -> str:
    return _failed(f"it does not understand what it is asked for: {first_error_sentence(error)}")


def _failed(sentence: str) -> str:
    return Answer(what="failed", sentence=sentence).model_dump_json()
