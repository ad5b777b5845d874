"""gunicorn and uvicorn: processes of Python behind a server that proxies HTTP.

Knobs are the settings of docs.gunicorn.org/en/stable/settings.html and www.uvicorn.org/settings, their
defaults those of the programs. uvicorn has no file of its own: it takes its settings from the environment,
which systemd reads from such a file (`EnvironmentFile=`).
"""

from typing import Literal

from trimtab_trials.configuration import Configuration

from trimtab_tuner.roles import Role
from trimtab_tuner.space import Knob, OnlyWith
from trimtab_tuner.targets.backends.base import BackendContext, processes
from trimtab_tuner.targets.base import About, RenderError, no_comment
from trimtab_tuner.targets.common_knobs import accept_queue

APPLICATION = '''"""Makes a page of `size` bytes (8192 if not given), 64 at a time a SHA-256 of those before.

The same page for both ways in which servers call Python: `wsgi` and `asgi`.
"""

from hashlib import sha256
from urllib.parse import parse_qs


def page(query):
    asked = parse_qs(query).get("size", ["8192"])[0]
    size = max(1, min(1048576, int(asked) if asked.isdecimal() else 8192))
    text, made = "trimtab", []
    for _ in range(-(-size // 64)):
        text = sha256(text.encode()).hexdigest()
        made.append(text)
    return "".join(made)[:size].encode()


def wsgi(environ, start_response):
    body = page(environ["QUERY_STRING"])
    headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        return
    body = page(scope["query_string"].decode("ascii"))
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
'''


def _workers(name: str) -> Knob:
    knob = processes(name, 1, 128, 20_000.0, "Processes of Python behind the server.")
    return knob.model_copy(update={"role": Role.BACKEND_WORKERS})


def _backlog(name: str) -> Knob:
    return accept_queue(name, 2048).model_copy(update={"role": None})


def _idle_time(name: str, default: int) -> Knob:
    return Knob(
        name=name,
        kind="integer",
        scale="log",
        low=1,
        high=3600,
        default=default,
        unit="s",
        help="Time that a connection from the server may be idle between requests.",
    )


class _PythonServer:
    """What the two have in common."""

    speaks: Literal["fastcgi", "http"] = "http"
    path = "/dynamic/page"
    script_path = "/dynamic/application.py"
    script = APPLICATION


class Gunicorn(_PythonServer):
    """gunicorn with a WSGI application."""

    name = "gunicorn"
    help = "A page of Python (WSGI), in processes of gunicorn."
    package = "gunicorn"
    file_name = "gunicorn.conf.py"
    knobs = (
        _workers("gunicorn.workers"),
        Knob(
            name="gunicorn.worker_class",
            kind="categorical",
            choices=("sync", "gthread"),
            default="sync",
            help="Whether a process has one request at a time and closes its connection, or threads that "
            "keep connections open.",
        ),
        Knob(
            name="gunicorn.threads",
            role=Role.BACKEND_THREADS,
            kind="integer",
            scale="log",
            low=1,
            high=128,
            default=1,
            unit="threads",
            resource_weight=100.0,
            scope="worker",
            help="Threads of each process; only with gunicorn.worker_class = gthread.",
        ),
        _idle_time("gunicorn.keepalive", 2),
        _backlog("gunicorn.backlog"),
    )
    free = ("gunicorn.workers", "gunicorn.worker_class", "gunicorn.threads")
    constraints = (
        OnlyWith(knob="gunicorn.threads", otherwise=1, other="gunicorn.worker_class", among=("gthread",)),
    )
    children = "gunicorn.workers"

    def render(self, configuration: Configuration, context: BackendContext, about: About = no_comment) -> str:
        """A file of Python, as gunicorn has it."""
        lines = [
            f"bind = {context.address!r}",
            f"chdir = {context.directory!r}",
            'wsgi_app = "application:wsgi"',
            f"worker_tmp_dir = {context.prefix!r}",
            'errorlog = "-"',
            'loglevel = "warning"',
        ]
        for knob in self.knobs:
            value = configuration[knob.name]
            lines.append(about(knob.name) + f"{knob.name.removeprefix('gunicorn.')} = {value!r}")
        return "\n".join(lines) + "\n"

    def check_command(self, file: str, program: str) -> tuple[str, ...]:
        """`gunicorn --check-config`, which imports the application too."""
        return ("env", "PYTHONDONTWRITEBYTECODE=1", program, "--check-config", "--config", file)

    def start_command(self, file: str, program: str) -> tuple[str, ...]:
        """gunicorn in the foreground."""
        return ("env", "PYTHONDONTWRITEBYTECODE=1", program, "--config", file)


class Uvicorn(_PythonServer):
    """uvicorn with an ASGI application."""

    name = "uvicorn"
    help = "A page of Python (ASGI), in processes of uvicorn."
    package = "uvicorn"
    file_name = "uvicorn.env"
    knobs = (
        _workers("uvicorn.workers"),
        _idle_time("uvicorn.timeout_keep_alive", 5),
        _backlog("uvicorn.backlog"),
    )
    free = ("uvicorn.workers",)
    constraints: tuple[OnlyWith, ...] = ()
    children = "uvicorn.workers"

    def render(self, configuration: Configuration, context: BackendContext, about: About = no_comment) -> str:
        """Variables of the environment, a line each. Raises RenderError for a path with a line end."""
        if "\n" in context.directory or '"' in context.directory:
            raise RenderError(f"{context.directory!r}: expected a path without quotes and line ends")
        host, _, port = context.address.rpartition(":")
        lines = [
            f"UVICORN_HOST={host}",
            f"UVICORN_PORT={port}",
            f'UVICORN_APP_DIR="{context.directory}"',
            "UVICORN_LOG_LEVEL=warning",
        ]
        for knob in self.knobs:
            name = knob.name.replace(".", "_").upper()
            lines.append(about(knob.name) + f"{name}={configuration[knob.name]}")
        return "\n".join(lines) + "\n"

    def check_command(self, file: str, program: str) -> tuple[str, ...]:
        """None: uvicorn has no check."""
        return ()

    def start_command(self, file: str, program: str) -> tuple[str, ...]:
        """uvicorn in the foreground, with the variables of the file."""
        script = 'set -a; . "$0"; set +a; exec "$1" application:asgi'
        return ("env", "PYTHONDONTWRITEBYTECODE=1", "sh", "-c", script, file, program)


GUNICORN = Gunicorn()
UVICORN = Uvicorn()
