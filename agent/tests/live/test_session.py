"""Sessions on real servers under load: what they do in each mode, what ends them, what is recorded."""

import re
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import time
from pathlib import Path

import pytest
from live_sessions import ENDLESS, children, shortened, touched_of
from trimtab_agent.errors import HostError, LiveConflict, SpecError
from trimtab_agent.live import attachment, proposing, steering, switchbacks
from trimtab_agent.live import session as sessions
from trimtab_agent.live.arms import CandidateRefused
from trimtab_agent.live.episodes import EpisodeEnd
from trimtab_agent.live.production import stats_socket_of
from trimtab_agent.live.service import AttachSpec
from trimtab_agent.live.switchbacks import ValueTurns, takes_turns
from trimtab_agent.runtime import machine_lock, open_live
from trimtab_agent.station.server.ports import HeldPorts
from trimtab_agent.station.server.stats_socket import StatsSocket
from trimtab_db.records import LiveDecisionKind, LiveRequest, LiveState
from trimtab_tuner.live import switchback
from trimtab_tuner.live.episode import Action, Decision
from trimtab_tuner.live.guards import Rails
from trimtab_tuner.live.observed import Served
from trimtab_tuner.live.proposals import Proposal
from trimtab_tuner.live.steps import Change
from trimtab_tuner.live.switchback import Lengths
from waiting import until

pytestmark = [pytest.mark.live, pytest.mark.kernel]

KINDS = LiveDecisionKind
QUIET = Rails.quiet


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """What takes minutes takes seconds."""
    shortened(monkeypatch)


@pytest.mark.parametrize("name", ["nginx", "core"])
def test_advise_says_what_it_would_try_and_touches_nothing(name, attached):
    """Neither socket nor file nor process."""
    live = attached(name)
    before = touched_of(live)
    live.until_decided(KINDS.PROPOSAL)
    live.until_told("would try ")
    assert touched_of(live) == before
    assert live.server.file.parent.joinpath("..", "var", "live").exists() is False
    proposal = live.decisions[-1]
    assert proposal.configuration
    assert proposal.sentence.startswith("would try ")
    assert "because" in proposal.sentence
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert live.kinds == [KINDS.ATTACHED, KINDS.OBSERVED, KINDS.PROPOSAL, KINDS.DETACHED]
    assert live.record.sentence == "a person has detached it"
    assert live.record.context["rate_rps"] > 0
    assert touched_of(live) == before
    assert live.asked.failures == []


@pytest.mark.usefixtures("improving")
def test_canary_waits_for_a_person_and_promotes_when_that_agrees(attached):
    """Its file is untouched until then; what is kept is known the next time."""
    live = attached("nginx", "canary")
    before = live.server.file.read_text()
    live.until_state(LiveState.WAITING)
    assert live.record.sentence.endswith(": promote or reject it")
    assert live.server.file.read_text() == before
    live.ask(LiveRequest.PROMOTE)
    live.until_decided(KINDS.KEPT)
    changed = live.decision(KINDS.PROMOTED).configuration
    assert live.server.file.read_text() != before
    ((knob, (_, after)),) = changed.items()
    assert live.server.seen.target.parse(live.server.file.read_text())[knob] == after
    assert live.kinds[:7] == [
        KINDS.ATTACHED,
        KINDS.OBSERVED,
        KINDS.PROPOSAL,
        KINDS.BEGAN,
        KINDS.PROMOTE,
        KINDS.PROMOTED,
        KINDS.KEPT,
    ]
    until(lambda: live.incumbents()[0]["configuration"][knob] == after)
    assert live.asked.failures == []


@pytest.mark.usefixtures("improving")
def test_rejected_candidate_is_not_promoted_and_another_is_tried(attached):
    """It is not tried again."""
    live = attached("core", "canary")
    before = live.server.file.read_bytes()
    live.until_state(LiveState.WAITING)
    live.ask(LiveRequest.REJECT)
    live.until_decided(KINDS.REJECTED)
    until(lambda: live.kinds.count(KINDS.BEGAN) == 2)
    live.until_state(LiveState.WAITING)
    assert live.server.file.read_bytes() == before
    assert KINDS.PROMOTED not in live.kinds
    first, second = (each.configuration for each in live.decisions if each.kind is KINDS.BEGAN)
    assert first != second


@pytest.mark.usefixtures("improving")
@pytest.mark.parametrize("name", ["core", "apache", "lighttpd", "h2o"])
def test_auto_promotes_without_a_person(name, attached):
    """And says where the file from before lies."""
    live = attached(name, "auto")
    before = live.server.file.read_bytes()
    live.until_decided(KINDS.KEPT)
    sentence = live.decision(KINDS.PROMOTED).sentence
    assert Path(sentence.split("; ")[1].split(" is the file")[0]).read_bytes() == before
    assert live.server.file.read_bytes() != before
    assert live.asked.failures == []


@pytest.mark.usefixtures("improving")
def test_harm_that_is_seen_after_a_promotion_puts_the_file_back(attached, monkeypatch):
    """And nothing is tried for a while."""
    monkeypatch.setattr(sessions.Watch, "tell", lambda *_: "it has become slow")
    live = attached("nginx", "auto")
    before = live.server.file.read_bytes()
    live.until_decided(KINDS.UNDONE)
    assert live.server.file.read_bytes() == before
    assert live.decision(KINDS.UNDONE).sentence == "put back: it has become slow"
    live.until_told("nothing is tried now: 1 rollback in a row")
    assert live.kinds[-2:] == [KINDS.UNDONE, KINDS.PROPOSAL]
    assert live.asked.failures == []


@pytest.mark.usefixtures("improving")
def test_production_that_ends_while_a_promotion_is_watched_has_its_own_file_again(attached, monkeypatch):
    """That is harm: the candidate is not tried again with whatever was started in its place."""
    monkeypatch.setattr("trimtab_tuner.live.watch.WATCH_S", 1e6)
    live = attached("nginx", "auto")
    before = live.server.file.read_bytes()
    live.until_state(LiveState.WATCHING)
    promoted = live.decision(KINDS.PROMOTED).configuration
    ended = live.server.process.pid
    live.server.restart()
    live.server.until_listening()
    live.until_decided(KINDS.UNDONE)
    assert live.decision(KINDS.UNDONE).sentence.startswith(f"put back: process {ended} ")
    assert live.server.file.read_bytes() == before
    live.until_decided(KINDS.CONTEXT)
    live.until_told("nothing is tried now: 1 rollback in a row")
    _, *later = (each.configuration for each in live.decisions if each.kind is KINDS.PROPOSAL)
    assert later
    assert promoted not in later


def test_promotion_is_watched_beside_what_production_did_with_all_of_the_traffic(attached, monkeypatch):
    """At the end of an episode the servers beside it have that, so it answers nobody for a while."""
    before = []

    class Watched(sessions.Watch):
        def __init__(self, usual):
            before.append(usual)
            super().__init__(usual)

    def carry_out(**order):
        seen = order["tick"]()
        served = tuple(Served() for _ in seen.arm.served)
        idle = replace(seen, arm=replace(seen.arm, served=served, errors=0, cpu_s=0.0))
        order["tick"].__self__._recent.extend([idle] * sessions.CONTEXT_PERIODS)
        decision = Decision(Action.PROMOTE, 0.5, "it is better")
        return EpisodeEnd(decision=decision, evidence={}, met_harm=0)

    monkeypatch.setattr(sessions, "Watch", Watched)
    monkeypatch.setattr(sessions, "carry_out", carry_out)
    live = attached("nginx", "auto")
    live.until_decided(KINDS.KEPT)
    assert before[0].arm.requests > 20
    assert before[0].arm.cpu_s > 0


@pytest.mark.usefixtures("improving")
def test_candidate_that_cannot_be_promoted_does_not_make_the_session_observe_anew(attached, monkeypatch):
    """The file was put back, and has not been changed."""
    monkeypatch.setattr(sessions.Promotion, "_take_up", refuse)
    live = attached("core", "auto")
    before = live.server.file.read_bytes()
    live.until_decided(KINDS.TROUBLE)
    assert live.decision(KINDS.TROUBLE).sentence == "not promoted: it does not want to"
    until(lambda: live.kinds.count(KINDS.TROUBLE) == 2)
    assert KINDS.CONTEXT not in live.kinds
    assert live.server.file.read_bytes() == before


def refuse(*_):
    """Production does not take it up."""
    raise HostError("it does not want to")


STATES: dict[LiveState, Callable[[pytest.MonkeyPatch], None]] = {
    LiveState.OBSERVING: lambda patch: patch.setattr(sessions, "CONTEXT_PERIODS", 100_000),
    LiveState.EPISODE: lambda patch: shortened(patch, ENDLESS),
    LiveState.WAITING: lambda _: None,
    LiveState.WATCHING: lambda patch: patch.setattr("trimtab_tuner.live.watch.WATCH_S", 1e6),
}


@pytest.mark.parametrize("state", STATES)
def test_detach_ends_a_session_in_every_state_with_production_as_it_was(
    state, attached, monkeypatch, request
):
    """With production as it was, or as it was promoted."""
    before = children()
    if state is not LiveState.EPISODE:
        request.getfixturevalue("improving")
    STATES[state](monkeypatch)
    live = attached("core", "auto" if state is LiveState.WATCHING else "canary")
    migrate = steering.MIGRATE.read_text()
    live.until_state(state)
    if state is LiveState.EPISODE:
        until(lambda: live.record.share > 0)
        assert touched_of(live)["listening"] == 3
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    now = touched_of(live)
    assert (now["option"], now["listening"], now["migrate"]) == (0, 1, migrate)
    assert now["children"] == before | {live.server.process.pid}
    assert (live.record.state, live.record.share) == (LiveState.ENDED, 0.0)
    assert live.kinds[-1] is KINDS.DETACHED
    assert live.asked.failures == []


def test_file_that_a_person_changes_makes_the_session_observe_anew(attached):
    """With what the file says now."""
    live = attached("core")
    live.until_told("would try ")
    live.server.file.write_text(live.server.file.read_text() + "workers = 2\n")
    live.until_decided(KINDS.CONTEXT)
    assert live.decision(KINDS.CONTEXT).sentence == f"{live.server.file} has been changed: observing anew"
    until(lambda: live.kinds.count(KINDS.PROPOSAL) == 2)


def test_file_that_production_includes_and_a_person_changes_makes_the_session_observe_anew(
    attached, monkeypatch
):
    """During an episode too: the servers beside production have it as it was."""
    monkeypatch.setattr(attachment, "LOOK_EVERY_S", 0.0)
    shortened(monkeypatch, ENDLESS)
    live = attached("nginx", "canary", edit=lambda text: text.replace("sendfile on;", "include sites/*;"))
    until(lambda: live.record.share > 0)
    sites = live.server.file.with_name("sites")
    sites.mkdir()
    sites.joinpath("one").write_text("sendfile off;\n")
    live.until_decided(KINDS.CONTEXT)
    sentence = live.decision(KINDS.CONTEXT).sentence
    assert sentence == f"what {live.server.file} includes has been changed: observing anew"
    until(lambda: live.kinds.count(KINDS.PROPOSAL) == 2)
    assert live.asked.failures == []


def test_quiet_hours_end_an_episode_and_the_candidate_is_tried_again_after_them(attached, monkeypatch):
    """Production has all connections meanwhile, and nothing is held against the candidate."""
    shortened(monkeypatch, ENDLESS)
    clock = [time(21, 59)]
    monkeypatch.setattr(Rails, "quiet", lambda rails, _: QUIET(rails, clock[0]))
    live = attached("core", "auto", quiet_hours="22:00-06:00")
    until(lambda: live.record.share > 0)
    clock[0] = time(22, 0)
    live.until_decided(KINDS.GIVE_UP)
    sentence = "it is 22:00, and nothing is tried in the quiet hours 22:00-06:00"
    assert live.decision(KINDS.GIVE_UP).sentence == sentence
    live.until_told(f"nothing is tried now: {sentence}")
    assert (touched_of(live)["listening"], live.incumbents()) == (1, [])
    clock[0] = time(6, 0)
    until(lambda: live.kinds.count(KINDS.BEGAN) == 2)
    first, second = (each.configuration for each in live.decisions if each.kind is KINDS.BEGAN)
    assert first == second
    assert live.asked.failures == []


def test_file_that_cannot_be_understood_any_more_ends_the_session_with_its_sentence(attached):
    """It is the administrator's to mend."""
    live = attached("nginx")
    live.until_told("would try ")
    live.server.file.write_text("events { # and nothing else\n")
    live.until_ended()
    assert live.kinds[-1] is KINDS.TROUBLE
    assert str(live.server.file) in live.record.sentence
    assert "foreseen" not in live.record.sentence


@pytest.mark.parametrize("name", ["nginx", "core", "apache", "lighttpd", "h2o"])
def test_production_that_is_reloaded_during_an_episode_answers_all(name, attached, monkeypatch):
    """And is as it was afterwards."""
    shortened(monkeypatch, ENDLESS)
    live = attached(name, "canary")
    until(lambda: live.record.share > 0)
    live.server.process.send_signal(live.server.seen.target.beside.reload_signal)
    answered = live.asked.answered
    until(lambda: live.asked.answered > answered + 100)
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    now = touched_of(live)
    assert (now["option"], now["listening"]) == (0, 1)
    assert not {KINDS.TROUBLE, KINDS.CONTEXT} & set(live.kinds)
    assert live.asked.failures == []


@pytest.mark.parametrize("mode", ["advise", "canary"])
def test_production_that_is_killed_ends_the_session_with_a_sentence(mode, attached, monkeypatch):
    """While it is observed, and during an episode, where nobody starts it anew."""
    before = children()
    monkeypatch.setattr(sessions, "RESTART_S", 0.5)
    shortened(monkeypatch, ENDLESS)
    live = attached("core", mode)
    live.until_told("would try " if mode == "advise" else "trying ")
    live.asked.end()
    pid = live.server.process.pid
    live.server.process.kill()
    live.until_ended()
    assert live.kinds[-1] is KINDS.TROUBLE
    assert f"process {pid} " in live.record.sentence or "stats socket" in live.record.sentence
    live.server.process.wait()
    until(lambda: children() == before)


@pytest.mark.parametrize(("name", "mode"), [("core", "advise"), ("nginx", "advise"), ("nginx", "canary")])
def test_production_that_is_restarted_is_observed_anew_as_another_process(name, mode, attached, monkeypatch):
    """During an episode too: whoever stood beside it is gone before nginx gives up to listen."""
    shortened(monkeypatch, ENDLESS)
    live = attached(name, mode)
    if mode == "canary":
        until(lambda: live.record.share > 0)
    else:
        live.until_told("would try ")
    ended = live.server.process.pid
    live.server.restart()
    live.server.until_listening()
    now = live.server.process.pid
    live.until_decided(KINDS.CONTEXT)
    assert (
        live.decision(KINDS.CONTEXT).sentence
        == f"process {ended} has ended and runs again as process {now}: observing anew"
    )
    assert (live.record.pid, live.record.addresses) == (now, (f"127.0.0.1:{live.server.port}",))
    until(lambda: live.kinds.count(KINDS.PROPOSAL) == 2)
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert touched_of(live)["listening"] == 1


def test_production_that_is_detached_while_it_does_not_run_ends_the_session(attached):
    """Nobody waits for it any more."""
    live = attached("core")
    live.until_told("would try ")
    live.server.kill()
    live.until_told(f"process {live.server.process.pid} has ended: waiting for it to be restarted")
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert live.record.sentence == "a person has detached it"


def test_production_that_listens_elsewhere_after_a_reload_is_observed_anew(attached):
    """On what it listens on then."""
    with HeldPorts() as ports:
        second = f"listen 127.0.0.1:{ports.take()};"
        live = attached("nginx", edit=lambda text: text.replace("listen 127", f"{second} listen 127"))
    live.until_told("would try ")
    live.server.file.write_text(live.server.file.read_text().replace(second, ""))
    until(lambda: live.kinds.count(KINDS.PROPOSAL) == 2)
    live.server.process.send_signal(signal.SIGHUP)
    until(lambda: live.kinds.count(KINDS.PROPOSAL) == 3)
    changes = [each.sentence for each in live.decisions if each.kind is KINDS.CONTEXT]
    assert changes == [
        f"{live.server.file} has been changed: observing anew",
        f"process {live.server.process.pid} listens on other sockets than before: observing anew",
    ]
    assert live.asked.failures == []


def test_tuning_run_keeps_episodes_away_until_it_has_ended(attached, settings, monkeypatch):
    """The session says so, and tries again."""
    shortened(monkeypatch, ENDLESS)
    with machine_lock(settings):
        live = attached("core", "canary")
        live.until_told("nothing is tried now: another run is running on this machine")
        assert touched_of(live)["listening"] == 1
        assert KINDS.BEGAN not in live.kinds
    live.until_decided(KINDS.BEGAN)


def limits(*values):
    """What proposes these limits for all of the traffic, one after the other."""

    def proposed(space, *_, **__):
        incumbent = space.default()
        for value in values:
            changed = {**incumbent, "max_connections": value}
            change = Change(knob="max_connections", before=incumbent["max_connections"], after=value)
            yield Proposal(configuration=changed, changes=(change,), because="it is a test")

    return proposed


def failing(monkeypatch, error):
    """Every episode ends with that error; the limits that were to be tried."""
    tried = []

    def carry_out(**order):
        tried.append(order["candidate"]["max_connections"])
        order["tick"]()
        raise error

    monkeypatch.setattr(proposing, "proposals", limits(400, 300))
    monkeypatch.setattr(sessions, "carry_out", carry_out)
    monkeypatch.setattr(sessions, "WAIT_AFTER_TROUBLE_S", 0.1)
    return tried


def test_candidate_that_could_not_be_tried_is_tried_again_after_others(attached, monkeypatch):
    """A full disk says nothing about it."""
    tried = failing(monkeypatch, HostError("the disk is full"))
    live = attached("core", "canary")
    until(lambda: len(tried) > 2)
    assert tried[:3] == [400, 300, 400]
    assert live.decision(KINDS.TROUBLE).sentence == "not tried: the disk is full"
    assert (live.incumbents(), KINDS.GIVE_UP in live.kinds) == ([], False)


def test_candidate_that_the_server_refuses_is_not_tried_again(attached, monkeypatch):
    """It would be refused again."""
    failing(monkeypatch, CandidateRefused("core does not accept it"))
    live = attached("core", "canary")
    live.until_decided(KINDS.GIVE_UP)
    until(lambda: live.incumbents())
    (attempt, *_) = live.incumbents()[0]["attempts"]
    assert (attempt["after"]["max_connections"], attempt["action"]) == (400, "give-up")


@pytest.fixture
def limiting(monkeypatch):
    """What is proposed is another limit for all of the traffic; blocks take less than a second."""
    monkeypatch.setattr(proposing, "proposals", limits(400))
    shortened(monkeypatch, ENDLESS, takes_turns=takes_turns)
    monkeypatch.setattr(ValueTurns, "lengths", Lengths(0.5, 0.8, 0.1))


@pytest.mark.usefixtures("limiting")
def test_limit_on_all_traffic_is_tried_by_production_itself_in_turns(attached):
    """No server stands beside it, its file stays, and detaching puts its own value back in force."""
    live = attached("core", "auto")
    before = touched_of(live)

    def in_force():
        with StatsSocket(stats_socket_of(live.server.seen)) as stats:
            return stats.ask("show config")["max_connections"]

    live.until_told("trying max_connections 500 → 400, by turns")
    for value in (400, 500, 400):
        until(lambda value=value: in_force() == value)
    assert touched_of(live)["listening"] == 1
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert in_force() == 500
    assert touched_of(live) == before
    assert live.asked.failures == []


@pytest.mark.usefixtures("limiting")
def test_limit_that_shows_nothing_by_turns_is_given_up(attached, monkeypatch):
    """The record has what was seen of both sides."""
    monkeypatch.setattr(switchback, "MOST_PAIRS", 2)
    live = attached("core", "auto")
    live.until_decided(KINDS.GIVE_UP)
    decision = live.decision(KINDS.GIVE_UP)
    assert decision.evidence["baseline"]["requests"] > 0
    assert decision.evidence["canary"]["requests"] > 0
    assert set(decision.evidence["change"]) == {"cost", "time", "errors"}


def with_sockets_of_its_own(text):
    """An nginx whose connections cannot be shared."""
    return re.sub(r"(listen [^;]*);", r"\1 reuseport;", text).replace("processes 1", "processes 2")


def test_server_whose_connections_cannot_be_shared_is_refused_with_the_way_by_reload(attached):
    """Unless that is asked for."""
    with pytest.raises(SpecError, match=r"reuseport.* Expected advise, or --by-reload"):
        attached("nginx", "canary", edit=with_sockets_of_its_own)


def test_candidate_is_tried_by_reloads_where_connections_cannot_be_shared(attached, monkeypatch):
    """Production has it by turns; nothing is started beside it, and its own file is back at the end."""
    monkeypatch.setattr(switchback, "MOST_PAIRS", 3)
    monkeypatch.setattr(switchbacks, "by_reloads", lambda _: Lengths(0.6, 0.8, 0.2))
    live = attached("nginx", "canary", edit=with_sockets_of_its_own, by_reload=True, reloads_an_hour=3600)
    before = (live.server.file.read_bytes(), live.server.file.stat().st_mtime_ns)
    live.until_decided(KINDS.BEGAN)
    began = live.decision(KINDS.BEGAN)
    assert began.sentence.endswith(", by turns, with a reload each")
    written = set()
    until(lambda: written.add(live.server.file.read_bytes()) or len(written) == 2)
    live.until_decided(KINDS.GIVE_UP)
    evidence = live.decision(KINDS.GIVE_UP).evidence
    assert min(evidence["baseline"]["requests"], evidence["canary"]["requests"]) > 0
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    assert KINDS.CONTEXT not in live.kinds, "its own writing is no change of the file by somebody else"
    assert (live.server.file.read_bytes(), live.server.file.stat().st_mtime_ns) == before
    assert live.asked.failures == []


def test_server_has_one_session_at_most(attached):
    """The sentence tells how to end the other."""
    live = attached("core")
    with pytest.raises(LiveConflict, match=f"`trimtab live detach {live.id}` ends it"):
        live.service.attach(AttachSpec(server=str(live.server.port)))
    live.ask(LiveRequest.DETACH)
    live.until_ended()
    again = live.service.attach(AttachSpec(server=str(live.server.port)))
    assert again > live.id


def test_server_that_does_not_run_is_refused_with_the_sentence(settings):
    """And nothing is recorded."""
    with open_live(settings) as (repository, service):
        with pytest.raises(SpecError, match="none of that name, unit, pid or port runs here; `trimtab live"):
            service.attach(AttachSpec(server="no-such-server"))
        assert repository.live_sessions(service._host_id) == ()


def test_end_of_the_process_ends_its_sessions(production, settings):
    """In good order, and the record says so."""
    server = production("core")
    with open_live(settings) as (repository, service):
        session_id = service.attach(AttachSpec(server=str(server.port)))
        service.close()
        assert repository.live_session(session_id).sentence == "Trimtab has ended it"
        assert service.wait(session_id)
