"""The schema: the migrations make what the models say, old databases upgrade, questions use the indices."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from empty_databases import empty_sqlite
from sqlalchemy import MetaData, create_engine, event, insert, select
from trimtab_db import open_database
from trimtab_db.database import migrations_config
from trimtab_db.models import Base
from trimtab_db.records import RunPhase, RunState, StationRole

ASSETS = Path(__file__).parent / "assets"
REVISIONS = [
    revision.revision for revision in ScriptDirectory.from_config(migrations_config()).walk_revisions()
]


def test_migrations_make_exactly_the_models(bare_url):
    """Alembic finds nothing to change between the upgraded database and the models."""
    with closing(open_database(bare_url)) as repository, repository.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def copy_asset(revision: str, database_url: str) -> None:
    """Make a PostgreSQL database of that revision with the records of its asset, which is SQL of SQLite."""
    asset = create_engine("sqlite://")
    with asset.connect() as old:
        old.connection.executescript((ASSETS / f"{revision}.sql").read_text())
        rows = MetaData()
        rows.reflect(old)
        new = create_engine(database_url)
        with new.begin() as connection:
            config = migrations_config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            tables = MetaData()
            tables.reflect(connection)
            for table in tables.sorted_tables:
                recorded = [dict(row) for row in old.execute(select(rows.tables[table.name])).mappings()]
                if recorded and table.name != "alembic_version":
                    connection.execute(insert(table), recorded)
        new.dispose()
    asset.dispose()


@pytest.mark.parametrize("revision", REVISIONS)
def test_database_of_each_revision_upgrades_with_its_records(bare_url, kind, sqlite_file, revision):
    """Every schema that was ever released has a database in assets/; it opens and holds what it held."""
    if kind == "sqlite":
        old = sqlite3.connect(sqlite_file)
        old.executescript((ASSETS / f"{revision}.sql").read_text())
        old.close()
    else:
        copy_asset(revision, bare_url)
    repository = open_database(bare_url)
    (line,) = repository.runs()
    assert (line.run.state, line.run.phase, line.trials) == (RunState.FINISHED, RunPhase.DONE, 2)
    assert line.run.outcome == {"sentence": "An old outcome."}
    assert repository.trial(line.run.id, 2).measurements[1].size_classes[1].size_bytes == 921_600
    assert repository.proposals_of(line.run.id)[0].trial_number == 1
    assert len(repository.counter_samples(line.run.host_id, line.run.created_at)) == 1
    assert repository.events(line.run.id)[0].message == "an old event"
    assert repository.exports(line.run.id)[0].format == "nginx"
    assert repository.trial(line.run.id, 1).host_id == line.run.host_id
    assert repository.os_changes(line.run.host_id).unrestored()[0].path == "/proc/irq/24/smp_affinity"
    repository.close()


def test_no_question_reads_a_whole_table(sqlite_file, make_run, make_trial, make_live_session):
    """With thousands of trials and a million samples, every question must find its rows by an index.

    SQLite's own plan of every statement is looked at; a SCAN is allowed only of tables that stay small.
    """
    repository = open_database(empty_sqlite(sqlite_file))
    run = make_run(repository)
    repository.record_trial(make_trial(run.id))
    statements: list[tuple[str, object]] = []
    event.listen(
        repository.database.engine,
        "before_cursor_execute",
        lambda _connection, _cursor, statement, parameters, *_: statements.append((statement, parameters)),
    )
    repository.runs()
    repository.run_summary(run.id)
    repository.whole_trials(run.id, after=3)
    repository.whole_trials(run.id, numbers=[1, 2])
    repository.trials_with_curves(run.id)
    repository.trials_with_curves(run.id, configuration_hash="000000000001")
    repository.trials(run.id)
    repository.goodput_curves(run.id)
    repository.trial(run.id, 1)
    repository.proposals_of(run.id)
    repository.events(run.id)
    repository.exports(run.id)
    repository.counter_samples(run.host_id, run.created_at)
    repository.trial_counter_samples(run.id, 1)
    repository.prune_counter_samples(run.host_id)
    repository.interrupt_running_runs(run.host_id)
    repository.os_changes(run.host_id).unrestored()
    live = repository.begin_live_session(make_live_session(run.host_id))
    repository.live_sessions(run.host_id)
    repository.live_decisions(live.id)
    repository.live_samples(live.id, run.created_at, 10)
    repository.prune_live_samples(run.host_id)
    repository.live_incumbents(run.host_id, "nginx", "/etc/nginx/nginx.conf")
    bookings = repository.bookings(run.id)
    offered = bookings.offer(1, 1, {})
    repository.register_station("web1", StationRole.SERVER, run.host_id, "tls://10.0.0.1:4000", {})
    bookings.book(offered.id, "web1", 60.0)
    bookings.one(1, 1)
    bookings.all()
    bookings.renew(offered.id, 1, 60.0)
    repository.bookings_held()
    bookings.commit_result(offered.id, 1, {})
    repository.close()

    plain = sqlite3.connect(sqlite_file)
    plans = {
        row[3]: statement
        for statement, parameters in statements
        if statement.startswith(("SELECT", "DELETE", "UPDATE"))
        for row in plain.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
    }
    plain.close()
    large = (
        *("trial", "measurement", "size_class", "counter_sample", "proposal", "event", "export"),
        *("live_decision", "live_sample", "live_incumbents", "booking"),
    )
    scan = tuple(f"SCAN {name}" for name in large)
    scans = {step: sql for step, sql in plans.items() if step.startswith(scan)}
    assert any(step.startswith("SEARCH counter_sample") for step in plans)
    assert scans == {}
