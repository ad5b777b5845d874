"""The examples of a property test are the same whatever else has run in the process."""

import importlib.util
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

FIRST, COUNT = 918_273_645, 50


def test_no_example_comes_from_the_modules_that_have_been_imported(tmp_path, monkeypatch):
    """Hypothesis draws numbers that it reads in modules; which are there depends on the tests before.

    /conftest.py has it leave them out, by names of its inner parts that another version may not have.
    """
    file = tmp_path / "numbers_of_ours.py"
    file.write_text(f"NUMBERS = {list(range(FIRST, FIRST + COUNT))}\n")
    spec = importlib.util.spec_from_file_location("numbers_of_ours", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "numbers_of_ours", module)
    spec.loader.exec_module(module)
    drawn = set()

    @settings(max_examples=100, database=None)
    @given(st.lists(st.integers(), min_size=40, max_size=40))
    def draw(numbers):
        drawn.update(numbers)

    draw()
    assert len(drawn) > COUNT
    assert drawn.isdisjoint(module.NUMBERS)
