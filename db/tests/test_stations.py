"""The stations of the fleet, on both databases."""

import pytest
from trimtab_db.errors import RecordConflictError, RecordNotFoundError
from trimtab_db.records import StationRole, StationState


@pytest.fixture
def host_id(repository, make_host):
    """A host."""
    return repository.register_host(make_host())


def join(repository, host_id, name="web1", role=StationRole.SERVER, address="tls://10.0.0.1:4000", **settled):
    """A station joins."""
    return repository.register_station(name, role, host_id, address, {"kernel": "6.18"}, **settled)


def test_station_that_has_joined_may_be_booked(repository, host_id):
    """It is ready, and says what it is."""
    joined = join(repository, host_id)
    assert (joined.state, joined.settled, joined.facts) == (StationState.READY, True, {"kernel": "6.18"})
    assert repository.stations() == (joined,)
    assert repository.stations(StationRole.GENERATOR) == ()
    assert repository.station("web1") == joined


def test_drained_station_stays_so_until_it_joins_anew(repository, host_id):
    """What it says every few seconds at the same address does not make it ready again."""
    join(repository, host_id)
    repository.set_station_state("web1", StationState.DRAINING)
    assert join(repository, host_id).state is StationState.DRAINING
    assert join(repository, host_id, address="tls://10.0.0.1:4001").state is StationState.READY


def test_station_that_left_is_ready_when_it_is_back(repository, host_id):
    """Also at the address that it had; and not settled if it says so."""
    join(repository, host_id)
    assert repository.left_stations([]) == ("web1",)
    assert repository.left_stations([]) == ()
    back = join(repository, host_id, settled=False)
    assert (back.state, back.settled) == (StationState.READY, False)
    assert repository.left_stations(["web1"]) == ()


def test_station_is_forgotten_when_it_has_left(repository, host_id):
    """Not before; and its name is free then."""
    join(repository, host_id)
    with pytest.raises(RecordConflictError, match="web1 is ready: expected one that has left"):
        repository.forget_station("web1")
    repository.set_station_state("web1", StationState.LEFT)
    repository.forget_station("web1")
    assert repository.stations() == ()
    with pytest.raises(RecordNotFoundError, match="no station web1"):
        repository.forget_station("web1")


def test_station_that_holds_a_lease_is_not_forgotten(repository, make_run):
    """It may come back with a result."""
    run = make_run(repository)
    join(repository, run.host_id)
    offered = repository.bookings(run.id).offer(1, 1, {})
    repository.bookings(run.id).book(offered.id, "web1", 600.0)
    repository.set_station_state("web1", StationState.LEFT)
    with pytest.raises(RecordConflictError, match="web1 holds a lease until"):
        repository.forget_station("web1")


def test_run_says_which_stations_take_part(repository, make_run):
    """None of a run that is its host's own affair."""
    assert make_run(repository).fleet is None
    assert make_run(repository, fleet={"hosts": ["web1"]}).fleet == {"hosts": ["web1"]}
