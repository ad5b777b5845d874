"""Fixtures for the tests with real servers: the programs, a runtime of the test's own, the command line."""

import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import traces
from empty_databases import empty_sqlite
from live_support import WAIT_S, Listener, Tune, specweb99
from loaded_program import LoadedProgram
from simulation import Simulation
from trimtab_agent.errors import HostError
from trimtab_agent.os_settings.access import DirectAccess
from trimtab_agent.paths import VarPaths
from trimtab_agent.runtime import Runtime, open_runtime
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.data_directory import DataDirectory, data_directory
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.link import require_links
from trimtab_agent.station.processes.programs import find_installed, server_program
from trimtab_agent.station.server import target_server
from trimtab_agent.station.server.stats_socket import StatsSocket
from trimtab_agent.station.server.target_server import ServerOrder
from trimtab_agent.stopping import StopSignal
from trimtab_agent.terminal.main import main
from trimtab_agent.workloads.choice import make_workload
from trimtab_trials.configuration import Value
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

os.environ.pop("COLUMNS", None)  # tests side by side have one, which would wrap what the command line prints

SETTLED_AFTER_S = 300.0
ONE_CPU = (min(os.sched_getaffinity(0)),)


@pytest.fixture(scope="session")
def may_be_ours(request: pytest.FixtureRequest) -> Iterator[Callable[[str], bool]]:
    """Whether a setting of the machine may be what these tests have left, by its path.

    Not where none of them changes such settings: then it is another worker's, or another suite's.
    Interrupts are moved by balancers as well, so of those only what this process has written itself counts.
    """
    marks = ("kernel", "live")
    changing = any(item.get_closest_marker(mark) for item in request.session.items for mark in marks)
    written: set[str] = set()
    write = DirectAccess.write

    def write_and_note(access: DirectAccess, path: str, value: str) -> None:
        write(access, path, value)
        written.add(str(access._file(path)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DirectAccess, "write", write_and_note)
        yield lambda path: path in written or (changing and not path.startswith("/proc/irq/"))


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind(
    tmp_path_factory: pytest.TempPathFactory, may_be_ours: Callable[[str], bool]
) -> Iterator[None]:
    """Fails the suite if it leaves a process, temporary file, control group, namespace or mask behind."""
    directory = tmp_path_factory.getbasetemp()  # stays where pytest wants it; only what the code makes moves
    mark, previous = uuid.uuid4().hex, os.environ.get("TMPDIR")
    # Not the machine's own: whoever tunes here meanwhile is not in the way of tests, nor they in theirs.
    os.environ["TRIMTAB_LOCK"] = str(directory / "machine.lock")
    temporary = Path(tempfile.mkdtemp(prefix="tt-"))  # a short name: sockets are made in there
    temporary.chmod(0o1777)
    os.environ.update({traces.MARK: mark, "TMPDIR": str(temporary)})
    tempfile.tempdir = None
    before = traces.look(mark, temporary)
    yield
    deadline = time.monotonic() + SETTLED_AFTER_S
    # What is just ending, and what another suite on this machine holds for a moment, is waited for.
    while said := traces.left_behind(before, traces.look(mark, temporary), may_be_ours):
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    del os.environ[traces.MARK], os.environ["TMPDIR"], os.environ["TRIMTAB_LOCK"]
    if previous is not None:
        os.environ["TMPDIR"] = previous
    tempfile.tempdir = None
    shutil.rmtree(temporary)
    assert not said, "left behind by the suite:\n" + "\n".join(said)


@pytest.fixture(scope="session")
def programs() -> AgentSettings:
    """The settings of a checkout; fails if the C programs have not been built."""
    settings = AgentSettings()
    for program in (settings.httpd_path, settings.load_path):
        if not program.is_file():
            pytest.fail(f"{program} is not built; run `make build` first")
    return settings


@pytest.fixture(scope="module")
def file_set(tmp_path_factory: pytest.TempPathFactory) -> FileSet:
    """A small file set, written once."""
    files = FileSet(tmp_path_factory.mktemp("files"), specweb99(1, time_scale=0.01))
    files.prepare(lambda done, total: None, StopSignal())
    return files


@pytest.fixture(scope="session")
def shop_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[FileSet, DataDirectory]:
    """A shop: the session log of its customers, and its data, made once."""
    definition = WORKLOADS["shop"]
    if find_installed("mariadbd") is None:
        pytest.skip("mariadbd is not installed")
    workload = make_workload(parameters(definition, time_scale=0.01))
    files = FileSet(tmp_path_factory.mktemp("shop"), workload)
    files.prepare(lambda done, total: None, StopSignal())
    data = data_directory(files, workload, definition)
    assert data is not None
    data.prepare(StopSignal())
    return files, data


@pytest.fixture
def settings(programs: AgentSettings) -> Iterator[AgentSettings]:
    """Settings with a `var` of the test's own.

    Under a short path, as nobody's is as long as pytest's: exported files name sockets in it.
    """
    directory = Path(tempfile.mkdtemp(prefix="var-"))
    yield AgentSettings(var=directory / "var", httpd_path=programs.httpd_path, load_path=programs.load_path)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def simulated(settings: AgentSettings) -> Simulation:
    """Makes the test's `var` a demo: its runs measure nothing, and the test decides what happens to them."""
    made = Simulation(settings.var)
    empty_sqlite(VarPaths(settings.var).database)
    return made


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is wrong with a server that takes long to come up or to answer on a busy machine."""
    monkeypatch.setattr(target_server, "START_LIMIT_S", WAIT_S)
    limits = StatsSocket.__init__.__kwdefaults__
    assert limits is not None
    monkeypatch.setitem(limits, "timeout_s", WAIT_S)


@pytest.fixture
def server_order(
    settings: AgentSettings,
    tmp_path: Path,
    file_set: FileSet,
    request: pytest.FixtureRequest,
    patient: None,
) -> Callable[..., ServerOrder]:
    """Makes orders for a server of any target, with some knobs changed from the default."""

    def make(
        name: str, program: Path | None = None, *, cpus: tuple[int, ...] = ONE_CPU, **changed: Value
    ) -> ServerOrder:
        target = TARGETS[name]
        if program is None and name != "core" and find_installed(target.program) is None:
            pytest.skip(f"{target.program} is not installed")
        database = target.protocol == "mariadb"
        return ServerOrder(
            program=program or server_program(target, settings.httpd_path),
            target=target,
            configuration={**target.space(cpus=len(cpus)).default(), **changed},
            root=request.getfixturevalue("shop_files")[1].path if database else file_set.root,
            cpus=cpus,
            directory=tmp_path,
            name="trial-1",
            leftovers=Leftovers(tmp_path / "leftovers.json"),
        )

    return make


@pytest.fixture
def links() -> None:
    """Skips where no namespace can be made."""
    try:
        require_links()
    except HostError as error:
        pytest.skip(error.sentence)


@pytest.fixture
def runtime(settings: AgentSettings) -> Iterator[Runtime]:
    """Everything that runs experiments; whatever goes on at the end of the test is stopped."""
    empty_sqlite(VarPaths(settings.var).database)
    with open_runtime(settings) as parts:
        yield parts


@pytest.fixture
def listener(runtime: Runtime) -> Listener:
    """Listens from before the run starts."""
    return Listener(runtime.broadcaster)


@pytest.fixture(scope="session")
def loaded_program() -> Iterator[LoadedProgram]:
    """What commands of the command line are forked from."""
    program = LoadedProgram()
    yield program
    program.close()


@pytest.fixture
def trimtab(settings: AgentSettings, request: pytest.FixtureRequest) -> Iterator[Callable[..., Tune]]:
    """Starts commands of the command line; those that still run at the end of the test are killed.

    In a test that is `live` they begin from nothing, as a user's do.
    """
    live = request.node.get_closest_marker("live")
    loaded = None if live else request.getfixturevalue("loaded_program")
    started: list[Tune] = []

    def start(*arguments: str) -> Tune:
        empty_sqlite(VarPaths(settings.var).database)
        started.append(Tune(settings, *arguments, loaded=loaded))
        return started[-1]

    yield start
    for command in started:
        command.process.kill()
        command.process.wait()
        if command.process.stdout is not None:
            command.process.stdout.close()


@pytest.fixture
def command(
    settings: AgentSettings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Carries out a command of the command line in this process: exit code, output, errors."""
    for name in ("var", "httpd_path", "load_path"):
        monkeypatch.setenv(f"TRIMTAB_{name.upper()}", str(getattr(settings, name)))

    def carry_out(*arguments: str) -> tuple[int, str, str]:
        empty_sqlite(VarPaths(settings.var).database)
        monkeypatch.setattr(sys, "argv", ["trimtab", *arguments])
        allowed = os.sched_getaffinity(0)
        with pytest.raises(SystemExit) as end:
            main()
        os.sched_setaffinity(0, allowed)
        output, errors = capfd.readouterr()
        return int(end.value.code or 0), output, errors

    return carry_out
