"""The contract of the repository about live tuning; runs on every backend."""

from datetime import UTC, datetime, timedelta

import pytest
from trimtab_db import records
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.records import LiveDecisionKind, LiveRequest, LiveState
from trimtab_db.repository.live_tuning import SAMPLES_KEPT_FOR

LIMIT = 1000


@pytest.fixture
def host_id(repository, make_host):
    """A machine."""
    return repository.register_host(make_host())


@pytest.fixture
def session(repository, host_id, make_live_session):
    """A session that has just begun."""
    return repository.begin_live_session(make_live_session(host_id))


def test_new_session_observes_and_says_what_it_was_given(repository, session):
    """What is known at the start comes back."""
    assert session == repository.live_session(session.id)
    assert (session.state, session.sentence, session.share) == (LiveState.OBSERVING, "", 0.0)
    assert (session.context, session.asked, session.ended_at) == (None, None, None)
    assert session.addresses == ("127.0.0.1:80", "[::1]:80")
    assert session.settings == {"objective": "cost", "guards": ["p99 <= 50ms"]}
    assert session.started_at == session.seen_at


def test_sessions_are_listed_latest_first_and_for_their_machine_alone(
    repository, session, make_host, make_live_session
):
    """A machine with another kernel is the same; another machine is not."""
    later_host = repository.register_host(make_host(kernel="6.19.0"))
    later = repository.begin_live_session(make_live_session(later_host))
    elsewhere = repository.register_host(make_host(machine_id="two"))
    repository.begin_live_session(make_live_session(elsewhere))
    assert [each.id for each in repository.live_sessions(session.host_id)] == [later.id, session.id]


def test_update_changes_what_it_is_given_and_says_that_the_session_lives(repository, session):
    """What is left out stays as it was."""
    context = {"rate_rps": 120.0}
    repository.update_live_session(session.id, state=LiveState.EPISODE, share=0.05, context=context)
    repository.update_live_session(session.id, sentence="Tries two workers.")
    now = repository.live_session(session.id)
    assert (now.state, now.share, now.context) == (LiveState.EPISODE, 0.05, context)
    assert now.sentence == "Tries two workers."
    assert now.seen_at > session.seen_at
    assert now.ended_at is None


def test_session_that_ends_has_an_end_and_is_asked_nothing_any_more(repository, session):
    """Its last request is forgotten, and a new one is not taken."""
    repository.ask_live_session(session.id, LiveRequest.PROMOTE)
    repository.update_live_session(session.id, state=LiveState.ENDED)
    ended = repository.live_session(session.id)
    assert (ended.ended_at, ended.asked) == (ended.seen_at, None)
    repository.ask_live_session(session.id, LiveRequest.DETACH)
    assert repository.live_session(session.id).asked is None


def test_request_is_taken_once(repository, session):
    """Who has taken it will do it; nobody does it twice."""
    assert repository.take_live_request(session.id) is None
    repository.ask_live_session(session.id, LiveRequest.REJECT)
    assert repository.live_session(session.id).asked is LiveRequest.REJECT
    assert repository.take_live_request(session.id) is LiveRequest.REJECT
    assert repository.take_live_request(session.id) is None


def test_last_request_counts_but_nothing_takes_back_detach(repository, session):
    """Whoever wants out gets out."""
    repository.ask_live_session(session.id, LiveRequest.PROMOTE)
    repository.ask_live_session(session.id, LiveRequest.DETACH)
    repository.ask_live_session(session.id, LiveRequest.PROMOTE)
    assert repository.take_live_request(session.id) is LiveRequest.DETACH


def test_decisions_come_back_oldest_first(repository, session):
    """With their evidence, and the knobs that they are about."""
    proposal = repository.add_live_decision(
        records.NewLiveDecision(
            session_id=session.id,
            kind=LiveDecisionKind.PROPOSAL,
            sentence="Would try two workers.",
            configuration={"workers": [1, 2]},
            evidence={"runs": [3]},
        )
    )
    harm = repository.add_live_decision(
        records.NewLiveDecision(
            session_id=session.id, kind=LiveDecisionKind.ROLL_BACK, sentence="More errors.", share=0.0
        )
    )
    assert repository.live_decisions(session.id) == (proposal, harm)
    assert (proposal.kind, proposal.configuration) == (LiveDecisionKind.PROPOSAL, {"workers": [1, 2]})
    assert (harm.configuration, harm.evidence) == (None, {})


def test_samples_after_a_moment_come_back_oldest_first_and_no_more_than_asked_for(repository, session):
    """Whoever has some goes on from the last of them."""
    began = session.started_at
    samples = [
        records.LiveSample(at=began + timedelta(seconds=2 * n), data={"share": n / 10}) for n in (2, 0, 1)
    ]
    for sample in samples:
        repository.add_live_sample(session.id, sample)
    third, first, second = samples
    assert repository.live_samples(session.id, began - timedelta(seconds=1), LIMIT) == (first, second, third)
    assert repository.live_samples(session.id, began, LIMIT) == (second, third)
    assert repository.live_samples(session.id, began, 1) == (second,)


def test_last_samples_are_those_that_were_recorded_last(repository, session):
    """Whatever the clock said then."""
    began = session.started_at
    samples = [records.LiveSample(at=began + timedelta(hours=n), data={"share": n / 10}) for n in (2, 0, 1)]
    for sample in samples:
        repository.add_live_sample(session.id, sample)
    assert repository.last_live_samples(session.id, 2) == (samples[2], samples[1])


def test_old_samples_of_the_machine_are_pruned(repository, session, make_host, make_live_session):
    """Those of other machines are theirs to prune."""
    old = datetime.now(UTC) - SAMPLES_KEPT_FOR - timedelta(minutes=1)
    elsewhere = repository.begin_live_session(
        make_live_session(repository.register_host(make_host(machine_id="two")))
    )
    for owner in (session, elsewhere):
        for at in (old, old + timedelta(minutes=2)):
            repository.add_live_sample(owner.id, records.LiveSample(at=at, data={}))
    assert repository.prune_live_samples(session.host_id) == 1
    long_ago = old - timedelta(days=1)
    assert len(repository.live_samples(session.id, long_ago, LIMIT)) == 1
    assert len(repository.live_samples(elsewhere.id, long_ago, LIMIT)) == 2


def test_incumbents_of_a_file_are_replaced_and_survive_a_new_kernel(repository, host_id, make_host):
    """They belong to the machine, the kind of server and its file."""
    named = ("nginx", "/etc/nginx/nginx.conf")
    assert repository.live_incumbents(host_id, *named) is None
    repository.set_live_incumbents(host_id, *named, {"contexts": [1]})
    repository.set_live_incumbents(host_id, *named, {"contexts": [2]})
    repository.set_live_incumbents(host_id, "nginx", "/srv/other.conf", {"contexts": [3]})
    newer = repository.register_host(make_host(kernel="6.19.0"))
    assert repository.live_incumbents(newer, *named) == {"contexts": [2]}
    repository.set_live_incumbents(newer, *named, {"contexts": [4]})
    assert repository.live_incumbents(newer, *named) == {"contexts": [4]}


def test_unknown_session_is_not_found_by_any_question(repository):
    """Every question about a session that does not exist gets the same clear answer."""
    questions = [
        lambda: repository.live_session(7),
        lambda: repository.update_live_session(7),
        lambda: repository.ask_live_session(7, LiveRequest.DETACH),
        lambda: repository.take_live_request(7),
        lambda: repository.live_decisions(7),
        lambda: repository.live_samples(7, datetime.now(UTC), LIMIT),
        lambda: repository.last_live_samples(7, LIMIT),
    ]
    for ask in questions:
        with pytest.raises(RecordNotFoundError, match=r"There is no live session 7\."):
            ask()
