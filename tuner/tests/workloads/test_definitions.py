"""The workloads that come with Trimtab against the figures of their sources; definitions that are wrong."""

from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
import trimtab_tuner.workloads
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.workloads import WORKLOADS, definition_text
from trimtab_tuner.workloads.definition import Definition, DefinitionError, parse_definition, read_definition
from trimtab_tuner.workloads.drawn import DrawnWorkload
from trimtab_tuner.workloads.file_sets import Band, BandedFiles, ListedFile, ListedFiles
from trimtab_tuner.workloads.links import LINKS
from trimtab_tuner.workloads.session_shapes import SurgeSessions

KB = 1024


OF_FILES = [name for name, definition in WORKLOADS.items() if definition.protocol == "http"]


def requests_of(workload):
    """All requests of a workload's log."""
    return [request for session in workload.sessions() for request in session]


@pytest.mark.parametrize("name", OF_FILES)
def test_every_workload_asks_for_its_own_files_in_their_sizes(name):
    """Nothing in the log that the file set does not hold, but for dynamic pages."""
    workload = DrawnWorkload(WORKLOADS[name])
    held = dict(workload.files())
    assert len(held) == len(list(workload.files()))
    assert sum(held.values()) == workload.total_bytes()
    for request in requests_of(workload):
        assert held.get(request.path, request.size_bytes) == request.size_bytes
        assert request.path in held or request.path.startswith("/dynamic/")


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_named_as_its_file_and_says_where_it_comes_from(name):
    """A sentence on what it is, and its source."""
    definition = WORKLOADS[name]
    assert (definition.name, definition.help[-1]) == (name, ".")
    assert definition.source
    assert parse_definition(definition_text(name).encode(), name) == definition


def test_every_definition_in_the_package_is_listed():
    """A file that is not in the list would never be found."""
    folder = files(trimtab_tuner.workloads) / "definitions"
    assert {file.name for file in folder.iterdir()} == {f"{name}.toml" for name in WORKLOADS}


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("w1", {500: 1, KB: 1}),
        ("w2", {500: 1, KB: 1, 5 * KB: 1}),
        ("w3", {50: 1, 500: 1, KB: 1, 5 * KB: 1}),
        (
            "w4",
            {
                50: 1,
                500: 1,
                KB: 1,
                3 * KB: 1,
                5 * KB: 1,
                10 * KB: 1,
                15 * KB: 1,
                20 * KB: 1,
                50 * KB: 0.5,
                100 * KB: 0.1,
            },
        ),
        ("tcp-1k", {KB: 1}),
    ],
)
def test_listed_workloads_ask_by_the_weights_of_their_source(name, shares):
    """Stratified draws keep every share within a tenth of a point; every request has its own connection."""
    workload = DrawnWorkload(WORKLOADS[name])
    counts = Counter(request.size_bytes for request in requests_of(workload))
    total, weight = sum(counts.values()), sum(shares.values())
    assert set(counts) == set(shares)
    for size, share in shares.items():
        assert counts[size] / total == pytest.approx(share / weight, abs=0.001)
    assert {len(session) for session in workload.sessions()} == {1}


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("trace-cs", {"small": 5.5, "medium": 20.2, "large": 74.3}),
        ("trace-nasa", {"small": 3.1, "medium": 24.6, "large": 72.3}),
    ],
)
def test_traces_transfer_the_byte_shares_of_their_table(name, shares):
    """Within half a point over one log; the bands are those of the table: 8 KB and 256 KB."""
    bytes_sent = Counter()
    for request in requests_of(DrawnWorkload(WORKLOADS[name])):
        size = request.size_bytes
        bytes_sent["small" if size <= 8 * KB else "medium" if size <= 256 * KB else "large"] += size
    total = sum(bytes_sent.values())
    for band, share in shares.items():
        assert 100 * bytes_sent[band] / total == pytest.approx(share, abs=0.5)


def test_one_packet_leaves_room_for_the_reply_head():
    """1,448 bytes of a packet are left after TCP and IP heads; 248 of them are enough for our head."""
    ((_, size),) = DrawnWorkload(WORKLOADS["one-packet"]).files()
    assert 1000 <= size <= 1448 - 248


def test_support_makes_a_twentieth_of_the_requests_dynamic():
    """Within four standard errors; its page lies in the document root."""
    workload = DrawnWorkload(WORKLOADS["support"])
    requests = requests_of(workload)
    dynamic = [request for request in requests if "?" in request.path]
    assert len(dynamic) / len(requests) == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / len(requests)) ** 0.5)
    assert {request.path.partition("?")[0] for request in dynamic} == set(workload.scripts())


def test_dynamic_share_leaves_the_static_requests_as_they_were():
    """Sizes, pauses and bursts have random streams of their own."""
    support, static = (DrawnWorkload(WORKLOADS[name]) for name in ("support", "specweb99"))
    for one, other in zip(requests_of(support), requests_of(static), strict=True):
        assert (one.think_s, one.begins_burst) == (other.think_s, other.begins_burst)
        assert one.path == other.path or "?" in one.path


@pytest.mark.parametrize("name", OF_FILES)
def test_longer_logs_continue_shorter_ones(name):
    """So that a run may ask for more sessions without changing the first."""
    workload = DrawnWorkload(WORKLOADS[name])
    if name in ("trace-cs", "trace-nasa", "w1", "w2", "w3", "w4"):
        assert workload.sessions(500) == workload.sessions(1000)[:500]
    else:
        assert workload.sessions(100) == workload.sessions(300)[:100]


@given(
    sizes=st.lists(st.integers(1, 10**6), min_size=1, max_size=6),
    weights=st.lists(st.floats(0.01, 100), min_size=6, max_size=6),
    copies=st.integers(1, 5),
)
def test_any_list_of_files_is_drawn_from_whole(sizes, weights, copies):
    """Positions stay inside the list, whatever the weights."""
    listed = ListedFiles(
        kind="listed",
        list=tuple(ListedFile(size_bytes=s, weight=w) for s, w in zip(sizes, weights, strict=False)),
        copies=copies,
    )
    definition = Definition(name="x", help="x", files=listed, sessions=SurgeSessions())
    held = dict(listed.files())
    assert len(held) == len(sizes) * copies
    for session in DrawnWorkload(definition).sessions(20):
        assert all(held[request.path] == request.size_bytes for request in session)


@given(st.integers(1, 5000), st.integers(1, 10**6), st.integers(0, 10**6))
def test_sizes_of_a_band_lie_between_its_bounds(count, low, more):
    """Ascending, as many as asked for."""
    sizes = Band(name="a", files=count, from_bytes=low, to_bytes=low + more, byte_share=1).sizes()
    assert len(sizes) == count
    assert low <= sizes[0] <= sizes[-1] <= low + more
    assert (sizes[1:] >= sizes[:-1]).all()


GOOD = """name = "mine"
help = "Mine."
"""
LEARNT = GOOD + '[learnt]\nmodel = "0123456789abcdef"\nfiles = 1\nfile_set_bytes = 1\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('name = "mine"', "help is missing"),
        (GOOD + "colour = 1", "colour: no such field"),
        ('name = "../../etc"\nhelp = "x"', "name = '../../etc'"),
        (GOOD + '[files]\nkind = "random"', "files"),
        (GOOD + '[files]\nkind = "specweb99"\ndirectories = 0', "directories = 0"),
        (GOOD + '[files]\nkind = "listed"\nlist = []', "list"),
        (GOOD + '[files]\nkind = "listed"\nlist = [{ size_bytes = -1 }]', "size_bytes = -1"),
        (GOOD + '[files]\nkind = "listed"\nlist = [{ size_bytes = 1, weight = nan }]', "weight = nan"),
        (GOOD + '[sessions]\nkind = "surge"\nmean_length = 39', "less than half of max_length = 40"),
        (GOOD + "[dynamic]\nshare = 1.5", "share = 1.5"),
        (
            GOOD + '[files]\nkind = "listed"\ncopies = 1000000\nlist = [' + "{ size_bytes = 1 }," * 6 + "]",
            "6000000 files: expected at most 5000000",
        ),
        (GOOD + "= 3", "not a TOML file"),
        (GOOD, "expected [files] and [sessions], or [learnt]"),
        (LEARNT.replace("0123", "../."), "model = "),
        (LEARNT + "[dynamic]\nshare = 0.1", "[learnt] stands alone"),
        (LEARNT + '[tls]\nversion = "1.1"', "tls.version = '1.1'"),
        (LEARNT + "[tls]\nresumed_share = 1.5", "tls.resumed_share = 1.5"),
        (LEARNT + '[tls]\nciphers = "AES128-SHA"', 'tls: ciphers: expected version = "1.2" or "1.3" beside'),
        (LEARNT + '[tls]\nversion = "1.2"\nciphers = "a b"', "tls.ciphers = 'a b'"),
        (LEARNT + '[tls]\nserver_name = "--help"', "tls.server_name = '--help'"),
    ],
)
def test_wrong_definition_is_refused_by_file_and_field(text, sentence):
    """The message names the file, the field, and what was found there."""
    with pytest.raises(DefinitionError, match=r"^mine\.toml: ") as refusal:
        parse_definition(text.encode(), "mine.toml")
    assert sentence in str(refusal.value)


def test_shares_of_bands_must_add_up_to_one():
    """Otherwise the byte shares would mean something else than they say."""
    with pytest.raises(ValueError, match=r"add up to 0\.9"):
        BandedFiles(kind="banded", bands=(Band(name="a", files=1, from_bytes=1, to_bytes=2, byte_share=0.9),))


@given(st.binary(max_size=300))
def test_garbage_is_refused_with_a_sentence(text):
    """Three hundred random bytes never name a workload."""
    with pytest.raises(DefinitionError, match=r"^garbage\.toml: "):
        parse_definition(text, "garbage.toml")


def test_file_that_cannot_be_read_is_named(tmp_path):
    """Missing, a directory, too long."""
    with pytest.raises(DefinitionError, match="cannot be read: No such file"):
        read_definition(tmp_path / "none.toml")
    with pytest.raises(DefinitionError, match="cannot be read"):
        read_definition(tmp_path)
    (tmp_path / "long.toml").write_bytes(b"#" * (5 << 20))
    with pytest.raises(DefinitionError, match="longer than 4 MiB"):
        read_definition(tmp_path / "long.toml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('loop = "closed"', "two numbers or more"),
        ('loop = "closed"\nconnections = [10]', "two numbers or more"),
        ('loop = "closed"\nconnections = [30, 10]', "connections = [30, 10]: expected ascending"),
        ('loop = "closed"\nconnections = [0, 10]', "connections.0 = 0"),
        ('loop = "closed"\nconnections = [1, 2]\narrivals = "poisson"', "nobody arrives in a closed loop"),
        ("connections = [10, 20]", "expected none in an open loop"),
        ("slow_share = 2", "slow_share = 2"),
    ],
)
def test_clients_that_contradict_themselves_are_refused(text, sentence):
    """With what was expected."""
    with pytest.raises(DefinitionError) as refusal:
        parse_definition(f"{LEARNT}\n[clients]\n{text}".encode(), "mine.toml")
    assert sentence in str(refusal.value)


def test_single_file_is_asked_for_over_the_connections_of_its_source():
    """10, 30 and 50, in a closed loop."""
    clients = WORKLOADS["single-file"].clients
    assert (clients.loop, clients.connections) == ("closed", (10, 30, 50))
    assert clients.level(30) == "30 connections"
    assert clients.level(10, 30) == "10, 30 connections"


def test_examples_of_the_documentation_are_definitions():
    """The whole one as it stands, the others completed."""
    document = (Path(__file__).parents[3] / "docs/workloads.md").read_text()
    whole, bands, upstream, shop = (block.split("```")[0] for block in document.split("```toml\n")[1:])
    assert parse_definition(whole.encode(), "whole").clients.conditional_share == 0.3
    assert parse_definition(whole.encode(), "whole").tls.server_name == "shop.test"
    mine = whole.partition("[dynamic]")[0] + upstream
    assert parse_definition(mine.encode(), "mine").upstream.size_bytes == 16_384
    completed = f'{GOOD}{bands}[sessions]\nkind = "plain"\n'
    assert len(parse_definition(completed.encode(), "bands").files.bands) == 2
    assert parse_definition(f"{GOOD}{shop}".encode(), "shop").shop.items == 50_000


def test_every_workload_is_documented():
    """By its name."""
    document = (Path(__file__).parents[3] / "docs/workloads.md").read_text()
    names = set(WORKLOADS) - {"w1", "w2", "w3", "w4", "trace-nasa"} | {"w1` … `w4", *LINKS}
    assert all(f"`{name}`" in document for name in names)
