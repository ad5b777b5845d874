"""Apache's directives as Apache reads them, what surrounds them in a file of its own, and where they stand.

All processes are started at once and none is ended for being idle: a configuration should not change while it
is measured. Modules are those of Debian's package `apache2-bin`.
"""

import re
from collections.abc import Collection, Iterator

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.mime_types import MIME_TYPES
from trimtab_tuner.targets.servers.apache.knobs import KNOBS, processes, request_workers

STATUS_PATH = "/status?auto"
MODULES = "/usr/lib/apache2/modules"
LEAST_THREAD_LIMIT = 64  # Apache's own default
_LOADED = ("mpm_event", "authz_core", "mime", "dir")


def most_spare_threads(configuration: Configuration) -> int:
    """All threads may be idle: none of the processes is ended for that."""
    return max(request_workers(configuration), 1 + int(configuration["ThreadsPerChild"]))


def settings(configuration: Configuration) -> dict[str, str]:
    """Each knob as Apache reads it; a ratio of 0 is not written, since Apache wants 1 at least."""
    lines = {knob.name: str(configuration[knob.name]) for knob in KNOBS}
    lines["MaxRequestWorkers"] = str(request_workers(configuration))
    if lines["ListenCoresBucketsRatio"] == "0":
        del lines["ListenCoresBucketsRatio"]
    return lines


def surroundings(configuration: Configuration, context: RenderContext, loaded: Collection[str] = ()) -> str:
    """What is no knob, without the modules that are loaded already. Raises RenderError."""
    prefix, root = quoted(context.prefix), quoted(context.root)
    modules = (*_LOADED, "status") if context.status_listen is not None else _LOADED
    log = "/dev/stderr" if context.error_log == "stderr" else context.error_log
    threads = int(configuration["ThreadsPerChild"])
    lines = [
        *(f"LoadModule {m}_module {MODULES}/mod_{m}.so" for m in modules if m not in loaded),
        f"ServerRoot {prefix}",
        "ServerName localhost",
        "User www-data",
        "Group www-data",
        f"DefaultRuntimeDir {prefix}",
        f"PidFile {quoted(context.prefix + '/apache2.pid')}",
        f"Mutex {quoted('file:' + context.prefix)} default",
        f"ErrorLog {quoted(log)}",
        *(f"Listen {address}" for address in context.listen),
        f"DocumentRoot {root}",
        f"<Directory {root}>\n    Require all granted\n</Directory>",
        "DirectoryIndex index.html",
        "TypesConfig /dev/null",
        *(f"AddType {mime} {endings}" for mime, endings in MIME_TYPES.items()),
        "KeepAlive On",
        f"ThreadLimit {max(LEAST_THREAD_LIMIT, threads)}",
        f"StartServers {processes(configuration)}",
        "MinSpareThreads 1",
        f"MaxSpareThreads {most_spare_threads(configuration)}",
    ]
    if context.status_listen is not None:
        path = STATUS_PATH.partition("?")[0]
        lines.append(
            f"Listen {context.status_listen}\n<VirtualHost {context.status_listen}>\n"
            f"<Location {path}>\n    SetHandler server-status\n    Require all granted\n"
            "</Location>\n</VirtualHost>"
        )
    return "\n".join(lines) + "\n"


def quoted(path: str) -> str:
    """A path as a string of Apache's, which replaces ${…} everywhere."""
    return f'"{values.unquoted_path(path, chr(34) + "$" + chr(92))}"'


_LINE = re.compile(
    r"""[ \t]*(?:(?P<open><\s*(?P<section>\w+)[^>\n]*>)
              |(?P<close></[^>\n]*>)
              |(?P<name>\w+)[ \t]+(?P<value>[^\n]*?))?[ \t]*(?:\n|\Z)""",
    re.VERBOSE,
)
_OTHER_MPM = re.compile(r"mpm_?(worker|prefork)|(worker|prefork)\.c", re.IGNORECASE)


def assignments(text: str) -> Iterator[Assignment]:
    """The directives outside of sections, and inside of <IfModule> unless it is for another MPM."""
    skipped = [False]
    position = 0
    while position < len(text):
        line = _LINE.match(text, position)
        if line is None:  # a comment, or something else that is no directive
            end = text.find("\n", position)
            position = len(text) if end < 0 else end + 1
            continue
        position = line.end()
        if line["open"]:
            for_us = line["section"].lower() == "ifmodule" and not _OTHER_MPM.search(line["open"])
            skipped.append(skipped[-1] or not for_us)
        elif line["close"]:
            skipped = skipped[:-1] or [False]
        elif line["name"] and not skipped[-1]:
            yield Assignment(line["name"], line["value"], line.start("value"), line.end("value"))
        if line.end() == line.start():
            break
