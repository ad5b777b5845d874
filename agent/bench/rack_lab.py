"""A rack for the benchmarks of the fleet: hosts in network namespaces of this machine, and an end that leaves
nothing behind, whatever ends the benchmark.
"""

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fleet_rack import Rack

DIES_WITH_US = ("setpriv", "--pdeathsig=TERM", "--")
"""What goes before a command of a host's, so that it ends with the benchmark."""


@contextmanager
def rack_with_scheduler(**environment: str) -> Iterator[Rack]:
    """A rack in which the host `control` has the scheduler, with this environment for its commands."""
    with _ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="trimtab-rack-") as folder:
        rack = Rack(Path(folder))
        try:
            control = rack.own("control", **environment)
            scheduler = control.start("fleet", "serve", "--listen", rack.address, ahead=DIES_WITH_US)
            scheduler.wait_for("The scheduler listens")
            yield rack
        finally:
            rack.remove()


def minutes_asked(usual: float) -> float:
    """The first argument of the command; without one what is usual. Raises SystemExit for no number."""
    try:
        return float(sys.argv[1]) if len(sys.argv) > 1 else usual
    except ValueError:
        sys.exit(f"{Path(sys.argv[0]).name}: {sys.argv[1]}: expected a number of minutes")


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the benchmark as Ctrl-C does: in order."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
