"""Production's own file on a disk that takes no more: it is as it was, with nothing partial beside it."""

import os
import stat
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from trimtab_agent.live import own_file

TEXT = "worker_processes 1;\n" * 20


def kept_beside(file):
    """A copy of it."""
    backup = own_file.name_beside(file)
    own_file.keep_as(backup, file)
    return backup


@pytest.fixture
def file(tmp_path):
    """Production's file, which its server may read."""
    path = tmp_path / "nginx.conf"
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


def test_copy_that_does_not_fit_is_no_copy(file, full_disk):
    """Whoever puts it back would lose the rest of his file."""
    with full_disk(), pytest.raises(OSError, match="too large"):
        kept_beside(file)
    assert list(file.parent.iterdir()) == [file]
    assert file.read_text() == TEXT


def test_text_that_does_not_fit_is_not_written(file, full_disk):
    """Not even a part of it."""
    with full_disk(), pytest.raises(OSError, match="too large"):
        own_file.write(file, TEXT.replace("1", "2"))
    assert list(file.parent.iterdir()) == [file]
    assert file.read_text() == TEXT


def test_file_is_written_whole_and_put_back_with_mode_and_time(file):
    """As nothing had happened."""
    before = file.stat()
    backup = kept_beside(file)
    own_file.write(file, "other\n")
    assert (file.read_text(), file.stat().st_mode) == ("other\n", before.st_mode)
    own_file.put_back(file, backup)
    after = file.stat()
    assert (file.read_text(), after.st_mode, after.st_mtime_ns) == (TEXT, before.st_mode, before.st_mtime_ns)
    assert list(file.parent.iterdir()) == [file]


def test_copies_of_one_second_do_not_write_over_each_other(file):
    """The first one is what was there before Trimtab."""
    first = kept_beside(file)
    file.write_text("other\n")
    second = kept_beside(file)
    assert (first.read_text(), second.read_text()) == (TEXT, "other\n")


def test_name_that_somebody_has_taken_for_a_link_is_left_alone(file, tmp_path, monkeypatch):
    """Root would write to where it leads."""
    victim = tmp_path / "victim"
    victim.write_text("not ours\n")
    now = datetime(2026, 11, 29, 16, 0, 0, tzinfo=UTC)
    monkeypatch.setattr(own_file, "datetime", SimpleNamespace(now=lambda: now))
    link = file.with_name(f"{file.name}.before-trimtab-{now.astimezone():%Y%m%d-%H%M%S}")
    link.symlink_to(victim)
    assert kept_beside(file) == link.with_name(f"{link.name}-2")
    with pytest.raises(FileExistsError):
        own_file.keep_as(link, file)
    assert victim.read_text() == "not ours\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_is_written_belongs_to_whom_the_file_belongs(file):
    """With the mode that it has."""
    os.chown(file, 33, 33)
    backup = kept_beside(file)
    own_file.write(file, "other\n")
    for each in (file, backup):
        now = each.stat()
        assert (now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == (33, 33, 0o640)
