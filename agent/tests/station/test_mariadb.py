"""MariaDB as a target, with the real server: its data, what it refuses, a crash, who may do what in it."""

import shutil
import signal
import socket
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
from live_support import nothing_here
from trimtab_agent.errors import FileSetError, SpecError
from trimtab_agent.station.data_directory import DataDirectory
from trimtab_agent.station.processes.programs import find_installed
from trimtab_agent.station.requirements import completed
from trimtab_agent.station.server.ports import ADDRESS
from trimtab_agent.station.server.refusals import ConfigurationRejected
from trimtab_agent.station.server.target_server import TargetServer
from trimtab_agent.stopping import Stopped, StopSignal
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.judging.verification import Thresholds
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext
from trimtab_tuner.targets.editing import own_values
from trimtab_tuner.workloads import WORKLOADS, shop
from trimtab_tuner.workloads.parameters import parameters

MARIADB = TARGETS["mariadb"]
PERMISSIVE = Thresholds(all_files_limit=1, size_limit=1, size_over_mean_limit=1, failures_limit=1)
ORDERS = 30_000


@pytest.fixture(autouse=True)
def program():
    """Where the server is."""
    found = find_installed(MARIADB.program)
    if found is None:
        pytest.skip("mariadbd is not installed")
    return found


def connected(server, user=shop.USER, **options):
    """A client of the server."""
    return pymysql.connect(host=ADDRESS, port=server.port, user=user, read_timeout=10, **options)


def asked(server, *statements, **options):
    """What the last of the statements answers."""
    with connected(server, database=shop.DATABASE, **options) as client, client.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        rows = cursor.fetchall()
        client.commit()
        return rows


@pytest.mark.live
def test_every_start_finds_the_data_as_they_were_made(server_order, shop_files):
    """What a customer changes is gone with the server; nobody runs on the data themselves."""
    data = shop_files[1].path
    before = sorted((path, path.stat().st_mtime_ns) for path in data.rglob("*"))
    for _ in range(2):
        with TargetServer(server_order("mariadb"), StopSignal()) as server:
            assert asked(server, "SELECT COUNT(*) FROM orders") == ((ORDERS,),)
            changed = asked(server, "DELETE FROM orders WHERE id % 2 = 0", "SELECT COUNT(*) FROM orders")
            assert changed == ((ORDERS / 2,),)
    assert sorted((path, path.stat().st_mtime_ns) for path in data.rglob("*")) == before


@pytest.mark.live
def test_data_are_made_once(shop_files, program, tmp_path):
    """Whoever finds them takes them; other statements, or another version of the server, make others."""
    files, data = shop_files
    again = DataDirectory(files.directory, shop.data(10_000), Path("/bin/false"), "no version")
    assert again.path != data.path
    again.path.mkdir()
    again.prepare(StopSignal())  # /bin/false would have failed
    assert not any(again.path.iterdir())
    again.path.rmdir()
    with pytest.raises(FileSetError, match="is gone"):
        again.require()


@pytest.mark.live
def test_data_that_cannot_be_made_leave_the_server_s_words_and_nothing_else(program, tmp_path):
    """A statement that it does not understand."""
    data = DataDirectory(tmp_path / "files", "CREATE TABLE;\n", program, "1")
    with pytest.raises(FileSetError, match=r"cannot be made: mariadbd|cannot be made: sh"):
        data.prepare(StopSignal())
    (log,) = (tmp_path / "files").iterdir()
    assert "syntax" in log.read_text()


@pytest.mark.live
def test_stop_is_heard_while_data_are_made(program, tmp_path):
    """And nothing half made is taken for whole."""
    stop = StopSignal()
    stop.request()
    data = DataDirectory(tmp_path / "files", shop.data(10_000), program, "1")
    with pytest.raises(Stopped):
        data.prepare(stop)
    assert not data.path.exists()
    assert not [path for path in (tmp_path / "files").iterdir() if path.is_dir()]


@pytest.mark.live
def test_a_crash_is_noticed_and_the_next_start_begins_anew(server_order):
    """Killed while customers are connected."""
    with TargetServer(server_order("mariadb"), StopSignal()) as server:
        with connected(server):
            (pid,) = server.pids
            server.child.stop(grace_s=0)
        assert server.child.exit_code == -signal.SIGKILL
        assert server.read_stats() is None
        assert pid not in server.pids
    with TargetServer(server_order("mariadb"), StopSignal()) as server:
        assert asked(server, "SELECT COUNT(*) FROM orders") == ((ORDERS,),)


@pytest.mark.live
def test_an_option_that_the_server_does_not_know_is_refused_in_its_own_words(server_order):
    """By its own check, before it starts."""
    own = replace(server_order("mariadb"), base="[mariadbd]\nmore_speed = 11\n")
    with pytest.raises(ConfigurationRejected, match="unknown variable 'more_speed=11'"):
        TargetServer(own, StopSignal())


@pytest.mark.live
def test_a_value_that_is_not_in_force_is_refused(server_order):
    """The server accepts more connections than it has descriptors for, and lets fewer in."""
    order = replace(
        server_order("mariadb", max_connections=5000), within=("prlimit", "--nofile=4000:4000", "--")
    )
    with pytest.raises(ConfigurationRejected) as refusal:
        TargetServer(order, StopSignal())
    assert "mariadbd runs with max_connections = " in str(refusal.value)
    assert "in place of 5000" in str(refusal.value)
    assert "Changed limits" in str(refusal.value)


@pytest.mark.parametrize("handling", ["one-thread-per-connection", "pool-of-threads"])
@pytest.mark.live
def test_a_full_server_still_tells_what_it_has_counted(handling, server_order):
    """Every connection taken: the next customer is refused, the questions are answered."""
    with TargetServer(
        server_order("mariadb", max_connections=10, thread_handling=handling), StopSignal()
    ) as server:
        with ExitStack() as customers:
            for _ in range(10):
                customers.enter_context(connected(server))
            with pytest.raises(pymysql.OperationalError, match="1040"):
                connected(server)
            stats = server.stats()
        assert stats["connections_open"] >= 10
        assert stats["connects_failed"] >= 1
        assert stats["page_reads"] > 0


@pytest.mark.live
def test_customers_may_use_the_shop_and_nothing_else(server_order):
    """No files of this machine, no other database, and no account of an administrator over the network."""
    with TargetServer(server_order("mariadb"), StopSignal()) as server:
        assert asked(server, "SELECT LOAD_FILE('/etc/hostname')") == ((None,),)
        with pytest.raises(pymysql.MySQLError, match="denied"):
            asked(server, "SELECT * FROM mysql.global_priv")
        with pytest.raises(pymysql.MySQLError, match="denied"):
            asked(server, "SELECT 1 INTO OUTFILE '/tmp/written'")
        for user in ("root", "mysql", ""):
            with pytest.raises(pymysql.MySQLError, match="denied"):
                connected(server, user)


@pytest.mark.live
def test_an_own_file_runs_as_a_private_instance(server_order):
    """Its settings are in force; its places, and its log of changes, are the instance's own."""
    text = (
        "[mysqld]\nuser = mysql\ndatadir = /var/lib/mysql\nport = 3306\nmax_connections = 77\n"
        "key_buffer_size = 24M\nlog_bin = /var/log/mysql/mysql-bin.log\n"
    )
    order = server_order("mariadb")
    own = replace(order, base=text, configuration=own_values(MARIADB, text, 1))
    with TargetServer(own, StopSignal()) as server:
        names = "@@max_connections, @@key_buffer_size, @@log_bin, @@datadir, @@port"
        ((connections, buffer, log_bin, datadir, port),) = asked(server, f"SELECT {names}")
        assert (connections, buffer, log_bin, port) == (77, 24 << 20, 1, server.port)
        assert str(order.directory) in datadir
        assert [*(order.directory / order.name).glob("changes.*")]


@pytest.mark.live
def test_the_fragment_that_is_handed_back_is_read_beside_other_files(tmp_path, program):
    """As the server itself says what it makes of both."""
    there, fragment = tmp_path / "my.cnf", tmp_path / "fragment.cnf"
    there.write_text(f"[mysqld]\nmax_connections = 33\nport = 3311\n!includedir {tmp_path}/more\n")
    (tmp_path / "more").mkdir()
    configuration = {**MARIADB.space().default(), "max_connections": 444, "innodb_buffer_pool_size": 256}
    context = RenderContext(root="/", listen=("127.0.0.1:1",), prefix="/")
    fragment.write_text(MARIADB.render(configuration, context))
    shutil.copy(fragment, tmp_path / "more/90-trimtab.cnf")
    said = subprocess.run(
        MARIADB.check_command(str(there), str(program)), capture_output=True, text=True, check=True
    ).stdout
    values = dict(line.split(None, 1) for line in said.splitlines() if len(line.split(None, 1)) == 2)
    assert values["max-connections"] == "444"
    assert values["port"] == "3311"
    assert values["innodb-buffer-pool-size"] == str(256 << 20)


def job(**changes):
    """A job of two seconds."""
    fields = {
        "target": "mariadb",
        "configuration": MARIADB.space().default(),
        "workload": parameters(WORKLOADS["shop"], 0.01),
        "ladder": (100.0, 200.0),
        "rate_duration_s": 1.0,
        "warmup_s": 0.2,
        "timeout_s": 2.0,
        "thresholds": PERMISSIVE,
    }
    return TrialJob(**{**fields, **changes})


@pytest.mark.live
def test_station_carries_a_job_out(station, settings):
    """Data, copy, warming, two rates: goodput, the counts of each kind of interaction, the server's own."""
    report = station.carry_out(job())
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert "thread_handling = one-thread-per-connection" in report.server_config
    for measurement in report.measurements:
        assert measurement.requests.replied > 0
        assert measurement.requests.failed == 0
        assert measurement.goodput_mbps > 0
        assert len(measurement.size_classes) > 5
        assert measurement.server_stats["statements"] > measurement.requests.replied
        assert measurement.memory_bytes > 64 << 20
    (data,) = settings.var.resolve().glob("filesets/shop-*/data-*")
    assert data.is_dir()
    rejected = station.carry_out(job(configuration={**MARIADB.space().default(), "max_connections": 100_000}))
    assert rejected.verdict is Verdict.REJECTED, rejected.reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target": "nginx", "workload": "shop"}, "it is for mariadb, and the target nginx speaks another"),
        ({"target": "mariadb", "workload": "w1"}, "expected a workload such as shop"),
        ({"target": "mariadb", "memory": "heavy-io"}, "memory = 'heavy-io': a database keeps its tables"),
    ],
)
def test_a_workload_that_does_not_suit_the_server_is_refused(changes, said):
    """Before anything is started; the sentence says what would."""
    with pytest.raises(SpecError, match=said):
        check(RunSpec(**changes))


def test_a_run_that_asks_for_no_workload_gets_that_of_its_target():
    """The shop for a database, the file set for a web server."""
    assert check(RunSpec(target="mariadb")).workload.name == "shop"
    assert check(RunSpec(target="nginx")).workload.name == "specweb99"


def test_a_job_of_somebody_else_is_completed_or_refused():
    """As for every target."""
    assert completed(job(configuration={}), 2, nothing_here).configuration["thread_pool_size"] == 2
    with pytest.raises(SpecError, match="expected a workload such as shop"):
        completed(job(workload=parameters(WORKLOADS["w1"], 0.1)), 2, nothing_here)


@pytest.mark.live
def test_port_of_a_stopped_server_is_free(server_order):
    """It listened on loopback alone."""
    with TargetServer(server_order("mariadb"), StopSignal()) as server:
        port = server.port
    with socket.socket() as probe:
        assert probe.connect_ex((ADDRESS, port)) != 0
