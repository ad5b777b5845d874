"""One machine is one station: a second agent there does not join, and leaves the first one's place alone.

With real stations the same is in test_stations.py.
"""

import json
import sys
from dataclasses import replace

import pytest
from pydantic import SecretStr
from trimtab_agent.errors import FleetError, HostError, RunConflict
from trimtab_agent.fleet.credentials import make_authority, make_member
from trimtab_agent.fleet.joining import Joining, join_as_generator, join_as_server, joined_sentence
from trimtab_agent.host.lock import MachineLock
from trimtab_db import open_database, sqlite_url
from trimtab_db.records import StationRole

from .conftest import records_host

TAKEN = "run 12 is running on this machine"
REFUSES = f"print({json.dumps({'is': 'refused', 'sentence': TAKEN})!r})"


@pytest.fixture(autouse=True)
def namespaces():
    """None is needed here."""


@pytest.fixture
def joining(settings, tmp_path):
    """How this machine would join a fleet; its trial process finds that another one is here."""
    make_authority(tmp_path / "authority")
    make_member(tmp_path / "authority", "web1", tmp_path / "web1.pem")
    return Joining(
        settings=settings.model_copy(
            update={
                "lock": tmp_path / "machine.lock",
                "fleet_credentials": tmp_path / "web1.pem",
                "database_url": SecretStr(sqlite_url(tmp_path / "trimtab.db")),
            }
        ),
        scheduler="tls://127.0.0.1:1",
        name="web1",
        trials=(sys.executable, "-c", REFUSES),
        say=lambda sentence: pytest.fail(sentence),
    )


def test_station_that_only_its_own_machine_reaches_says_so():
    """On Debian the machine's own name is 127.0.1.1: who joins by it is where nobody else comes."""
    assert joined_sentence("web1", "tls://192.0.2.1:4000") == "web1 is in the fleet, at tls://192.0.2.1:4000."
    for address in ("tls://127.0.0.1:4000", "tls://[::1]:4000"):
        assert "Other machines do not reach it there" in joined_sentence("web1", address)


@pytest.mark.parametrize("name", ["", "two words", "../web1"])
def test_name_that_no_run_could_ask_for_is_refused(joining, name):
    """As `trimtab fleet invite` refuses it."""
    with pytest.raises(FleetError, match="expected a name of letters"):
        join_as_generator(replace(joining, name=name))
    with pytest.raises(FleetError, match="expected a name of letters"):
        join_as_server(replace(joining, name=name))


def test_generator_does_not_join_beside_another_agent(joining, tmp_path):
    """It would take the CPUs that the other one measures with."""
    lock = MachineLock(joining.settings.machine_lock, tmp_path)
    lock.tell(run_id=12)
    with pytest.raises(RunConflict, match=TAKEN):
        join_as_generator(joining)
    lock.release()


def test_server_does_not_join_beside_another_agent(joining, tmp_path):
    """The station that is in the fleet stays what it was."""
    repository = open_database(sqlite_url(tmp_path / "trimtab.db"))
    host_id = repository.register_host(records_host())
    repository.register_station("web1", StationRole.SERVER, host_id, "tls://web1:1", {}, settled=True)
    before = repository.station("web1")
    with pytest.raises(HostError, match=f"the trial process of this station does not start: {TAKEN}"):
        join_as_server(joining)
    assert repository.station("web1") == before
    repository.close()
