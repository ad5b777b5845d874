"""A private lighttpd: the user's whole file, but for that by which it would meet production.

Sites keep TLS, upstreams, rewriting and logs; they listen on loopback addresses of their own. The workload is
answered at one address more, with the settings outside of conditions: what decides there whether and with
what a request is answered is set back for it. What is replaced or left out is named in the comment at the
beginning.
"""

from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import tls
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.private import (
    ITS_OWN,
    NO_LOG,
    NO_USER,
    OWN_LOG,
    Change,
    Places,
    require_upstreams,
    with_changes,
)
from trimtab_tuner.targets.servers.lighttpd import editing, rendering, syntax, upstreams
from trimtab_tuner.targets.servers.lighttpd.syntax import Statement

_OF_EACH = {
    "server.bind", "server.breakagelog", "server.chroot", "server.errorlog", "server.errorlog-use-syslog",
    "server.groupname", "server.pid-file", "server.port", "server.socket-perms", "server.syslog-facility",
    "server.systemd-socket-activation", "server.upload-dirs", "server.use-ipv6", "server.username",
    "deflate.cache-dir", "compress.cache-dir", "rrdtool.binary", "rrdtool.db-name",
    "ssl.stapling-file", "webdav.sqlite-db-name",
}  # fmt: skip
"""What every lighttpd on a machine has for itself, at whatever level it stands."""
_ANSWERS = {
    "ajp13.server": "()",
    "alias.url": "()",
    "auth.require": "()",
    "cgi.assign": "()",
    "evhost.path-pattern": '""',
    "extforward.hap-PROXY": '"disable"',
    "fastcgi.server": "()",
    "proxy.server": "()",
    "scgi.server": "()",
    "server.error-handler": '""',
    "server.error-handler-404": '""',
    "setenv.add-environment": "()",
    "simple-vhost.server-root": '""',
    "sockproxy.server": "()",
    "url.access-allow": "()",
    "url.access-deny": "()",
    "url.redirect": "()",
    "url.rewrite": "()",
    "url.rewrite-if-not-file": "()",
    "url.rewrite-once": "()",
    "url.rewrite-repeat": "()",
    "url.rewrite-repeat-if-not-file": "()",
    "webdav.activate": '"disable"',
    "wstunnel.server": "()",
}
"""What decides whether and with what a request is answered, and what sets it back."""
_PROGRAMS = {"fastcgi.server", "scgi.server"}
_LOGS = "accesslog.filename"
_KEYS = {"ssl.privkey"}


def private(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """The file with these knobs, and what is the instance's own. Raises RenderError."""
    over_http = (each.address for each in upstreams.upstreams(text) if each.over_http)
    require_upstreams(context, over_http)
    tuned = editing.changed(text, configuration, knobs, context)
    if not tuned.endswith("\n"):
        tuned += "\n"
    places = Places(context)
    said = list(syntax.walk(tuned))
    changes = [*_address(tuned, places), *_changes(said, places)]
    if not any(statement.name == _LOGS for statement in said):
        changes += _to_syslog(said, places)
    changes += _own_certificates(said, configuration, context)
    changes.append(Change(len(tuned), len(tuned), _own(tuned, said, changes, configuration, context), ""))
    return with_changes(tuned, changes, configuration, knobs)


def _address(text: str, places: Places) -> Iterator[Change]:
    """The address outside of conditions, which lighttpd has whether it is told or not: port 80."""
    told = editing.last_evaluated(text)
    host = told.get("server.bind", '"0.0.0.0"').strip('"')
    place = places.address(f"{host}:{told.get('server.port', '80')}")
    own, _, port = place.rpartition(":")
    lines = rendering.lines({"server.bind": f'"{own}"', "server.port": port})
    yield Change(0, 0, lines, f"listen {host}:{told.get('server.port', '80')} at {place}")


def _changes(said: Sequence[Statement], places: Places) -> Iterator[Change]:
    for statement in said:
        start, end = statement.start, statement.end
        if (condition := statement.condition) is not None:
            yield from _socket(statement, condition, places)
        elif _is_log(statement):
            path = places.file(statement.text.partition("=")[2].strip(), "access", ".log")
            value, _ = statement.value_place
            yield Change(value, end, syntax.quoted(path), f"{statement.text} to {path}")
        elif why := _why_left_out(statement):
            yield Change(start, end, "", f"{statement.text} {why}")


def _socket(statement: Statement, condition: tuple[str, str, str], places: Places) -> Iterator[Change]:
    """The address of a condition that opens one."""
    variable, operator, address = condition
    if variable != "SERVER.socket" or operator != "==":
        return
    host, _, port = address.rpartition(":")
    place = places.address(f"{host or '0.0.0.0'}:{port}")  # noqa: S104 - compared, never bound
    at = statement.start + statement.text.index(f'"{address}"') + 1
    yield Change(at, at + len(address), place, f"{statement.text} at {place}")


def _why_left_out(statement: Statement) -> str:
    """Why the instance does without it; empty if it does not."""
    if statement.name in ("server.username", "server.groupname"):
        return NO_USER
    if statement.name in ("server.errorlog", "server.errorlog-use-syslog"):
        return OWN_LOG
    if statement.name in _OF_EACH:
        return ITS_OWN
    if statement.name in _PROGRAMS and '"bin-path"' in statement.text:
        return "is left out: it starts programs at sockets of production"
    return ""


def _own_certificates(
    said: Sequence[Statement], configuration: Configuration, context: RenderContext
) -> Iterator[Change]:
    """Certificates of ours in place of the user's, whose keys nobody reads; only where TLS is measured."""
    if context.tls_directory is None:
        return
    kind = configuration[tls.KEY.name]
    certificate = tls.certificate_file(context.tls_directory, kind)
    for statement in said:
        named = statement.text.partition("=")[2].strip().strip('"')
        if statement.name == "ssl.pemfile":
            key = rendering.lines({"ssl.privkey": syntax.quoted(tls.key_file(context.tls_directory, kind))})
            own = rendering.lines({"ssl.pemfile": syntax.quoted(certificate)}) + key
            yield Change(statement.start, statement.end, own, f"ssl.pemfile {named} from {certificate}")
        elif statement.name in _KEYS:
            path = tls.key_file(context.tls_directory, kind)
            yield Change(statement.start, statement.end, "", f"{statement.name} {named} from {path}")


def _own(
    text: str,
    said: Sequence[Statement],
    changes: Sequence[Change],
    configuration: Configuration,
    context: RenderContext,
) -> str:
    """What each lighttpd has for itself, and the workload's addresses behind all conditions of the user's."""
    names = {statement.name for statement in said}
    back = {name: value for name, value in _ANSWERS.items() if name in names}
    plain = {"ssl.engine": '"disable"'} if "ssl.engine" in names and context.tls_directory is None else {}
    site = rendering.lines(back | plain | rendering.site(configuration, context), "  ")
    site += _logs(said, changes) + rendering.of_tls(configuration, context, commands=_commands(text, said))
    sites = "".join(f'$SERVER["socket"] == "{address}" {{\n{site}}}\n' for address in context.listen)
    own = rendering.of_each(context)
    # A setting may stand once, and what an include sets that nobody has read is not known.
    if not any(statement.text.startswith("include") for statement in said):
        if "server.document-root" not in {each.name for each in said if each.depth == 0}:
            own["server.document-root"] = syntax.quoted(context.root)  # lighttpd wants one
        if "mimetype.assign" not in names:
            own["mimetype.assign"] = rendering.mime_types()
    status = rendering.status(context, rendering.lines(back | plain, "  "))
    return rendering.lines(own) + rendering.modules(context) + sites + status


def _commands(text: str, said: Sequence[Statement]) -> str | None:
    """What OpenSSL is told at the workload's addresses; "" where it is told outside of conditions, None where
    the file says nothing of it.
    """
    depths = [statement.depth for statement in said if statement.name == editing.COMMANDS]
    return None if not depths else "" if 0 in depths else editing.commands(text)


def _logs(said: Sequence[Statement], changes: Sequence[Change]) -> str:
    """The workload is logged as the first site logs, where the server as a whole does not."""
    logs = [statement for statement in said if _is_log(statement)]
    if not logs or any(statement.name == _LOGS and statement.depth == 0 for statement in said):
        return ""
    own = next(change for change in changes if change.start == logs[0].value_place[0])
    lines = {_LOGS: own.replacement}
    formats = [each for each in said if each.name == "accesslog.format" and each.depth == logs[0].depth]
    if formats:
        lines["accesslog.format"] = formats[0].text.partition("=")[2].strip()
    return rendering.lines(lines, "  ")


def _is_log(statement: Statement) -> bool:
    """Whether it names a log, and does not switch it off."""
    setting = statement.setting
    return setting is not None and setting[0] == _LOGS and setting[2].strip() not in ('""', f'"{NO_LOG}"')


def _to_syslog(said: Sequence[Statement], places: Places) -> Iterator[Change]:
    """A log that goes to syslog goes to a file."""
    for statement in said:
        if statement.name == "accesslog.use-syslog" and '"enable"' in statement.text:
            path = places.file(statement.text, "access", ".log")
            line = f"{_LOGS} = {syntax.quoted(path)}"
            yield Change(statement.start, statement.end, line, f"{statement.text} to {path}")
            return
