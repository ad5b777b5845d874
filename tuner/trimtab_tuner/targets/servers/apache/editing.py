"""A user's own apache2.conf."""

import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets.assignments import Assignment, last_values, with_values
from trimtab_tuner.targets.base import Excerpt, Include, RenderContext, RenderError
from trimtab_tuner.targets.editing import single_lines
from trimtab_tuner.targets.servers.apache import rendering
from trimtab_tuner.targets.servers.apache.knobs import processes

# Directives that a private instance must not take over, and sections with them: sites, logs, users, backends.
_NOT_PRIVATE = {
    "listen", "pidfile", "errorlog", "customlog", "transferlog", "globallog", "documentroot", "user", "group",
    "mutex", "serverroot", "defaultruntimedir", "scoreboardfile", "servername", "chrootdir", "scriptsock",
    "startservers", "minsparethreads", "maxsparethreads", "threadlimit", "coredumpdirectory", "typesconfig",
    "sslsessioncache", "sslcertificatefile", "sslcertificatekeyfile", "acceptpathinfo", "include",
}  # fmt: skip
_NOT_PRIVATE_PREFIXES = ("proxy", "balancer", "jk", "wsgi", "cgid", "md", "php", "dbd", "auth")
_FLAGS = re.MULTILINE | re.IGNORECASE
_SECTION_NOT_PRIVATE = re.compile(
    r"\s*<\s*(virtualhost|proxy|proxymatch|directory|directorymatch)\b", re.IGNORECASE
)
_INCLUDE = re.compile(r"^[ \t]*(Include|IncludeOptional)[ \t]+\"?([^\"\n]+?)\"?[ \t]*$", _FLAGS)
_OTHER_MPM = re.compile(r"^[ \t]*LoadModule[ \t]+mpm_(prefork|worker)_module", _FLAGS)
_VARIABLES = {
    "APACHE_RUN_DIR": "",
    "APACHE_LOCK_DIR": "",
    "APACHE_LOG_DIR": "",
    "APACHE_PID_FILE": "/apache2.pid",
}


def includes(text: str) -> Sequence[Include]:
    """Every `Include` and `IncludeOptional`."""
    return [
        Include(m.start(), m.end(), m[2], m[1].lower() == "includeoptional" or "*" in m[2])
        for m in _INCLUDE.finditer(text)
    ]


def changed(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """Directives are replaced where they stand, or added at the end."""
    values = {name: value for name, value in rendering.settings(configuration).items() if name in knobs}
    found = list(rendering.assignments(text))
    values |= _bounds(configuration, knobs, found)
    # Names are written in any case; the file keeps its own.
    spelt = {a.name.lower(): a.name for a in found}
    changes = {spelt.get(name.lower(), name): value for name, value in values.items()}
    return with_values(text, found, changes, joint=" ")


def private(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """The modules and the settings of the server as a whole, with one site for the workload."""
    if _OTHER_MPM.search(text):
        raise RenderError("the file loads another MPM: expected mpm_event, whose knobs are tuned")
    kept = "".join(_kept(text))
    tuned = changed(kept, configuration, knobs, context)
    loaded = set(re.findall(r"^[ \t]*LoadModule[ \t]+(\w+?)_module", kept, _FLAGS))
    prefix = context.prefix
    defines = "".join(
        f"Define {name} {rendering.quoted(prefix + tail)}\n" for name, tail in _VARIABLES.items()
    )
    return defines + tuned + rendering.surroundings(configuration, context, loaded=loaded)


def excerpt(configuration: Configuration, knobs: Collection[str], context: RenderContext) -> Excerpt:
    """Each directive on its line."""
    return single_lines(changed("", configuration, knobs, context), configuration)


def _bounds(
    configuration: Configuration, knobs: Collection[str], found: Sequence[Assignment]
) -> dict[str, str]:
    """The limits that go with processes and threads, without which Apache would lower those.

    Unset, MaxRequestWorkers is 400 and ThreadLimit 64, whatever the other two ask for. Fewer StartServers or
    MaxSpareThreads than all would have Apache start and end processes with the load, which has not been
    measured; unset they are 3 and 250 (event.c).
    """
    if not {"ServerLimit", "ThreadsPerChild", "MaxRequestWorkers"} & set(knobs):
        return {}
    said = {name.lower(): value for name, value in last_values(found).items()}
    bounds = {}
    if "maxrequestworkers" not in said:
        bounds["MaxRequestWorkers"] = rendering.settings(configuration)["MaxRequestWorkers"]
    threads = int(configuration["ThreadsPerChild"])
    limit = said.get("threadlimit", "")
    if threads > (int(limit) if limit.isdecimal() else rendering.LEAST_THREAD_LIMIT):
        bounds["ThreadLimit"] = str(threads)
    all_of_them = {
        "StartServers": (processes(configuration), 3),
        "MaxSpareThreads": (rendering.most_spare_threads(configuration), 250),
    }
    for name, (least, unset) in all_of_them.items():
        value = said.get(name.lower(), "")
        if least > (int(value) if value.isdecimal() else unset):
            bounds[name] = str(least)
    return bounds


def _kept(text: str) -> Iterator[str]:
    """The lines that a private instance takes over."""
    dropped_depth = 0
    for line in text.replace("\\\n", " ").splitlines(keepends=True):
        words = line.split(None, 1)
        if dropped_depth or _SECTION_NOT_PRIVATE.match(line):
            dropped_depth += line.lstrip().startswith("<") * (-1 if line.lstrip().startswith("</") else 1)
            continue
        name = words[0].lower() if words else ""
        if name in _NOT_PRIVATE or name.startswith(_NOT_PRIVATE_PREFIXES):
            continue
        yield line if line.endswith("\n") else line + "\n"
