"""A second lighttpd beside the one that carries real traffic, with sockets as by socket activation.

Production's logs are found by their names wherever they stand: inside a condition the second server would
write to production's.
"""

import re
from signal import Signals

from trimtab_tuner.targets.beside import Beside, Place, activated
from trimtab_tuner.targets.log_formats import FORMATS
from trimtab_tuner.targets.servers.lighttpd.syntax import quoted

_OWN = re.compile(
    r"^[ \t]*(server\.(pid-file|errorlog|breakagelog|errorlog-use-syslog|upload-dirs|"
    r"systemd-socket-activation)|accesslog\.[\w-]+)[ \t]*\+?=[^\n(]*(\([^)]*\)[^\n]*)?\n?",
    re.MULTILINE,
)


def _file(text: str, place: Place) -> str:
    """Production's file, with pid, logs and uploads of its own."""
    log = FORMATS["lighttpd"].settings.replace("PATH", place.access_log)
    return (
        _OWN.sub("", text).rstrip("\n")
        + "\n"
        + f"server.pid-file = {quoted(place.directory + '/lighttpd.pid')}\n"
        + f"server.errorlog = {quoted(place.directory + '/error.log')}\n"
        + f"server.upload-dirs = ( {quoted(place.directory)} )\n"
        + 'server.systemd-socket-activation = "enable"\n'
        + 'server.modules += ( "mod_accesslog" )\n'
        + log
    )


def _check_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-tt", "-f", file)


def _start_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-D", "-f", file)


BESIDE = Beside(
    file=_file,
    environment=activated,
    check_command=_check_command,
    start_command=_start_command,
    quit_signal=Signals.SIGINT,
    reload_signal=Signals.SIGUSR1,
)
