"""Production's own file on a disk that takes no more: it is as it was, with nothing partial beside it."""

import resource

import pytest
from trimtab_agent.live import own_file

TEXT = "worker_processes 1;\n" * 20


@pytest.fixture
def file(tmp_path):
    """Production's file, which its server may read."""
    path = tmp_path / "nginx.conf"
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


@pytest.fixture
def full_disk():
    """A disk on which no file grows beyond 100 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_copy_that_does_not_fit_is_no_copy(file, full_disk):
    """Whoever puts it back would lose the rest of his file."""
    with pytest.raises(OSError, match="too large"):
        own_file.kept_beside(file)
    assert list(file.parent.iterdir()) == [file]
    assert file.read_text() == TEXT


def test_text_that_does_not_fit_is_not_written(file, full_disk):
    """Not even a part of it."""
    with pytest.raises(OSError, match="too large"):
        own_file.write(file, TEXT.replace("1", "2"))
    assert list(file.parent.iterdir()) == [file]
    assert file.read_text() == TEXT


def test_file_is_written_whole_and_put_back_with_mode_and_time(file):
    """As nothing had happened."""
    before = file.stat()
    backup = own_file.kept_beside(file)
    own_file.write(file, "other\n")
    assert (file.read_text(), file.stat().st_mode) == ("other\n", before.st_mode)
    own_file.put_back(file, backup)
    after = file.stat()
    assert (file.read_text(), after.st_mode, after.st_mtime_ns) == (TEXT, before.st_mode, before.st_mtime_ns)
    assert list(file.parent.iterdir()) == [file]
