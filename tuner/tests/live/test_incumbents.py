"""Which configuration is in force in which context."""

from trimtab_tuner.live.contexts import Context
from trimtab_tuner.live.episode import Action
from trimtab_tuner.live.incumbents import Incumbent, Incumbents
from trimtab_tuner.live.proposals import Attempt

SMALL = Context(rate_rps=1000, reply_bytes=2000, requests_per_connection=7)
LARGE = Context(rate_rps=100, reply_bytes=200_000, requests_per_connection=7)
BEFORE, AFTER = {"workers": 1, "sendfile": "off"}, {"workers": 4, "sendfile": "off"}


def ended(action):
    """An episode of the two."""
    return Attempt(before=BEFORE, after=AFTER, action=action)


def test_context_that_comes_back_finds_its_incumbent():
    """And one of another kind does not."""
    known = Incumbents().kept(Incumbent(context=SMALL, configuration=AFTER))
    again = SMALL.model_copy(update={"rate_rps": 1200})
    found = known.of(again)
    assert found is not None
    assert found.configuration == AFTER
    assert known.of(LARGE) is None


def test_incumbent_replaces_that_of_its_own_context_only():
    """Others stay."""
    known = Incumbents().kept(Incumbent(context=SMALL, configuration=BEFORE))
    known = known.kept(Incumbent(context=LARGE, configuration=BEFORE))
    known = known.kept(Incumbent(context=SMALL, configuration=AFTER))
    assert {each.context.rate_rps: each.configuration for each in known.known} == {100: BEFORE, 1000: AFTER}


def test_what_was_promoted_is_in_force_until_it_does_harm():
    """Every attempt is remembered."""
    incumbent = Incumbent(context=SMALL, configuration=BEFORE)
    assert incumbent.told(ended(Action.GIVE_UP)).configuration == BEFORE
    promoted = incumbent.told(ended(Action.PROMOTE))
    assert promoted.configuration == AFTER
    taken_back = promoted.told(ended(Action.ROLL_BACK))
    assert taken_back.configuration == BEFORE
    assert [each.action for each in taken_back.attempts] == [Action.PROMOTE, Action.ROLL_BACK]


def test_all_of_it_is_kept_as_json():
    """The database takes plain values."""
    known = Incumbents().kept(
        Incumbent(context=SMALL, configuration=AFTER, attempts=(ended(Action.PROMOTE),))
    )
    assert Incumbents.model_validate_json(known.model_dump_json()) == known
