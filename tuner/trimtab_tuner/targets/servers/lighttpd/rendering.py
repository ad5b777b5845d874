"""lighttpd's settings as lighttpd reads them, and what surrounds them in a file of its own."""

from collections.abc import Mapping

from trimtab_trials.configuration import Configuration, Value

from trimtab_tuner.roles import Role
from trimtab_tuner.targets.base import About, RenderContext, no_comment
from trimtab_tuner.targets.behind import PROXIED
from trimtab_tuner.targets.mime_types import DEFAULT_TYPE, MIME_TYPES
from trimtab_tuner.targets.servers.lighttpd import syntax
from trimtab_tuner.targets.servers.lighttpd.knobs import (
    BUFFERING,
    KNOBS,
    LEAST_MAX_FDS,
    TICKETS,
    WAITS,
)
from trimtab_tuner.targets.tls import KEY, PROTOCOLS, certificate_file, key_file

STATUS_PATH = "/status?auto"


def settings(configuration: Configuration, most: int | None = None) -> dict[str, str]:
    """Each knob that is a setting of its own, as lighttpd reads it; no more than `most` descriptors."""
    lines = {}
    for knob in (*KNOBS, BUFFERING):
        if knob.name not in configuration:  # that of proxying is not always
            continue
        value: Value = configuration[knob.name]
        if value == "auto":
            value = max(LEAST_MAX_FDS, 2 * int(configuration["server.max-connections"]) + 64)
        if knob.role is Role.DESCRIPTORS and most is not None:
            value = min(int(value), most)
        lines[knob.name] = f'"{value}"' if isinstance(value, str) else str(value)
    return lines


def render(configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
    """A complete lighttpd.conf. Raises RenderError if a path cannot be written in it."""
    address, _, port = context.listen[0].rpartition(":")
    own = of_each(context) | {
        "server.bind": f'"{address}"',
        "server.port": port,
        "server.username": '"www-data"',
        "server.groupname": '"www-data"',
        "mimetype.assign": mime_types(),
    }
    speaks = ' ssl.engine = "enable"' if context.tls_directory is not None else ""
    further = "".join(f'$SERVER["socket"] == "{each}" {{{speaks} }}\n' for each in context.listen[1:])
    knobs = [
        about(name) + f"{name} = {value}\n"
        for name, value in settings(configuration, context.descriptors).items()
    ]
    return (
        lines(own)
        + modules(context)
        + lines(site(configuration, context, about))
        + further
        + status(context)
        + "\n"
        + "".join(knobs)
        + of_tls(configuration, context, about)
    )


def lines(said: Mapping[str, str], indent: str = "", operator: str = "=") -> str:
    """Settings, each on its line; a comment before the name goes with it."""
    return "".join(f"{indent}{name} {operator} {value}\n" for name, value in said.items())


def of_each(context: RenderContext) -> dict[str, str]:
    """What every lighttpd on a machine has for itself."""
    own = {
        "server.pid-file": syntax.quoted(context.prefix + "/lighttpd.pid"),
        "server.upload-dirs": f"( {syntax.quoted(context.prefix)} )",
    }
    if context.error_log != "stderr":
        own["server.errorlog"] = syntax.quoted(context.error_log)
    return own


def mime_types() -> str:
    """The types of files by their endings."""
    types = ",\n".join(
        f'  ".{ending}" => "{mime}"' for mime, endings in MIME_TYPES.items() for ending in endings.split()
    )
    return f'(\n{types},\n  "" => "{DEFAULT_TYPE}"\n)'


def modules(context: RenderContext) -> str:
    """Those that the workload needs beside lighttpd's own."""
    needed = [
        *(["mod_fastcgi"] if context.php_socket is not None else []),
        *(["mod_proxy"] if context.upstream is not None else []),
        *(["mod_openssl"] if context.tls_directory is not None else []),
        *(["mod_status"] if context.status_listen is not None else []),
    ]
    return "".join(f'server.modules += ( "{name}" )\n' for name in needed)


def site(configuration: Configuration, context: RenderContext, about: About = no_comment) -> dict[str, str]:
    """How the workload is answered: files, PHP, what goes on to the upstream."""
    said = {
        "server.document-root": syntax.quoted(context.root),
        "index-file.names": '( "index.html" )',
    }
    if context.php_socket is not None:
        said["fastcgi.server"] = f'( ".php" => (( "socket" => {syntax.quoted(context.php_socket)} )) )'
    if context.upstream is not None:
        host, _, port = context.upstream.rpartition(":")
        waits = "".join(
            about(knob.name) + f'  "{knob.name}" => {configuration[knob.name]},\n' for knob in WAITS
        )
        said["proxy.server"] = f'( "{PROXIED}" => ((\n  "host" => "{host}", "port" => {port},\n{waits})) )'
    return said


def status(context: RenderContext, further: str = "") -> str:
    """The status page at an address of its own, with `further` settings; "" without one."""
    if context.status_listen is None:
        return ""
    path = STATUS_PATH.partition("?")[0]
    plain = '  ssl.engine = "disable"\n' if context.tls_directory is not None else ""
    return (
        f'$SERVER["socket"] == "{context.status_listen}" {{\n'
        f'  status.status-url = "{path}"\n{plain}{further}}}\n'
    )


def of_tls(
    configuration: Configuration,
    context: RenderContext,
    about: About = no_comment,
    commands: str | None = None,
) -> str:
    """TLS with the certificate for the kind of key, and `commands` to OpenSSL (None: ours); "" without."""
    if context.tls_directory is None:
        return ""
    kind = configuration[KEY.name]
    return (
        'ssl.engine = "enable"\n'
        + about(KEY.name)
        + f"ssl.pemfile = {syntax.quoted(certificate_file(context.tls_directory, kind))}\n"
        f"ssl.privkey = {syntax.quoted(key_file(context.tls_directory, kind))}\n"
        + about(TICKETS.name)
        + (f"ssl.openssl.ssl-conf-cmd = {openssl(configuration)}\n" if commands is None else commands)
    )


def openssl(configuration: Configuration) -> str:
    """Versions, and whether clients get tickets."""
    sign = "" if configuration[TICKETS.name] == "on" else "-"
    return (
        f'(\n  "MinProtocol" => "{PROTOCOLS[0]}", "MaxProtocol" => "{PROTOCOLS[-1]}",\n'
        f'  "Options" => "{sign}SessionTicket"\n)'
    )
