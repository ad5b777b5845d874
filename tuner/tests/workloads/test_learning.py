"""What is learnt from logs made for the purpose, so that the truth is known."""

import json
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.workloads import learning
from trimtab_tuner.workloads.learning import Learner, LearningError, spread_over_seconds, without_collisions
from trimtab_tuner.workloads.learnt import LearntWorkload, ModelError, pack, unpack
from trimtab_tuner.workloads.learnt_page import learnt_page

NOON = 971_179_200  # 10 October 2000, 12:00 UTC


def line(client, second, target="/a.html", size=100, status=200, method="GET"):
    """A line of a Common log."""
    when = time.strftime("%d/%b/%Y:%H:%M:%S", time.gmtime(NOON + int(second)))
    if second != int(second):
        when += f"{second % 1:.3f}"[1:]
    return f'{client} - - [{when} +0000] "{method} {target} HTTP/1.1" {status} {size}\n'.encode()


def learnt(lines, **options):
    """Model and facts of these lines."""
    learner = Learner(**options)
    for text in lines:
        learner.line(text)
    return learner.finish()


def test_requests_of_a_client_within_the_gap_are_one_session():
    """A gap of more than 15 s begins another one; other clients do not matter."""
    model, facts = learnt(
        [
            line("a", 0, "/1"),
            line("b", 1, "/2"),
            line("a", 5, "/3"),
            line("a", 21, "/4"),
            line("b", 30, "/5"),
        ]
    )
    paths = [[model["files"][file][0] for file, _, _ in session] for session in model["sessions"]]
    assert sorted(paths) == [["/1", "/3"], ["/2"], ["/4"], ["/5"]]
    assert facts.session_lengths == {1: 3, 2: 1}


def test_pauses_are_those_of_the_log_as_far_as_a_session_can_hold_them():
    """Fractions count; a pause of more than a second begins a burst; more than 5 s are shortened alike."""
    model, _ = learnt([line("a", 0.5, "/1"), line("a", 0.75, "/2"), line("a", 2.75, "/3")])
    assert model["sessions"] == [[(0, 0.25, True), (1, 2.0, False), (2, 0.0, True)]]
    model, _ = learnt([line("a", 0, "/1"), line("a", 6, "/2"), line("a", 10, "/3")])
    assert [pause for _, pause, _ in model["sessions"][0]] == [3.0, 2.0, 0.0]


def test_size_is_the_largest_body_and_unknown_ones_get_the_median():
    """HEAD and 304 send no body and say no size."""
    model, facts = learnt(
        [
            line("a", 0, "/1", 100),
            line("a", 0, "/1", 300),
            line("a", 0, "/2", 500),
            line("a", 0, "/3", "-", 304),
            line("a", 0, "/4", 0, method="HEAD"),
            line("a", 0, "/1", 50, 304),
        ]
    )
    assert [(path, size) for path, size, _ in model["files"]] == [
        ("/1", 300),
        ("/2", 500),
        ("/3", 500),
        ("/4", 500),
    ]
    assert facts.files_of_unknown_size == 2


def test_what_is_passed_over_is_counted_by_its_reason():
    """And never fatal."""
    _, facts = learnt(
        [
            b"garbage\n",
            b"\xff\xfe\x00\n",
            line("a", 0),
            line("a", 0, method="POST"),
            line("a", 0, status=404),
            line("a", 0, "/x?y"),
            line("a", 0, "*"),
        ]
    )
    assert facts.passed_over == {"not a log line": 2, "method": 1, "status": 1, "query": 1, "path": 1}
    assert (facts.lines, facts.requests) == (7, 1)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "the log is empty"),
        ([b"garbage\n"] * 3, "no successful GET of a file in 3 lines (not a log line: 3, line 1"),
        ([line("a", 0, status=500)], "(status: 1)"),
    ],
)
def test_log_without_a_usable_request_is_refused_with_the_reason(lines, sentence):
    """One sentence that says what was found."""
    with pytest.raises(LearningError) as refusal:
        learnt(lines)
    assert sentence in str(refusal.value)


def test_log_of_one_client_and_one_line_is_a_workload():
    """However little it is."""
    model, facts = learnt([line("a", 0, size=0)])
    workload = LearntWorkload("small", model)
    assert list(workload.files()) == [("/a.html", 0)]
    assert len(workload.sessions(3)) == 3
    assert facts.arrival_dispersion is None
    assert "too short to say" in learnt_page("small", model["facts"])


def test_page_counts_one_of_a_thing_as_one():
    """One line, file, session, request and step back; and several as several."""
    model, _ = learnt([line("a", 0)])
    page = learnt_page("one", model["facts"])
    for part in (
        "1 line from",
        "1 request is replayed",
        "1 file, ",
        "1 session of",
        "1 of them, chosen at random, is replayed.",
        "; 1 request in the busiest second",
    ):
        assert part in page
    model, _ = learnt([line("a", 5000), line("b", 10, "/b")])
    page = learnt_page("two", model["facts"])
    for part in ("2 lines", "2 requests are replayed", "2 files", "2 sessions of", "steps back 1 time:"):
        assert part in page


def test_logs_out_of_order_lose_nothing():
    """The step back is counted, and sessions after it are sessions again."""
    _, facts = learnt([line("a", 5000), line("a", 5001), line("b", 10), line("b", 12), line("b", 14)])
    assert facts.clock_steps_back == 1
    assert facts.session_lengths == {2: 1, 3: 1}


def test_sample_of_sessions_is_fair():
    """Every tenth session is long; so is a tenth of the sample."""
    lines = []
    for number in range(4000):
        length = 10 if number % 10 == 0 else 1
        lines += [line(f"c{number}", number, f"/{k}") for k in range(length)]
    model, facts = learnt(lines, sample=500)
    kept = [len(session) for session in model["sessions"]]
    assert (facts.sessions, facts.sessions_kept) == (4000, 500)
    assert kept.count(10) / 500 == pytest.approx(0.1, abs=4 * (0.1 * 0.9 / 500) ** 0.5)


def test_learning_follows_from_lines_and_seed():
    """The same model, by name, for the same log."""
    lines = [line(f"c{number}", number, f"/{number}") for number in range(300)]
    one, two, other = (learnt(lines, sample=20, seed=seed)[0] for seed in (1, 1, 2))
    assert pack(one) == pack(two)
    assert pack(one)[0] != pack(other)[0]


@pytest.mark.parametrize(("rate", "low", "high"), [("poisson", 0.8, 1.25), ("bursts", 3, 1000)])
def test_burstiness_of_arrivals_is_told(rate, low, high):
    """Poisson arrivals have an index near 1; sessions that begin five at a time have a much higher one."""
    draw = random.Random(7)
    lines, moment = [], 0.0
    for number in range(3000):
        moment += draw.expovariate(5) if rate == "poisson" or number % 5 == 0 else 0
        lines.append(line(f"c{number}", int(moment)))
    _, facts = learnt(lines)
    assert low < facts.arrival_dispersion < high


def test_memory_stays_bounded(monkeypatch):
    """More files and open sessions than fit are counted, not kept."""
    monkeypatch.setattr(learning, "MOST_FILES", 50)
    monkeypatch.setattr(learning, "MOST_OPEN", 10)
    monkeypatch.setattr(learning, "PATHS_REMEMBERED", 20)
    model, facts = learnt([line(f"c{n}", 0, f"/{n % 80}") for n in range(400)])
    assert len(model["files"]) == 50
    assert facts.passed_over == {"file limit": 150}
    assert facts.clients_at_most_open == 10


def test_page_says_what_was_learnt():
    """Lines, files, sessions, arrivals, also after a round trip through JSON."""
    model, facts = learnt([line(f"c{n}", n, f"/{n % 3}") for n in range(100)] + [b"x"])
    page = learnt_page("shop", model["facts"])
    assert page == learnt_page("shop", json.loads(json.dumps(model["facts"])))
    for part in ("# shop", "101 lines", "| not a log line | 1 |", "3 files", "100 sessions", "/0", "Poisson"):
        assert part in page
    assert facts.sessions == 100


def test_damaged_model_is_refused():
    """Cut off, changed, of another version."""
    model, _ = learnt([line("a", 0)])
    name, packed = pack(model)
    assert unpack(name, packed)["files"] == [["/a.html", 100, 1]]
    for bad in (packed[:-5], b"", b"garbage", pack({**model, "files": []})[1]):
        with pytest.raises(ModelError, match="is damaged"):
            unpack(name, bad)
    later = pack({**model, "version": 2})
    with pytest.raises(ModelError, match="version 2: expected 1"):
        unpack(*later)


def test_pauses_follow_the_time_scale():
    """A tenth of the time."""
    model, _ = learnt([line("a", 0, "/1"), line("a", 2, "/2")])
    (session,) = LearntWorkload("x", model, time_scale=0.1).sessions()
    assert [request.think_s for request in session] == pytest.approx([0.2, 0])


names = st.sampled_from(["a", "b", "c"])


@given(
    st.lists(st.lists(names, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts)), unique=True)
)
def test_no_path_is_both_file_and_directory(paths):
    """A disk cannot hold both; no two files become one."""
    renamed = without_collisions(paths)
    assert len(set(renamed)) == len(paths)
    for path in renamed:
        assert not any(other.startswith(path + "/") for other in renamed)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=40))
def test_times_of_the_same_second_are_spread_within_it(seconds):
    """Ascending, none leaves its second, none are equal."""
    spread = spread_over_seconds([float(second) for second in seconds])
    assert spread == sorted(spread)
    assert len(set(spread)) == len(seconds)
    assert [int(moment) for moment in spread] == sorted(seconds)


@given(st.lists(st.binary(max_size=120), max_size=30))
def test_garbage_never_breaks_learning(lines):
    """One good line among it is enough."""
    model, facts = learnt([*lines, line("a", 0)])
    assert facts.requests >= 1
    assert facts.lines == len(lines) + 1
    assert LearntWorkload("x", model).sessions()
