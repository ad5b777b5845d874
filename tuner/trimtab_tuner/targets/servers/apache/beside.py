"""A second Apache beside the one that carries real traffic.

Debian's takes no sockets from others (its mod_systemd is left out), but it sets SO_REUSEPORT on those that it
opens as soon as ListenCoresBucketsRatio is set (server/listen.c). So it opens its own, on the addresses of
production's `Listen` lines. The ratio is larger than any number of CPUs: then there is one socket for each.

A graceful reload keeps ServerLimit and ThreadLimit as they were (server/mpm/event/event.c and its like).

What production was started with in its environment (`APACHE_RUN_USER` of Debian's envvars) it is started
with too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from signal import Signals

from trimtab_tuner.targets.assignments import last_values
from trimtab_tuner.targets.base import RenderError
from trimtab_tuner.targets.beside import Beside, Inherited, Place, StatusPage
from trimtab_tuner.targets.log_formats import FORMATS
from trimtab_tuner.targets.servers.apache import mpm, syntax
from trimtab_tuner.targets.servers.apache.rendering import (
    CHILD_LIMIT,
    LEAST_THREAD_LIMIT,
    assignments,
    quoted,
)

ONE_BUCKET = 1 << 20
# What each Apache on a machine has for itself, in whatever section it stands.
_OF_EACH = {
    "pidfile", "errorlog", "customlog", "transferlog", "globallog", "forensiclog", "scriptlog", "scriptsock",
    "cookielog", "scoreboardfile", "mutex", "defaultruntimedir", "coredumpdirectory", "ldapsharedcachefile",
    "listencoresbucketsratio", "rewritelog",
}  # fmt: skip
# A cache of TLS sessions in a file that is mapped: its name and what follows it.
_SHARED_CACHE = re.compile(
    r"^([ \t]*(SSLSessionCache|SSLStaplingCache)[ \t]+\"?shmcb:)[^(\"\n]*", re.IGNORECASE
)
_CERTIFICATES = re.compile(r"[ \t]*<?[ \t]*(MDomain\w*|MDCertificate\w*)", re.IGNORECASE)
_STATUS = re.compile(
    r"<Location[ \t]+\"?(/[^\s\">]*)\"?[ \t]*>(?:(?!</Location).)*?SetHandler[ \t]+\"?server-status",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(r"[ \t]*(\w+)")


def _file(text: str, place: Place) -> str:
    """Production's file, with pid, logs and whatever lies in its run-time directory of its own."""
    directory = place.directory
    return (
        "".join(_kept(text, place))
        + (
            f"PidFile {quoted(directory + '/apache2.pid')}\n"
            f"ErrorLog {quoted(directory + '/error.log')}\n"
            f"DefaultRuntimeDir {quoted(directory)}\n"
            f"Mutex {quoted('file:' + directory)} default\n"
            f"ListenCoresBucketsRatio {ONE_BUCKET}\n"
        )
        + FORMATS["apache"].settings.replace("PATH", quoted(place.access_log))
    )


def _kept(text: str, place: Place) -> Iterator[str]:
    """The lines that stay, with continued ones joined."""
    for line in text.replace("\\\n", " ").splitlines():
        if found := _CERTIFICATES.match(line):
            raise RenderError(f"{found[1]}: two servers cannot both look after certificates (mod_md)")
        name = _NAME.match(line)
        if name is not None and name[1].lower() in _OF_EACH:
            continue
        cache = _SHARED_CACHE.match(line)
        if cache is not None:
            line = f"{cache[1]}{place.directory}/{cache[2].lower()}{line[cache.end() :]}"
        yield line + "\n"


def _environment(_sockets: Sequence[Inherited]) -> Mapping[str, str]:
    return {}


def _most_by_reload(text: str) -> Mapping[str, int]:
    """ThreadLimit stays as it is, and bounds the threads of a process; with prefork ServerLimit does, and
    bounds the processes.
    """
    loaded = mpm.in_force(list(syntax.walk(text)))
    set_to = {name.lower(): value for name, value in last_values(assignments(text, loaded)).items()}
    if loaded == mpm.PREFORK:
        limit, bounded, unset = "serverlimit", "MaxRequestWorkers", CHILD_LIMIT
    else:
        limit, bounded, unset = "threadlimit", "ThreadsPerChild", LEAST_THREAD_LIMIT
    value = set_to.get(limit, "")
    return {bounded: int(value) if value.isdecimal() else unset}


def _check_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-t", "-f", file)


def _start_command(program: str, file: str) -> tuple[str, ...]:
    return (program, "-f", file, "-D", "FOREGROUND")


def _status_pages(text: str) -> list[StatusPage]:
    """Locations with the handler of mod_status."""
    return [StatusPage(found[1] + "?auto") for found in _STATUS.finditer(text)]


BESIDE = Beside(
    status_pages=_status_pages,
    file=_file,
    environment=_environment,
    check_command=_check_command,
    start_command=_start_command,
    quit_signal=Signals.SIGWINCH,
    reload_signal=Signals.SIGUSR1,
    opens_sockets=True,
    most_by_reload=_most_by_reload,
    only_by_restart=frozenset({"ServerLimit", "ThreadLimit", "ListenCoresBucketsRatio"}),
)
