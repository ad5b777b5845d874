"""Says which tests failed, from the JUnit files that the suites leave behind.

    failures.py DIRECTORY

One line each: the file, the test, what it said first. The oldest file comes first, so the first line is the
fault that came first. Prints nothing where no test failed: then it was no test that stopped the run.
"""

from __future__ import annotations

import itertools
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST_SENTENCE = 300


@dataclass(frozen=True)
class Failure:
    """A test that failed: its file (or what the suite calls that), its name, all that was printed of it."""

    file: str
    test: str
    output: str

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same test in another run."""
        return self.file, self.test

    @property
    def sentence(self) -> str:
        """The first line of its output that says what was wrong."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        said = next((line for line in lines if "Error" in line or line.startswith(("E ", "FAIL"))), "")
        return (said or (lines[0] if lines else "it said nothing"))[:LONGEST_SENTENCE]


def outputs_of(file: Path) -> dict[tuple[str, str], str]:
    """Everything that the tests of a JUnit file printed, by file and test."""
    return {_key(case): _text(case, printed) for case, printed in _cases(file)}


def failures_of(file: Path) -> list[Failure]:
    """The tests of a JUnit file that failed or had an error, in their order."""
    return [
        Failure(*_key(case), _text(case, printed))
        for case, printed in _cases(file)
        if case.find("failure") is not None or case.find("error") is not None
    ]


def _cases(file: Path) -> Iterator[tuple[ElementTree.Element, str]]:
    """Each test of a file, and what its suite as a whole printed."""
    try:
        suites = ElementTree.parse(file).iter("testsuite")  # noqa: S314 - written by our own suites
    except ElementTree.ParseError:
        return  # the suite was stopped while it wrote; what it printed stands above
    for suite in suites:
        printed = suite.findtext("system-out") or ""
        yield from ((case, printed) for case in suite.findall("testcase"))


def _key(case: ElementTree.Element) -> tuple[str, str]:
    file = case.get("classname", "")
    as_path = file.replace(".", "/") + ".py"  # pytest writes a path with dots
    return (as_path if Path(as_path).is_file() else file), case.get("name", "")


def _text(case: ElementTree.Element, printed: str) -> str:
    parts = [part for child in case for part in (child.get("message"), child.text) if part]
    return "\n".join(parts) or _remarks(case.get("name", ""), printed)


def _remarks(name: str, printed: str) -> str:
    """What a program that speaks TAP, as the C tests do, said of a failed test: the lines behind its own."""
    _, found, after = printed.partition(f"not ok {name}\n")
    remarks = itertools.takewhile(lambda line: line.startswith("# "), after.splitlines()) if found else ()
    return " ".join(line.removeprefix("# ") for line in remarks if not line.startswith("# not ok"))


def main() -> None:
    """Prints a line for each failure under the directory."""
    files = sorted(Path(sys.argv[1]).rglob("*.xml"), key=lambda file: file.stat().st_mtime)
    for failure in (failure for file in files for failure in failures_of(file)):
        print(f"FAILED {failure.file}: {failure.test}: {failure.sentence}")


if __name__ == "__main__":
    main()
