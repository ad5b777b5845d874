"""Everything that daemon and command line need to run experiments, put together and taken down in order."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr
from trimtab_db import Repository, open_database, sqlite_url
from trimtab_trials.host import Host

from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.watched import WatchedCounters
from trimtab_agent.errors import HostError, RunConflict
from trimtab_agent.fleet.run_stations import RunStations
from trimtab_agent.fleet.trial_stations import MakeLoad, OwnStation, TrialStation
from trimtab_agent.helper.client import HelperAccess
from trimtab_agent.host.cpu_layout import CpuLayout, process_layout
from trimtab_agent.host.identity import describe_host
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.host.own_cpus import pinned_to
from trimtab_agent.kernel.reading import Kernel, read_kernel
from trimtab_agent.live.service import LiveService
from trimtab_agent.os_settings.access import DirectAccess, SettingAccess
from trimtab_agent.os_settings.journal import SettingsJournal
from trimtab_agent.paths import VarPaths
from trimtab_agent.recording.recorder import Recorder
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.settings import AgentSettings
from trimtab_agent.simulated.demo import NO_CHANGES, as_demo
from trimtab_agent.simulated.station import SimulatedStation
from trimtab_agent.station.clearing import clear_leftovers
from trimtab_agent.station.station import Station
from trimtab_agent.study.runs import RunService, interrupt_dead_runs

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """The parts; `host_id` is this machine's record."""

    settings: AgentSettings
    repository: Repository
    broadcaster: Broadcaster
    sampler: Sampler
    recorder: Recorder
    service: RunService
    live: LiveService
    affinity: AffinityService
    host_id: int
    layout: CpuLayout


def this_host(settings: AgentSettings, *, keep_id: bool = True) -> Host:
    """This machine as it is recorded, or only looked at (`describe_host`). Raises HostError."""
    host = describe_host(settings.var, keep_id=keep_id and not settings.demo)
    return as_demo(host) if settings.demo else host


@contextmanager
def open_repository(settings: AgentSettings) -> Iterator[Repository]:
    """The database, made or brought up to date if need be, and with no run in it that only seems to go on.

    Raises HostError, DatabaseError.
    """
    given = settings.database_url
    if given is None:
        _make(settings.var)
    if given and settings.demo:
        raise HostError(f"{settings.var} is a demo, which keeps its own database: unset TRIMTAB_DATABASE_URL")
    own = VarPaths(settings.var.resolve()).database
    repository = open_database(given.get_secret_value() if given else sqlite_url(own))
    try:
        if repository.is_any_running():
            interrupt_if_dead(repository, settings)
        yield repository
    finally:
        repository.close()


@contextmanager
def only_looking(settings: AgentSettings) -> Iterator[AgentSettings]:
    """The settings of whoever only looks, and makes nothing: where there is no database an empty one stands
    in for it, for a while.
    """
    if settings.has_database or settings.demo:
        yield settings
        return
    with TemporaryDirectory(prefix="trimtab-") as directory:
        empty = SecretStr(sqlite_url(Path(directory) / "trimtab.db"))
        yield settings.model_copy(update={"database_url": empty})


@contextmanager
def open_to_read(settings: AgentSettings) -> Iterator[Repository]:
    """The database of whoever only looks. Raises HostError, DatabaseError."""
    with only_looking(settings) as looking, open_repository(looking) as repository:
        yield repository


def _make(var: Path) -> None:
    try:
        var.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(f"the directory {var} cannot be made: {error.strerror}") from error


def machine_lock(settings: AgentSettings) -> MachineLock:
    """The machine's lock, held from now on; raises RunConflict."""
    return MachineLock(settings.machine_lock, settings.var.resolve())


def interrupt_if_dead(repository: Repository, settings: AgentSettings) -> None:
    """Marks runs whose process has died as `interrupted`: they are `running`, but nobody holds the lock."""
    host_id = repository.register_host(this_host(settings))
    for over_hosts in (False, True):
        if not repository.is_running_here(host_id, over_hosts=over_hosts):
            continue  # it is another host's
        try:
            with MachineLock(settings.lock_of(over_hosts=over_hosts), settings.var.resolve()):
                interrupt_dead_runs(
                    repository, host_id, VarPaths(settings.var).unwritten, over_hosts=over_hosts
                )
        except (RunConflict, HostError):
            continue  # one does go on, in another process; or who only reads may not know


def setting_access(settings: AgentSettings) -> SettingAccess:
    """How settings are read and written: through the privileged helper where one is named."""
    return DirectAccess() if settings.helper is None else HelperAccess(settings.helper)


def kernel_of(settings: AgentSettings, loaded_at: str | None = None) -> Kernel:
    """The knobs of this machine's kernel, which others load at that address, if its load is not its own."""
    return read_kernel(setting_access(settings), loaded_at=loaded_at)


def alone_on(settings: AgentSettings) -> MachineLock:
    """The machine's lock, for whoever changes its settings or its servers; raises RunConflict, HostError."""
    if settings.demo:
        raise HostError(NO_CHANGES)
    return machine_lock(settings)


def affinity_service(settings: AgentSettings, repository: Repository, host_id: int) -> AffinityService:
    """Affinity plans on this machine."""
    journal = SettingsJournal(repository.os_changes(host_id), setting_access(settings))
    server_cpus = process_layout().server
    return AffinityService(journal, server_cpus, lambda: alone_on(settings), settings.sysfs)


@contextmanager
def open_runtime(settings: AgentSettings, *, samples: bool = True, keep_id: bool = True) -> Iterator[Runtime]:
    """Pins this process to the generator's CPUs and, unless it takes no `samples`, starts to sample; at the
    end stops what is running, and gives the process its CPUs back. Who only looks keeps no id of the machine.

    Raises HostError, DatabaseError.
    """
    layout = process_layout()
    if samples:
        _make(settings.var)
    with ExitStack() as opened:
        repository = opened.enter_context(open_repository(settings))
        host_id = repository.register_host(this_host(settings, keep_id=keep_id))
        repository.prune_counter_samples(host_id)
        affinity = affinity_service(settings, repository, host_id)
        _put_in_order(settings, affinity)
        # Milliseconds: fewer than a thousand events a second happen, so the clock stays ahead of the numbers.
        broadcaster = Broadcaster(first_id=int(time.time() * 1000))
        recorder = Recorder(repository, host_id, broadcaster, largest_bytes=settings.counters_mib * 2**20)
        opened.callback(recorder.close)
        counters = WatchedCounters()
        sampler = Sampler(counters, recorder, broadcaster, lock=VarPaths(settings.var).sampler_lock)
        service = RunService(
            settings=settings,
            repository=repository,
            broadcaster=broadcaster,
            sampler=sampler,
            recorder=recorder,
            stations=RunStations(
                settings, repository, layout, station_maker(settings, repository, host_id, layout, counters)
            ),
            host_id=host_id,
            kernel=lambda loaded_at: kernel_of(settings, loaded_at),
        )
        opened.enter_context(pinned_to(layout.generator))
        if samples:
            opened.callback(sampler.stop)
            sampler.start()
        opened.callback(service.close)
        live = live_service(settings, repository, host_id)
        opened.callback(live.close)
        yield Runtime(
            settings=settings,
            repository=repository,
            broadcaster=broadcaster,
            sampler=sampler,
            recorder=recorder,
            service=service,
            live=live,
            affinity=affinity,
            host_id=host_id,
            layout=layout,
        )


@contextmanager
def open_live(settings: AgentSettings) -> Iterator[tuple[Repository, LiveService]]:
    """The database and live tuning, for a command of its own; its sessions end with it.

    Raises HostError, DatabaseError.
    """
    _make(settings.var)
    with open_repository(settings) as repository:
        service = live_service(settings, repository, repository.register_host(this_host(settings)))
        try:
            yield repository, service
        finally:
            service.close()


def live_service(settings: AgentSettings, repository: Repository, host_id: int) -> LiveService:
    """Live tuning on this machine; what killed episodes have left is put back."""
    paths = VarPaths(settings.var.resolve())
    return LiveService(repository, host_id, paths.live_notes, paths.workloads, lambda: alone_on(settings))


@contextmanager
def open_station(settings: AgentSettings) -> Iterator[Station]:
    """The station of this machine for jobs that belong to no run, with the machine's lock.

    This process runs on the generator's CPUs meanwhile. Raises RunConflict, HostError, DatabaseError.
    """
    _make(settings.var)
    layout, host = process_layout(), this_host(settings)
    paths = VarPaths(settings.var.resolve())
    with ExitStack() as opened:
        repository = opened.enter_context(open_repository(settings))
        host_id = repository.register_host(host)
        _put_in_order(settings, affinity_service(settings, repository, host_id))
        opened.enter_context(machine_lock(settings))
        opened.enter_context(pinned_to(layout.generator))
        yield opened.enter_context(
            Station(
                settings,
                host=host,
                layout=layout,
                counters=WatchedCounters(),
                journal=SettingsJournal(repository.os_changes(host_id), setting_access(settings)),
                logs=paths.station_log,
            )
        )


def station_maker(
    settings: AgentSettings,
    repository: Repository,
    host_id: int,
    layout: CpuLayout,
    counters: WatchedCounters,
) -> Callable[[int, MakeLoad | None], TrialStation]:
    """Makes the station of this machine for a run, once what a kill has left behind is taken away.

    Settings that the run's trials change are journalled as its own.
    """
    paths = VarPaths(settings.var.resolve())

    def make(run_id: int, make_load: MakeLoad | None) -> TrialStation:
        clear_leftovers(paths.leftovers)
        station = Station(
            settings,
            host=repository.host(host_id),
            layout=layout,
            counters=counters,
            journal=SettingsJournal(repository.os_changes(host_id, run_id), setting_access(settings)),
            logs=paths.log(run_id),
        )
        return OwnStation(station, make_load)

    def simulate(_run_id: int, _make_load: MakeLoad | None) -> TrialStation:
        return SimulatedStation(repository.host(host_id), layout, paths.scenario, paths.workloads)

    return simulate if settings.demo else make


def _put_in_order(settings: AgentSettings, affinity: AffinityService) -> None:
    """Puts back and takes away what a kill has left behind; does nothing while a run goes on."""
    for line in affinity.restore_left_behind():
        log.warning("%s: %s was left behind by a run and is %s now", line.path, line.value, line.state)
    leftovers = VarPaths(settings.var).leftovers
    if not leftovers.exists():
        return
    try:
        with machine_lock(settings):
            clear_leftovers(leftovers)
    except RunConflict:
        return
