"""Directories of servers beside production: whoever needs one has it, and those of killed processes go."""

import subprocess

import pytest
from trimtab_agent.errors import HostError
from trimtab_agent.live import in_memory
from trimtab_agent.live.restoring import put_back_left_behind


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The only place for them."""
    monkeypatch.setattr(in_memory, "PLACES", (tmp_path, tmp_path / "not there"))
    return tmp_path


def test_directory_of_a_killed_process_is_removed_by_the_next_trimtab(place):
    """Not by notes: it was killed before there was one. What is called otherwise stays."""
    other = place / "another"
    other.mkdir()
    with in_memory.new_directory() as (directory, _):
        (directory / "file").touch()
        put_back_left_behind(place / "notes")
        assert (directory / "file").exists()
    put_back_left_behind(place / "notes")
    assert list(place.iterdir()) == [other]


def test_directory_is_kept_for_who_has_inherited_it(place):
    """A keeper whose agent was killed."""
    with in_memory.new_directory() as (directory, held):
        keeper = subprocess.Popen(("cat",), stdin=subprocess.PIPE, pass_fds=[held])
    with keeper:
        in_memory.remove_what_nobody_needs()
        assert directory.exists()
        keeper.kill()
    in_memory.remove_what_nobody_needs()
    assert not directory.exists()


def test_link_in_the_place_of_a_directory_is_left_alone(place, tmp_path_factory):
    """Anybody may make one in /dev/shm."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (place / f"{in_memory.PREFIX}x").symlink_to(elsewhere)
    (place / f"{in_memory.PREFIX}y").touch()
    in_memory.remove_what_nobody_needs()
    assert elsewhere.exists()
    assert len(list(place.iterdir())) == 2


def test_place_that_is_about_to_be_full_is_told(place, monkeypatch):
    """Nothing is made there, and what is there is told."""
    monkeypatch.setattr(in_memory, "LEAST_FREE_BYTES", 1 << 60)
    with pytest.raises(HostError, match="left: expected a place in memory"), in_memory.new_directory():
        pass
    with pytest.raises(HostError, match="is about to be full"):
        in_memory.require_room(place)
    assert list(place.iterdir()) == []
