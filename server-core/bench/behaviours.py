"""Measures the behaviours of the literature on this machine and prints docs/lab/behaviours.md.

python server-core/bench/behaviours.py [--rounds N] [NUMBER …]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import report
from lab import Lab
from statements import STATEMENTS, Finding, Statement


def main() -> None:
    """Measures the statements asked for, all by default, in rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="statements to measure")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    chosen = [one for one in STATEMENTS if not options.numbers or one.number in options.numbers]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        lab = Lab(folder)
        saturation_rps = lab.saturation_rps(architecture="symped", workers=1, max_connections=10_000)
        found: dict[int, list[Finding]] = {one.number: [] for one in chosen}
        for number in range(options.rounds):
            for statement in chosen:
                print(f"round {number + 1}: {statement.claim}", file=sys.stderr)
                found[statement.number].append(statement.measure(lab, saturation_rps))
    print_page(chosen, found, saturation_rps, options.rounds)


def print_page(
    chosen: list[Statement], found: dict[int, list[Finding]], saturation_rps: float, rounds: int
) -> None:
    """The page, ready to be kept."""
    print("# Behaviours of the literature, measured here\n")
    print(
        "The documents behind Trimtab make statements about web servers that can be tested. These are the "
        "ones that need only the server, each measured in small on the machine below, with the "
        "SPECweb99-like mix at a tenth of its pauses and time limits. What did not come out as stated is "
        "told as well.\n"
    )
    print(f"Machine: {report.machine()}; one CPU serves, one generates.\n")
    print(
        f"Saturation of one SYMPED process: about {saturation_rps:,.0f} requests/s. "
        "`make behaviours` makes this page.\n"
    )
    rows = []
    for one in chosen:
        findings = found[one.number]
        times = sum(finding.as_stated for finding in findings)
        verdict = "as stated" if times == rounds else "not as stated" if times == 0 else "mixed"
        rows.append(
            [
                f"{one.number}. {one.claim} ({one.source})",
                f"{verdict} ({times} of {rounds})",
                report.spread([finding.ratio for finding in findings]),
                findings[-1].seen,
            ]
        )
    print(report.table(["statement", "outcome", "ratio", "last round"], rows))


if __name__ == "__main__":
    main()
