"""Sentences count as people do."""

import pytest
from trimtab_tuner.wording import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 processes"), (1, "1 process"), (2, "2 processes"), (30, "30 processes")]
)
def test_only_one_is_singular(number, words):
    """Also where the plural is no mere s."""
    assert counted(number, "process", "processes") == words
    assert counted(number, "run") == f"{number} run{'s' * (number != 1)}"
