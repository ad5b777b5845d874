"""Runs the tests that are marked `live`, one after the other, and each that fails once more.

    live.py NAME ARGUMENT…

ARGUMENT is one of pytest: a path, or what chooses other tests than those marked `live`.

What passes the second time is *flaky*: it is printed with both outputs, never hidden, and fails nothing. What
fails twice fails the suite (exit status 1). The JUnit files stay in .build/live, named after NAME.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from failures import failures_of, outputs_of

RESULTS = Path(".build/live")
FAILED, NO_TESTS = 1, 5  # exit statuses of pytest


def run_pytest(results: Path, *arguments: str) -> int:
    """Runs the live tests; returns pytest's exit status, with the results in a JUnit file."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-m", "live", f"--junitxml={results}"]
    kept = ["-o", "junit_logging=all", "-o", f"cache_dir={RESULTS / 'cache'}"]
    return subprocess.run([*pytest, *kept, *arguments], check=False).returncode


def main() -> int:
    """Runs, repeats, tells; returns the exit status."""
    name, paths = sys.argv[1], sys.argv[2:]
    RESULTS.mkdir(parents=True, exist_ok=True)
    first, second = RESULTS / f"{name}.xml", RESULTS / f"{name}-again.xml"
    second.unlink(missing_ok=True)
    status = run_pytest(first, *paths)
    if status in {0, NO_TESTS}:
        return 0
    if status != FAILED:
        return status
    print(f"\n{name}: what failed runs once more\n", flush=True)
    run_pytest(second, "--last-failed", "--last-failed-no-failures=none", *paths)
    still_failing = {failure.key for failure in failures_of(second)}
    outputs = outputs_of(second)
    failed = 0
    for failure in failures_of(first):
        again = outputs.get(failure.key)
        if failure.key in still_failing or again is None:
            failed += 1
            print(f"FAILED TWICE {failure.file}: {failure.test}: {failure.sentence}")
            continue
        print(f"FLAKY {failure.file}: {failure.test}: {failure.sentence}")
        print(f"--- the first time\n{failure.output}\n--- the second time: passed\n{again}\n")
    print(f"{name}: {failed} failed twice, {len(failures_of(first)) - failed} flaky")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
