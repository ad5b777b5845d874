"""The workload's files on disk."""

import pytest
from live_support import specweb99
from trimtab_agent.errors import FileSetError
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.stopping import Stopped, StopSignal
from trimtab_tuner.workloads.content import file_content


@pytest.fixture
def files(tmp_path):
    """A file set of one directory that has been written."""
    file_set = FileSet(tmp_path, specweb99(1))
    file_set.prepare(lambda done, total: None, StopSignal())
    return file_set


def test_files_have_the_contents_of_their_paths(files):
    """All of them, in their sizes, under the document root."""
    assert files.missing_sentence() == ""
    path, size = files.files[-1]
    assert (files.root / path.lstrip("/")).read_bytes() == file_content(path, size)
    assert sum(f.stat().st_size for f in files.root.rglob("class*")) == files.total_bytes


def test_session_log_asks_only_for_files_there_are(files):
    """Every URI of the log is a file of the set."""
    asked = {line.split()[0] for line in files.sessions.read_text().splitlines() if line and line[0] != "#"}
    assert asked <= {path for path, _ in files.files}


def test_progress_ends_with_everything(tmp_path):
    """Bytes done never shrink and reach the total."""
    seen = []
    files = FileSet(tmp_path, specweb99(1))
    files.prepare(lambda done, total: seen.append((done, total)), StopSignal())
    assert seen == sorted(seen)
    assert seen[-1] == (files.total_bytes, files.total_bytes)


def test_interrupted_preparation_goes_on_where_it_left_off(tmp_path):
    """What is there in full is not written again."""
    file_set = FileSet(tmp_path, specweb99(1))
    stop = StopSignal()
    with pytest.raises(Stopped):
        file_set.prepare(lambda done, total: stop.request() if done > 100_000 else None, stop)
    written = {f: f.stat().st_mtime_ns for f in file_set.root.rglob("class*")}
    assert 0 < len(written) < 36
    file_set.prepare(lambda done, total: None, StopSignal())
    assert file_set.missing_sentence() == ""
    assert {f: f.stat().st_mtime_ns for f in written} == written


@pytest.mark.parametrize("damage", ["truncate", "remove"])
def test_damaged_file_is_named_and_written_again(files, damage):
    """A file of the wrong size counts as missing."""
    victim = files.root / files.files[3][0].lstrip("/")
    victim.write_bytes(b"") if damage == "truncate" else victim.unlink()
    assert files.missing_sentence() == f"the file {victim} of the file set is gone"
    files.prepare(lambda done, total: None, StopSignal())
    assert files.missing_sentence() == ""


def test_missing_session_log_is_named(files):
    """It belongs to the file set."""
    files.sessions.unlink()
    assert files.missing_sentence() == f"the session log {files.sessions} is gone"


def test_other_workload_is_another_directory_and_other_pauses_another_log(tmp_path):
    """Sets are shared by what they contain."""
    one, two = FileSet(tmp_path, specweb99(1)), FileSet(tmp_path, specweb99(2))
    faster = FileSet(tmp_path, specweb99(1, time_scale=0.1))
    assert one.directory != two.directory
    assert one.directory == faster.directory
    assert one.sessions != faster.sessions


def test_path_that_cannot_be_a_directory_is_named(tmp_path):
    """The sentence names the file set and the reason."""
    (tmp_path / "filesets").write_text("in the way")
    with pytest.raises(FileSetError, match=r"filesets.* cannot be written"):
        FileSet(tmp_path / "filesets", specweb99(1)).prepare(lambda done, total: None, StopSignal())
