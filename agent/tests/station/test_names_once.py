"""Names of upstreams are looked up once for all trials of a run, so that they run alike."""

import pytest
from trimtab_agent.station import climb
from trimtab_agent.station import station as stations
from trimtab_agent.station.server import unresolved
from trimtab_agent.station.server.refusals import ConfigurationRejected
from trimtab_agent.station.server.unresolved import Names, with_resolvable
from trimtab_trials.trial import Verdict
from trimtab_tuner.judging.job import TrialJob
from trimtab_tuner.targets.behind import Upstream
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.parameters import parameters

BASE = "http { upstream b { server app:3000; server db:1; } }"
SMALL = parameters(WORKLOADS["specweb99"].sized(1), 0.02)


class Resolver:
    """The addresses that are `known` here, for the test to change, and those that were `asked` for."""

    def __init__(self):
        self.known = set()
        self.asked = []

    def unresolved(self, upstreams):
        """As the module of that name has it."""
        self.asked += [each.address for each in upstreams]
        return {each.address for each in upstreams if each.address not in self.known}


@pytest.fixture
def resolver(monkeypatch):
    """In place of this machine's."""
    made = Resolver()
    monkeypatch.setattr(unresolved, "unresolved", made.unresolved)
    return made


def test_a_name_is_looked_up_once(resolver):
    """Whatever it was found to be stays so, until all is forgotten."""
    names = Names()
    app, other = (Upstream("proxy_pass", each, 0, 0) for each in ("app:80", "db:1"))
    resolver.known = {"db:1"}
    assert names.unresolved([app]) == {"app:80"}
    resolver.known = {"app:80"}
    assert names.unresolved([app, other]) == {"app:80", "db:1"}
    assert names.unresolved([other]) == {"db:1"}
    assert resolver.asked == ["app:80", "db:1"]
    names.forget()
    assert names.unresolved([app, other]) == {"db:1"}


def test_all_trials_of_a_run_have_the_names_of_the_first(resolver, station, monkeypatch):
    """A name that comes back in between makes no trial unlike the others; the next run has it."""
    texts = []

    def started(order, _stop):
        texts.append(with_resolvable(order.target, order.base, order.names))
        raise ConfigurationRejected("far enough")

    monkeypatch.setattr(climb, "Replicas", started)
    monkeypatch.setattr(climb, "wait_for_quiet", lambda *_cpus, **_limits: None)
    monkeypatch.setattr(stations, "version_of_target", lambda _target, _httpd: "1")
    job = TrialJob(
        target="nginx", base=BASE, workload=SMALL, ladder=(1.0,), rate_duration_s=1.0, timeout_s=1.0
    )
    station.prepare(SMALL)
    assert station.carry_out(job).verdict is Verdict.REJECTED
    resolver.known = {"app:3000", "db:1"}
    station.carry_out(job)
    assert "server 127.77.255.254:3000; server 127.77.255.254:1;" in texts[0]
    assert texts[1] == texts[0]
    assert resolver.asked == ["app:3000", "db:1"]
    station.prepare(SMALL)
    station.carry_out(job)
    assert texts[2] == BASE
