"""The target `nginx`.

Knobs are named after nginx's directives (nginx.org/en/docs: ngx_core_module, ngx_http_core_module); `backlog`
and `reuseport` are options of `listen`, `thread_pool_threads` is the option `threads` of `thread_pool`.
`worker_cpu_affinity` is a plan, `none` or `process`, from which rendering makes the masks. The rendered file
stands alone and writes nowhere but under the context's prefix, so any user may start it.
"""

import textwrap
from collections.abc import Callable, Iterable

from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import nginx_syntax, values
from trimtab_tuner.targets.base import (
    DESCRIPTOR_RESERVE,
    About,
    Demands,
    RenderContext,
    RenderError,
    cpus_for_workers,
    no_comment,
)
from trimtab_tuner.targets.common_knobs import accept_queue, idle_time, requests_per_connection
from trimtab_tuner.targets.mime_types import DEFAULT_TYPE, MIME_TYPES
from trimtab_tuner.targets.php import NGINX_PARAMETERS
from trimtab_tuner.targets.placement import AFFINITY, Workers, replica_constraints, replica_knobs

ON_OFF = ("off", "on")

KNOBS = (
    Knob(
        name="worker_processes",
        kind="integer",
        scale="log",
        low=1,
        high=512,
        default=1,
        unit="processes",
        resource_weight=3000.0,
        scope="total",
        help="Worker processes, each with an event loop of its own.",
    ),
    Knob(
        name="worker_connections",
        kind="integer",
        scale="log",
        low=16,
        high=131_072,
        default=512,
        unit="connections",
        resource_weight=0.5,
        scope="worker",
        help="Connections open at once in one worker; its listening sockets count too.",
    ),
    AFFINITY.model_copy(update={"name": "worker_cpu_affinity"}),
    Knob(
        name="multi_accept",
        kind="categorical",
        choices=ON_OFF,
        default="off",
        scope="worker",
        help="Whether a worker accepts all waiting connections at once, or one at a time.",
    ),
    Knob(
        name="accept_mutex",
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether workers take turns in accepting; without effect where reuseport is on.",
    ),
    Knob(
        name="reuseport",
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether each worker has a listening socket of its own, and the kernel spreads connections.",
    ),
    accept_queue("backlog", 511),
    Knob(
        name="sendfile",
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether the kernel sends files from the page cache, or nginx reads and writes them.",
    ),
    Knob(
        name="sendfile_max_chunk",
        kind="ordinal",
        choices=(0, 131_072, 524_288, 2_097_152, 8_388_608),
        default=2_097_152,
        unit="bytes",
        help="What one sendfile call sends at most, so that no fast client holds a worker; 0: no limit.",
    ),
    Knob(
        name="tcp_nopush",
        kind="categorical",
        choices=ON_OFF,
        default="off",
        help="Whether header and beginning of a file leave in one packet; only with sendfile.",
    ),
    Knob(
        name="aio",
        kind="categorical",
        choices=("off", "threads"),
        default="off",
        help="Whether a pool of threads reads files, so that a slow disk does not hold a worker.",
    ),
    Knob(
        name="thread_pool_threads",
        kind="integer",
        scale="log",
        low=1,
        high=512,
        default=32,
        unit="threads",
        resource_weight=100.0,
        scope="worker",
        help="Threads of the pool that reads files; only with aio = threads.",
    ),
    Knob(
        name="open_file_cache",
        kind="ordinal",
        choices=(0, 1000, 3000, 10_000, 30_000, 100_000),
        default=0,
        unit="files",
        resource_weight=0.25,
        scope="worker",
        help="Open files that a worker keeps; 0 keeps none.",
    ),
    requests_per_connection("keepalive_requests", 1000, "nginx"),
    idle_time("keepalive_timeout", 75),
)

FREE = ("worker_processes", "worker_connections", "multi_accept", "sendfile")

BLOCK = {
    "worker_processes": "",
    "worker_cpu_affinity": "",
    "worker_connections": "events",
    "multi_accept": "events",
    "accept_mutex": "events",
    "sendfile": "http",
    "sendfile_max_chunk": "http",
    "tcp_nopush": "http",
    "aio": "http",
    "open_file_cache": "http",
    "keepalive_requests": "http",
    "keepalive_timeout": "http",
}
"""Where the directive of a knob stands: the block it belongs to, "" for the top of the file."""


class NginxTarget:
    """nginx as a target."""

    name = "nginx"
    help = "nginx, the web server and proxy of Debian's package."
    program = "nginx"
    file_name = "nginx.conf"
    status_path = "/status"
    verify_live = {  # noqa: RUF012 - a table, never changed
        "worker_processes": 'pgrep -c -P "$(pgrep -o nginx)" (the children of the master)',
        "worker_connections": "ls /proc/$(pgrep -n nginx)/fd | wc -l (descriptors in use now)",
        "worker_cpu_affinity": 'for p in $(pgrep nginx); do taskset -cp "$p"; done',
        "reuseport": "ss -ltn (as many lines for the listening address as there are workers)",
        "backlog": "ss -ltn (column Send-Q of the listening address)",
        "thread_pool_threads": "ls /proc/$(pgrep -n nginx)/task | wc -l (one more than the threads)",
    }

    def space(self, architecture: str = "symped", cpus: int = 1) -> Space:
        """Worker processes and connections, how they accept, and sendfile are free."""
        knobs = (*KNOBS, *replica_knobs(cpus))
        return Space(
            knobs=knobs,
            fixed={k.name: k.default for k in knobs if k.name not in FREE},
            constraints=replica_constraints("worker_cpu_affinity"),
        )

    def expert(self, cpus: int) -> Configuration:
        """A worker per CPU, sendfile with tcp_nopush, cached descriptors, long queue (nginx admin guide)."""
        return {
            **self.space().default(),
            "worker_processes": cpus,
            "worker_connections": 4096,
            "sendfile": "on",
            "tcp_nopush": "on",
            "open_file_cache": 10_000,
            "backlog": 4096,
            "keepalive_requests": 10_000,
        }

    def render(self, configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
        """A complete nginx.conf. Raises RenderError if a path cannot be written in it."""
        prefix = context.prefix.rstrip("/") or "/"
        lines = settings(configuration, context)

        def block(name: str) -> str:
            return "".join(about(knob) + line + "\n" for knob, line in lines.items() if BLOCK[knob] == name)

        error_log = "stderr" if context.error_log == "stderr" else quoted(context.error_log)
        descriptors = descriptors_per_worker(configuration) + len(context.listen) + 1
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
                _types() + temporary_paths(prefix) + block("http") + servers(configuration, context, about),
            ),
        ]
        return "\n".join(parts)

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that an nginx.conf sets; `auto` stands for `cpus` worker processes."""
        tree = nginx_syntax.parse(text)
        found: Configuration = {}
        for name, where in BLOCK.items():
            if where == "http":
                directives = nginx_syntax.find(tree, "http", "server", name) + nginx_syntax.find(
                    tree, "http", name
                )
            else:
                directives = nginx_syntax.find(tree, *filter(None, (where, name)))
            if directives:
                found[name] = _read(name, directives[-1].arguments, cpus)
        for pool in nginx_syntax.find(tree, "thread_pool"):
            for argument in pool.arguments[1:] if pool.arguments[:1] == ["default"] else []:
                if argument.startswith("threads="):
                    found["thread_pool_threads"] = values.integer(
                        "threads", argument.removeprefix("threads=")
                    )
        for listen in nginx_syntax.find(tree, "http", "server", "listen"):
            for argument in listen.arguments[1:]:
                if argument == "reuseport":
                    found["reuseport"] = "on"
                elif argument.startswith("backlog="):
                    found["backlog"] = values.integer("backlog", argument.removeprefix("backlog="))
        return values.within(KNOBS, found)

    def demands(self, configuration: Configuration) -> Demands:
        """Each worker has its own connections, with a file for each, and its own cached files."""
        return Demands(
            descriptors_per_worker(configuration),
            int(configuration["worker_connections"]),
            files_per_worker(configuration),
            int(configuration["backlog"]),
        )

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """None: it pins them itself."""
        return None

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`nginx -t`, its early errors sent to the terminal and not to a log that only root may open."""
        return (binary or "nginx", "-t", *_own_files(file))

    def start_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """nginx in the foreground."""
        return (binary or "nginx", *_own_files(file), "-g", "daemon off;")

    def parse_status(self, text: str) -> dict[str, float]:
        """The page of ngx_http_stub_status_module: `Active connections: 3`, then totals, then states."""
        numbers = [int(word) for word in text.replace(":", " ").split() if word.isdigit()]
        names = (
            "connections_open",
            "connections_accepted",
            "connections_handled",
            "requests",
            "connections_reading",
            "connections_writing",
            "connections_waiting",
        )
        return dict(zip(names, map(float, numbers), strict=True)) if len(numbers) == len(names) else {}


def settings(configuration: Configuration, context: RenderContext) -> dict[str, str]:
    """For each knob that is a directive of its own: the directive with its arguments, as nginx reads it."""
    lines = {
        name: f"{name} {configuration[name]};"
        for name in BLOCK
        if name not in ("worker_cpu_affinity", "aio", "open_file_cache", "keepalive_timeout")
    }
    lines["aio"] = f"aio {configuration['aio']};"
    entries = configuration["open_file_cache"]
    lines["open_file_cache"] = (
        f"open_file_cache max={entries} inactive=60s;" if entries else "open_file_cache off;"
    )
    lines["keepalive_timeout"] = f"keepalive_timeout {configuration['keepalive_timeout']}s;"
    cpus = cpus_for_workers(configuration["worker_cpu_affinity"], context)
    if cpus:
        workers = int(configuration["worker_processes"])
        masks = " ".join(f"{1 << cpus[i % len(cpus)]:b}" for i in range(workers))
        lines["worker_cpu_affinity"] = f"worker_cpu_affinity {masks};"
    return {name: lines[name] for name in BLOCK if name in lines}


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
    """Files that one worker may have open: one for each connection, and those that it keeps."""
    return int(configuration["worker_connections"]) + int(configuration["open_file_cache"])


def quoted(path: str) -> str:
    """A path as an nginx string; nginx has no way to write a dollar sign, it always begins a variable."""
    return f'"{values.unquoted_path(path, chr(34) + "$" + chr(92))}"'


def _own_files(file: str) -> tuple[str, ...]:
    prefix = file.rpartition("/")[0] or "."
    return ("-e", "stderr", "-p", prefix, "-c", file)


def _types() -> str:
    types = "".join(f"    {mime} {endings};\n" for mime, endings in MIME_TYPES.items())
    return f"types {{\n{types}}}\ndefault_type {DEFAULT_TYPE};\naccess_log off;\n"


def temporary_paths(prefix: str) -> str:
    """Directories of its own for temporary files, so that any user may start it."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return "".join(f"{kind}_temp_path {quoted(f'{prefix}/{kind}')};\n" for kind in kinds)


def servers(configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
    """The server for the workload, and the one for the status page if there is to be one."""
    options = listen_options(configuration)
    listens = "".join(f"listen {address}{options};\n" for address in context.listen)
    root = f"root {quoted(context.root)};\nindex index.html;\n"
    if context.php_socket is not None:
        parameters = "".join(f"fastcgi_param {name} {value};\n" for name, value in NGINX_PARAMETERS.items())
        passed = f"fastcgi_pass {quoted('unix:' + context.php_socket)};\n"
        root += in_block("location ~ \\.php$", passed + parameters)
    text = in_block("server", about("backlog") + about("reuseport") + listens + root)
    if context.status_listen is not None:
        location = in_block(f"location = {NginxTarget.status_path}", "stub_status;\n")
        text += in_block("server", f"listen {context.status_listen};\n{location}")
    return text


def in_block(name: str, body: str) -> str:
    """A block with its body indented."""
    return f"{name} {{\n" + textwrap.indent(body, "    ") + "}\n"


def _read(name: str, arguments: list[str], cpus: int) -> int | str:
    """The value of a knob from the arguments of its directive."""
    if not arguments:
        raise RenderError(f"{name}: expected a value")
    first = arguments[0]
    readers: dict[str, Callable[[str, str], int]] = {
        "sendfile_max_chunk": values.size_bytes,
        "keepalive_timeout": values.seconds,
    }
    if name == "worker_processes":
        return cpus if first == "auto" else values.integer(name, first)
    if name == "worker_cpu_affinity":
        return "process"
    if name == "open_file_cache":
        return 0 if first == "off" else _option(name, "max", arguments)
    if name in readers:
        return readers[name](name, first)
    if name == "aio":
        first = first.partition("=")[0]
    knob = next(knob for knob in KNOBS if knob.name == name)
    if knob.kind == "integer":
        return values.integer(name, first)
    return values.word(name, first, knob.choices)


def _option(name: str, option: str, arguments: Iterable[str]) -> int:
    """The value of `option=…` among the arguments."""
    for argument in arguments:
        if argument.startswith(option + "="):
            return values.integer(name, argument.removeprefix(option + "="))
    raise RenderError(f"{name}: expected {option}=NUMBER")
