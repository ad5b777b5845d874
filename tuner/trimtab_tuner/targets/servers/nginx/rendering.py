"""nginx's settings as nginx reads them, and what surrounds them in a file of its own."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from trimtab_trials.configuration import Configuration

from trimtab_tuner import affinity
from trimtab_tuner.targets import tls, values
from trimtab_tuner.targets.base import (
    DESCRIPTOR_RESERVE,
    About,
    RenderContext,
    no_comment,
)
from trimtab_tuner.targets.behind import PROXIED, proxied_at
from trimtab_tuner.targets.http2 import HTTP2, speaks_http2
from trimtab_tuner.targets.mime_types import DEFAULT_TYPE, MIME_TYPES
from trimtab_tuner.targets.servers.nginx import kernel_tls
from trimtab_tuner.targets.servers.nginx.knobs import BLOCK, KTLS

STATUS_PATH = "/status"
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""What nginx keeps temporary files for."""
PHP_PARAMETERS = {
    "SCRIPT_FILENAME": "$document_root$fastcgi_script_name",
    "SCRIPT_NAME": "$fastcgi_script_name",
    "QUERY_STRING": "$query_string",
    "REQUEST_METHOD": "$request_method",
    "REQUEST_URI": "$request_uri",
    "CONTENT_TYPE": "$content_type",
    "CONTENT_LENGTH": "$content_length",
    "SERVER_PROTOCOL": "$server_protocol",
}
"""What PHP is told of a request."""
UPSTREAM = "trimtab_upstream"
REUSED_CONNECTION = 'proxy_http_version 1.1;\nproxy_set_header Connection "";\n'
"""Without which nginx closes each connection to an upstream behind its first request, until 1.29.7."""


class HandedOn(NamedTuple):
    """How requests go on to the upstream `name`, at `address`: in the words of the file itself where it has
    some, and in its own block where that `is_there`.
    """

    name: str
    address: str
    how: str | None = None
    is_there: bool = False


def render(configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
    """A complete nginx.conf. Raises RenderError if a path cannot be written in it."""
    prefix = context.prefix.rstrip("/") or "/"
    lines = settings(configuration, context)

    def block(name: str) -> str:
        return "".join(about(knob) + line + "\n" for knob, line in lines.items() if BLOCK[knob] == name)

    error_log = "stderr" if context.error_log == "stderr" else quoted(context.error_log)
    descriptors = descriptors_per_worker(configuration)
    if context.descriptors is not None:
        descriptors = min(descriptors, context.descriptors)
    parts = [
        f"pid {quoted(prefix + '/nginx.pid')};\nerror_log {error_log} warn;\n",
        block(""),
        f"worker_rlimit_nofile {descriptors};\n",
    ]
    if configuration["aio"] == "threads":
        pool = f"thread_pool default threads={configuration['thread_pool_threads']} max_queue=65536;\n"
        parts.append(about("thread_pool_threads") + pool)
    parts += [
        in_block("events", "use epoll;\n" + block("events")),
        in_block(
            "http",
            _types()
            + temporary_paths(prefix)
            + block("http")
            + _by_kernel(configuration, about)
            + servers(configuration, context, about),
        ),
    ]
    return "\n".join(parts)


def settings(configuration: Configuration, context: RenderContext) -> dict[str, str]:
    """For each knob that is a directive of its own: the directive with its arguments, as nginx reads it."""
    lines = {
        name: f"{name} {configuration[name]};"
        for name in BLOCK
        if name not in ("worker_cpu_affinity", "aio", "open_file_cache", "keepalive_timeout")
        and name in configuration  # those of TLS and HTTP/2 are not always
    }
    if "ssl_session_cache" in lines:
        size_mb = configuration["ssl_session_cache"]
        lines["ssl_session_cache"] = (
            f"ssl_session_cache {f'shared:trimtab:{size_mb}m' if size_mb else 'none'};"
        )
    if "proxy_buffers" in lines:
        lines["proxy_buffers"] = proxy_buffers(configuration)
    for name in ("proxy_connect_timeout", "proxy_read_timeout"):
        if name in lines:
            lines[name] = f"{name} {configuration[name]}s;"
    lines["aio"] = f"aio {configuration['aio']};"
    entries = configuration["open_file_cache"]
    lines["open_file_cache"] = (
        f"open_file_cache max={entries} inactive=60s;" if entries else "open_file_cache off;"
    )
    lines["keepalive_timeout"] = f"keepalive_timeout {configuration['keepalive_timeout']}s;"
    if affinity.pins_workers(configuration["worker_cpu_affinity"]):
        workers, cpus = int(configuration["worker_processes"]), context.server_cpus
        masks = [f"{1 << cpus[i % len(cpus)]:b}" for i in range(workers)] if cpus else ["auto"]
        lines["worker_cpu_affinity"] = f"worker_cpu_affinity {' '.join(masks)};"
    return {name: lines[name] for name in BLOCK if name in lines}


def _by_kernel(configuration: Configuration, about: About) -> str:
    """Whether the kernel encrypts; nothing where not, as older versions of OpenSSL know no such option."""
    if KTLS.name not in configuration:
        return ""
    return about(KTLS.name) + (kernel_tls.line("on") + "\n") * (configuration[KTLS.name] == "on")


def proxy_buffers(configuration: Configuration) -> str:
    """The buffers of a reply, all of one size: so nginx's own share of them for sending always fits."""
    return f"proxy_buffers {configuration['proxy_buffers']} {configuration['proxy_buffer_size']};"


def listen_options(configuration: Configuration) -> str:
    """The options of `listen`, with a space before each."""
    return f" backlog={configuration['backlog']}" + " reuseport" * (configuration["reuseport"] == "on")


def descriptors_per_worker(configuration: Configuration) -> int:
    """Descriptors that one worker may have open: connections, files, and a reserve.

    A file is open for as long as it is being sent, so that each connection may need a second one: without it
    a worker that is full can neither open files nor accept.
    """
    return int(configuration["worker_connections"]) + files_per_worker(configuration) + DESCRIPTOR_RESERVE


def files_per_worker(configuration: Configuration) -> int:
    """Files that one worker may have open: one for each connection, and those that it keeps.

    A connection to an upstream counts among its own connections; the reply's temporary file is its file.
    """
    return int(configuration["worker_connections"]) + int(configuration["open_file_cache"])


def quoted(path: str) -> str:
    """A path as an nginx string; nginx has no way to write a dollar sign, it always begins a variable."""
    return f'"{values.unquoted_path(path, chr(34) + "$" + chr(92))}"'


def _types() -> str:
    types = "".join(f"    {mime} {endings};\n" for mime, endings in MIME_TYPES.items())
    return f"types {{\n{types}}}\ndefault_type {DEFAULT_TYPE};\naccess_log off;\n"


def temporary_paths(prefix: str) -> str:
    """Directories of its own for temporary files, so that any user may start it."""
    return "".join(f"{kind}_temp_path {quoted(f'{prefix}/{kind}')};\n" for kind in TEMPORARY)


def servers(
    configuration: Configuration,
    context: RenderContext,
    about: About = no_comment,
    settings: str = "",
    versions: str = " ".join(tls.PROTOCOLS),
    handed_on: Sequence[HandedOn] = (),
    status_settings: str = "",
    socket_options: str = "",
) -> str:
    """The server for the workload, with further `settings`, and the one for the status page if there is to
    be one. `versions` of TLS are spoken, or those that stand elsewhere in the file if empty. Without being
    told, requests are handed on to the upstream of the context, if it has one. The status page has
    `status_settings` of its own, the workload's address `socket_options` that are no knobs.
    """
    options = listen_options(configuration) + socket_options
    root = f"root {quoted(context.root)};\nindex index.html;\n"
    if context.tls_directory is not None:
        options += " ssl" + " http2" * speaks_http2(configuration)
        root = about(tls.KEY.name) + certificate(configuration, context.tls_directory) + root
        if versions:
            root = f"ssl_protocols {versions};\n" + root
    listens = "".join(f"listen {address}{options};\n" for address in context.listen)
    if context.php_socket is not None:
        parameters = "".join(f"fastcgi_param {name} {value};\n" for name, value in PHP_PARAMETERS.items())
        passed = f"fastcgi_pass {quoted('unix:' + context.php_socket)};\n"
        root += in_block("location ~ \\.php$", passed + parameters)
    upstream = ""
    if context.upstream is not None and not handed_on:
        handed_on = (HandedOn(UPSTREAM, context.upstream),)
    for number, each in enumerate(handed_on):
        kept = int(configuration["keepalive"])
        upstream += "" if each.is_there else upstream_block(each.name, each.address, kept, about)
        # All are asked for the same paths; nginx takes them as they are where it need not change them.
        passed = f"proxy_pass http://{each.name}{PROXIED if number else ''};\n"
        passed += REUSED_CONNECTION * (kept > 0) if each.how is None else each.how
        root += in_block(f"location {proxied_at(number)}", passed)
    told = about("backlog") + about("reuseport") + (about(HTTP2.name) if speaks_http2(configuration) else "")
    text = upstream + in_block("server", told + listens + root + settings)
    if context.status_listen is not None:
        said = f"stub_status;\naccess_log off;\n{status_settings}"
        location = in_block(f"location = {STATUS_PATH}", said)
        text += in_block("server", f"listen {context.status_listen};\n{location}")
    return text


def upstream_block(name: str, address: str, kept: int, about: About = no_comment) -> str:
    """The upstream, with so many idle connections kept for each worker."""
    keepalive = about("keepalive") + (f"keepalive {kept};\n" if kept else "")
    return in_block(f"upstream {name}", f"server {address};\n{keepalive}")


def certificate(configuration: Configuration, directory: str) -> str:
    """The certificate for the kind of key."""
    kind = configuration[tls.KEY.name]
    return (
        f"ssl_certificate {quoted(tls.certificate_file(directory, kind))};\n"
        f"ssl_certificate_key {quoted(tls.key_file(directory, kind))};\n"
    )


def in_block(name: str, body: str) -> str:
    """A block with its body indented."""
    return f"{name} {{\n" + textwrap.indent(body, "    ") + "}\n"
