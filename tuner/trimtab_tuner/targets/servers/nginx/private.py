"""A private nginx: the user's whole file, of which only that is replaced by which it would meet production.

Sites keep TLS, locations, backends, headers and logs; they listen on loopback addresses of their own. The
workload is answered by one site more, with the settings of the first site of the file. What is replaced or
left out is named in the comment at the beginning, and so in the file's difference from the user's.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import tls
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.editing import apply
from trimtab_tuner.targets.private import (
    ITS_OWN,
    NO_ADDRESS,
    NO_LOG,
    NO_USER,
    OTHERS_ASKED,
    OWN_LOG,
    Change,
    Places,
    with_changes,
)
from trimtab_tuner.targets.servers.nginx import editing, levels, proxying, rendering, standing_in, syntax
from trimtab_tuner.targets.servers.nginx.knobs import BLOCK
from trimtab_tuner.targets.servers.nginx.rendering import HandedOn
from trimtab_tuner.targets.servers.nginx.syntax import Directive

OF_EACH = {"daemon", "lock_file", "master_process", "pid", "working_directory"} | {
    f"{kind}_temp_path" for kind in rendering.TEMPORARY
}
"""What every nginx on a machine has for itself, at whatever level it stands."""
CACHES = {f"{kind}_cache_path" for kind in ("proxy", "fastcgi", "uwsgi", "scgi")}

_FROM = {f"{kind}_bind" for kind in ("fastcgi", "grpc", "memcached", "proxy", "scgi", "uwsgi")}
# What decides whether and with what a site answers; the site of the workload has its own. Limits count by
# the client's address: the load generator's are few.
_OF_ONE_SITE = {
    "allow", "auth_basic", "auth_basic_user_file", "auth_request", "auth_request_set", "deny", "error_page",
    "index", "limit_conn", "limit_req", "listen", "return", "rewrite", "root", "satisfy", "server_name",
    "set_real_ip_from", "ssl", "try_files",
}  # fmt: skip


_TYPES = "types"  # the block that says how a site's files are called, and so what of them is compressed
# Of Lua in a site: the phases that work on its answers, or set variables for them. All others decide whether
# and with what it answers, or which certificate it shows.
_LUA = re.compile(r"\w+_by_lua(_block|_file)?")
_LUA_OF_ANSWERS = re.compile(r"(header_filter|body_filter|log|set)_by_lua(_block|_file)?")

_CHECKS = re.compile(r"check(_\w+)?")  # whether an upstream is well, asked by itself (Tengine)

# What keeps the status page open where the file closes all sites.
_OPEN = {
    "allow": "allow all;\n",
    "auth_basic": "auth_basic off;\n",
    "auth_request": "auth_request off;\n",
    "deny": "allow all;\n",
}

# Not the name in a file of ours, which is driven too: nginx refuses an upstream twice.
_UPSTREAM = "workload_upstream"
_CERTIFICATE = re.compile(r"((proxy|grpc|uwsgi)_)?ssl_certificate(_key)?")
_KEY_FILES = {"ssl_password_file", "ssl_session_ticket_key"}
# Of a site's settings of TLS those that the site of the workload has its own of, or no use for: whom it
# trusts, what goes with the certificate itself.
_OF_ONE_CERTIFICATE = _KEY_FILES | {
    "ssl_certificate", "ssl_certificate_key", "ssl_client_certificate", "ssl_crl", "ssl_ocsp",
    "ssl_reject_handshake", "ssl_stapling", "ssl_stapling_file", "ssl_trusted_certificate",
    "ssl_verify_client",
}  # fmt: skip


def private(text: str, configuration: Configuration, knobs: Collection[str], context: RenderContext) -> str:
    """The file with these knobs, and what is the instance's own. Raises RenderError."""
    # Without one of its own no site has options of `listen`; that of the workload has them in any case.
    has_address = editing.listens(syntax.parse(text))
    settable = knobs if has_address else {*knobs} - editing.LISTEN_OPTIONS
    tuned = editing.changed(text, configuration, settable, context)
    tree = syntax.parse(tuned)
    http = http_block(tree)
    prefix = context.prefix.rstrip("/")
    log = "stderr" if context.error_log == "stderr" else rendering.quoted(context.error_log)
    main = f"pid {rendering.quoted(prefix + '/nginx.pid')};\nerror_log {log} warn;\n"
    servers = syntax.find(http.block or [], "server")
    secure = context.tls_directory is not None
    model = _model([each for each in servers if levels.speaks_tls(each)] if secure else servers) or _model(
        servers
    )
    changes = list(_changes(tree, tuned, Places(context)))
    if context.stand_ins:
        first = standing_in.path_to(tree, next(iter(context.stand_ins)))
        model = next(block for block in first if block.name == "server")
        changes += standing_in.changes(tree, tuned, context)
    changes += _own_cpus(tree, tuned, configuration, context)
    changes += _own_certificates(tree, configuration, context)
    changes += [
        Change(0, 0, main, ""),
        Change(http.body_start, http.body_start, "\n" + rendering.temporary_paths(prefix), ""),
    ]
    # In the place of a certain upstream its location is measured as it is, with the exceptions that it has.
    exceptions = (
        []
        if context.stand_ins
        else [each for level in levels.of_each(tree, BLOCK).values() for each in level.exceptions]
    )
    own = _settings_of(model, tuned, changes, exceptions, secure=secure)
    if secure and syntax.find(http.block or [], "ssl_verify_client"):
        own += "ssl_verify_client off;\n"  # the generator has no certificate to show
    told = [
        found
        for block in (http, model)
        for found in (syntax.find(block.block or [], "ssl_protocols") if block is not None else [])
    ]
    versions = "" if told else " ".join(tls.PROTOCOLS)
    site = rendering.servers(
        configuration,
        context,
        settings=own,
        versions=versions,
        handed_on=list(_handed_on(tree, tuned, exceptions, context)),
        status_settings="".join(
            dict.fromkeys(_OPEN[each.name] for each in http.block or [] if each.name in _OPEN)
        ),
        socket_options="" if model is None else editing.further_options(tree, model, secure=secure),
    )
    changes.append(Change(http.end - 1, http.end - 1, "\n" + site, ""))
    return with_changes(tuned, changes, configuration, knobs, _with_settings_of(model))


def _handed_on(
    tree: list[Directive], text: str, exceptions: Collection[Directive], context: RenderContext
) -> Iterator[HandedOn]:
    """How the workload's requests go on: as those of the upstreams that are replaced do, or else as the first
    that go on in the file.
    """
    for number, (name, address) in enumerate(context.stand_ins.items()):
        how = proxying.how_handed_on(standing_in.path_to(tree, name)[-1], text, exceptions)
        there = standing_in.has_block(tree, name)
        own = f"{_UPSTREAM}_{number + 1}" if number else _UPSTREAM
        yield HandedOn(name if there else own, address, how, there)
    if context.upstream is not None and not context.stand_ins:
        handing = (proxying.how_handed_on(path[-1], text, exceptions) for path in levels.handing_on(tree))
        yield HandedOn(_UPSTREAM, context.upstream, next(handing, None))


def _own_certificates(
    tree: list[Directive], configuration: Configuration, context: RenderContext
) -> Iterator[Change]:
    """Certificates of ours in place of the user's, whose keys nobody reads; only where TLS is measured."""
    if context.tls_directory is None:
        return
    kind = configuration[tls.KEY.name]
    for directive, _ in syntax.walk(tree):
        if directive.block is not None or not directive.arguments:
            continue
        # A key may stand in the file itself.
        named = directive.arguments[0].partition(":")[0] if ":" in directive.arguments[0] else ""
        said = f"{directive.name} {named or directive.arguments[0]}"
        if directive.name in _KEY_FILES:
            yield Change(directive.start, directive.end, "", f"{said} is left out: its secrets stay yours")
        elif _CERTIFICATE.fullmatch(directive.name):
            make = tls.key_file if directive.name.endswith("_key") else tls.certificate_file
            path = make(context.tls_directory, kind)
            yield Change(*directive.spans[1], rendering.quoted(path), f"{said} from {path}")


def _own_cpus(
    tree: list[Directive], text: str, configuration: Configuration, context: RenderContext
) -> Iterator[Change]:
    """The CPUs of the measurement in place of those of production."""
    masks = rendering.settings(configuration, context).get("worker_cpu_affinity")
    for directive in syntax.find(tree, "worker_cpu_affinity"):
        said = text[directive.start : directive.end]
        if masks is None:
            yield Change(directive.start, directive.end, "", f"{said} is left out: no worker is pinned")
        elif said != masks:
            yield Change(directive.start, directive.end, masks, f"{said} as {masks}")


def http_block(tree: list[Directive]) -> Directive:
    """The block http; raises RenderError if there is none, or another."""
    http = syntax.find(tree, "http")
    if len(http) != 1:
        raise RenderError(f"expected one block http, there are {len(http)}")
    return http[0]


def _changes(tree: list[Directive], text: str, places: Places) -> Iterator[Change]:
    for directive, above in syntax.walk(tree):
        said = text[directive.start : directive.end]
        if why := _why_left_out(directive, above):
            yield Change(directive.start, directive.end, "", f"{said} {why}")
        elif kind := _kind_of_file(directive):
            start, end = directive.spans[1]
            path = places.file(directive.arguments[0], *kind)
            variables = _variables(directive.arguments[0])
            own = f'"{path}-{variables}"' if variables else rendering.quoted(path)
            yield Change(start, end, own, f"{said} to {own.strip(chr(34))}")
        elif directive.name == "listen" and directive.arguments:
            yield from _listen(directive, said, places)
        else:
            own, why = _without_being_told(directive, above, places)
            if own:
                yield Change(directive.body_start, directive.body_start, f" {own}", f"{why}: {own}")


def _why_left_out(directive: Directive, above: Sequence[Directive]) -> str:
    """Why the instance does without it; empty if it does not."""
    if directive.name in OF_EACH:
        return ITS_OWN
    if directive.name in ("user", "worker_priority") and not above:
        return NO_USER
    if directive.name == "error_log" and not above:
        return OWN_LOG
    if directive.name in _FROM:
        return NO_ADDRESS
    if directive.name in ("health_check", "passenger_pre_start"):
        return OTHERS_ASKED
    if _CHECKS.fullmatch(directive.name) and [each.name for each in above[-1:]] == ["upstream"]:
        return OTHERS_ASKED
    return ""


def _kind_of_file(directive: Directive) -> tuple[str, ...]:
    """What a path that nginx writes to is called for the instance, its name and ending; empty if none is."""
    if directive.name in CACHES and directive.arguments:
        return ("cache",)
    if directive.name in ("access_log", "error_log") and directive.arguments:
        return () if directive.arguments[0] in ("off", "stderr", NO_LOG) else (directive.name, ".log")
    return ()


def _variables(path: str) -> str:
    """What of the name of a log changes from request to request, without slashes: such a log is opened for
    each request, in production as here. Empty where nothing does.
    """
    found = "" if path.startswith("syslog:") else path[len(path.partition("$")[0]) :].replace("/", "_")
    return "" if set(found) & {'"', "\\"} else found


def _without_being_told(directive: Directive, above: Sequence[Directive], places: Places) -> tuple[str, str]:
    """What a block lacks that nginx does all the same, where that would meet production, and a sentence on
    it; empty for nothing.
    """
    inside = directive.block or []
    if directive.name == "http" and not syntax.find(inside, "access_log"):
        log = f"access_log {rendering.quoted(places.file('', 'access_log', '.log'))};"
        return log, "nginx logs although the block http names no access_log, and so does the instance"
    on_its_own = directive.name == "server" and [each.name for each in above] == ["http"]
    if on_its_own and not syntax.find(inside, "listen"):
        return f"listen {places.address('0.0.0.0:80')};", "a server without a listen, which has port 80"
    return "", ""


def _listen(directive: Directive, said: str, places: Places) -> Iterator[Change]:
    """The address, and what goes only with one of IPv6."""
    address = directive.arguments[0]
    unix = address.startswith("unix:")
    place = places.address(address if unix else editing.socket_of(address))
    start, end = directive.spans[1]
    yield Change(start, end, place, f"{said} at {place}")
    for (first, last), argument in zip(directive.spans[2:], directive.arguments[1:], strict=True):
        if argument.startswith("ipv6only="):
            yield Change(first - 1, last, "", "")


def _model(servers: Sequence[Directive]) -> Directive | None:
    """The first site that answers with more than a redirection; None where there is none."""
    return next((server for server in servers if levels.answers(server)), None)


def _with_settings_of(model: Directive | None) -> str:
    if model is None:
        return ""
    called = levels.called(model)
    return f", with the settings of {f'the site {called}' if called else 'the first site'}"


def _settings_of(
    model: Directive | None,
    text: str,
    changes: Sequence[Change],
    exceptions: Collection[Directive],
    *,
    secure: bool,
) -> str:
    """What the site says of how it answers: headers, compression, logs; with these changes, and without its
    exceptions from knobs, of which the values that hold for all are measured.

    How it speaks TLS only where the site of the workload does so: `secure`.
    """
    kept = ""
    for directive in [] if model is None else model.block or []:
        if _LUA.fullmatch(directive.name):
            if _LUA_OF_ANSWERS.fullmatch(directive.name) is None:
                continue
        elif directive.block is not None and directive.name != _TYPES:
            continue
        if directive.name in _OF_ONE_SITE | OF_EACH or directive in exceptions:
            continue
        if directive.name in _OF_ONE_CERTIFICATE or (directive.name.startswith("ssl_") and not secure):
            continue
        inside = [
            (change.start - directive.start, change.end - directive.start, change.replacement)
            for change in changes
            if directive.start <= change.start and change.end <= directive.end
        ]
        kept += apply(text[directive.start : directive.end], inside) + "\n"
    return kept
