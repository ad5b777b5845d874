"""What is particular to SQLite: the write-ahead log, faults of files and disks."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from empty_databases import empty_sqlite
from sqlalchemy import event
from trimtab_db import Repository, open_database, sqlite_url
from trimtab_db.errors import (
    DatabaseError,
    DatabaseFullError,
    DatabaseReadOnlyError,
    DatabaseUnavailableError,
)

NOBODY = 65534


@pytest.fixture
def sqlite_repository(sqlite_file: Path) -> Iterator[Repository]:
    """An open SQLite repository."""
    repository = open_database(empty_sqlite(sqlite_file))
    yield repository
    repository.close()


@pytest.fixture
def no_privileges(tmp_path: Path) -> Iterator[None]:
    """Permissions count: root, who may write everything, becomes nobody while the test runs."""
    if os.geteuid() != 0:
        yield
        return
    opened = [path for path in (tmp_path, *tmp_path.parents) if not path.stat().st_mode & 0o001]
    modes = {path: path.stat().st_mode for path in opened}
    for path in opened:
        path.chmod(modes[path] | 0o011)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        for path in opened:
            path.chmod(modes[path])


def test_journal_is_a_write_ahead_log_with_foreign_keys_on(sqlite_repository):
    """Readers do not wait for the writer, and references are checked, on every connection."""
    with sqlite_repository.database.engine.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        }
    assert settings == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 1, "busy_timeout": 10_000}


def test_opener_waits_for_one_who_is_making_the_file(patient, sqlite_file):
    """SQLite itself does not wait where the write-ahead log is switched on."""
    holder = sqlite3.connect(sqlite_file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    outcomes: list[object] = []

    def open_and_close() -> None:
        try:
            open_database(sqlite_url(sqlite_file)).close()
            outcomes.append("opened")
        except Exception as error:
            outcomes.append(error)

    opener = threading.Thread(target=open_and_close)
    opener.start()
    opener.join(0.3)
    assert outcomes == []
    holder.execute("ROLLBACK")
    holder.close()
    opener.join()
    assert outcomes == ["opened"]


def test_full_disk_is_told_and_costs_only_the_trial_at_hand(
    sqlite_repository, make_run, make_trial, make_measurement
):
    """SQLite may not grow the file any more: earlier trials are intact, and there is room again, work goes
    on."""
    run = make_run(sqlite_repository)
    sqlite_repository.record_trial(make_trial(run.id, 1))
    limit = {"pages": 0}

    def limit_pages(connection, *_) -> None:
        connection.execute(f"PRAGMA max_page_count = {limit['pages'] or 1 << 30}")

    event.listen(sqlite_repository.database.engine, "checkout", limit_pages)
    with sqlite_repository.database.engine.connect() as connection:
        limit["pages"] = connection.exec_driver_sql("PRAGMA page_count").scalar()
    large = make_trial(run.id, 2, server_config="#" * 1_000_000)
    with pytest.raises(DatabaseFullError, match="disk is full"):
        sqlite_repository.record_trial(large)
    assert [trial.number for trial in sqlite_repository.whole_trials(run.id)] == [1]
    limit["pages"] = 0
    sqlite_repository.record_trial(large)
    assert [trial.number for trial in sqlite_repository.whole_trials(run.id)] == [1, 2]


@pytest.mark.parametrize("read_only", ["file", "directory"])
def test_read_only_database_is_refused_at_once(tmp_path, request, read_only):
    """Not the first trial after an hour finds out, but whoever opens the database."""
    path = tmp_path / "kept" / "trimtab.db"
    path.parent.mkdir()
    open_database(sqlite_url(path)).close()
    path.chmod(0o444)
    path.parent.chmod(0o777 if read_only == "file" else 0o555)
    request.getfixturevalue("no_privileges")
    with pytest.raises(DatabaseError, match=r"kept/trimtab\.db (is read-only|cannot be opened)"):
        open_database(sqlite_url(path))


def test_database_that_turns_read_only_is_told_so(sqlite_repository, make_run):
    """A write that is not allowed any more names the file."""
    run = make_run(sqlite_repository)
    event.listen(
        sqlite_repository.database.engine,
        "checkout",
        lambda connection, *_: connection.execute("PRAGMA query_only = ON"),
    )
    with pytest.raises(DatabaseReadOnlyError, match=r"trimtab\.db is read-only"):
        sqlite_repository.set_run_ladder(run.id, [1.0])


def test_missing_directory_is_named(tmp_path):
    """The sentence says what must exist."""
    with pytest.raises(DatabaseUnavailableError, match=r"nowhere/trimtab\.db cannot be opened: its dir"):
        open_database(sqlite_url(tmp_path / "nowhere" / "trimtab.db"))


def test_file_that_is_no_database_is_left_alone(sqlite_file):
    """Whatever it is, it is not ours to overwrite."""
    sqlite_file.write_text("these are my notes, " * 100)
    with pytest.raises(DatabaseUnavailableError, match="not an intact SQLite database"):
        open_database(sqlite_url(sqlite_file))
    assert sqlite_file.read_text().startswith("these are my notes")
