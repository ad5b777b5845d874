"""Opening, sharing and refusing a database, of both kinds."""

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import create_engine, inspect, text
from trimtab_db import engines, open_database
from trimtab_db.errors import DatabaseLockedError, DatabaseUnavailableError, SchemaTooNewError


def at_once(calls: list[Callable[[], object]]) -> list[object]:
    """What several calls return or raise, each in a thread of its own."""
    outcomes: list[object] = [None] * len(calls)

    def call(index: int) -> None:
        try:
            outcomes[index] = calls[index]()
        except Exception as error:
            outcomes[index] = error

    threads = [threading.Thread(target=call, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def by_hand(database_url: str, statement: str) -> None:
    """What another program does to the database."""
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_opening_again_changes_nothing(bare_url, make_run):
    """An up-to-date database is taken as it is."""
    first = open_database(bare_url)
    run = make_run(first)
    first.close()
    second = open_database(bare_url)
    assert second.run(run.id) == run
    second.close()


def test_openers_at_once_make_one_schema(patient, bare_url):
    """The daemon and the command line, or two hosts, may both be the first."""
    assert at_once([lambda: open_database(bare_url).close()] * 4) == [None] * 4


def test_reader_sees_the_past_and_does_not_wait_while_another_writes(repository, database_url, make_run):
    """A half-done transaction of a second process is invisible and blocks no reader."""
    run = make_run(repository)
    engine = create_engine(database_url)
    with engine.begin() as writer:
        writer.execute(text("UPDATE run SET notes = 'half done'"))
        assert repository.run(run.id).notes == ""
    engine.dispose()
    assert repository.run(run.id).notes == "half done"


def test_reader_sees_one_state_of_the_database_to_the_end(repository, make_run):
    """What others record meanwhile is not half in what it reads."""
    run = make_run(repository)
    with repository.database.reading() as session:
        notes = text("SELECT notes FROM run")
        assert session.scalar(notes) == ""
        repository.set_run_notes(run.id, notes="later")
        assert session.scalar(notes) == ""
    assert repository.run(run.id).notes == "later"


def test_writers_in_many_threads_lose_nothing(patient, repository, make_run, make_trial):
    """Transactions of several threads queue up; none fails, and readers run in between."""
    run = make_run(repository)

    def record(first: int) -> None:
        for number in range(first, first + 10):
            repository.record_trial(make_trial(run.id, number))
            repository.whole_trials(run.id)
            repository.set_run_ladder(run.id, [float(number)])

    assert at_once([lambda first=1 + 10 * index: record(first) for index in range(4)]) == [None] * 4
    assert [trial.number for trial in repository.whole_trials(run.id)] == list(range(1, 41))


def test_what_is_registered_by_several_at_once_is_there_once(patient, repository, make_host):
    """Each of them gets the same number: hosts that begin to work together do not refuse each other."""
    registers = {
        "host": lambda: repository.register_host(make_host()),
        "target": lambda: repository.register_target("core", "0.1.0"),
        "workload": lambda: repository.register_workload("w", {"n": 1}, files=1, total_bytes=1),
    }
    for register in registers.values():
        numbers = at_once([register] * 8)
        assert numbers == [numbers[0]] * 8
        assert isinstance(numbers[0], int)


def test_request_that_comes_while_one_is_taken_is_not_lost(repository, make_host, make_live_session):
    """A page asks and the session takes at the same moment, again and again: the last word arrives."""
    host_id = repository.register_host(make_host())
    for _ in range(20):
        session = repository.begin_live_session(make_live_session(host_id))
        repository.ask_live_session(session.id, "promote")
        _, taken = at_once(
            [
                lambda number=session.id: repository.ask_live_session(number, "detach"),
                lambda number=session.id: repository.take_live_request(number),
            ]
        )
        assert "detach" in (taken, repository.live_session(session.id).asked)


def test_write_that_waits_too_long_says_the_database_is_locked(database_url, make_run, monkeypatch):
    """The sentence names the database; afterwards everything works again."""
    monkeypatch.setattr(engines, "BUSY_TIMEOUT_S", 0.05)
    repository, other = open_database(database_url), open_database(database_url)
    run = make_run(repository)
    with other.database.writing() as session:
        session.execute(text("UPDATE run SET notes = 'mine'"))
        with pytest.raises(DatabaseLockedError, match=r"The database .*trimtab.* is locked"):
            repository.set_run_ladder(run.id, [1.0])
    repository.set_run_ladder(run.id, [2.0])
    assert repository.run(run.id).ladder == (2.0,)
    repository.close()
    other.close()


def test_database_of_another_program_is_left_alone(bare_url):
    """Tables of somebody else are named and not added to."""
    by_hand(bare_url, "CREATE TABLE recipes (name TEXT)")
    with pytest.raises(DatabaseUnavailableError, match="is not Trimtab's: it holds recipes"):
        open_database(bare_url)
    engine = create_engine(bare_url)
    assert inspect(engine).get_table_names() == ["recipes"]
    engine.dispose()


def test_schema_of_later_version_is_refused(database_url):
    """An old Trimtab must not write into a database it does not understand."""
    by_hand(database_url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaTooNewError, match="has the schema 9999 of a later Trimtab"):
        open_database(database_url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "not a url",
        "nosuchdialect://host/name",
        "mysql://user:secret@host/name",
        "postgres://user:secret@host/name",
        "postgresql+asyncpg://user:secret@host/name",
        "sqlite://user:secret@host/name",
    ],
)
def test_unusable_url_is_told_with_what_was_expected(url):
    """A mistyped URL gets a sentence, in which no password is."""
    with pytest.raises(DatabaseUnavailableError, match="database URL cannot be used") as refused:
        open_database(url)
    assert "expected sqlite:////path/of/a/file or postgresql://user@host/name" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://user:first@secret:too@host/name", "%40"),
        ("postgresql://user:secret@host:port/name", "expected a number as the port"),
        ("postgresql://user:first@secret@host/name", "%40"),
    ],
)
def test_password_with_signs_of_a_url_is_refused_and_not_shown(url, expected):
    """Otherwise a part of it would be taken for the host, and told with it."""
    with pytest.raises(DatabaseUnavailableError) as refused:
        open_database(url)
    assert expected in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "too" not in str(refused.value)
