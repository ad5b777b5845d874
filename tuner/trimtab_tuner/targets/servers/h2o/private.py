"""A private h2o: the user's whole file, of which only that is replaced by which it would meet production.

Sites keep TLS, paths, backends and logs; they listen on loopback addresses of their own. The workload is
answered by a host more. What is replaced or left out is named in the comment at the beginning.
"""

from collections.abc import Collection, Iterator, Sequence

from ruamel import yaml
from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import tls
from trimtab_tuner.targets.assignments import Assignment
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.behind import PROXIED
from trimtab_tuner.targets.private import (
    ITS_OWN,
    NO_LOG,
    NO_USER,
    OTHERS_ASKED,
    OWN_LOG,
    Change,
    Places,
    require_upstreams,
    with_changes,
)
from trimtab_tuner.targets.servers.h2o import syntax, upstreams
from trimtab_tuner.targets.servers.h2o.syntax import Command

OF_EACH = ("error-log", "pid-file", "temp-buffer-path")
"""What every h2o on a machine has for itself."""
_WHY = {"user": NO_USER, "error-log": OWN_LOG}
_KINDS = ("tcp", "quic", "unix")
_OCSP = "ocsp-update-interval"
_NOT_ASKED = f"{_OCSP}: 0: those who have made the certificates are not asked about them"
_READ = {"certificate-file", "client-ca-file", "dh-file", "key-file"}


def private(tuned: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """The file, in which knobs are set already, with what is the instance's own. Raises RenderError."""
    over_http = (each.address for each in upstreams.upstreams(tuned) if each.over_http)
    require_upstreams(context, over_http)
    places = Places(context)
    changes = [
        Change(command.start, end, "", f"{_said(tuned, command)} {_WHY.get(command.name, ITS_OWN)}")
        for command, end in syntax.spans(tuned, (*OF_EACH, "user"))
    ]
    for command in syntax.commands(tuned):
        if command.value.tag == "!file":
            line = command.value.start_mark.line + 1
            raise RenderError(f"line {line}: !file: expected the text itself, which can be looked through")
        if command.name == "access-log" and _logged(command).value != NO_LOG:
            changes.append(_log(command, tuned, places))
        elif command.name == "listen" and command.above[:1] in ((), ("hosts",)):
            changes += _listen(command, tuned, places)
    changes += _own_certificates(tuned, configuration, context)
    changes += _without_asking(tuned)
    changes.append(_with_site(tuned, configuration, context, tuple(_log_of_sites(tuned, places))))
    whole = with_changes(tuned, list(dict.fromkeys(changes)), configuration, knobs)
    return whole.rstrip("\n") + "\n" + own_files(context.prefix, context.error_log)


def _said(text: str, command: Command) -> str:
    """The command as it stands there, on one line; comments that follow it are none of it."""
    return " ".join(text[command.start : command.place[1]].split())


def _own_certificates(text: str, configuration: Configuration, context: RenderContext) -> Iterator[Change]:
    """Certificates of ours in place of the user's, whose keys nobody reads; only where TLS is measured."""
    if context.tls_directory is None:
        return
    kind = configuration[tls.KEY.name]
    files = {"certificate-file": tls.certificate_file, "key-file": tls.key_file}
    for named in reads(text):
        if named.name in files:
            path = files[named.name](context.tls_directory, kind)
            said = f"{named.name}: {named.value} from {path}"
            yield Change(named.start, named.end, syntax.quoted(path), said)


def _without_asking(text: str) -> Iterator[Change]:
    """No answers about certificates (OCSP) that h2o would get from those who have made them."""
    for command in syntax.commands(text):
        entries = command.value.value if isinstance(command.value, yaml.MappingNode) else []
        if command.name != "ssl" or command.above[-1:] != ("listen",) or not entries:
            continue
        told = [each for key, each in entries if key.value == _OCSP]
        for each in told:
            if each.value != "0":
                yield Change(*syntax.place_of(each, text), "0", f"{_OCSP}: {each.value} {OTHERS_ASKED}")
        if not told:
            first = entries[0][0].start_mark
            behind = ", " if syntax.in_braces(command.value) else "\n" + " " * first.column
            yield Change(first.index, first.index, f"{_OCSP}: 0{behind}", _NOT_ASKED)


def reads(text: str) -> Sequence[Assignment]:
    """The files of TLS, each a whole value."""
    return [
        Assignment(command.name, command.value.value, *command.place)
        for command in syntax.commands(text)
        if command.name in _READ and isinstance(command.value, yaml.ScalarNode)
    ]


def own_files(prefix: str, error_log: str) -> str:
    """Lines for what each h2o has for itself; without a log it writes to where it was started."""
    log = "" if error_log == "stderr" else f"error-log: {syntax.quoted(error_log)}\n"
    return f"pid-file: {syntax.quoted(prefix + '/h2o.pid')}\n{log}temp-buffer-path: {syntax.quoted(prefix)}\n"


def hosts(
    configuration: Configuration,
    context: RenderContext,
    indent: str = "  ",
    name: str = "site",
    further: Sequence[str] = (),
) -> str:
    """A host for each address of the workload, with `further` lines, and one for the status page; `name`
    begins their names.
    """
    said, certificate = "", _certificate(configuration, context)
    for number, address in enumerate(context.listen):
        said += _host(f"{name}-{number}", address, _paths(context), indent, certificate, further)
    if context.status_listen is not None:
        said += _host(f"{name}-status", context.status_listen, ('"/": {status: ON}',), indent)
    return said


def _certificate(configuration: Configuration, context: RenderContext) -> str:
    """What stands behind the port of an address with TLS, with the certificate for the kind of key.

    No answer of OCSP goes along: there is nobody who could give one for a certificate of ours. The process
    that signs in h2o's place (neverbleed) is off, since it leaves a directory in /tmp if it is killed.
    """
    if context.tls_directory is None:
        return ""
    kind = configuration[tls.KEY.name]
    return (
        f", ssl: {{certificate-file: {syntax.quoted(tls.certificate_file(context.tls_directory, kind))}, "
        f"key-file: {syntax.quoted(tls.key_file(context.tls_directory, kind))}, "
        f"minimum-version: {tls.PROTOCOLS[0]}, ocsp-update-interval: 0, neverbleed: OFF}}"
    )


def _paths(context: RenderContext) -> tuple[str, ...]:
    """Files, PHP among them if there is a pool for it, and what goes on to the upstream."""
    php = ""
    if context.php_socket is not None:
        pool = f"{{port: {syntax.quoted(context.php_socket)}, type: unix}}"
        php = f", file.custom-handler: {{extension: .php, fastcgi.connect: {pool}}}"
    paths = [f'"/": {{file.dir: {syntax.quoted(context.root)}{php}}}']
    if context.upstream is not None:
        paths.append(f'"{PROXIED}": {{proxy.reverse.url: "http://{context.upstream}{PROXIED}"}}')
    return tuple(paths)


def _host(
    name: str,
    address: str,
    paths: Sequence[str],
    indent: str,
    certificate: str = "",
    further: Sequence[str] = (),
) -> str:
    host, _, port = address.rpartition(":")
    lines = (
        f'"{name}":',
        f"  listen: {{host: {syntax.quoted(host)}, port: {port}{certificate}}}",
        *(f"  {line}" for line in further),
        "  paths:",
        *(f"    {path}" for path in paths),
    )
    return "".join(f"{indent}{line}\n" for line in lines)


def _with_site(
    text: str, configuration: Configuration, context: RenderContext, further: Sequence[str]
) -> Change:
    """The hosts of the instance behind the user's, whose first one answers for names that nobody has."""
    found = syntax.spans(text, ("hosts",))
    first = next((command for command in syntax.commands(text) if command.above == ("hosts",)), None)
    if len(found) != 1 or first is None or syntax.in_braces(found[0][0].value) or first.column == 0:
        raise RenderError("hosts: expected one such line, and hosts below it on lines that are indented")
    end = found[0][1]
    # Not the names of a file of ours, which is driven too: h2o refuses a host twice.
    added = hosts(configuration, context, " " * first.column, "workload", further)
    begin = "" if text[:end].endswith("\n") else "\n"
    return Change(end, end, begin + added, "")


def _logged(command: Command) -> yaml.ScalarNode:
    """Where a log goes."""
    value = command.value
    if isinstance(value, yaml.MappingNode):
        value = next((each for key, each in value.value if key.value == "path"), value)
    if not isinstance(value, yaml.ScalarNode):
        raise RenderError(f"line {value.start_mark.line + 1}: access-log: expected a path")
    return value


def _log_of_sites(text: str, places: Places) -> Iterator[str]:
    """The workload is logged as the first host that is, where the server as a whole logs nothing."""
    logs = [command for command in syntax.commands(text) if command.name == "access-log"]
    if not logs or any(not command.above for command in logs):
        return
    model = next((each for each in logs if _logged(each).value != NO_LOG), logs[0])
    value = model.value
    entries = value.value if isinstance(value, yaml.MappingNode) else []
    said = {key.value: each.value for key, each in entries if isinstance(each, yaml.ScalarNode)}
    path = _logged(model).value
    said["path"] = path if path == NO_LOG else places.file(path, "access", ".log")
    inside = ", ".join(f"{name}: {syntax.quoted(each)}" for name, each in said.items())
    yield f"access-log: {{{inside}}}"


def _log(command: Command, text: str, places: Places) -> Change:
    """A file of the instance in place of a path or a program; format and conditions stay."""
    value = _logged(command)
    path = places.file(value.value, "access", ".log")
    said = f"access-log: {value.value} to {path}"
    return Change(*syntax.place_of(value, text), syntax.quoted(path), said)


def _listen(command: Command, text: str, places: Places) -> Iterator[Change]:
    """The address: a port, or a mapping that has one, or has it from another address; a socket of a path
    becomes one of TCP.
    """
    value = command.value
    if isinstance(value, yaml.ScalarNode):
        said, place = _place("", value.value, places)
        yield Change(*command.place, f"{{host: {place[0]}, port: {place[1]}}}", said)
        return
    own = _entries(value)
    has = {**_inherited(value), **{key.value: each for key, each in own}}
    kind = has["type"].value if "type" in has else "tcp"
    if "port" not in has or kind not in _KINDS:
        line = value.start_mark.line + 1
        raise RenderError(f"line {line}: listen: expected a port, and a type of {', '.join(_KINDS)}")
    host = "unix" if kind == "unix" else has["host"].value if "host" in has else ""
    said, place = _place(host, has["port"].value, places)
    instead = {"host": place[0], "port": place[1], **({"type": "tcp"} if kind == "unix" else {})}
    for key, each in own:
        if key.value in instead:
            yield Change(*syntax.place_of(each, text), instead[key.value], said)
            said = ""
    ports = [key for key, _ in own if key.value == "port"]
    if ports and "host" not in [key.value for key, _ in own]:
        behind = ", " if syntax.in_braces(value) else "\n" + " " * ports[0].start_mark.column
        yield Change(ports[0].start_mark.index, ports[0].start_mark.index, f"host: {place[0]}{behind}", "")


def _entries(node: yaml.Node) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """The names and values of a mapping."""
    entries = node.value if isinstance(node, yaml.MappingNode) else []
    return [(key, each) for key, each in entries if isinstance(key, yaml.ScalarNode)]


def _inherited(node: yaml.Node) -> dict[str, yaml.Node]:
    """What a mapping has from another one, by <<."""
    return {
        key.value: each
        for name, other in _entries(node)
        if name.value == "<<"
        for key, each in _entries(other)
    }


def _place(host: str, port: str, places: Places) -> tuple[str, tuple[str, str]]:
    """What is said of an address, and the host and port in its place."""
    production = f"{host or '0.0.0.0'}:{port}"  # noqa: S104 - compared, never bound
    place = places.address(production)
    own, _, number = place.rpartition(":")
    return f"listen {production} at {place}", (own, number)
