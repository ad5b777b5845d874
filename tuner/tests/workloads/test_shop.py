"""The book shop: mixes, and sessions that follow from their seed."""

import numpy as np
import pytest
from trimtab_tuner.workloads import WORKLOADS, shop
from trimtab_tuner.workloads.definition import DefinitionError, parse_definition
from trimtab_tuner.workloads.session_log import write_session_log
from trimtab_tuner.workloads.shop_workload import ShopWorkload

SHOPS = [name for name, definition in WORKLOADS.items() if definition.shop is not None]


def customers(mix="shopping", **changes):
    """Sessions of a small shop."""
    return shop.sessions(mix, **({"items": 1000, "count": 500, "pause_s": 0.5, "seed": 1} | changes))


def test_equal_seeds_give_equal_customers():
    """To the byte, and other seeds others."""
    assert write_session_log(customers()) == write_session_log(customers())
    assert customers() != customers(seed=2)


def test_longer_logs_continue_shorter_ones():
    """So that a run may ask for more customers without changing the first."""
    assert customers(count=300)[:100] == customers(count=100)


@pytest.mark.parametrize("name", SHOPS)
def test_workload_of_a_shop_is_its_tables_and_its_customers(name):
    """No files; the tables take up what each ten thousand items do."""
    definition = WORKLOADS[name]
    workload = ShopWorkload(name, definition.shop, seed=0, time_scale=0.1)
    assert [*workload.files()] == []
    assert workload.data() == shop.data(definition.shop.items)
    assert definition.size() == (0, workload.total_bytes()) == (0, 23_000_000)
    mean = np.mean([len(session) for session in workload.sessions()])
    assert mean == pytest.approx(shop.SESSION_LENGTH, rel=0.05)
    assert definition.protocol == "mariadb"


SHOP = 'name = "mine"\nhelp = "Mine."\n[shop]\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('mix = "stealing"', "mix"),
        ('mix = "ordering"\nitems = 15000', "items = 15000"),
        ('mix = "ordering"\nitems = 900000', "items = 900000"),
        ('mix = "ordering"\n[sessions]\nkind = "plain"', "stands alone: expected none"),
        ('mix = "ordering"\n[tls]', "stands alone: expected none"),
        ('mix = "ordering"\n[clients]\nslow_share = 0.1', "expected clients without conditional_share"),
    ],
)
def test_a_shop_that_makes_no_sense_is_refused(text, sentence):
    """The field, and what was expected."""
    with pytest.raises(DefinitionError, match=sentence):
        parse_definition((SHOP + text).encode(), "mine.toml")


@pytest.mark.parametrize("mix", shop.MIXES)
def test_interactions_have_the_shares_of_their_mix(mix):
    """Within what chance allows of some 20,000 of them."""
    assert sum(shop.MIXES[mix]) == pytest.approx(100, abs=0.1)
    asked = [request.path[1:] for session in customers(mix, count=2000) for request in session]
    for name, percent in zip(shop.INTERACTIONS, shop.MIXES[mix], strict=True):
        share = percent / 100
        deviation = np.sqrt(share * (1 - share) / len(asked))
        assert asked.count(name) / len(asked) == pytest.approx(share, abs=5 * deviation)


def test_pauses_have_their_mean_and_end_no_session():
    """Nobody waits after the last interaction, nor longer than ten times the mean."""
    made = customers(count=2000, pause_s=0.05)
    pauses = [request.think_s for session in made for request in session[:-1]]
    assert np.mean(pauses) == pytest.approx(0.05, rel=0.05)
    assert max(pauses) <= 0.5
    assert {session[-1].think_s for session in made} == {0.0}


def test_pauses_of_a_session_fit_its_time_limit():
    """Those of a customer who would think for longer are shortened alike; the time scale comes after that."""
    sums = [sum(request.think_s for request in session) for session in customers(count=500, pause_s=7.0)]
    assert max(sums) == pytest.approx(5.0)
    scaled = [
        sum(request.think_s for request in session)
        for session in customers(count=500, pause_s=7.0, time_scale=0.1)
    ]
    assert scaled == pytest.approx([0.1 * each for each in sums])


def test_each_kind_of_interaction_has_a_size_of_its_own():
    """So that the counts by size are those by kind."""
    sizes = {}
    for session in customers(count=2000):
        for request in session:
            sizes.setdefault(request.path, set()).add(request.size_bytes)
    assert {len(each) for each in sizes.values()} == {1}
    assert len(set.union(*sizes.values())) == len(shop.INTERACTIONS)


def test_statements_stand_in_the_log_with_their_rows():
    """As the load generator reads them."""
    line = write_session_log(customers(count=1)).splitlines()[0]
    request = customers(count=1)[0][0]
    begun = f'{request.path} contents="{request.statements}" rows={request.rows} size={request.size_bytes}'
    assert line.startswith(begun)
    assert '"' not in request.statements
