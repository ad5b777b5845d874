"""Recorded surfaces and the replay of strategies on them."""

import json

import pytest
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.replay.replaying import (
    geometric_mean,
    learnt_from,
    random_trials_to,
    replay,
)
from trimtab_tuner.replay.surfaces import (
    SurfacesError,
    parse_surfaces,
    read_surfaces,
    surface_record,
    thesis_surfaces,
)
from trimtab_tuner.targets import TARGETS

SURFACES = thesis_surfaces()


def test_the_thesis_tables_are_51_surfaces_of_which_17_are_hard():
    """Merged where coarse and fine exist, at least 14 configurations."""
    assert len(SURFACES) == 51
    assert sum(random_trials_to(surface, 0.01) >= 8 for surface in SURFACES) == 17


def test_a_cell_measured_twice_counts_with_its_mean():
    """Table 3.2 and 3.3 both have 100 workers, 400 MB, 10,000 threads: 1.79 and 1.78."""
    knot_c = next(s for s in SURFACES if s.name == "knot-c-1.4GB")
    best = {"processes": 100, "cache_mb": 400, "max_connections": 10_000}
    assert knot_c.score(best) == pytest.approx(1.785)


def test_default_strategy_needs_little_more_than_half_the_trials_of_random_choice():
    """On every third surface; `make bench` has them all."""
    ratios = [
        replay(s, "surrogate-race", seed=1).trials_to[0.01] / random_trials_to(s, 0.01) for s in SURFACES[::3]
    ]
    assert geometric_mean(ratios) < 0.65


def test_experience_of_other_servers_and_workloads_saves_trials():
    """Nothing of the same server and workload is learnt from."""
    some = SURFACES[::6]
    cold, warm = [], []
    for surface in some:
        past = learnt_from(SURFACES, surface)
        assert len(past) < len(SURFACES)
        cold.append(replay(surface, "surrogate-race", seed=1).trials_to[0.01])
        warm.append(
            replay(surface, "surrogate-race", seed=1, experience=past, features=surface.features).trials_to[
                0.01
            ]
        )
    assert geometric_mean(warm) < geometric_mean(cold)


def test_noise_does_not_lead_to_a_failing_recommendation():
    """What failed even once is not recommended."""
    for surface in SURFACES[::7]:
        done = replay(surface, "surrogate-race", seed=2, budget_trials=12, noise=0.05)
        assert done.trials <= 12
        assert not done.recommended_failing
        assert done.regret is None or 0 <= done.regret < 0.5


def test_a_runs_trials_become_a_surface_and_come_back():
    """Recording and reading are each other's reverse; failures stay failures."""
    space = TARGETS["core"].space()
    results = [
        Trial(
            configuration={**space.default(), "workers": w, "max_connections": 64 * w},
            verdict=Verdict.FAILED_VERIFICATION if w == 3 else Verdict.VERIFIED,
            score=None if w == 3 else 100.0 + w,
        )
        for w in range(1, 16)
    ]
    record = surface_record("run-1", server="core", workload="one-packet", space=space, results=results)
    (surface,) = parse_surfaces(json.dumps({"surfaces": [record]}), "run-1.json")
    assert [surface.score({n: r.configuration[n] for n in record["axes"]}) for r in results] == [
        r.score for r in results
    ]


def one_cell(area):
    """A file of one surface with one configuration."""
    return (
        '{"surfaces": [{"id": "s", "server": "x", "sendfile": "", "workload": "w", "axes": ["n"], '
        f'"cells": [{{"n": 1, "area": {area}}}]}}]}}'
    )


def a_table(places, values):
    """A file of one surface in nested lists."""
    record = {"id": "s", "server": "x", "sendfile": "", "workload": "w", "axes": ["n"]}
    return json.dumps({"surfaces": [{**record, "knobs": {"n": places}, "values": values}]})


def test_a_file_that_is_no_text_is_refused_in_a_sentence(tmp_path):
    """For instance a picture."""
    file = tmp_path / "surfaces.png"
    file.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(SurfacesError, match=r"surfaces\.png: not a file of surfaces: it is no text in UTF-8"):
        read_surfaces(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "not a file of surfaces"),
        ("{", "not a file of surfaces"),
        ('{"surfaces": [5]}', "not a file of surfaces: "),
        ('{"surfaces": [{"id": "x"}]}', "not a file of surfaces: a surface without server"),
        (one_cell(1).replace('"n": 1', '"n": 1.5'), "s: n = 1.5 in a cell; expected an integer or a word"),
        (one_cell(1).replace('"n": 1', '"m": 1'), "s: n = None in a cell; expected an integer or a word"),
        (a_table([1, 2], [1.0]), "s: values; expected 2 of them, as knobs says"),
        (one_cell("NaN"), "s: area nan; expected a number from 0 on, or null"),
        (one_cell("-1"), "s: area -1; expected"),
        (one_cell('"fast"'), "s: area 'fast'; expected"),
        (one_cell("0"), "s: no configuration passed verification with more than 0"),
        ('{"surfaces": []}', "expected a surface with at least 14 configurations; the largest has 0"),
        (a_table([1, 2], [1.0, 2.0]), "with at least 14 configurations; the largest has 2"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_a_sentence(text, said):
    """The file is named."""
    with pytest.raises(SurfacesError) as refused:
        parse_surfaces(text, "some.json")
    assert str(refused.value).startswith("some.json: ")
    assert said in str(refused.value)
