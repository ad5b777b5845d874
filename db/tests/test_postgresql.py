"""What is particular to PostgreSQL: servers that are not there, users who may not, connections that break."""

import pytest
from postgresql_server import ITS_KEY, LOCKED_USER, PostgresqlServer
from sqlalchemy import text
from trimtab_db import open_database
from trimtab_db.errors import DatabaseError, DatabaseReadOnlyError, DatabaseUnavailableError


@pytest.fixture
def own_server():
    """A server of the test's own, which it may stop."""
    server = PostgresqlServer()
    yield server
    server.remove()


def refusal(url: str) -> str:
    """The one sentence with which a database is not opened."""
    with pytest.raises(DatabaseUnavailableError) as refused:
        open_database(url)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:secret@127.0.0.1:1/trimtab",
        "postgresql://user:secret@nowhere.invalid/trimtab",
        "postgresql://user:secret@/trimtab?host=/nowhere",
        "postgresql://user@/trimtab?host=/nowhere&password=secret",
    ],
)
def test_server_that_is_not_there_is_told_without_the_password(url):
    """The sentence names the place, and what was expected there."""
    sentence = refusal(url)
    assert sentence.startswith("The database postgresql://user")
    assert "cannot be reached: expected a running PostgreSQL server with this database and user" in sentence
    assert "secret" not in sentence


def test_database_or_user_that_is_not_there_is_named(postgresql):
    """The server's own words are in the sentence."""
    assert 'database "nothing" does not exist' in refusal(postgresql.url("nothing"))
    assert 'role "nobody-here" does not exist' in refusal(postgresql.url("postgres", "nobody-here"))


@pytest.mark.parametrize("password", ["", ":a-wrong-one"])
def test_wrong_password_is_told_and_not_shown(postgresql, password):
    """Neither is a missing one taken for a missing server."""
    sentence = refusal(postgresql.url("postgres", LOCKED_USER + password))
    assert "does not let Trimtab in: expected the password of its user" in sentence
    assert "a-wrong-one" not in sentence


def test_user_who_may_make_no_tables_is_told(postgresql, bare_postgresql_url):
    """The right password is not all that a user needs."""
    allowed_in = bare_postgresql_url.replace("trimtab@", f"{LOCKED_USER}:{ITS_KEY.replace(' ', '%20')}@")
    sentence = refusal(allowed_in)
    assert "does not let its user make or write tables: expected the owner of the database" in sentence
    assert ITS_KEY not in sentence


def test_place_of_the_database_has_no_password(postgresql, postgresql_url):
    """It is shown to people, and compared between a daemon and a command."""
    repository = open_database(postgresql_url.replace("trimtab@", "trimtab:secret@") + "&sslpassword=secret")
    assert "secret" not in repository.place
    assert f"host={postgresql.folder}".replace("/", "%2F") in repository.place
    repository.close()


def test_server_that_only_follows_another_one_is_refused_at_once(postgresql, postgresql_url):
    """Not the first trial after an hour finds out, but whoever opens the database."""
    name = postgresql_url.partition("@/")[2].partition("?")[0]
    with postgresql.connect("postgres") as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(DatabaseReadOnlyError, match="is read-only"):
        open_database(postgresql_url)


def test_work_goes_on_after_the_server_has_been_restarted(own_server, make_run):
    """While it is down each question fails with a sentence; afterwards none does."""
    repository = open_database(own_server.url(own_server.new_database()))
    run = make_run(repository)
    own_server.stop()
    with pytest.raises(DatabaseError, match="cannot be reached"):
        repository.set_run_ladder(run.id, [1.0])
    own_server.start()
    repository.set_run_ladder(run.id, [2.0])
    assert repository.run(run.id).ladder == (2.0,)
    repository.close()


def test_connection_that_breaks_in_a_transaction_keeps_nothing_of_it(postgresql_url, make_run):
    """The whole transaction is gone, and the next one works."""
    repository = open_database(postgresql_url)
    run = make_run(repository)

    def write_and_break() -> None:
        with repository.database.writing() as session:
            session.execute(text("UPDATE run SET notes = 'half'"))
            session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    with pytest.raises(DatabaseUnavailableError, match="terminating connection"):
        write_and_break()
    assert repository.run(run.id).notes == ""
    repository.close()
