"""Where the load of a job comes from: this machine's own generator, or others (fleet/shared_load.py)."""

from collections.abc import Sequence
from typing import Final, Protocol

from trimtab_agent.station.generator import LoadOrder, LoadResult, OnProgress, OnWindow, drive
from trimtab_agent.station.processes.children import Child
from trimtab_agent.stopping import StopSignal


class LoadSource(Protocol):
    """What drives the rates of one job; `server_address` is where the server must listen for it."""

    @property
    def server_address(self) -> str:
        """An address of this machine."""
        ...

    def drive(
        self,
        order: LoadOrder,
        servers: Sequence[Child],
        stop: StopSignal,
        on_progress: OnProgress,
        on_window: OnWindow,
    ) -> LoadResult:
        """As `drive` of generator.py; raises StepVoid beside."""
        ...


class OwnLoad:
    """The generator of this machine, over the loopback or the link of the job."""

    server_address = "127.0.0.1"

    def drive(
        self,
        order: LoadOrder,
        servers: Sequence[Child],
        stop: StopSignal,
        on_progress: OnProgress,
        on_window: OnWindow,
    ) -> LoadResult:
        """See above."""
        return drive(order, servers, stop, on_progress, on_window)


OWN_LOAD: Final = OwnLoad()
