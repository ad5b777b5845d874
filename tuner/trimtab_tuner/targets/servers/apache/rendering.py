"""Apache's directives as Apache reads them, what surrounds them in a file of its own, and where they stand.

All processes are started at once and none is ended for being idle: a configuration should not change while it
is measured. Modules are those of Debian's package `apache2-bin`.
"""

from collections.abc import Collection, Iterable, Iterator

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import tls, values
from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import About, RenderContext, no_comment
from trimtab_tuner.targets.behind import PROXIED
from trimtab_tuner.targets.http2 import speaks_http2
from trimtab_tuner.targets.mime_types import MIME_TYPES
from trimtab_tuner.targets.servers.apache import syntax
from trimtab_tuner.targets.servers.apache.knobs import (
    HTTP2,
    KNOBS,
    PROXY_KNOBS,
    TLS_KNOBS,
    WORKER_KNOBS,
    processes,
    request_workers,
    threads_each,
)
from trimtab_tuner.targets.servers.apache.mpm import PREFORK, for_others, in_force, mpm_of

STATUS_PATH = "/status?auto"
MODULES = "/usr/lib/apache2/modules"
OF_PLACE = {
    "APACHE_RUN_DIR": "",
    "APACHE_LOCK_DIR": "",
    "APACHE_LOG_DIR": "",
    "APACHE_PID_FILE": "/apache2.pid",
}
"""Variables of Debian's files that say where an Apache runs: what follows the directory of an instance."""
# Apache's own defaults
LEAST_THREAD_LIMIT = 64
CHILD_LIMIT = 256  # of prefork
_LOADED = ("authz_core", "mime", "dir")


def most_spare_threads(configuration: Configuration) -> int:
    """All threads may be idle: none of the processes is ended for that."""
    return max(request_workers(configuration), 1 + threads_each(configuration))


def settings(configuration: Configuration, context: RenderContext) -> dict[str, str]:
    """Each knob as Apache reads it; a ratio of 0 is not written, since Apache wants 1 at least."""
    names = (knob.name for knob in KNOBS[mpm_of(configuration)])
    lines = {name: str(configuration[name]) for name in names if name in configuration}
    lines["MaxRequestWorkers"] = str(request_workers(configuration))
    if lines["ListenCoresBucketsRatio"] == "0":
        del lines["ListenCoresBucketsRatio"]
    for knob in TLS_KNOBS:
        if knob is not tls.KEY and knob.name in configuration:
            lines[knob.name] = str(configuration[knob.name])
    for knob in PROXY_KNOBS:
        if knob not in WORKER_KNOBS and knob.name in configuration:
            lines[knob.name] = str(configuration[knob.name])
    if speaks_http2(configuration):
        lines |= {knob.name: str(configuration[knob.name]) for knob in HTTP2.knobs}
        if lines["H2MinWorkers"] == "auto":
            lines["H2MinWorkers"] = str(configuration["ThreadsPerChild"])
        # Apache's own relation of the two: it lets half as many more start.
        lines["H2MaxWorkers"] = str(int(lines["H2MinWorkers"]) * 3 // 2)
    if "SSLSessionCache" in lines:
        size_mb = int(configuration["SSLSessionCache"])
        place = quoted(f"shmcb:{context.prefix}/sessions({size_mb << 20})")
        lines["SSLSessionCache"] = place if size_mb else "none"
    return lines


def surroundings(configuration: Configuration, context: RenderContext) -> str:
    """What is no knob. Raises RenderError."""
    prefix, root = quoted(context.prefix), quoted(context.root)
    lines = [
        f"ServerRoot {prefix}",
        "ServerName localhost",
        "User www-data",
        "Group www-data",
        *(f"Listen {address}" for address in context.listen),
        f"DocumentRoot {root}",
        f"<Directory {root}>\n    Require all granted\n</Directory>",
        "DirectoryIndex index.html",
        *((_protocols(context),) if speaks_http2(configuration) else ()),
    ]
    return (
        modules(configuration, context)
        + of_each(context)
        + _text(lines)
        + processes_at_once(configuration)
        + php(context)
        + status(context)
    )


def modules(configuration: Configuration, context: RenderContext, loaded: Collection[str] = ()) -> str:
    """Those that the workload needs, without the ones that are loaded already."""
    needed = (
        f"mpm_{mpm_of(configuration)}",
        *_LOADED,
        *(("status",) if context.status_listen is not None else ()),
        *(("http2",) if speaks_http2(configuration) else ()),
        *(("ssl", "socache_shmcb") if context.tls_directory is not None else ()),
        *(("proxy",) if (context.upstream or context.php_socket) is not None else ()),
        *(("proxy_http",) if context.upstream is not None else ()),
        *(("proxy_fcgi",) if context.php_socket is not None else ()),
    )
    text = "".join(load_module(each) for each in needed if each not in loaded)
    if "mime" in loaded:
        return text
    types = (f"AddType {mime} {endings}" for mime, endings in MIME_TYPES.items())
    return text + _text(["TypesConfig /dev/null", *types])


def load_module(name: str) -> str:
    """The line that loads a module of Debian's package."""
    return f"LoadModule {name}_module {MODULES}/mod_{name}.so\n"


def of_each(context: RenderContext) -> str:
    """What every Apache on a machine has for itself."""
    log = "/dev/stderr" if context.error_log == "stderr" else context.error_log
    return _text(
        [
            f"DefaultRuntimeDir {quoted(context.prefix)}",
            f"PidFile {quoted(context.prefix + '/apache2.pid')}",
            f"Mutex {quoted('file:' + context.prefix)} default",
            f"ErrorLog {quoted(log)}",
        ]
    )


def processes_at_once(configuration: Configuration, server_limit: str = "") -> str:
    """All processes from the beginning, none of which ends for being idle; with prefork as many as may be,
    also where `server_limit`, as the rest of the file says it, allows fewer.
    """
    if mpm_of(configuration) == PREFORK:
        children = processes(configuration)
        limit = int(server_limit) if server_limit.isdecimal() else CHILD_LIMIT
        return _text(
            [
                *((f"ServerLimit {children}",) if children > limit else ()),
                f"StartServers {children}",
                "MinSpareServers 1",
                f"MaxSpareServers {max(2, children)}",
            ]
        )
    threads = threads_each(configuration)
    return _text(
        [
            f"ThreadLimit {max(LEAST_THREAD_LIMIT, threads)}",
            f"StartServers {processes(configuration)}",
            "MinSpareThreads 1",
            f"MaxSpareThreads {most_spare_threads(configuration)}",
        ]
    )


def php(context: RenderContext) -> str:
    """Requests for PHP go to the pool; "" without one."""
    if context.php_socket is None:
        return ""
    pool = quoted(f"proxy:unix:{context.php_socket}|fcgi://localhost")
    return f'<FilesMatch "\\.php$">\n    SetHandler {pool}\n</FilesMatch>\n'


def status(context: RenderContext) -> str:
    """The status page, at an address of its own; "" without one."""
    if context.status_listen is None:
        return ""
    path = STATUS_PATH.partition("?")[0]
    return (
        f"Listen {context.status_listen}\n<VirtualHost {context.status_listen}>\n"
        f"{'SSLEngine off' + chr(10) if context.tls_directory is not None else ''}"
        f"{_HANDING_NOTHING_ON}"
        f"<Location {path}>\n    SetHandler server-status\n    Require all granted\n"
        "</Location>\n</VirtualHost>\n"
    )


def site(configuration: Configuration, context: RenderContext, further: str) -> str:
    """A virtual host for the workload beside others, with `further` lines; and the status page."""
    root = quoted(context.root)
    lines = [
        "ServerName localhost",
        f"DocumentRoot {root}",
        f"<Directory {root}>\n    Require all granted\n    AllowOverride None\n</Directory>",
        "DirectoryIndex index.html",
        *((_protocols(context),) if speaks_http2(configuration) else ()),
    ]
    inside = _text(lines) + _HANDING_NOTHING_ON + php(context) + certificate(configuration, context)
    listens = _text([f"Listen {address}" for address in context.listen])
    addresses = " ".join(context.listen)
    # What the file says comes behind our own, and so holds.
    return f"{listens}<VirtualHost {addresses}>\n{inside}{further}</VirtualHost>\n{status(context)}"


# A ProxyPass of the server as a whole goes before one of a virtual host, but not before a location's.
_HANDING_NOTHING_ON = """\
<IfModule mod_proxy.c>
    <Location "/">
        ProxyPass "!"
    </Location>
</IfModule>
"""


def _text(lines: Iterable[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _protocols(context: RenderContext) -> str:
    """What the workload's addresses speak: HTTP/1 too, which those use who ask whether it answers."""
    return f"Protocols {'h2c' if context.tls_directory is None else 'h2'} http/1.1"


def upstream(
    configuration: Configuration, context: RenderContext, about: About = no_comment, further: str = ""
) -> str:
    """The upstream with how its connections are used and its replies read; "" where there is none.

    `further` are parameters that are no knobs.
    """
    if context.upstream is None:
        return ""
    given = {knob.name: configuration[knob.name] for knob in WORKER_KNOBS}
    said = "".join(f" {name}={value}" for name, value in given.items() if value not in ("auto", "none"))
    return (
        "".join(about(name) for name in given)
        + f'<Location "{PROXIED}">\n'
        + f'    ProxyPass "http://{context.upstream}{PROXIED}"{said}{further}\n'
        + "</Location>\n"
    )


def certificate(configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
    """TLS on every address of the workload, with the certificate for the kind of key; "" without TLS."""
    if context.tls_directory is None:
        return ""
    kind = configuration[tls.KEY.name]
    return about(tls.KEY.name) + (
        "SSLEngine on\n"
        f"SSLCertificateFile {quoted(tls.certificate_file(context.tls_directory, kind))}\n"
        f"SSLCertificateKeyFile {quoted(tls.key_file(context.tls_directory, kind))}\n"
        f"SSLProtocol -all {' '.join('+' + version for version in tls.PROTOCOLS)}\n"
    )


def quoted(path: str) -> str:
    """A path as a string of Apache's, which replaces ${…} everywhere."""
    return f'"{values.unquoted_path(path, chr(34) + "$" + chr(92))}"'


def directive(name: str) -> str:
    """The name of a directive in small letters, as Apache 2.4 calls it."""
    return {"maxclients": "maxrequestworkers"}.get(name.lower(), name.lower())


def assignments(text: str, mpm: str | None = None) -> Iterator[Assignment]:
    """The directives outside of sections, and inside of <IfModule> unless it is for another MPM than `mpm`,
    which is the text's own if None.
    """
    lines = list(syntax.walk(text))
    loaded = in_force(lines) if mpm is None else mpm
    for line in lines:
        applies = {*line.above} <= {"ifmodule"} and not for_others(line.modules, loaded)
        if line.is_directive and line.words and applies:
            start = line.words[0].start
            yield Assignment(line.text.split()[0], text[start : line.end], start, line.end)
