"""What a station and a generator on another machine say to each other, over one connection for each job.

The station speaks first; every message is a mapping of plain values, whatever the engine could carry besides.

    station                                         generator
    engage, with its version and name          ──►
                                               ◄──  welcome, or refused with a sentence
    clock                                      ──►
                                               ◄──  its monotonic clock
    sessions, with the digest of the log       ──►
                                               ◄──  whether it has them; if not, they are sent
    drive, with a `GeneratorOrder`             ──►
                                               ◄──  lines of trimtab-load; then the result, or failed

The connection is the lease: a generator works for one station at a time, until that hangs up or is gone. A
load whose station has gone is ended at once.
"""

from typing import Annotated, Final

from pydantic import Field
from trimtab_tuner.clients import Clients
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.workloads.http2 import Http2
from trimtab_tuner.workloads.tls import Tls

ENGAGE: Final = "trimtab-engage"
SILENT_S: Final = 10.0
"""A generator that tells nothing for so long is taken for lost: it reports every second."""

Positive = Annotated[float, Field(gt=0, le=1e9)]


class GeneratorOrder(Frozen):
    """One rate, of which this generator drives its share: machine number `machine` of so many.

    `start_at_ns` is by the generator's own monotonic clock.
    """

    url: Annotated[str, Field(pattern=r"^https?://[0-9a-zA-Z.:\[\]-]+$")]
    destinations: tuple[Annotated[str, Field(pattern=r"^[0-9a-zA-Z.:\[\]-]+$")], ...] = ()
    rate_rps: Positive
    duration_s: Positive
    warmup_s: Annotated[float, Field(ge=0, le=3600)]
    timeout_s: Annotated[float, Field(gt=0, le=600)]
    sessions: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    seed: Annotated[int, Field(ge=0)]
    clients: Clients
    tls: Tls | None = None
    http2: Http2 | None = None
    machines: Annotated[int, Field(ge=1, le=256)]
    machine: Annotated[int, Field(ge=0)]
    start_at_ns: Annotated[int, Field(gt=0)]
