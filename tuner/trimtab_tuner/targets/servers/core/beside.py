"""A second trimtab-httpd beside the one that carries real traffic, with sockets as by socket activation."""

from signal import Signals

from trimtab_tuner.targets.beside import Beside, Place, activated
from trimtab_tuner.targets.editing import apply
from trimtab_tuner.targets.servers.core import syntax
from trimtab_tuner.targets.servers.core.knobs import KNOBS


def _file(text: str, place: Place) -> str:
    """Production's file with a stats socket of its own; it logs nothing, for it tells what it has counted."""
    bare = apply(text, syntax.without(text, ("stats_socket", "access_log")))
    return syntax.with_own(bare, {"stats_socket": place.stats_socket})


def _check_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-t", "-c", file)


def _start_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-c", file)


BESIDE = Beside(
    file=_file,
    environment=activated,
    check_command=_check_command,
    start_command=_start_command,
    quit_signal=Signals.SIGTERM,
    reload_signal=Signals.SIGHUP,
    live=frozenset(knob.name for knob in KNOBS if not knob.needs_restart),
    of_all_traffic=frozenset(
        {"max_connections", "accept_limit", "stage_threads", "stage_batch", "admission_p90_ms"}
    ),
)
