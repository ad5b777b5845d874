"""The last lines of a red run name the test, its file and what it said, whichever suite it is of."""

import importlib.util
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / ".ci" / "failures.py"

PYTEST = """<testsuites><testsuite name="pytest">
<testcase classname="package.tests.test_ci_failures" name="test_a[b]">
<failure message="AssertionError: assert 1 == 2">def test_a(): ...
E   AssertionError: assert 1 == 2</failure></testcase>
<testcase classname="package.tests.test_ci_failures" name="test_good" /></testsuite></testsuites>"""
TAP = """<testsuites><testsuite name="core.httpd/test_x">
<testcase name="1 - test_good" classname="core.httpd/test_x" />
<testcase name="2 - test_bad" classname="core.httpd/test_x"><failure /></testcase>
<system-out>1..2
ok 1 - test_good
not ok 2 - test_bad
# 0x1 != 0x2
# ../test_x.c:7: error: Failure!
# not ok - x</system-out></testsuite></testsuites>"""
VITEST = """<testsuites><testsuite name="src/maths/a.test.ts">
<testcase classname="src/maths/a.test.ts" name="adds">
<failure message="expected 1 to be 2" type="AssertionError">AssertionError: expected 1 to be 2</failure>
</testcase></testsuite></testsuites>"""
PLAYWRIGHT = """<testsuites><testsuite name="a.spec.ts">
<testcase classname="a.spec.ts" name="shows it">
<failure message="a.spec.ts:7:1 shows it" type="FAILURE"><![CDATA[  a.spec.ts:7:1 > shows it
    Error: expect(locator).toBeVisible() failed]]></failure></testcase></testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("suite", "line"),
    [
        (PYTEST, "package/tests/test_ci_failures.py: test_a[b]: AssertionError: assert 1 == 2"),
        (TAP, "core.httpd/test_x: 2 - test_bad: 0x1 != 0x2 ../test_x.c:7: error: Failure!"),
        (VITEST, "src/maths/a.test.ts: adds: AssertionError: expected 1 to be 2"),
        (PLAYWRIGHT, "a.spec.ts: shows it: Error: expect(locator).toBeVisible() failed"),
        ("<testsuites><testsuite><testca", None),
    ],
    ids=["pytest", "tap", "vitest", "playwright", "cut"],
)
def test_failure_is_one_line(suite, line, tmp_path, monkeypatch, capsys):
    """A line for the test that failed, none for the others or for a suite that was stopped as it wrote."""
    (tmp_path / "suite.xml").write_text(suite)
    monkeypatch.chdir(PROGRAM.parents[1])
    monkeypatch.setattr(sys, "argv", ["failures.py", str(tmp_path)])
    spec = importlib.util.spec_from_file_location("failures", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "failures", module)  # a dataclass asks for the module that it is in
    spec.loader.exec_module(module)
    module.main()
    assert capsys.readouterr().out == (f"FAILED {line}\n" if line else "")
