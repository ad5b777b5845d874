"""The target `nginx`: knobs (`knobs.py`), a file made from them (`rendering.py`), a user's file
(`editing.py`, `logs.py` for its logs, `private.py` for what is measured, `files.py` for those that it names),
a second server beside production (`beside.py`).

The rendered file stands alone and writes nowhere but under the context's prefix, so any user may start it.
"""

from collections.abc import Callable, Iterable

from trimtab_trials.configuration import Configuration

from trimtab_tuner.protocols import ProtocolName
from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.targets import values
from trimtab_tuner.targets.base import Demands, RenderError, no_environment, nothing_defined
from trimtab_tuner.targets.placement import Workers, replica_constraints, replica_knobs
from trimtab_tuner.targets.servers.nginx import (
    editing,
    files,
    kernel_tls,
    levels,
    logs,
    private,
    proxying,
    rendering,
    standing_in,
    syntax,
    telling,
    upstreams,
)
from trimtab_tuner.targets.servers.nginx.beside import BESIDE
from trimtab_tuner.targets.servers.nginx.knobs import (
    BLOCK,
    EQUIVALENTS,
    FREE,
    HTTP2,
    KNOBS,
    KTLS,
    PROXY_FREE,
    PROXY_KNOBS,
    TLS_KNOBS,
)


class NginxTarget:
    """nginx as a target."""

    name = "nginx"
    help = "nginx, the web server and proxy of Debian's package."
    protocol: ProtocolName = "http"
    program = "nginx"
    file_name = "nginx.conf"
    only_utf8 = False
    usual_files = ("/etc/nginx/nginx.conf", "/usr/local/nginx/conf/nginx.conf")
    unit = "nginx"
    package = "nginx-light"
    status_path = rendering.STATUS_PATH
    drop_in: str | None = None
    environment_file: str | None = None
    environment_prefix: str | None = None
    serves_php = True
    worker_title = "nginx: worker process"  # not the manager and the loader of its caches
    tls_knobs = TLS_KNOBS
    proxy_knobs = PROXY_KNOBS
    proxy_free = PROXY_FREE
    http2 = HTTP2
    log_knobs = (logs.BUFFER,)
    beside = BESIDE
    equivalents = EQUIVALENTS
    verify_live = {  # noqa: RUF012 - a table, never changed
        "worker_processes": 'pgrep -c -P "$(pgrep -o nginx)" (the children of the master)',
        "worker_connections": "ls /proc/$(pgrep -n nginx)/fd | wc -l (descriptors in use now)",
        "worker_cpu_affinity": 'for p in $(pgrep nginx); do taskset -cp "$p"; done',
        "reuseport": "ss -ltn (as many lines for the listening address as there are workers)",
        "backlog": "ss -ltn (column Send-Q of the listening address)",
        "KTLS": "cat /proc/net/tls_stat (TlsTxSw grows with each connection that the kernel encrypts)",
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

    render = staticmethod(rendering.render)
    includes = staticmethod(editing.includes)
    defined = staticmethod(nothing_defined)
    environment = staticmethod(no_environment)
    refused = staticmethod(proxying.refused)
    changed = staticmethod(editing.changed)
    excerpt = staticmethod(editing.excerpt)
    private = staticmethod(private.private)
    told = staticmethod(telling.told)
    rooted = staticmethod(files.rooted)
    reads = staticmethod(files.reads)
    upstreams = staticmethod(upstreams.upstreams)
    upstream_log = staticmethod(standing_in.upstream_log)
    parse_log = staticmethod(logs.parse)

    def parse(self, text: str, cpus: int = 1) -> Configuration:
        """The knobs that an nginx.conf sets, but for those of TLS and HTTP/2.

        `auto` stands for `cpus` workers.
        """
        tree = syntax.parse(text)
        found: Configuration = {}
        left_out = {knob.name for knob in (*TLS_KNOBS, *HTTP2.knobs, *PROXY_KNOBS)}
        own = [name for name in BLOCK if name not in left_out]
        of_http = levels.of_each(tree, (name for name in own if BLOCK[name] == "http"))
        for name in own:
            where = BLOCK[name]
            if where == "http":
                directives = [*of_http[name].places]
            else:
                directives = syntax.find(tree, *filter(None, (where, name)))
            if directives:
                found[name] = _read(name, directives[-1].arguments, cpus)
        for pool in syntax.find(tree, "thread_pool"):
            for argument in pool.arguments[1:] if pool.arguments[:1] == ["default"] else []:
                if argument.startswith("threads="):
                    found["thread_pool_threads"] = values.integer(
                        "threads", argument.removeprefix("threads=")
                    )
        for listen in editing.listens(tree):
            for argument in listen.arguments[1:]:
                if argument == "reuseport":
                    found["reuseport"] = "on"
                elif argument.startswith("backlog="):
                    found["backlog"] = values.integer("backlog", argument.removeprefix("backlog="))
        return values.within(KNOBS, found)

    def parse_tls(self, text: str) -> Configuration:
        """The knobs of TLS and HTTP/2 that http or its servers set, but for the kind of key."""
        tree = syntax.parse(text)
        found: Configuration = {}
        knobs = (*TLS_KNOBS, *HTTP2.knobs)
        levels_of = levels.of_each(tree, (knob.name for knob in knobs))
        for knob in knobs:
            told = levels_of[knob.name].places
            if knob.name in BLOCK and told:
                found |= _read_tls(knob, told[-1].arguments)
        if (by_kernel := kernel_tls.said(tree)) is not None:
            found[KTLS.name] = by_kernel
        return found

    def parse_proxy(self, text: str) -> Configuration:
        """The knobs of proxying: those of an nginx.conf's last upstream, and what it says of the others.

        A file that keeps no connection to an upstream in one of its upstreams has none of that.
        """
        tree = syntax.parse(text)
        found: Configuration = {}
        for upstream in syntax.find(tree, "http", "upstream"):
            kept = syntax.find(upstream.block or [], "keepalive")
            found["keepalive"] = values.integer("keepalive", kept[-1].arguments[0]) if kept else 0
        levels_of = levels.of_each(tree, (knob.name for knob in PROXY_KNOBS[1:]))
        for knob in PROXY_KNOBS[1:]:
            places = levels_of[knob.name].places
            if places and places[-1].arguments:
                found[knob.name] = _read_proxying(knob, places[-1].arguments[0])
        return values.within(PROXY_KNOBS, found)

    def demands(self, configuration: Configuration) -> Demands:
        """Each worker has its own connections, with a file for each, and its own cached files."""
        return Demands(
            rendering.descriptors_per_worker(configuration),
            int(configuration["worker_connections"]),
            rendering.files_per_worker(configuration),
            int(configuration["backlog"]),
        )

    def workers_to_pin(self, configuration: Configuration) -> Workers | None:
        """None: it pins them itself."""
        return None

    def check_command(self, file: str, binary: str | None = None) -> tuple[str, ...]:
        """`nginx -t`, its early errors sent to the terminal and not to a log that only root may open."""
        return (binary or "nginx", "-t", *_own_files(file))

    def version_command(self, binary: str | None = None) -> tuple[str, ...]:
        """`nginx -v`."""
        return (binary or "nginx", "-v")

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


def _own_files(file: str) -> tuple[str, ...]:
    prefix = file.rpartition("/")[0] or "."
    return ("-e", "stderr", "-p", prefix, "-c", file)


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


def _read_tls(knob: Knob, arguments: list[str]) -> Configuration:
    """The value of a knob of TLS; nothing for what the knob has no value for, a cache of one worker."""
    if not arguments:
        raise RenderError(f"{knob.name}: expected a value")
    if knob.role is not Role.TLS_SESSIONS:
        if knob.kind == "categorical":
            return {knob.name: values.word(knob.name, arguments[0], knob.choices)}
        return {knob.name: values.size_bytes(knob.name, arguments[0])}
    if arguments[0] in ("off", "none"):
        return {knob.name: 0}
    sizes = [word.rpartition(":")[2] for word in arguments if word.startswith("shared:")]
    return {knob.name: -(-values.size_bytes(knob.name, sizes[-1]) // (1 << 20))} if sizes else {}


def _read_proxying(knob: Knob, argument: str) -> int | str:
    """The value of a knob of proxying."""
    if knob.kind == "categorical":
        return values.word(knob.name, argument, knob.choices)
    if knob.unit == "s":
        return values.seconds(knob.name, argument)
    return values.size_bytes(knob.name, argument)


def _option(name: str, option: str, arguments: Iterable[str]) -> int:
    """The value of `option=…` among the arguments."""
    for argument in arguments:
        if argument.startswith(option + "="):
            return values.integer(name, argument.removeprefix(option + "="))
    raise RenderError(f"{name}: expected {option}=NUMBER")


TARGET = NginxTarget()
