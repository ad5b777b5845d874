"""A configuration of the core target in the language of nginx.

The file stands alone: `nginx -t -c FILE` accepts it without any other file, as any user, because everything
that nginx writes lies under the context's prefix. A knob to which nginx has no equivalent is named in a
comment, with what nginx does instead.
"""

import textwrap
from pathlib import PurePosixPath

from trimtab_tuner.records import Configuration
from trimtab_tuner.targets import evidence as say
from trimtab_tuner.targets.base import Evidence, RenderContext, RenderError, cpus_for_workers
from trimtab_tuner.targets.core import KNOBS
from trimtab_tuner.targets.mime_types import MIME_TYPES

_KNOBS = {knob.name: knob for knob in KNOBS}

_ARCHITECTURE = {
    "symped": "nginx is of this kind: one event loop in each worker, all accepting from the same queue.",
    "sped": "The same in nginx: a single worker.",
}

_WITHOUT_EQUIVALENT = (
    "cache_mb",
    "cache_lock",
    "copies",
    "copy_of",
    "helpers",
    "forward_bias",
    "readers",
    "poll_delay_us",
    "large_transfer",
    "thread_pool",
)

Lines = list[str]
"""Directives and comments, each ending in a line break."""


class NginxExporter:
    """Writes a complete nginx.conf."""

    format = "nginx"
    file_name = "nginx.conf"

    def export(self, configuration: Configuration, context: RenderContext, evidence: Evidence) -> str:
        """The text of nginx.conf with comments. Raises RenderError if a path cannot be written in it."""
        return "\n".join(_File(configuration, context, evidence).parts())

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`nginx -t`, its early errors sent to the terminal and not to a log that only root may open."""
        return (binary or "nginx", "-t", "-e", "stderr", "-p", str(PurePosixPath(file).parent), "-c", file)


class _File:
    """One nginx.conf in the making."""

    def __init__(self, configuration: Configuration, context: RenderContext, evidence: Evidence) -> None:
        self._configuration = configuration
        self._context = context
        self._evidence = evidence
        self._prefix = context.prefix.rstrip("/") or "/"
        self._run = f"nginx -p {self._prefix} -c nginx.conf"
        # A listening socket takes one of the worker's connections (ngx_event_process_init in nginx's
        # src/event/ngx_event.c), and so does the channel from the master (ngx_add_channel_event).
        self._own = len(context.listen) + 1
        self._connections = say.connections_per_worker(configuration) + self._own

    def parts(self) -> Lines:
        """The file in paragraphs."""
        workers = self._configuration["workers"]
        return [
            say.header("nginx", self._run, self._evidence),
            say.comment(
                "Measured with trimtab-httpd and translated; nginx itself has not been measured.",
                "Started as root, nginx runs its workers as `nobody` unless a `user` directive is added.",
                *say.requirements(self._configuration),
                f"Verify what nginx reads: nginx -T -p {self._prefix} -c nginx.conf",
            ),
            f"pid {self._path('nginx.pid')};\nerror_log {self._path('error.log')} warn;\n",
            self._about("architecture", _ARCHITECTURE[str(self._configuration["architecture"])]),
            self._about("workers", _verify('pgrep -c -P "$(cat nginx.pid)", the children of the master'))
            + f"worker_processes {workers};\n",
            self._rlimit(),
            self._about("affinity", _verify('for p in $(pgrep nginx); do taskset -cp "$p"; done'))
            + self._affinity(),
            _block("events", self._events()),
            _block("http", self._http()),
        ]

    def _about(self, knob: str, *notes: str) -> str:
        """The comment over a setting."""
        return say.comment(
            say.what(_KNOBS[knob], self._configuration[knob], self._evidence),
            say.effect(_KNOBS[knob], self._configuration, self._evidence),
            *notes,
        )

    def _path(self, name: str) -> str:
        return _quoted(f"{self._prefix}/{name}")

    def _rlimit(self) -> str:
        descriptors = say.descriptors_per_worker(self._configuration) + self._own
        return (
            say.comment(
                "Descriptors of each worker: its connections, its cached files, and a reserve.",
                "Not started as root, nginx can raise the limit only up to the hard limit.",
                _verify("grep 'open files' /proc/$(pgrep -n nginx)/limits"),
            )
            + f"worker_rlimit_nofile {descriptors};\n"
        )

    def _affinity(self) -> str:
        cpus = cpus_for_workers(self._configuration["affinity"], self._context)
        if not cpus:
            return "# worker_cpu_affinity is not set: workers are not pinned.\n"
        masks = [f"{1 << cpus[i % len(cpus)]:b}" for i in range(int(self._configuration["workers"]))]
        return "worker_cpu_affinity\n" + "".join(f"    {mask}\n" for mask in masks)[:-1] + ";\n"

    def _events(self) -> Lines:
        limit = self._configuration["accept_limit"]
        total = self._configuration["max_connections"]
        workers = self._configuration["workers"]
        multi_accept, note = ("off", "") if limit == 1 else ("on", "")
        if limit not in (1, "inf"):
            note = f"No equivalent in nginx: it accepts one or all, never {limit}; all is the nearest."
        return [
            self._about("events") + "use epoll;\n",
            self._about(
                "max_connections",
                f"nginx counts for each worker, and its own sockets too: {total} / {workers} rounded up, and "
                f"{self._own} for {len(self._context.listen)} listening socket(s) and the master's channel.",
                "Beyond its maximum trimtab-httpd leaves connections waiting in the kernel's queue; nginx "
                "closes idle ones, then accepts new ones and closes them at once.",
                _verify("ls /proc/$(pgrep -n nginx)/fd | wc -l"),
            )
            + f"worker_connections {self._connections};\n",
            self._about("accept_limit", *([note] if note else [])) + f"multi_accept {multi_accept};\n",
        ]

    def _http(self) -> Lines:
        value = self._configuration
        entries, seconds = value["cache_entries"], value["request_timeout"]
        if value["sendfile"] == "blocking":
            sendfile = (
                "No equivalent in nginx: its sockets never block. What follows is its non-blocking sendfile, "
                "without a limit on one call."
            )
            use, chunk = "on", "0"
        elif value["sendfile"] == "off":
            sendfile = "nginx reads files anew for each reply; it has no cache of contents like cache_mb."
            use, chunk = "off", "0"
        else:
            sendfile = "The same in nginx; sendfile_max_chunk keeps one fast client from holding a worker."
            use, chunk = "on", "2m"
        types = "".join(f"    {mime} {endings};\n" for mime, endings in MIME_TYPES.items())
        temporary = "".join(
            f"{kind}_temp_path {self._path(kind)};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return [
            f"types {{\n{types}}}\ndefault_type application/octet-stream;\naccess_log off;\n",
            say.comment("Directories of its own for temporary files, so that any user may start it.")
            + temporary,
            self._about("sendfile", sendfile) + f"sendfile {use};\nsendfile_max_chunk {chunk};\n",
            self._about(
                "cache_entries", "nginx looks at a cached file again when it is older than this validity."
            )
            + f"open_file_cache max={entries} inactive=60s;\nopen_file_cache_valid 60s;\n",
            self._about("keepalive_timeout", "trimtab-httpd has no limit of requests per connection.")
            + f"keepalive_timeout {value['keepalive_timeout']}s;\nkeepalive_requests 1000000;\n",
            self._about("request_timeout") + f"client_header_timeout {seconds}s;\nsend_timeout {seconds}s;\n",
            "".join(self._about(knob, "nginx has no such setting.") for knob in _WITHOUT_EQUIVALENT),
            _block("server", self._server()),
        ]

    def _server(self) -> Lines:
        options = f"backlog={self._configuration['backlog']}"
        if self._configuration["sndbuf"]:
            options += f" sndbuf={self._configuration['sndbuf']}"
        if self._configuration["reuseport"] == "on":
            options += " reuseport"
        listens = "".join(f"listen {address} {options};\n" for address in self._context.listen)
        return [
            self._about("backlog", _verify("ss -ltn, column Send-Q of the listening address"))
            + self._about("sndbuf")
            + self._about("reuseport")
            + listens,
            f"root {_quoted(self._context.root)};\nindex index.html;\n",
        ]


def _verify(command: str) -> str:
    return f"Verify live: {command}"


def _block(name: str, lines: Lines) -> str:
    return f"{name} {{\n" + textwrap.indent("\n".join(lines), "    ") + "}\n"


def _quoted(path: str) -> str:
    """A path as an nginx string; nginx has no way to write a dollar sign, it always begins a variable."""
    if any(character in path for character in '"$\\\n'):
        raise RenderError(f'{path!r}: expected a path without ", $, backslash and line break')
    return f'"{path}"'
