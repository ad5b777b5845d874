"""What the page Fleet shows: who is in the fleet, what each does, who holds which lease, how hosts differ."""

from dataclasses import asdict

import pytest
from trimtab_agent.fleet import overview
from trimtab_agent.fleet.controller import Present
from trimtab_db.records import StationRole
from trimtab_trials.host import Host

LEASE_S = 3600.0


def facts(name, role):
    """What a station says of itself."""
    host = Host(
        machine_id=name, name=name, kernel="6.1", cpu_model="CPU", cpus=8, memory_bytes=1 << 34, topology={}
    )
    return {
        "versions": {"protocol": 1, "engine": "2026.1.0", "trimtab": "0.1.0"},
        "role": role,
        "machine_id": name,
        "host": asdict(host),
        "layout": {"server": [0, 1, 2], "generator": [3], "all": [0, 1, 2, 3]},
        "network_cards": [{"name": "eth0", "driver": "virtio_net", "speed_mbps": 10_000}],
        "servers": {"core": "0.1.0"} if role == "server" else {},
        "pid": 1,
    }


def present(name, role, **condition):
    """A station as the scheduler knows it."""
    return Present(
        name=name,
        role=role,
        address=f"tls://{name}:1",
        facts=facts(name, role),
        condition={"free_memory_bytes": 1 << 33, "cpu_percent": 12.5, **condition},
        last_seen=1_795_000_000.0,
    )


@pytest.fixture
def joined(daemon):
    """Registers server stations as they do when they join; the record of each one's host."""

    def join(*names):
        repository, hosts = daemon.repository, {}
        for name in names:
            hosts[name] = repository.register_host(Host(**facts(name, "server")["host"]))
            repository.register_station(
                name, StationRole.SERVER, hosts[name], f"tls://{name}:1", facts(name, "server")
            )
        return hosts

    return join


@pytest.fixture
def scheduler(monkeypatch):
    """Has the scheduler know these."""

    def knows(*stations):
        monkeypatch.setattr(overview, "_present", lambda _settings: {each.name: each for each in stations})

    return knows


def stations_of(daemon):
    """What the API says, by name."""
    seen = daemon.client.get("/api/v1/fleet").raise_for_status().json()
    assert seen["complaint"] == ""
    return {each["name"]: each for each in seen["stations"]}


def test_station_shows_role_lease_utilisation_and_machine(daemon, joined, scheduler, recorded_run):
    """One carries a trial out, the other has been forgotten by the scheduler, a generator is new."""
    joined("web1", "web2")
    bookings = daemon.repository.bookings(recorded_run.id)
    lease = bookings.book(bookings.offer(7, 1, {}).id, "web1", LEASE_S)
    scheduler(
        present("web1", "server", doing="trial 7", busy=0.75),
        present("load1", "generator", doing="", busy=0.0),
    )
    seen = stations_of(daemon)
    assert {name: (each["role"], each["state"]) for name, each in seen.items()} == {
        "load1": ("generator", "ready"),
        "web1": ("server", "ready"),
        "web2": ("server", "absent"),
    }
    web1 = seen["web1"]
    assert (web1["run_id"], web1["trial"], web1["doing"], web1["busy"]) == (
        recorded_run.id,
        7,
        "trial 7",
        0.75,
    )
    assert web1["booked_until"] is not None
    assert (web1["cpus"], web1["servers"], web1["protocol"]) == (4, {"core": "0.1.0"}, 1)
    assert seen["web2"]["booked_until"] is None
    bookings.release(lease.booking.id, lease.booking.token)
    assert stations_of(daemon)["web1"]["booked_until"] is None


def test_server_station_that_records_elsewhere_is_not_called_ready(daemon, joined, scheduler):
    """No run could use it: the engine knows it, and the database does not."""
    joined("web1")
    scheduler(present("web1", "server"), present("web2", "server"))
    seen = stations_of(daemon)
    assert {name: each["state"] for name, each in seen.items()} == {"web1": "ready", "web2": "unrecorded"}


def test_levels_of_hosts_are_those_of_the_newest_run_beside_the_one_before(
    daemon, joined, scheduler, record_run
):
    """A run of another workload between them is none to compare with."""
    joined("web1", "web2")
    scheduler(present("web1", "server"), present("web2", "server"))
    for directories, levels in ((2, (1.2, 0.8)), (9, (1.5, 0.5)), (2, (1.0, 1.0))):
        run = record_run(directories=directories)
        hosts = [
            {"name": name, "stratum": 1, "searched": True, "level": level, "gain": None, "unlike": False}
            for name, level in zip(("web1", "web2"), levels, strict=True)
        ]
        daemon.repository.set_run_outcome(run.id, {**run.outcome, "over_hosts": {"hosts": hosts}})
    seen = stations_of(daemon)
    assert (seen["web1"]["level"], seen["web2"]["level"]) == (1.0, 1.0)
    assert (seen["web1"]["level_before"], seen["web2"]["level_before"]) == (1.2, 0.8)


def test_fleet_whose_scheduler_was_not_asked_shows_what_is_recorded(daemon, joined):
    """With why; this machine is no member."""
    joined("web1")
    seen = daemon.client.get("/api/v1/fleet").raise_for_status().json()
    assert "is no member of a fleet" in seen["complaint"]
    assert [(each["name"], each["state"]) for each in seen["stations"]] == [("web1", "absent")]
