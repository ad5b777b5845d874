"""File contents: pinned vectors, and an independent slow implementation to compare with."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimtab_tuner.workloads.content import file_content, path_key

MASK = (1 << 64) - 1


def slow_content(path, size):
    """The definition in the module's docstring, word by word."""
    key = 0xCBF29CE484222325
    for byte in path.encode():
        key = ((key ^ byte) * 0x100000001B3) & MASK
    content = b""
    for i in range(-(-size // 8)):
        z = (key + (i + 1) * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        content += struct.pack("<Q", z ^ (z >> 31))
    return content[:size]


def test_fnv_1a_matches_its_published_vectors():
    """Vectors of the hash's authors: empty, "a", "foobar"."""
    assert path_key("") == 0xCBF29CE484222325
    assert path_key("a") == 0xAF63DC4C8601EC8C
    assert path_key("foobar") == 0x85944171F73967E8


def test_pinned_vectors():
    """The load generator's verification is tested with the same bytes."""
    assert path_key("/dir00000/class0_1") == 0xDCF7DB500470747C
    assert file_content("/dir00000/class0_1", 19).hex() == "49ecf0c7450e2503366e6473c89f9350ecbc1d"


@given(st.text(max_size=40), st.integers(0, 300))
def test_fast_content_equals_the_definition(path, size):
    """Any path, any size, also no multiple of eight."""
    assert slow_content(path, size) == file_content(path, size)


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 921_600])
def test_content_across_chunks_continues_the_definition(size):
    """The vectorised chunks join without a seam."""
    content = file_content("/x", size)
    assert size == len(content)
    assert slow_content("/x", 65_600)[: min(size, 65_600)] == content[:65_600]
    if size == 921_600:
        key = path_key("/x")
        word = (key + (size // 8) * 0x9E3779B97F4A7C15) & MASK
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
        assert struct.pack("<Q", word ^ (word >> 31)) == content[-8:]


def test_shorter_file_is_a_prefix_of_the_longer():
    """Content depends on path and offset, not on the size."""
    assert file_content("/a", 1000) == file_content("/a", 5000)[:1000]
    assert file_content("/a", 1000) != file_content("/b", 1000)
