"""A whole run that is recorded in PostgreSQL, by the command line as a user starts it."""

import json

import pytest
from live_support import LADDER_RPS, Tune, tiny_options
from postgresql_server import LOCKED_USER, PostgresqlServer


@pytest.fixture
def server():
    """Debian's PostgreSQL."""
    server = PostgresqlServer()
    yield server
    server.remove()


@pytest.mark.live
def test_run_is_recorded_in_postgresql_from_its_start_to_its_exports(trimtab, server, monkeypatch):
    """Nothing goes to a file beside it, and other commands find the run there."""
    monkeypatch.setenv("TRIMTAB_DATABASE_URL", server.url(server.new_database()))
    command: Tune = trimtab("tune", *tiny_options(ladder=LADDER_RPS, budget_trials=1))
    code, output = command.finish()
    assert code == 0, output
    (line,) = json.loads(trimtab("runs", "--json").finish()[1])
    assert (line["state"], line["phase"]) == ("finished", "done")
    code, output = trimtab("show", "1", "--json").finish()
    assert (code, json.loads(output)["run"]["state"]) == (0, "finished")


def test_wrong_password_is_one_sentence_that_does_not_show_it(trimtab, server, monkeypatch):
    """Also with --json."""
    monkeypatch.setenv("TRIMTAB_DATABASE_URL", server.url("postgres", f"{LOCKED_USER}:a-wrong-one"))
    code, output = trimtab("db", "upgrade", "--json").finish()
    assert (code, "does not let Trimtab in: expected the password of its user" in output) == (1, True)
    assert "a-wrong-one" not in output
