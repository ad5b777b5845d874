"""A second h2o beside the one that carries real traffic.

It finds its sockets as under the server starter of its distribution: SERVER_STARTER_PORT has an address and a
descriptor for each (h2o's src/main.c). That starter is what reloads: a HUP would end h2o itself.
"""

from collections.abc import Mapping, Sequence
from signal import Signals

from trimtab_tuner.targets.base import RenderError
from trimtab_tuner.targets.beside import Beside, Inherited, Place
from trimtab_tuner.targets.editing import apply
from trimtab_tuner.targets.log_formats import FORMATS
from trimtab_tuner.targets.servers.h2o import private
from trimtab_tuner.targets.servers.h2o.syntax import commands, quoted, spans


def _file(text: str, place: Place) -> str:
    """Production's file, with pid, logs and temporary files of its own."""
    if any(command.name == "access-log" and command.above for command in commands(text)):
        raise RenderError("access-log in a host or path: a second server would write to it too")
    left_out = [(command.start, end, "") for command, end in spans(text, (*private.OF_EACH, "access-log"))]
    kept = apply(text, left_out)
    return (
        (kept if not kept or kept.endswith("\n") else kept + "\n")
        + private.own_files(place.directory, place.directory + "/error.log")
        + FORMATS["h2o"].settings.replace("PATH", quoted(place.access_log))
    )


def _environment(sockets: Sequence[Inherited]) -> Mapping[str, str]:
    return {"SERVER_STARTER_PORT": ";".join(f"{each.address}={each.descriptor}" for each in sockets)}


def _check_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-t", "-c", file)


def _start_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-m", "worker", "-c", file)


BESIDE = Beside(
    file=_file,
    environment=_environment,
    check_command=_check_command,
    start_command=_start_command,
    quit_signal=Signals.SIGTERM,
    reload_signal=Signals.SIGHUP,
    starter="start_server",
)
