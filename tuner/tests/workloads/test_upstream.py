"""What is drawn for an upstream: times and sizes with the mean and the spread that a definition asks for."""

import numpy as np
import pytest
from trimtab_tuner.workloads import WORKLOADS
from trimtab_tuner.workloads.definition import DefinitionError, parse_definition
from trimtab_tuner.workloads.drawn import DrawnWorkload
from trimtab_tuner.workloads.upstream import LEVELS, Replaced, Upstream, of_sample

HEAD = """
name = "mine"
help = "A test."
[files]
kind = "listed"
list = [{ size_bytes = 500 }]
[sessions]
kind = "plain"
requests = 2
"""


def asked(pages):
    """Sizes in bytes and times in milliseconds of what is asked for."""
    sizes = np.array([size for _, size in pages])
    return sizes, np.array([int(uri.partition("us=")[2]) for uri, _ in pages]) / 1000


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 2.0])
def test_pages_have_the_mean_and_nearly_the_spread(spread):
    """Of a log-normal distribution in equal parts: within them there is no spread, so a little is missing."""
    upstream = Upstream(service_time_ms=20, service_time_spread=spread, size_bytes=50_000, size_spread=spread)
    sizes, times_ms = asked(upstream.pages())
    for values, mean in ((sizes, 50_000), (times_ms, 20)):
        assert values.mean() == pytest.approx(mean, rel=1e-3)
        assert spread * 0.8 <= values.std() / values.mean() <= spread + 1e-6


def test_each_size_and_each_time_is_as_likely_as_any_other():
    """And neither depends on the other."""
    upstream = Upstream()
    streams = tuple(np.random.default_rng(seed) for seed in (1, 2))
    drawn = upstream.draw(32_000, streams)
    assert np.bincount(drawn // LEVELS).tolist() == pytest.approx([1000] * LEVELS, rel=0.1)
    assert np.bincount(drawn % LEVELS).tolist() == pytest.approx([1000] * LEVELS, rel=0.1)
    assert abs(np.corrcoef(drawn // LEVELS, drawn % LEVELS)[0, 1]) < 0.03


def test_measured_times_and_sizes_are_asked_for_in_place_of_means_and_spreads():
    """Equally large parts of the sample, each by its mean, so that mean and tail are those of the sample."""
    sample = np.random.default_rng(1).exponential(8.0, 6400)
    upstream = Upstream(
        service_time_ms=1,
        size_bytes=1,
        times_ms=tuple(of_sample(sample)),
        sizes_bytes=tuple(range(1, LEVELS + 1)),
    )
    sizes, times_ms = asked(upstream.pages())
    assert sorted(set(sizes)) == list(range(1, LEVELS + 1))
    assert times_ms.mean() == pytest.approx(sample.mean(), rel=1e-3)
    assert times_ms.max() == pytest.approx(np.sort(sample)[-200:].mean(), rel=1e-3)


def test_upstreams_that_are_replaced_have_times_and_sizes_of_their_own():
    """Each is asked as often as its weight says, below a path of its own."""
    slow = Replaced(name="api", weight=3, service_time_ms=40)
    sized = Replaced(name="app", weight=1, times_ms=(1.0,) * LEVELS, sizes_bytes=(700,) * LEVELS)
    upstream = Upstream(service_time_ms=5, size_bytes=9000, replaced=(slow, sized))
    pages = upstream.pages()
    streams = tuple(np.random.default_rng(seed) for seed in (1, 2))
    drawn = [pages[position] for position in upstream.draw(32_000, streams)]
    of = {
        name: asked([page for page in drawn if page[0].startswith(f"/dynamic/{path}?")])
        for name, path in (("api", "drawn"), ("app", "2/drawn"))
    }
    assert len(of["api"][0]) == pytest.approx(24_000, rel=0.01)
    assert len(of["app"][0]) == pytest.approx(8_000, rel=0.03)
    assert of["api"][1].mean() == pytest.approx(40, rel=0.03)
    assert of["api"][0].mean() == pytest.approx(9000, rel=0.03)
    assert set(of["app"][1]) == {1.0}
    assert set(of["app"][0]) == {700}
    assert len({page for page in drawn if page[0].startswith("/dynamic/drawn?")}) == LEVELS**2


def test_uris_name_the_length_that_the_generator_expects():
    """What the session log says of a request is what the upstream will send."""
    requests = [request for session in DrawnWorkload(WORKLOADS["proxy"]).sessions(500) for request in session]
    for request in requests:
        assert f"?size={request.size_bytes}&us=" in request.path
    # The generator counts each size by itself while there are at most 64.
    assert len({request.size_bytes for request in requests}) <= 64


def test_share_goes_to_the_upstream_and_the_rest_to_files():
    """Files, lengths and pauses are those that they were without an upstream."""
    mixed = parse_definition((HEAD + "[upstream]\nshare = 0.25\n").encode(), "mine")
    plain = parse_definition(HEAD.encode(), "mine")
    with_upstream, without = (
        [r for s in DrawnWorkload(each).sessions(5000) for r in s] for each in (mixed, plain)
    )
    passed_on = [request.path.startswith("/dynamic/") for request in with_upstream]
    assert np.mean(passed_on) == pytest.approx(0.25, abs=0.02)
    others = [
        pair for pair, on in zip(zip(with_upstream, without, strict=True), passed_on, strict=True) if not on
    ]
    assert all(mine == its for mine, its in others)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ("[upstream]\n[dynamic]\nshare = 0.5", "expected either [dynamic] or [upstream]"),
        ("[upstream]\nshare = 0", "upstream.share = 0"),
        ("[upstream]\nservice_time_ms = -1", "upstream.service_time_ms = -1"),
        ("[upstream]\nreplaced = [{name = 'app', weight = 0}]", "weight = 0"),
        ("[upstream]\ntimes_ms = [1.0, 2.0]", "times_ms: expected 32 values, there are 2"),
        ("[dynamic]\nshare = 0.5\nby = 'perl'", "expected to be 'php', 'gunicorn' or 'uvicorn'"),
    ],
)
def test_definitions_that_make_no_sense_are_refused(tables, said):
    """With the field and what was expected."""
    with pytest.raises(DefinitionError, match=said.replace("[", r"\[").replace("]", r"\]")):
        parse_definition((HEAD + tables).encode(), "mine")
