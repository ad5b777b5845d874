"""Learning from log files on disk: several, compressed, cut off; and a workload made of it."""

import gzip
import json
import os

import pytest
from trimtab_agent.errors import SpecError
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.stopping import Stopped, StopSignal
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import check
from trimtab_agent.workloads.choice import find_definition, make_workload
from trimtab_agent.workloads.log_reading import read_logs
from trimtab_tuner.workloads.learning import Learner
from trimtab_tuner.workloads.parameters import parameters


def log_lines(day, count=200):
    """A day's lines."""
    return "".join(
        f"10.0.0.{n % 7} - - [{day:02d}/Oct/2000:12:{n // 60:02d}:{n % 60:02d} +0000] "
        f'"GET /{n % 11}/file.html HTTP/1.1" 200 {1000 + n % 11}\n'
        for n in range(count)
    ).encode()


def read(paths):
    """All lines of these files: the learner, and the complaints."""
    learner = Learner()
    complaints = read_logs(paths, learner, lambda done, total: None, StopSignal())
    return learner, complaints


def test_logs_are_read_in_the_order_of_their_times(tmp_path):
    """Whatever the order of the arguments; compressed ones too."""
    (tmp_path / "access.log").write_bytes(log_lines(12))
    (tmp_path / "access.log.1.gz").write_bytes(gzip.compress(log_lines(11)))
    (tmp_path / "access.log.2").write_bytes(log_lines(10))
    learner, complaints = read(sorted(tmp_path.iterdir()))
    _, facts = learner.finish()
    assert (facts.lines, facts.clock_steps_back, complaints) == (600, 0, [])


def test_compressed_log_that_is_cut_off_counts_as_far_as_it_goes(tmp_path):
    """With a sentence about it."""
    lines = log_lines(10, 3000)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(lines)[:-200])
    learner, (complaint,) = read([tmp_path / "cut.gz"])
    assert complaint.startswith(f"{tmp_path / 'cut.gz'} ends early")
    assert 100 < learner.lines < 3000


def test_page_says_that_a_log_was_cut_off(tmp_path, command, settings):
    """The one that is printed, and the one that is kept."""
    (tmp_path / "cut.gz").write_bytes(gzip.compress(log_lines(10, 3000))[:-200])
    code, page, _ = command("workload", "learn", str(tmp_path / "cut.gz"), "--name=cut")
    sentence = f"\n{tmp_path / 'cut.gz'} ends early: "
    assert (code, sentence in page, "What could be read of it counts.\n" in page) == (0, True, True)
    assert sentence in (settings.var / "workloads" / "cut.md").read_text()


def test_line_without_end_counts_once(tmp_path):
    """A megabyte of garbage, and then a good line."""
    (tmp_path / "a.log").write_bytes(b"x" * (1 << 20) + b"\n" + log_lines(10, 1) + b"y" * 70_000)
    learner, _ = read([tmp_path / "a.log"])
    _, facts = learner.finish()
    assert (facts.lines, facts.passed_over) == (3, {"not a log line": 2})


@pytest.mark.parametrize("name", ["missing.log", "."])
def test_file_that_cannot_be_read_is_named(tmp_path, name):
    """Before anything is learnt."""
    with pytest.raises(SpecError, match="cannot be read"):
        read([tmp_path / name])


def test_pipe_is_refused_and_not_waited_for(tmp_path):
    """Nobody may write into it; and it is read twice, for the order of the logs first."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SpecError, match="pipe is a pipe, which can be read only once; expected a file"):
        read([tmp_path / "pipe"])


def test_reading_can_be_stopped(tmp_path):
    """At the next report of progress."""
    (tmp_path / "a.log").write_bytes(log_lines(10, 100) * 200)
    stop = StopSignal()
    stop.request()
    with pytest.raises(Stopped):
        read_logs([tmp_path / "a.log"], Learner(), lambda done, total: None, stop)


def test_learnt_workload_can_be_named_built_and_run(tmp_path, command, settings):
    """From the log to a plan of a run, by the command line."""
    (tmp_path / "a.log").write_bytes(log_lines(10) + b"garbage\n")
    code, text, _ = command("workload", "learn", str(tmp_path / "a.log"), "--name=own-shop", "--json")
    document = json.loads(text)
    assert code == 0
    assert (document["files"], document["passed_over"]) == (11, {"not a log line": 1})
    own = settings.var / "workloads"
    assert "# own-shop" in (own / "own-shop.md").read_text()
    code, text, _ = command("workload", "show", "own-shop")
    assert code == 0
    assert "## Sessions" in text

    definition = find_definition("own-shop", own)
    files = FileSet(tmp_path, make_workload(parameters(definition, 1.0), own))
    files.prepare(lambda done, total: None, StopSignal())
    assert sum(1 for _ in files.root.rglob("file.html")) == 11
    assert check(RunSpec(workload="own-shop"), own).workload.total_bytes() == document["file_set_bytes"]
    for model in (own / "models").iterdir():
        model.unlink()
    with pytest.raises(SpecError, match="`trimtab workload learn` learns it again"):
        check(RunSpec(workload="own-shop"), own)


@pytest.mark.parametrize("text", ['help = "mine"', "half of a definit"])
def test_definition_that_was_written_by_hand_is_not_replaced(tmp_path, command, settings, text):
    """Nor one that is not finished. What was learnt before is: the same log gives it again."""
    (tmp_path / "a.log").write_bytes(log_lines(10))
    own = settings.var / "workloads" / "by-hand.toml"
    own.parent.mkdir(parents=True)
    own.write_text(text)
    learn = ("workload", "learn", str(tmp_path / "a.log"), "--name=by-log")
    code, _, errors = command(*learn[:-1], "--name=by-hand")
    assert (code, own.read_text()) == (2, text)
    assert f"{own} was not learnt, and would be lost; expected another name" in errors
    for _ in range(2):
        code, _, errors = command(*learn)
        assert code == 0, errors


def test_access_log_says_how_to_learn_it(tmp_path):
    """It is no name until something has been learnt."""
    with pytest.raises(SpecError, match="`trimtab workload learn` makes it from your access logs"):
        check(RunSpec(workload="access-log"), tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--name=../x"], "name = '../x': expected small letters"),
        ([], "the log is empty"),
        (["--name=specweb99"], "a workload that comes with Trimtab is called so"),
    ],
)
def test_bad_input_to_learn_is_one_sentence(tmp_path, command, arguments, sentence):
    """Exit code 2."""
    (tmp_path / "empty.log").write_bytes(b"")
    code, _, text = command("workload", "learn", str(tmp_path / "empty.log"), *arguments)
    assert code == 2
    assert sentence in text


def test_a_few_lines_are_no_workload(tmp_path, command):
    """They say nothing of what is asked how often. Exit code 2, and nothing is written."""
    (tmp_path / "a.log").write_bytes(log_lines(10, 2))
    code, _, text = command("workload", "learn", str(tmp_path / "a.log"))
    assert code == 2
    assert "2 requests of 2 lines can be replayed, too few to learn from; expected at least 100" in text
