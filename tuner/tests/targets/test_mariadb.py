"""The target mariadb: option files as MariaDB reads them, and what a private instance keeps of one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.space import SpaceError
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderContext, RenderError
from trimtab_tuner.targets.servers.mariadb.knobs import POOL, accept_queue

MARIADB = TARGETS["mariadb"]
CONTEXT = RenderContext(
    root="/data",
    listen=("127.0.0.1:3307", "10.0.0.1:3307"),
    status_listen="127.0.0.1:3308",
    prefix="/own",
    data_directory="/own/data",
)
DEBIAN = """\
# The MariaDB configuration file
[client-server]
socket = /run/mysqld/mysqld.sock
[server]

[mysqld]
user                    = mysql
pid-file                = /run/mysqld/mysqld.pid
datadir                 = /var/lib/mysql
bind-address            = 127.0.0.1  # only here
key_buffer_size         = 128M
max-connections         = 300
skip-name-resolve
loose-thread-pool-size  = 4
log_bin                 = /var/log/mysql/mysql-bin.log
ssl-cert                = /etc/mysql/server.pem
expire_logs_days        = 10
[mysqldump]
max-connections         = 7
[mariadb-10.11]
innodb_buffer_pool_size = 2G
innodb_adaptive_hash_index = 1
"""


def default(**changed):
    """The default for two CPUs, with some knobs changed."""
    return {**MARIADB.space(cpus=2).default(), **changed}


def test_options_are_read_in_the_groups_of_the_server_alone():
    """Dashes, prefixes, sizes and comments as MariaDB takes them."""
    assert MARIADB.parse(DEBIAN, 2) == {
        "thread_pool_size": 4,
        "max_connections": 300,
        "innodb_buffer_pool_size": 2048,
        "innodb_adaptive_hash_index": "ON",
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("thread_handling = no-threads", "expected one of one-thread-per-connection, pool-of-threads"),
        ("max_connections = many", "max_connections = many: expected a whole number"),
        ("innodb_buffer_pool_size = -1", "innodb_buffer_pool_size = -1: expected a whole number"),
    ],
)
def test_a_value_that_cannot_be_understood_is_named(line, said):
    """The option, and what was expected."""
    with pytest.raises(RenderError, match=said):
        MARIADB.parse(f"[mysqld]\n{line}\n")


def test_the_file_that_is_handed_back_says_nothing_of_places():
    """Data, addresses and logs are those of the files that are there already."""
    text = MARIADB.render(default(), RenderContext(root="/", listen=("127.0.0.1:1",), prefix="/own"))
    assert text.startswith("[mariadbd]\n")
    assert MARIADB.parse(text) == {k: v for k, v in default().items() if v != "auto" and k != "affinity"}
    assert "/own" not in text
    assert "port" not in text


def test_a_private_instance_has_its_own_places_and_a_port_for_questions():
    """And whoever is on the machine can neither read nor write files through it."""
    text = MARIADB.render(default(), CONTEXT)
    for line in (
        "datadir = /own/data",
        "bind_address = 127.0.0.1,10.0.0.1",
        "port = 3307",
        "extra_port = 3308",
        "secure_file_priv = /own",
        "local_infile = OFF",
    ):
        assert f"\n{line}\n" in text


def test_an_own_file_is_measured_without_what_belongs_to_production():
    """Each such option is named; its log of changes is kept, in a place of its own."""
    text = MARIADB.private(DEBIAN, default(max_connections=500), {"max_connections"}, CONTEXT)
    head, _, rest = text.partition("# Nothing else differs.\n")
    for option in ("socket", "user", "pid-file", "datadir", "bind-address", "ssl-cert", "skip-name-resolve"):
        assert f"left out: {option}" in head
    assert "log_bin = /var/log/mysql/mysql-bin.log to /own" in head
    assert "log_bin = /own/changes\n" in rest
    assert "key_buffer_size" in rest
    assert "mysqldump" not in text
    assert "/var/lib" not in rest
    assert MARIADB.parse(rest) == {**MARIADB.parse(DEBIAN), "max_connections": 500}


def test_options_change_where_they_stand_and_all_else_stays():
    """To the byte; what is set nowhere is added in a group of the server's."""
    changed = MARIADB.changed(DEBIAN, default(max_connections=500), {"max_connections"}, CONTEXT)
    assert changed == DEBIAN.replace("= 300", "= 500")
    added = MARIADB.changed("[mysqldump]\nquick", default(), {"max_connections"}, CONTEXT)
    assert added == "[mysqldump]\nquick\n[mariadbd]\nmax_connections = 151\n"


def test_what_mariadb_is_to_settle_itself_has_no_line():
    """One that is there goes, and only that one."""
    text = "[mysqld]\nback_log = 900\nmax_connections = 10\nback-log=80"
    assert MARIADB.changed(text, default(), {"back_log"}, CONTEXT) == "[mysqld]\nmax_connections = 10\n"


def test_included_files_are_those_of_a_directory_or_one():
    """A directory may be empty; what follows an include must say in which group it is."""
    text = "[mysqld]\nport=1\n!include /etc/my.cnf.local\n!includedir /etc/mysql/conf.d/\n"
    found = [(one.pattern, one.optional) for one in MARIADB.includes(text)]
    assert found == [("/etc/my.cnf.local", False), ("/etc/mysql/conf.d/*.cnf", True)]
    with pytest.raises(RenderError, match=r"port=1: expected a \[group\] between"):
        MARIADB.includes("!include x\nport=1\n")


def test_knobs_of_the_pool_are_for_the_pool():
    """Without one they change nothing, so nobody measures them."""
    space = MARIADB.space(cpus=2).model_copy(update={"fixed": {}})
    with pytest.raises(SpaceError, match="thread_pool_size = 8: expected 2 where thread_handling"):
        space.check({"thread_pool_size": 8})
    assert space.check({"thread_pool_size": 8, "thread_handling": POOL})
    assert space.settled(default(thread_pool_size=8))["thread_pool_size"] == 2


def test_accept_queue_that_mariadb_settles_follows_the_connections():
    """50 and a fifth of them, 900 at most."""
    assert accept_queue(default()) == 80
    assert accept_queue(default(max_connections=100_000)) == 900
    assert accept_queue(default(back_log=4096)) == 4096
    assert MARIADB.demands(default(max_connections=1000)).descriptors > 1000 + 2 * 2000


@given(st.text(alphabet="[]=#;!-_ \n\"'abcmx1M", max_size=200))
def test_any_text_is_read_or_refused(text):
    """Never anything but a RenderError; assignments lie where they say."""
    try:
        MARIADB.parse(text)
        MARIADB.includes(text)
        MARIADB.private(text, default(), {"max_connections"}, CONTEXT)
    except RenderError:
        return
