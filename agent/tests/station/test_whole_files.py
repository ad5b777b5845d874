"""A user's own file is run whole: the same sites answer as in production, beside it."""

import difflib
import hashlib
import os
import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import whole_files
from live_support import specweb99
from trimtab_agent.base_file import read_base
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.processes.unprivileged import command_prefix, hand_over
from trimtab_agent.station.server.ports import ADDRESS, HeldPorts
from trimtab_agent.station.server.running_backend import BackendPlace, RunningBackend
from trimtab_agent.station.server.target_server import ServerOrder, TargetServer
from trimtab_agent.station.warming import warm
from trimtab_agent.stopping import StopSignal
from trimtab_tuner.targets import TARGETS, tls
from trimtab_tuner.targets.backends import BACKENDS
from trimtab_tuner.targets.base import RenderContext, Target
from trimtab_tuner.targets.editing import changed_knobs, own_tls, own_values
from waiting import until

pytestmark = pytest.mark.live

CPUS = tuple(sorted(os.sched_getaffinity(0)))
SERVERS = ("nginx", "apache", "lighttpd", "h2o")
CASES = [(name, case) for name in SERVERS for case in ("default", "tls", "proxy", "php")]
CASES += [("apache", "prefork"), ("apache", "worker")]
TUNED = {
    "nginx": {"worker_connections": 300, "multi_accept": "on", "sendfile": "off", "keepalive_requests": 77},
    "apache": {"ServerLimit": 2, "ThreadsPerChild": 20, "MaxKeepAliveRequests": 77},
    "lighttpd": {"server.max-connections": 300, "server.network-backend": "write"},
    "h2o": {"num-threads": 1, "max-connections": 300},
}


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user may enter, so that a server needs no right to read everything."""
    directory = Path(tempfile.mkdtemp(prefix="whole-"))
    directory.chmod(0o755)
    (directory / "run").mkdir()
    hand_over(directory / "run")
    yield directory
    shutil.rmtree(directory)


def answers(address: str) -> bool:
    """Whether something listens there."""
    with suppress(OSError), whole_files.socket.create_connection(tuple_of(address), 1):
        return True
    return False


def tuple_of(address: str) -> tuple[str, int]:
    """The host and port of an address."""
    host, _, port = address.rpartition(":")
    return host, int(port)


@pytest.fixture
def ports() -> Iterator[dict[str, int]]:
    """Where production listens, by the word that stands for it in the files."""
    with HeldPorts() as held:
        yield {"PORT": held.take(), "TLS": held.take()}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_sites_of_a_private_instance_answer_as_in_production(name, case, open_directory, ports):
    """Status, headers, body and certificate, while production runs; and the workload is served."""
    target = TARGETS[name]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    files = FileSet(open_directory / "files", specweb99(1, time_scale=0.01))
    files.prepare(lambda done, total: None, StopSignal())
    with ExitStack() as running:
        backend = running.enter_context(whole_files.application())
        words = {**ports, "DIR": open_directory, "BACKEND": backend}
        whole_files.written(open_directory, name, case, words)
        if case in whole_files.WITH_PHP:
            running.callback(php_pool(open_directory).stop)
        path = open_directory / target.file_name
        before = hashlib.sha256(path.read_bytes()).digest()
        production = running.enter_context(production_of(target, program, path, ports["PORT"]))
        base = read_base(target, path, with_commands=True)
        own = own_values(target, base.expanded, len(CPUS))
        order = ServerOrder(
            program=program,
            target=target,
            configuration=own,
            root=files.root,
            cpus=CPUS,
            directory=open_directory,
            name="trial-1",
            leftovers=Leftovers(open_directory / "leftovers.json"),
            base=base.expanded,
        )
        server = running.enter_context(TargetServer(order, StopSignal()))
        warm(ADDRESS, server.port, [path for path, _ in files.files], StopSignal())
        for probe in whole_files.PROBES[case]:
            there = f"{ADDRESS}:{ports[probe.port]}"
            assert probe.answer(private_address(server.text, there)) == probe.answer(there), probe
        assert production.poll() is None
        assert unnamed(base.expanded, server.text) == []
    assert hashlib.sha256(path.read_bytes()).digest() == before


@contextmanager
def production_of(target: Target, program: Path, path: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The server as its administrator runs it, with that file; it answers at the port."""
    # A group of its own: Apache with prefork ends all of the one that it is in.
    process = subprocess.Popen(target.start_command(str(path), str(program)), process_group=0)
    try:
        until(lambda: answers(f"{ADDRESS}:{port}"))
        yield process
    finally:
        process.terminate()
        process.wait(10)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_tuned_file_serves_as_the_one_before(name, case, open_directory, ports):
    """Read, changed, accepted by the server, read back: every probe is answered as before."""
    target = TARGETS[name]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    with ExitStack() as running:
        backend = running.enter_context(whole_files.application())
        words = {**ports, "DIR": open_directory, "BACKEND": backend}
        whole_files.written(open_directory, name, case, words)
        if case in whole_files.WITH_PHP:
            running.callback(php_pool(open_directory).stop)
        path = open_directory / target.file_name
        base = read_base(target, path, with_commands=True)
        own = own_values(target, base.expanded, len(CPUS))
        inside = {**own_values(target, base.text, len(CPUS))}
        tuned = {
            knob: value
            for knob, value in TUNED[name].items()
            if knob in own and inside.get(knob) == own[knob]
        }
        context = RenderContext(root="/srv", listen=("127.0.0.1:80",), server_cpus=CPUS)

        def answered() -> list[object]:
            with production_of(target, program, path, ports["PORT"]):
                return [probe.answer(f"{ADDRESS}:{ports[probe.port]}") for probe in whole_files.PROBES[case]]

        before = answered()
        text = target.changed(base.text, {**own, **tuned}, tuple(tuned), context)
        assert text != base.text
        path.write_text(text)
        checked = subprocess.run(target.check_command(str(path), str(program)), capture_output=True)
        assert checked.returncode == 0, checked.stderr.decode()
        again = own_values(target, read_base(target, path, with_commands=True).expanded, len(CPUS))
        assert {knob: again[knob] for knob in tuned} == tuned
        assert answered() == before


@pytest.mark.parametrize("name", SERVERS)
def test_file_is_measured_over_tls_without_the_administrators_keys(name, open_directory, ports):
    """They are not even there: certificates of the run stand in their place. What he gets back has his."""
    target = TARGETS[name]
    program = find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    files = FileSet(open_directory / "files", specweb99(1, time_scale=0.01))
    files.prepare(lambda done, total: None, StopSignal())
    whole_files.written(open_directory, name, "tls", {**ports, "DIR": open_directory, "BACKEND": 1})
    keys = [*open_directory.glob("*.key"), *open_directory.glob("*.pem")]
    assert keys
    for key in keys:
        key.unlink()
    base = read_base(target, open_directory / target.file_name, with_commands=True)
    configuration = {
        **own_values(target, base.expanded, len(CPUS)),
        **own_tls(target, base.expanded),
        tls.KEY.name: "ecdsa",
    }
    order = ServerOrder(
        program=program,
        target=target,
        configuration=configuration,
        root=files.root,
        cpus=CPUS,
        directory=open_directory,
        name="trial-1",
        leftovers=Leftovers(open_directory / "leftovers.json"),
        base=base.expanded,
    )
    with TargetServer(order, StopSignal()) as server:
        warm(ADDRESS, server.port, [path for path, _ in files.files], StopSignal(), secure=server.secure)
        ours = hashlib.sha256(
            ssl.PEM_cert_to_DER_cert((open_directory / "tls" / "ecdsa.pem").read_text())
        ).hexdigest()
        site = private_address(server.text, f"{ADDRESS}:{ports['TLS']}")
        for host in whole_files.NAMES:
            answer = whole_files.Probe("TLS", host, "/page.html").answer(site)
            assert (answer["status"], answer["certificate"]) == (200, ours)
    for file in set(re.findall(r"[ab]\.example\.(?:crt|key|pem)", base.expanded)):
        assert re.search(rf"^# .*{re.escape(file)} from \S+/tls/ecdsa\.", server.text, re.MULTILINE), file
    assert unnamed(base.expanded, server.text) == []
    context = RenderContext(root="/srv", listen=("127.0.0.1:80",), tls_directory="/run/tls")
    knobs = changed_knobs(target, base.text, configuration, len(CPUS))
    handed_back = target.changed(base.text, configuration, knobs, context)
    assert handed_back == base.text


LOGGING = {
    "nginx": "events {} http { access_log @LOG@; server { listen 80; } }\n",
    "h2o": "access-log: @LOG@\nlisten: 80\nhosts:\n  a:\n    paths:\n      /:\n        file.dir: /srv\n",
    "lighttpd": 'server.modules = ( "mod_accesslog" )\naccesslog.filename = "@LOG@"\n',
    "apache": "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"
    "<VirtualHost *:80>\n    CustomLog @LOG@ combined\n</VirtualHost>\n"
    'LogFormat "%h %r" combined\n',
    "core": "[server]\nroot = /srv\nlisten = 127.0.0.1:80\naccess_log = @LOG@\n",
}


@pytest.mark.parametrize("name", LOGGING)
def test_access_log_is_written_by_the_private_instance_and_never_the_administrators(
    name, open_directory, settings
):
    """A line for each request of the workload, in the instance's directory, while the server runs."""
    target = TARGETS[name]
    program = settings.httpd_path if name == "core" else find_installed(target.program)
    if program is None:
        pytest.skip(f"{target.program} is not installed")
    files = FileSet(open_directory / "files", specweb99(1, time_scale=0.01))
    files.prepare(lambda done, total: None, StopSignal())
    log = open_directory / "run" / "administrators.log"
    path = open_directory / target.file_name
    path.write_text(LOGGING[name].replace("@LOG@", str(log)))
    base = read_base(target, path, with_commands=True)
    order = ServerOrder(
        program=program,
        target=target,
        configuration=own_values(target, base.expanded, len(CPUS)),
        root=files.root,
        cpus=CPUS,
        directory=open_directory,
        name="trial-1",
        leftovers=Leftovers(open_directory / "leftovers.json"),
        base=base.expanded,
    )
    asked = [path for path, _ in files.files]
    with TargetServer(order, StopSignal()) as server:
        warm(ADDRESS, server.port, asked, StopSignal())
        (own,) = set(re.findall(r" to (\S+\.log)$", server.text, re.MULTILINE))
        assert Path(own).is_relative_to(open_directory / "trial-1")
        until(lambda: Path(own).read_text().count("\n") >= len(asked))
    assert not log.exists()


def php_pool(directory: Path) -> RunningBackend:
    """Processes for PHP behind a server, under the user whom it runs as."""
    own = directory / "php"
    own.mkdir()
    hand_over(own)
    (directory / "php.log").touch()
    backend = BACKENDS["php"]
    place = BackendPlace(
        directory=own,
        root=directory,
        log=directory / "php.log",
        cpus=CPUS,
        prefix=command_prefix(()),
        within=(),
        port=0,
    )
    return RunningBackend(backend, {knob.name: knob.default for knob in backend.knobs}, place, StopSignal())


def private_address(text: str, production: str) -> str:
    """Where the private instance has the site of that address: the comment says it."""
    found = re.search(rf"^# .*{re.escape(production)}\b.* at (\S+)$", text, re.MULTILINE)
    assert found, (production, text)
    return found[1]


def unnamed(before: str, after: str) -> list[str]:
    """The lines of the user's file that are not in the other one, nor named in the comment on top of it.

    Of a line of YAML the value is named; quotes and signs of equality do not count.
    """

    def plainly(text: str) -> str:
        return " ".join(text.replace('"', "").replace(" = ", " ").rstrip("\\").split())

    named = "\n".join(plainly(line) for line in after.splitlines() if line.startswith("# "))
    gone = (
        line[2:].strip()
        for line in difflib.ndiff(before.splitlines(), after.splitlines())
        if line.startswith("- ")
    )
    plain = (plainly(line).rstrip(";{} ") for line in gone if line and not line.startswith("#"))
    knobs = re.findall(r"[\w.-]+(?= = )", after.partition("\n# Nothing else")[0])
    return [
        line
        for line in plain
        if line not in named
        and line.split()[0] not in knobs
        and not (": " in line and line.rpartition(": ")[2] in named)
    ]
