"""nginx's settings as nginx reads them, and what surrounds them in a file of its own."""

import textwrap

from trimtab_trials.configuration import Configuration

from trimtab_tuner.targets import values
from trimtab_tuner.targets.base import DESCRIPTOR_RESERVE, About, RenderContext, cpus_for_workers, no_comment
from trimtab_tuner.targets.mime_types import DEFAULT_TYPE, MIME_TYPES
from trimtab_tuner.targets.php import NGINX_PARAMETERS
from trimtab_tuner.targets.servers.nginx.knobs import BLOCK

STATUS_PATH = "/status"


def render(configuration: Configuration, context: RenderContext, about: About = no_comment) -> str:
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
        location = in_block(f"location = {STATUS_PATH}", "stub_status;\n")
        text += in_block("server", f"listen {context.status_listen};\n{location}")
    return text


def in_block(name: str, body: str) -> str:
    """A block with its body indented."""
    return f"{name} {{\n" + textwrap.indent(body, "    ") + "}\n"
