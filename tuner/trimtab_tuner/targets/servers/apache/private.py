"""A private Apache: the user's whole file, but for that by which it would meet production.

Virtual hosts keep TLS, upstreams, rewriting, headers and logs; they listen on loopback addresses of their
own. The workload is answered by one virtual host more, with the settings of the first of the file that is
more than a redirection. What is replaced or left out is named in the comment at the beginning.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import tls
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.private import (
    ITS_OWN,
    NO_ADDRESS,
    NO_LOG,
    NO_USER,
    OTHERS_ASKED,
    OWN_LOG,
    Change,
    Places,
    require_upstreams,
    with_changes,
)
from trimtab_tuner.targets.servers.apache import (
    addresses,
    conditions,
    editing,
    levels,
    managed,
    mpm,
    proxying,
    rendering,
    syntax,
    variables,
)
from trimtab_tuner.targets.servers.apache.mpm import EVENT, PREFORK, WORKER, mpm_of
from trimtab_tuner.targets.servers.apache.rendering import quoted
from trimtab_tuner.targets.servers.apache.syntax import Line

_OF_EACH = {
    "chrootdir", "coredumpdirectory", "defaultruntimedir", "lockfile", "mutex", "pidfile", "scoreboardfile"
}  # fmt: skip
"""What every Apache on a machine has for itself."""
_ASKING = {"heartbeataddress", "heartbeatlisten", "passengerprestart", "sslstaplingcache", "sslusestapling"}
_OF_THREADS = {"maxsparethreads", "minsparethreads", "startservers", "threadlimit"}
_ALL_AT_ONCE = {
    EVENT: _OF_THREADS,
    WORKER: _OF_THREADS,
    PREFORK: {"maxspareservers", "minspareservers", "startservers"},
}
"""What says how many processes start and stay, by MPM."""
_UNTIL = {"maxconnectionsperchild", "maxrequestsperchild"}
"""After how many connections a process ends, and another takes its place: one that ends has crashed else."""
_ACCESS_LOGS = {"cookielog", "customlog", "forensiclog", "globallog", "transferlog"}
_FILES = {
    "cachelockpath": "cachelock", "davlockdb": "lock", "fcgidipcdir": "fcgid",
    "fcgidprocesstablefile": "fcgids", "jklogfile": "jk.log", "jkshmfile": "jk.shm", "scriptlog": "cgi.log",
    "scriptsock": "cgisock", "secauditlog": "audit.log", "secauditlog2": "audit2.log",
    "secdatadir": "modsecurity", "secdebuglog": "modsecurity.log", "wsgisocketprefix": "wsgi",
}  # fmt: skip
_FOLDERS = {"cacheroot", "secauditlogstoragedir", "sectmpdir", "secuploaddir"}
# Of a virtual host, what says how it answers: headers, filters, logs, times, protocols. All else decides
# whether and with what.
_HOW = re.compile(
    r"header|requestheader|expires\w*|addoutputfilterbytype|deflate\w*|brotli\w*|filter\w*|timeout|"
    r"requestreadtimeout|keepalive\w*|maxkeepaliverequests|loglevel|logformat|customlog|transferlog|protocols|"
    r"h2\w+|setenvif\w*|browsermatch\w*|enablesendfile|enablemmap|fileetag|servertokens|serversignature"
)
_HOW_OVER_TLS = re.compile(r"ssl(protocol|ciphersuite|honorcipherorder|sessiontickets|options|compression)")
_KEYS = {"sslcertificatekeyfile": tls.key_file, "sslcertificatefile": tls.certificate_file}
_OF_OTHER_KEYS = {"sslcertificatechainfile", "sslpassphrasedialog", "sslsessionticketkeyfile"}


def private(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """The file with these knobs, and what is the instance's own.

    MaxRequestWorkers is said in any case: left to Apache, it bounds what the other knobs ask for.
    """
    loaded = mpm_of(configuration)
    require_upstreams(context, proxying.names(list(syntax.walk(text))))
    said = {rendering.directive(a.name): a.value for a in rendering.assignments(text, loaded)}
    unsaid = {"MaxRequestWorkers"} if "maxrequestworkers" not in said else set()
    tuned = editing.tuned(text, configuration, {*knobs, *unsaid}, context)
    tuned += "\n" * (not tuned.endswith("\n"))
    lines = list(syntax.walk(tuned))
    places, at_once = Places(context), _ALL_AT_ONCE[loaded]
    changes = [
        *addresses.changes(lines, places, variables.defined(tuned, {})),
        *(change for line in lines if (change := _changed(line, places, context, at_once)) is not None),
        *_own_certificates(lines, configuration, context),
        *managed.changes(lines, configuration, context),
        *_health_checks(lines),
    ]
    own = _own(tuned, lines, changes, configuration, context, said.get("serverlimit", ""))
    of_place = "".join(
        f"Define {name} {quoted(context.prefix + tail)}\n" for name, tail in rendering.OF_PLACE.items()
    )
    # Before the sections that ask for it.
    first = "" if mpm.loads(lines) else rendering.load_module(f"mpm_{loaded}")
    changes += [Change(0, 0, of_place + first, ""), Change(len(tuned), len(tuned), own, "")]
    return with_changes(tuned, changes, configuration, knobs, _named(_model(lines, context), lines))


def _changed(line: Line, places: Places, context: RenderContext, at_once: set[str]) -> Change | None:
    """What becomes of a directive that meets production, or of one of `at_once`; None for others."""
    if managed.is_said_in(line):
        return managed.left_out(line)
    if not line.is_directive or not line.words:
        return None
    said, word = " ".join(line.text.replace("\\\n", " ").split()), line.words[0]
    if line.name in ("user", "group"):
        return Change(line.start, line.end, "", f"{said} {NO_USER}")
    if line.name in _ASKING:
        return Change(line.start, line.end, "", f"{said} {OTHERS_ASKED}")
    if line.name == "proxysourceaddress":
        return Change(line.start, line.end, "", f"{said} {NO_ADDRESS}")
    if line.name == "remoteipproxyprotocol" and not line.site:
        return Change(line.start, line.end, "", f"{said} is left out: the load comes without that header")
    if line.name in _OF_EACH:
        return Change(line.start, line.end, "", f"{said} {ITS_OWN}")
    if line.name in at_once:
        return Change(line.start, line.end, "", f"{said} is left out: all processes are there at once")
    if line.name in _UNTIL and word.text != "0":
        return Change(line.start, line.end, "", f"{said} is left out: no process ends while it is measured")
    if line.name == "errorlog" and not line.site:
        return Change(line.start, line.end, "", f"{said} {OWN_LOG}")
    if (line.name in _ACCESS_LOGS or line.name == "errorlog") and word.text != NO_LOG:
        kind = "access" if line.name in _ACCESS_LOGS else "error"
        path = places.file(word.text, kind, ".log")
        return Change(word.start, word.end, quoted(path), f"{said} to {path}")
    if line.name in _FILES:
        path = f"{context.prefix}/{_FILES[line.name]}"
        return Change(word.start, word.end, quoted(path), f"{said} to {path}")
    if line.name in _FOLDERS:
        return Change(word.start, word.end, quoted(context.prefix), f"{said} to {context.prefix}")
    if line.name == "sslsessioncache" and ":" in word.text:
        own = re.sub(r":[^(]*", ":sessions", word.text, count=1)
        return Change(word.start, word.end, f'"{own}"', f"{said} at {own}")
    return None


def _own_certificates(
    lines: Sequence[Line], configuration: Configuration, context: RenderContext
) -> Iterator[Change]:
    """Certificates of ours in place of the user's, whose keys nobody reads; only where TLS is measured."""
    if context.tls_directory is None:
        return
    kind = configuration[tls.KEY.name]
    for line in lines:
        if line.name in _KEYS and line.words:
            path = _KEYS[line.name](context.tls_directory, kind)
            word = line.words[0]
            yield Change(word.start, word.end, quoted(path), f"{line.text} from {path}")
        elif line.name in _OF_OTHER_KEYS:
            yield Change(line.start, line.end, "", f"{line.text} is left out: its secrets stay yours")


def _model(lines: Sequence[Line], context: RenderContext) -> int:
    """The number of the first site that answers with more than a redirection, over TLS if that is measured; 0
    where there is none. In the place of a certain upstream it is the site that hands requests on to it.
    """
    if context.stand_ins:
        return proxying.site_of(lines, next(iter(context.stand_ins)))
    answering = levels.answering(lines)
    secure = levels.secure(lines) if context.tls_directory is not None else set()
    return next(iter([site for site in answering if site in secure] or answering), 0)


def _named(site: int, lines: Sequence[Line]) -> str:
    return f", with the settings of the site {levels.called(lines).get(site, site)}" if site else ""


def _own(
    text: str,
    lines: Sequence[Line],
    changes: Sequence[Change],
    configuration: Configuration,
    context: RenderContext,
    server_limit: str,
) -> str:
    """What each Apache has for itself, and the workload's site."""
    loading = (line.words[0].text for line in lines if line.name == "loadmodule" and line.words)
    loaded = {name.removesuffix("_module") for name in loading} | {f"mpm_{mpm_of(configuration)}"}
    model = _model(lines, context)
    site = _settings_of(model, text, lines, changes, secure=context.tls_directory is not None)
    if not any(line.name == "customlog" and line.site == model for line in lines):
        site += _first_logs(text, lines, changes)
    replaced = next(iter(context.stand_ins), None)
    site += proxying.how_handed_on(lines, replaced)
    upstream = rendering.upstream(configuration, context, further=proxying.other_parameters(lines, replaced))
    return (
        rendering.modules(configuration, context, loaded)
        + rendering.of_each(context)
        + managed.store(lines, context.prefix)
        + rendering.processes_at_once(configuration, server_limit)
        + rendering.site(configuration, context, site + upstream)
    )


def _settings_of(
    model: int, text: str, lines: Sequence[Line], changes: Sequence[Change], *, secure: bool
) -> str:
    """What the site says of how it answers, with these changes; of TLS only where that is measured."""
    exceptions = levels.exceptions(lines)  # measured is what holds for all

    def is_how(line: Line) -> bool:
        if not model or line.site != model or not conditions.of_whole_site(line) or line in exceptions:
            return False
        return bool(_HOW.fullmatch(line.name) or (secure and _HOW_OVER_TLS.fullmatch(line.name)))

    return conditions.copied(lines, is_how, lambda line: _changed_text(line, text, changes))


def _health_checks(lines: Sequence[Line]) -> Iterator[Change]:
    """The parameters of upstreams that would have them asked whether they are well."""
    for line in lines:
        found = [word for word in line.words if proxying.is_health_check(word)]
        if line.name not in proxying.WORKERS or not found:
            continue
        said = " ".join(word.text for word in found)
        for word in found:
            what = f"{said} of {line.text.split()[0]} {line.first} {OTHERS_ASKED}" if word is found[0] else ""
            yield Change(word.start - 1, word.end, "", what)


def _first_logs(text: str, lines: Sequence[Line], changes: Sequence[Change]) -> str:
    """The logs of the first site that has some; else those of the server as a whole are written to."""
    logs = (line for line in lines if line.name in ("customlog", "transferlog") and line.site)
    logging = [line.site for line in logs if line.first != NO_LOG]
    of = {"customlog", "transferlog", "logformat"}

    def is_log(line: Line) -> bool:
        return bool(logging) and line.site == logging[0] and line.name in of

    return conditions.copied(lines, is_log, lambda line: _changed_text(line, text, changes))


def _changed_text(line: Line, text: str, changes: Sequence[Change]) -> str:
    """The line's text with the changes inside of it."""
    said = text[line.start : line.end]
    for change in sorted(changes, key=lambda each: each.start, reverse=True):
        if line.start <= change.start and change.end <= line.end:
            start, end = change.start - line.start, change.end - line.start
            said = said[:start] + change.replacement + said[end:]
    return said
