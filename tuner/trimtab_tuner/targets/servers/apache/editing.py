"""A user's own apache2.conf."""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import values
from trimtab_tuner.targets.assignments import Assignment, last_values, with_values
from trimtab_tuner.targets.base import NOTHING, Excerpt, Include, RenderContext
from trimtab_tuner.targets.editing import Edit, apply, single_lines
from trimtab_tuner.targets.servers.apache import levels, macros, proxying, rendering, syntax, variables
from trimtab_tuner.targets.servers.apache.knobs import (
    HTTP2,
    PROXY_KNOBS,
    TLS_KNOBS,
    WORKER_KNOBS,
    processes,
    request_workers,
)
from trimtab_tuner.targets.servers.apache.mpm import PREFORK, mpm_of
from trimtab_tuner.targets.servers.apache.syntax import Line

_FLAGS = re.MULTILINE | re.IGNORECASE
_INCLUDE = re.compile(r"^[ \t]*(Include|IncludeOptional)[ \t]+\"?([^\"\r\n]+?)\"?[ \t]*(?=\r?$)", _FLAGS)
_CACHE = re.compile(r'"?shmcb:[^"(]*\((\d+)\)"?', re.IGNORECASE)
_READ = {
    "authdigestuserfile", "authgroupfile", "authuserfile", "sslcacertificatefile", "sslcarevocationfile",
    "sslcertificatechainfile", "sslcertificatefile", "sslcertificatekeyfile", "sslopensslconffile",
}  # fmt: skip


def includes(text: str, known: Mapping[str, str] = NOTHING) -> Sequence[Include]:
    """Every `Include` and `IncludeOptional`, with the variables that are known before its line, and every
    `Use` of a macro that is; names without a path begin at the `ServerRoot`.
    """
    found = []
    place = 0
    lines = {line.start: line for line in syntax.walk(text)}
    conditional = {start for start, line in lines.items() if syntax.CONDITIONS.intersection(line.above)}
    named: list[tuple[int, int, re.Match[str] | Line]] = [
        *((*m.span(), m) for m in _INCLUDE.finditer(text) if m.start(1) in lines),
        *((use.start, use.end, use) for use in macros.uses(text)),
    ]
    for start, end, each in sorted(named, key=itemgetter(0)):
        known, place = defined(text[place:start], known), end
        if isinstance(each, Line):
            inside = macros.expanded(each, known)
            if inside is not None:
                use = " ".join(syntax.one_line(each.text).split())
                found.append(Include(start, end, use, optional=True, text=inside))
            continue
        pattern = variables.filled(each[2], known)
        optional = each[1].lower() == "includeoptional" or "*" in pattern
        found.append(
            Include(
                start,
                end,
                posixpath.join(known.get(variables.SERVER_ROOT, ""), pattern),
                optional,
                takes_directories=True,
                may_not_apply=each.start(1) in conditional,
            )
        )
    return found


def defined(text: str, known: Mapping[str, str]) -> Mapping[str, str]:
    """The variables and the macros that are known behind this text."""
    return macros.defined(text, variables.defined(text, known))


def changed(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """Directives are replaced where they stand, or added at the end, with the limits that go with them."""
    found = list(rendering.assignments(text, mpm_of(configuration)))
    bounds = _bounds(configuration, knobs, rendering.settings(configuration, context), found)
    return tuned(text, configuration, knobs, context, bounds)


def tuned(
    text: str,
    configuration: Configuration,
    knobs: Collection[str],
    context: RenderContext,
    further: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The file with these knobs, and with `further` settings."""
    settings = rendering.settings(configuration, context)
    deeper = levels.in_sites(list(syntax.walk(text)))
    of_sites = [(name, line) for name in knobs for line in deeper.get(name.lower(), ()) if name in settings]
    edits = [
        (line.words[0].start, line.words[0].end, settings[name])
        for name, line in of_sites
        if not _is_same_time(name, line.words[0].text, settings[name])
    ]
    text = apply(
        text,
        [*proxying.edits(text, configuration, knobs), *_in_sites(text, configuration, knobs), *edits],
    )
    if "SSLSessionCache" in settings:
        settings["SSLSessionCache"] = _session_cache(text, configuration)
    lines = {name: value for name, value in settings.items() if name in knobs} | dict(further)
    found = list(rendering.assignments(text, mpm_of(configuration)))
    said = {line.name for line in syntax.walk(text)}
    lines = {name: value for name, value in lines.items() if name not in dict(of_sites)}
    # In sites they have been changed where they stand; what stands there needs no line beside.
    sites = {knob.name for knob in (*PROXY_KNOBS, *TLS_KNOBS) if knob.name.lower() in said}
    lines = {
        name: value
        for name, value in lines.items()
        if name not in sites or name.lower() in {a.name.lower() for a in found}
    }
    # Names are written in any case, and one has an old name too; the file keeps its own.
    spelt = {rendering.directive(a.name): a.name for a in found}
    there = {rendering.directive(name): value.strip('"') for name, value in last_values(found).items()}
    changes = {
        spelt.get(name.lower(), name): value
        for name, value in lines.items()
        if not _is_same_time(name, there.get(name.lower(), ""), value)
    }
    return with_values(text, found, changes, joint=" ")


def _is_same_time(name: str, there: str, value: str) -> bool:
    """Whether the file has that time already, in its own words: 500ms is a second of the knob."""
    of_time = name == "KeepAliveTimeout" and there != "" and "$" not in there
    return of_time and str(values.seconds(name, there)) == value


def excerpt(configuration: Configuration, knobs: Collection[str], context: RenderContext) -> Excerpt:
    """Each directive on its line; parameters of an upstream are part of one."""
    parts = [*single_lines(changed("", configuration, knobs, context), configuration)]
    for knob in WORKER_KNOBS:
        if knob.name in knobs:
            line = f"# parameter of ProxyPass\n{knob.name}={configuration[knob.name]}\n"
            parts.append(((knob.name,), line))
    return parts


def parse_tls(text: str) -> Configuration:
    """The knobs of TLS and HTTP/2 that a file sets last, but for the kind of key."""
    found: Configuration = {}
    for line in syntax.walk(text):
        if not line.is_directive or not line.words:
            continue
        word = line.words[0].text
        if line.name == "sslsessioncache":
            size = _CACHE.fullmatch(word)
            if size is not None:
                found["SSLSessionCache"] = -(-int(size[1]) // (1 << 20))
            elif word.lower() == "none":
                found["SSLSessionCache"] = 0
        elif line.name == "sslsessiontickets":
            found["SSLSessionTickets"] = values.word("SSLSessionTickets", word, ("off", "on"))
        else:
            for knob in HTTP2.knobs:
                if knob.name.lower() == line.name:
                    found[knob.name] = values.integer(knob.name, word)
    return found


def reads(text: str) -> Sequence[Assignment]:
    """The files of TLS and of users, each a whole word, by their whole paths: they begin at ServerRoot."""
    root, found, known = "", [], variables.defined(text, {})
    for line in syntax.walk(text):
        if not line.is_directive or not line.words:
            continue
        word = line.words[0]
        said = variables.filled(word.text, known)
        if line.name == "serverroot":
            root = said.rstrip("/")
        elif line.name in _READ and (said.startswith("/") or root):
            path = said if said.startswith("/") else f"{root}/{said}"
            if "$" not in path:
                found.append(Assignment(line.text.split()[0], path, word.start, word.end))
    return found


def rooted(text: str, directory: str, environment: Mapping[str, str] = NOTHING) -> str:
    """The file with its directory as the one that paths begin at, where it says nothing of that, and with the
    variables of its environment that it uses; an instance has its own of those of its place.
    """
    names = {line.name for line in syntax.walk(text)}
    wanted = variables.used(text) - variables.defined(text, {}).keys() - rendering.OF_PLACE.keys()
    own = [(name, environment[name]) for name in sorted(wanted & environment.keys())]
    defines = "".join(f"Define {name} {rendering.quoted(value)}\n" for name, value in own)
    root = "" if "serverroot" in names else f"ServerRoot {rendering.quoted(directory)}\n"
    return f"{defines}{root}{text}"


def _session_cache(text: str, configuration: Configuration) -> str:
    """The cache of sessions at the place where the file has it, or in Apache's own directory."""
    size_mb = int(configuration["SSLSessionCache"])
    if size_mb == 0:
        return "none"
    told = [a.value for a in rendering.assignments(text) if a.name.lower() == "sslsessioncache"]
    place = told[-1].strip('"').partition("(")[0] if told and "(" in told[-1] else "shmcb:sessions"
    return f'"{place}({size_mb << 20})"'


def _in_sites(text: str, configuration: Configuration, knobs: Collection[str]) -> Iterator[Edit]:
    """Tickets, where virtual hosts say of them."""
    if "SSLSessionTickets" not in knobs:
        return
    for line in syntax.walk(text):
        if line.name == "sslsessiontickets" and line.words and line.site:
            yield line.words[0].start, line.words[0].end, str(configuration["SSLSessionTickets"])


def _bounds(
    configuration: Configuration,
    knobs: Collection[str],
    tuned: Mapping[str, str],
    found: Sequence[Assignment],
) -> dict[str, str]:
    """The limits that go with processes and threads, without which Apache would lower those.

    Unset, MaxRequestWorkers is 400 and ThreadLimit 64, whatever the other two ask for. Fewer StartServers or
    MaxSpareThreads than all would have Apache start and end processes with the load, which has not been
    measured; unset they are 3 and 250 (event.c and worker.c). With prefork they are 5 and, of
    MaxSpareServers, 10 (prefork.c).
    """
    if not {"ServerLimit", "ThreadsPerChild", "MaxRequestWorkers"} & set(knobs):
        return {}
    said = {rendering.directive(name): value for name, value in last_values(found).items()}
    bounds = {}
    if "maxrequestworkers" not in said:
        bounds["MaxRequestWorkers"] = tuned["MaxRequestWorkers"]
    if mpm_of(configuration) == PREFORK:
        children = request_workers(configuration)
        least_of = {
            "ServerLimit": (children, rendering.CHILD_LIMIT),
            "StartServers": (children, 5),
            "MaxSpareServers": (children, 10),
        }
    else:
        least_of = {
            "ThreadLimit": (int(configuration["ThreadsPerChild"]), rendering.LEAST_THREAD_LIMIT),
            "StartServers": (processes(configuration), 3),
            "MaxSpareThreads": (rendering.most_spare_threads(configuration), 250),
        }
    for name, (least, unset) in least_of.items():
        value = said.get(name.lower(), "")
        if least > (int(value) if value.isdecimal() else unset):
            bounds[name] = str(least)
    return bounds
