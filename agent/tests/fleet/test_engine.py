"""The engine carries what the fleet needs, and refuses whatever else a member might send."""

import asyncio
import gc
import logging
import os
import pickle
import re
import socket
import ssl
from collections.abc import Callable

import dask
import psutil
import pytest
from distributed import Client
from distributed.core import rpc
from distributed.diagnostics.plugin import WorkerPlugin
from trimtab_agent.errors import FleetError
from trimtab_agent.fleet import controller, work
from trimtab_agent.fleet.controller import Fleet
from trimtab_agent.fleet.credentials import make_authority, make_member, name_in, security_of
from trimtab_agent.fleet.engine import (
    ForeignPickleError,
    _loads,
    mismatch,
    normal_address,
    prepare_engine,
    versions,
)
from trimtab_agent.fleet.member import Member, StationWorker
from trimtab_agent.fleet.scheduler import FleetScheduler, serve

MARK = "a stranger's code has run"


@pytest.fixture(scope="module")
def credentials(tmp_path_factory):
    """Those of one member."""
    folder = tmp_path_factory.mktemp("credentials")
    make_authority(folder)
    make_member(folder, "web1", folder / "web1.pem")
    return folder / "web1.pem"


class Evil:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return os.putenv, ("TRIMTAB_EVIL", MARK)


class EvilPlugin(WorkerPlugin):
    """Would run code in every station."""

    def setup(self, worker):
        """What the engine calls in each of them."""
        os.environ["TRIMTAB_EVIL"] = MARK


def in_fleet(credentials, folder, attack: Callable):
    """Carries an attack out against a scheduler and a station; what came of it."""

    async def carry_out():
        prepare_engine()
        security = security_of(credentials)
        options = {"host": "127.0.0.1", "port": 0, "protocol": "tls://", "security": security}
        async with FleetScheduler(**options, local_directory=str(folder)) as scheduler:
            facts = {"versions": dict(versions()), "role": "server", "machine_id": "m"}
            member = Member(
                scheduler=scheduler.address,
                name="web1",
                role="server",
                security=security,
                folder=folder,
                facts=facts,
                condition=dict,
            )
            async with (
                StationWorker(member) as station,
                Client(scheduler.address, security=security, asynchronous=True) as client,
            ):
                try:
                    return await asyncio.wait_for(attack(client, scheduler, station), 60)
                finally:
                    assert "TRIMTAB_EVIL" not in os.environ

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return asyncio.run(carry_out())


def test_order_is_carried_and_answered(credentials, tmp_path):
    """A function of work.py with a text; nobody works in this process, and it says so."""

    async def order(client, _scheduler, station):
        future = client.submit(
            work.carry_out, "{}", workers=[station.address], resources={"server": 1}, pure=False
        )
        return work.Answer.model_validate_json(await future)

    assert in_fleet(credentials, tmp_path, order).sentence == "no station works in this process"


def listened_at():
    """The ports at which this process listens."""
    sockets = psutil.Process().net_connections("tcp")
    return {each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN}


def test_scheduler_and_station_listen_at_nothing_but_their_own_ports(credentials, tmp_path):
    """Dask's would tell of the fleet over HTTP too, without TLS."""
    before = listened_at()

    async def listen(_client, scheduler, station):
        return listened_at() - before, {scheduler.port, station.port}

    listened, own = in_fleet(credentials, tmp_path, listen)
    assert listened == own


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the library forgets the socket that it cannot bind
def test_scheduler_that_cannot_listen_says_why(credentials, tmp_path):
    """Two on one machine, or an address that is not the machine's."""

    def refusal(host, port):
        try:
            asyncio.run(serve(host, port, security_of(credentials), tmp_path, print, asyncio.Event()))
        except FleetError as error:
            return str(error)
        return ""

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal("127.0.0.1", port)
    assert said == f"the scheduler cannot listen on port {port} of 127.0.0.1: Address already in use"
    assert refusal("192.0.2.1", 8786).endswith("192.0.2.1: Cannot assign requested address")
    gc.collect()


def test_order_that_a_station_does_not_understand_is_answered(credentials, tmp_path, monkeypatch):
    """With what it does not know: nothing is raised through the engine, which would only be asked again."""
    monkeypatch.setattr(work.Here, "worker", object())

    async def order(client, _scheduler, station):
        future = client.submit(
            work.carry_out,
            '{"of": "tomorrow"}',
            workers=[station.address],
            resources={"server": 1},
            pure=False,
        )
        return work.Answer.model_validate_json(await future)

    for answer in (
        in_fleet(credentials, tmp_path, order),
        work.Answer.model_validate_json(work.prepare("{}")),
    ):
        assert answer.what == "failed"
        assert re.fullmatch(r"it does not understand what it is asked for: \w+ is missing", answer.sentence)


def test_station_that_does_not_answer_is_not_taken_for_the_scheduler(credentials, tmp_path, monkeypatch):
    """Who has it drained is told which of the two it is."""

    def tell(scheduler):
        with Fleet(scheduler.address, credentials) as fleet:
            monkeypatch.setattr(controller, "CONNECT_S", 0.1)
            fleet.tell("tls://127.0.0.1:1", "trimtab_drain")

    async def tell_nobody(_client, scheduler, _station):
        await asyncio.to_thread(tell, scheduler)

    with pytest.raises(FleetError, match=r"the station at tls:.* does not answer"):
        in_fleet(credentials, tmp_path, tell_nobody)


def sent(what):
    """A task with something that is not carried."""

    async def attack(client, _scheduler, station):
        return await client.submit(*what, workers=[station.address], pure=False, retries=0)

    return attack


async def run_function(client, _scheduler, station):
    """What Dask calls `client.run`."""
    return await client.run(os.getpid, workers=[station.address])


async def add_plugin(client, _scheduler, _station):
    """Code for every worker that joins."""
    return await client.register_plugin(EvilPlugin())


async def run_on_scheduler(client, _scheduler, _station):
    """Code in the scheduler."""
    return await client.run_on_scheduler(os.getpid)


async def pickle_in_a_call(client, scheduler, _station):
    """A pickle where the scheduler expects a text."""
    async with rpc(scheduler.address, connection_args=client.connection_args) as asked:
        return await asked.gather(keys=[Evil()])


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(sent((lambda: MARK,)), id="a function of its own"),
        pytest.param(sent((os.getpid,)), id="a function of the library"),
        pytest.param(sent((work.carry_out, Evil())), id="an argument that runs code"),
        run_function,
        add_plugin,
        run_on_scheduler,
        pickle_in_a_call,
    ],
)
def test_code_of_a_member_is_run_nowhere(credentials, tmp_path, attack):
    """It is refused with an error, or nobody answers."""
    with pytest.raises((Exception, asyncio.CancelledError)):
        pytest.fail(f"it was answered: {in_fleet(credentials, tmp_path, attack)}")


def test_file_of_a_member_is_taken_by_no_station(credentials, tmp_path):
    """Dask's workers take files, and import them."""

    async def upload(client, _scheduler, station):
        async with rpc(station.address, connection_args=client.connection_args) as asked:
            await asked.upload_file(filename="evil.py", data=b"import os", load=True)
        return list(tmp_path.rglob("evil.py"))

    assert in_fleet(credentials, tmp_path, upload) == []


def test_pickle_of_a_stranger_is_named():
    """So that a new version of the engine that carries something else can be told from an attack."""
    with pytest.raises(ForeignPickleError, match="putenv is not carried by the fleet"):
        _loads(pickle.dumps(Evil()))


def test_versions_that_differ_are_both_named():
    """And what to do."""
    assert mismatch(versions(), "web1") == ""
    assert "(Trimtab 0.0.1)" in mismatch({**versions(), "trimtab": "0.0.1"}, "web1")
    said = mismatch({**versions(), "protocol": 0}, "web1")
    assert said.startswith("web1 speaks protocol 0 with Dask")
    assert said.endswith("expected the same version of Trimtab on all hosts")
    assert "protocol unknown" in mismatch(None, "web1")


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("host1", "tls://host1:8786"),
        ("tls://10.0.0.1:99", "tls://10.0.0.1:99"),
        ("tls://[fd00::1]", "tls://[fd00::1]:8786"),
    ],
)
def test_address_of_a_scheduler_may_be_short(given, address):
    """The scheme and the port are always the same."""
    assert normal_address(given) == address


@pytest.mark.parametrize("wrong", ["", "tcp://host1", "tls://host1/x", "host1:port", "host1:65536", "a b"])
def test_what_is_no_address_is_refused(wrong):
    """With what was expected."""
    with pytest.raises(FleetError, match=r"expected the scheduler as tls://HOST"):
        normal_address(wrong)


def test_credentials_hold_a_name_and_are_for_their_owner_alone(credentials, tmp_path):
    """A file that others may read, or that is something else, is refused by its name."""
    assert name_in(credentials) == "web1"
    assert credentials.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FleetError, match=r"expected a name of letters"):
        make_member(credentials.parent, "../web1", tmp_path / "x.pem")
    with pytest.raises(FleetError, match=r"expected the host on which `trimtab fleet serve` runs"):
        make_member(tmp_path, "web1", tmp_path / "x.pem")
    with pytest.raises(FleetError, match=r"none\.pem cannot be read"):
        security_of(tmp_path / "none.pem")
    half = tmp_path / "half.pem"
    half.write_text("nothing")
    with pytest.raises(FleetError, match=r"half\.pem: expected a key and two certificates"):
        security_of(half)
    half.write_text(credentials.read_text())
    half.chmod(0o644)
    with pytest.raises(FleetError, match="expected mode 0600"):
        security_of(half)


def test_members_speak_nothing_older_than_tls_1_3(credentials):
    """Also where the engine has not been set up yet when they are made."""
    with dask.config.set({"distributed.comm.tls.min-version": 1.2}):
        security = security_of(credentials)
    for role in ("client", "worker"):
        assert security.get_connection_args(role)["ssl_context"].minimum_version is ssl.TLSVersion.TLSv1_3
    for role in ("scheduler", "worker"):
        assert security.get_listen_args(role)["ssl_context"].minimum_version is ssl.TLSVersion.TLSv1_3
