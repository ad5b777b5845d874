"""Servers that carry traffic, started as an administrator would: by a file, not by a trial."""

import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import live_sessions
import pytest
from asking import asking
from live_sessions import Attached
from trimtab_agent.base_file import BaseFile, read_base
from trimtab_agent.live import steering
from trimtab_agent.live.running import RunningServer, running_servers
from trimtab_agent.live.service import AttachSpec
from trimtab_agent.runtime import open_live
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.server.ports import HeldPorts
from waiting import until

PROGRAMS = {"apache": "apache2"}
PAGE = b"what is served\n" * 100

FILES = {
    "nginx": """worker_processes 1;
{user}
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections 500; }}
http {{
    sendfile on;
    access_log {directory}/access.log;
    server {{
        listen 127.0.0.1:{port};
        root {directory}/www;
    }}
}}
""",
    "lighttpd": """server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{directory}/www"
server.pid-file = "{directory}/lighttpd.pid"
server.errorlog = "{directory}/error.log"
server.max-connections = 500
server.modules += ( "mod_accesslog" )
accesslog.filename = "{directory}/access.log"
""",
    "h2o": """pid-file: {directory}/h2o.pid
error-log: {directory}/error.log
access-log: {directory}/access.log
{user}
num-threads: 1
hosts:
  default:
    listen:
      host: 127.0.0.1
      port: {port}
    paths:
      /:
        file.dir: {directory}/www
""",
    "apache": """ServerRoot {directory}
ServerName localhost
PidFile ${{PROD_DIR}}/apache2.pid
ErrorLog {directory}/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
{user}
ServerLimit 4
ThreadsPerChild 25
KeepAliveTimeout 1
Listen 127.0.0.1:{port}
LogFormat "%h %l %u %t \\"%r\\" %>s %O" common
CustomLog {directory}/access.log common
DocumentRoot {directory}/www
""",
    "core": """[server]
listen = 127.0.0.1:{port}
root = {directory}/www
stats_socket = {directory}/stats.sock
max_connections = 500
""",
}


@dataclass
class Production:
    """A server with a file of its own, which serves one page; `seen` is how Trimtab finds it."""

    page: bytes
    port: int
    file: Path
    command: tuple[str, ...]
    output: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Begins to start."""
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.command,
                stdout=output,
                stderr=output,
                process_group=0,
                env={**os.environ, "PROD_DIR": str(self.output.parent)},
            )

    @property
    def seen(self) -> RunningServer:
        """What is known of it now."""
        return next(each for each in running_servers() if each.pid == self.process.pid)

    @property
    def base(self) -> BaseFile:
        """Its file."""
        return read_base(self.seen.target, self.file)

    def until_listening(self) -> None:
        """Fails with what it has printed where it does not."""
        until(
            lambda: (
                self.process.poll() is not None
                or any(each.pid == self.process.pid and each.listeners for each in running_servers())
            )
        )
        assert self.process.poll() is None, self.output.read_text()

    def restart(self) -> None:
        """As an administrator does: it ends, and is another process then."""
        self.process.terminate()
        self.process.wait()
        self.start()

    def kill(self) -> None:
        """All of it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def started(
    name: str, directory: Path, settings: AgentSettings, edit: Callable[[str], str] = str
) -> Iterator[Production]:
    """A server of that kind in that directory, with its file edited, until the end of the block."""
    (directory / "www").mkdir(parents=True)
    (directory / "www" / "page").write_bytes(PAGE)
    ports = HeldPorts()
    port = ports.take()
    users = {"nginx": "user root;", "h2o": "user: root", "apache": "User www-data\nGroup www-data"}
    user = users.get(name, "") if os.geteuid() == 0 else ""
    file = directory / f"{name}.conf"
    file.write_text(edit(FILES[name].format(directory=directory, port=port, user=user)))
    arguments = {
        "nginx": ("-c", str(file), "-e", "stderr", "-g", "daemon off;"),
        "lighttpd": ("-D", "-f", str(file)),
        "h2o": ("-m", "master", "-c", str(file)),
        "apache": ("-f", str(file), "-DFOREGROUND"),
        "core": ("-c", str(file)),
    }
    program = settings.httpd_path if name == "core" else find_installed(PROGRAMS.get(name, name))
    command = (str(program), *arguments[name])
    production = Production(PAGE, port, file, command, directory / "output")
    production.start()
    try:
        production.until_listening()
        ports.let_go()
        yield production
    finally:
        ports.let_go()
        production.kill()


@pytest.fixture
def production(tmp_path: Path, programs: AgentSettings) -> Iterator[Callable[..., Production]]:
    """Starts a server of that kind; it ends with the test."""
    if os.geteuid():
        pytest.skip("only root may share the ports of any server")
    with ExitStack() as servers:

        def start(name: str, edit: Callable[[str], str] = str) -> Production:
            if name != "core" and find_installed(PROGRAMS.get(name, name)) is None:
                pytest.skip(f"{name} is not installed")
            directory = tmp_path / name
            if name == "apache":  # its workers are another user's, who may not enter tmp_path
                directory = Path(servers.enter_context(tempfile.TemporaryDirectory())) / name
                directory.parent.chmod(0o755)
            return servers.enter_context(started(name, directory, programs, edit))

        yield start


@pytest.fixture
def migrating() -> Iterator[None]:
    """Connections that wait go elsewhere when their socket closes; the setting is put back."""
    if os.geteuid():
        pytest.skip("only root may set net.ipv4.tcp_migrate_req")
    before = steering.MIGRATE.read_text()
    steering.MIGRATE.write_text("1")
    yield
    steering.MIGRATE.write_text(before)


@pytest.fixture
def full_disk() -> Callable[[], AbstractContextManager[None]]:
    """Makes every disk one on which no file grows beyond 100 bytes, for a while."""

    @contextmanager
    def full() -> Iterator[None]:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    return full


@pytest.fixture
def attached(
    production: Callable[..., Production], settings: AgentSettings
) -> Iterator[Callable[..., Attached]]:
    """Attaches a session to a server of that kind, which is asked all the time."""
    with ExitStack() as opened:
        repository, service = opened.enter_context(open_live(settings))

        def attach(
            name: str = "core", mode: str = "advise", edit: Callable[[str], str] = str, **spec: Any
        ) -> Attached:
            server = production(name, edit)
            asked = opened.enter_context(asking(server.port, server.page))
            until(lambda: asked.answered > 20)
            wanted = AttachSpec.model_validate({"server": str(server.process.pid), "mode": mode, **spec})
            return Attached(server, asked, repository, service, service.attach(wanted))

        yield attach


@pytest.fixture
def improving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every episode finds its candidate better, after one period."""
    live_sessions.improving(monkeypatch)
