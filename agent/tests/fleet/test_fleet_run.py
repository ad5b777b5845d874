"""Runs on several hosts of the fleet, from the command line."""

import pytest
from fleet_rack import wait_until
from trimtab_db.records import BookingState, RunState
from trimtab_trials.trial import TrialPurpose, Verdict

pytestmark = [pytest.mark.live, pytest.mark.kernel, pytest.mark.timeout(1500)]  # whole runs

HOSTS = ("web1", "web2", "web3")
SHORT = (
    *("--workload", "tcp-1k", "--ladder", "100,200", "--set", "rate_duration_s=0.5"),
    *("--set", "warmup_s=0.1", "--set", "confirmation_repeats=2"),
)


@pytest.fixture(scope="module")
def web(rack, database_url):
    """Three hosts that run servers."""
    hosts = [rack.host(name, TRIMTAB_DATABASE_URL=database_url) for name in HOSTS]
    for host in hosts:
        host.start("station", "join", rack.scheduler, "--role", "server")
    for host in hosts:
        host.running[-1].wait_for("is in the fleet")
    return hosts


def newest(repository):
    """The run that was started last."""
    return repository.runs()[0].run


def test_run_uses_all_hosts_and_says_what_they_say_together(rack, web, repository):
    """Every host measures the default beside the others; the outcome tells them apart."""
    document = rack.hosts["control"].run("tune", "--host", "all", "--budget", "4", *SHORT, "--json")
    run = newest(repository)
    assert run.state is RunState.FINISHED, run.error
    assert tuple(run.fleet["hosts"]) == HOSTS
    assert run.layout["sentence"] == "3 hosts of the fleet (web1, web2, web3), each with its own load"
    trials = repository.trials(run.id)
    names = {host["host_id"]: name for name, host in run.fleet["hosts"].items()}
    searched = [t for t in trials if t.purpose is TrialPurpose.SEARCH]
    assert len(searched) == 12
    default = searched[0].configuration
    for name in HOSTS:
        own = [t for t in searched if names[t.host_id] == name]
        assert own[0].configuration == default
        assert own[0].block == 1
    assert len({t.configuration_hash for t in searched}) > 3
    confirmed = [t for t in trials if t.in_block]
    assert {names[t.host_id] for t in confirmed} == set(HOSTS)
    assert {t.block // 1000 for t in confirmed} == {0, 1, 2}
    over_hosts = document["run"]["outcome"]["over_hosts"]
    assert [host["name"] for host in over_hosts["hosts"]] == list(HOSTS)
    assert over_hosts["confirmed_on"] == list(HOSTS)
    assert over_hosts["unseen"] is False
    assert len(over_hosts["classes"]) == 1
    bookings = repository.bookings(run.id).all()
    assert {b.state for b in bookings} == {BookingState.COMMITTED}
    assert sorted(b.trial_number for b in bookings) == [t.number for t in trials]
    assert max(b.token for b in bookings) == 1
    assert all(station.settled and station.booking_id is None for station in repository.stations())


def test_run_goes_on_without_a_host_that_dies_and_resumes_where_its_study_was_killed(rack, web, repository):
    """Nothing is measured twice that was recorded, and nothing is recorded twice."""
    control = rack.hosts["control"]
    before = newest(repository).id if repository.runs() else 0
    study = control.start("tune", "--host", "all", "--budget", "5", *SHORT)
    wait_until(lambda: newest(repository).id > before, "a run")
    run_id = newest(repository).id
    wait_until(lambda: len(repository.trials(run_id)) >= 3, "three trials")
    web[2].running[-1].kill()
    study.kill()
    left = repository.trials(run_id)
    document = control.run("tune", "--resume", str(run_id), "--json")
    run = repository.run(run_id)
    assert run.state is RunState.FINISHED, run.error
    trials = repository.trials(run_id)
    assert trials[: len(left)] == left or {t.number for t in left} <= {t.number for t in trials}
    assert len({t.number for t in trials}) == len(trials)
    finished = [t for t in trials if t.verdict is not Verdict.ABORTED]
    committed = {
        b.trial_number for b in repository.bookings(run_id).all() if b.state is BookingState.COMMITTED
    }
    assert {t.number for t in finished} == committed
    assert document["run"]["outcome"]["over_hosts"]["confirmed_on"] == ["web1", "web2"]
    web[2].join("server")


def test_host_that_is_not_there_is_named_before_a_run_begins(rack, web):
    """Exit code 2, with those that are there."""
    said = rack.hosts["control"].run("tune", "--host", "web9", *SHORT, expect=2)
    assert "hosts = web9: no such server station is in the fleet; in it now: web1, web2, web3" in said


def test_hosts_want_a_database_that_they_share(rack, web):
    """A file on this machine is none."""
    said = rack.own("alone").run("tune", "--host", "web1", *SHORT, expect=2)
    assert "expected TRIMTAB_DATABASE_URL with a postgresql:// address" in said
